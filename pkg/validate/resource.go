package validate

import (
	"slices"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lint"
)

// ruled is a problem with its rule and the outcomes for both clients: what verdicts are made of.
type ruled struct {
	diag.Problem
	rule     *lint.Rule
	outcomes [len(diag.Clients)]diag.Outcome
}

// Judge judges one resource: its findings and the verdict of each client. ResourceIndex is left for the caller.
func Judge(r *eds.Resource, o Options) (Resource, []diag.Finding) {
	c := newContext(r, o)
	all := rule(c, produce(c))
	grpcApplies := appliesToGRPC(c, all)
	verdicts := [len(diag.Clients)]diag.Verdict{
		diag.Envoy: verdict(c, diag.Envoy, all),
		diag.GRPC:  grpcVerdict(c, all),
	}
	findings := make([]diag.Finding, 0, len(all))
	for i := range all {
		if f, ok := finding(c, &all[i], o, grpcApplies); ok {
			findings = append(findings, f)
		}
	}
	judged := Resource{
		File: r.File, Name: r.Name, Absent: r.Absent, APIVersion: r.APIVersion, Source: c.Source, Cluster: describe(c.Cluster), Verdicts: verdicts,
	}
	if r.Node.IsValid() {
		judged.Start = r.Node.Span().Start
	}
	return judged, findings
}

// describe is what a report says about the cluster; nil when there is none at hand.
func describe(c *eds.Cluster) *Cluster {
	if c == nil || c.Message == nil {
		return nil
	}
	m := c.Message
	d := &Cluster{Name: m.GetName(), Type: m.GetType().String(), LBPolicy: m.GetLbPolicy().String()}
	if custom := m.GetClusterType(); custom != nil {
		d.Type = custom.GetName()
	}
	return d
}

func newContext(r *eds.Resource, o Options) *lint.Context {
	c := &lint.Context{
		Resource: r, Cluster: r.Cluster, Bootstrap: r.Bootstrap, Source: r.Source, Origin: r.Origin,
		EnvoyVersion: o.EnvoyVersion, ExpectName: o.ExpectName, UnknownFields: o.UnknownFields, Getenv: o.Getenv,
	}
	if o.Source != "" {
		c.Source = o.Source
	}
	if c.Source == "" {
		c.Source = eds.FromFile
	}
	if o.Origin != "" {
		c.Origin = o.Origin
	}
	if c.Origin == "" {
		c.Origin = eds.OriginBootstrap
	}
	if o.Cluster != nil {
		c.Cluster = o.Cluster
	}
	if c.EnvoyVersion == 0 {
		c.EnvoyVersion = NewestEnvoy
	}
	if c.Getenv == nil {
		c.Getenv = func(string) string { return "" }
	}
	return c
}

// produce collects what decoder, constraints and checks find, in this order; within each in the order of the clients.
func produce(c *lint.Context) []diag.Problem {
	problems := slices.Clone(c.Resource.Problems)
	if c.Cluster != nil {
		for _, p := range c.Cluster.Problems {
			p.Path = diag.Path{}.Field("cluster").Join(p.Path)
			problems = append(problems, p)
		}
	}
	lost := unreadable(c, problems)
	report := func(p diag.Problem) {
		if !follows(p.Path, lost) {
			problems = append(problems, p)
		}
	}
	if !c.Resource.Absent {
		lint.Constraints(c, report)
	}
	for _, e := range lint.Checks() {
		if !c.Resource.Absent || aboutResponse(e) {
			e.Check(c, report)
		}
	}
	return problems
}

// aboutResponse tells whether a check speaks of the response alone, so that it needs no assignment.
func aboutResponse(e lint.Entry) bool {
	return !slices.ContainsFunc(e.Rules, func(id string) bool { return lint.Lookup(id).Needs != "source" })
}

// unreadable lists the paths of values that the reader refused, so that the message does not hold them.
func unreadable(c *lint.Context, problems []diag.Problem) []diag.Path {
	if !c.Resource.Unreadable {
		return nil
	}
	var lost []diag.Path
	for _, p := range problems {
		switch p.Rule {
		case "value-type", "yaml-scalar-type", "oneof-set-twice", "any-type-missing", "any-type-unknown", "nesting-too-deep":
			lost = append(lost, p.Path)
		}
	}
	return lost
}

// follows tells whether something found at a path only follows from a value that could not be read at or below it.
func follows(path diag.Path, lost []diag.Path) bool {
	return slices.ContainsFunc(lost, func(l diag.Path) bool {
		return len(l) >= len(path) && slices.Equal(l[:len(path)], path)
	})
}
