package validate

import (
	"cmp"
	"slices"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lint"
)

// ruled is a problem with its rule and the outcomes for both clients: what verdicts are made of.
type ruled struct {
	produced
	rule     *lint.Rule
	outcomes [len(diag.Clients)]diag.Outcome
}

// produced is a problem and whether it is about the text around the resource, which others share.
type produced struct {
	diag.Problem
	around bool
}

// found is a finding; shared ones are the same for several resources and are reported once.
type found struct {
	diag.Finding
	shared bool
}

// judge judges one resource: its findings and the verdict of each client. ResourceIndex is left for the caller.
func judge(r *eds.Resource, o Options) (Resource, []found) {
	c := newContext(r, o)
	all := rule(c, produce(c))
	judged := Resource{
		File: r.File, Name: r.Name, Absent: r.Absent, APIVersion: r.APIVersion, Source: c.Source, Cluster: describe(c.Cluster),
		Verdicts: [len(diag.Clients)]diag.Verdict{diag.Envoy: verdict(c, diag.Envoy, all), diag.GRPC: grpcVerdict(c, all)},
	}
	judged.Start = r.Start()
	grpcApplies := appliesToGRPC(c)
	findings := make([]found, 0, len(all))
	finder := eds.NewFinder(r)
	for i := range all {
		if f, ok := finding(c, &all[i], o, grpcApplies, finder); ok {
			findings = append(findings, f)
		}
	}
	if r.Alternative != nil {
		findings = worse(&judged, findings, r.Alternative, o)
	}
	return judged, findings
}

// worse takes over the verdict of the other reading of a resource where it is worse, and what only the other reading
// shows.
func worse(judged *Resource, findings []found, alternative *eds.Resource, o Options) []found {
	other, more := judge(alternative, o)
	for i, v := range other.Verdicts {
		if rank(v.Kind) > rank(judged.Verdicts[i].Kind) {
			judged.Verdicts[i] = v
		}
	}
	for _, f := range more {
		same := func(have found) bool { return have.Rule == f.Rule && slices.Equal(have.Path, f.Path) }
		if !slices.ContainsFunc(findings, same) {
			findings = append(findings, f)
		}
	}
	return findings
}

// rank orders verdicts from good to bad.
func rank(k diag.VerdictKind) int {
	return slices.Index([]diag.VerdictKind{diag.NotApplicable, diag.Accept, diag.Unknown, diag.Ignored, diag.Rejected, diag.Crashes}, k)
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
	c.SourceGiven = r.SourceGiven
	if o.Source != "" {
		c.Source, c.SourceGiven = o.Source, true
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
func produce(c *lint.Context) []produced {
	var all []produced
	add := func(around bool, problems []diag.Problem) {
		for _, p := range problems {
			all = append(all, produced{p, around})
		}
	}
	add(true, c.Resource.Around)
	add(false, c.Resource.Problems)
	if c.Cluster != nil {
		for _, p := range c.Cluster.Problems {
			p.Path = diag.Path{}.Field("cluster").Join(p.Path)
			all = append(all, produced{p, false})
		}
	}
	lost := unreadable(c, all)
	report := func(p diag.Problem) {
		if !follows(p.Path, lost) {
			all = append(all, produced{Problem: p})
		}
	}
	lint.Constraints(c, report)
	for _, e := range lint.Checks() {
		if !c.Resource.Absent || aboutSurroundingsOnly(c, e) {
			e.Check(c, report)
		}
	}
	return all
}

// aboutSurroundingsOnly tells whether a check needs no assignment: it speaks of the response, or of the cluster or the
// bootstrap when there is one.
func aboutSurroundingsOnly(c *lint.Context, e lint.Entry) bool {
	return !slices.ContainsFunc(e.Rules, func(id string) bool {
		switch lint.Lookup(id).Needs {
		case "source":
			return false
		case "cluster", "bootstrap":
			return c.Cluster == nil
		}
		return true
	})
}

// unreadable lists the paths of values that the reader refused, so that the message does not hold them.
func unreadable(c *lint.Context, problems []produced) []diag.Path {
	if !c.Resource.Unreadable && (c.Cluster == nil || !c.Cluster.Unreadable) {
		return nil
	}
	var lost []diag.Path
	for _, p := range problems {
		switch p.Rule {
		case "value-type", "yaml-scalar-type", "oneof-set-twice", "any-type-missing", "any-type-unknown", "nesting-too-deep":
			lost = append(lost, p.Path)
		}
	}
	slices.SortFunc(lost, comparePaths)
	return lost
}

// follows tells whether something found at a path only follows from a value that could not be read at or below it. The
// lost paths are sorted.
func follows(path diag.Path, lost []diag.Path) bool {
	i, _ := slices.BinarySearchFunc(lost, path, comparePaths)
	return i < len(lost) && len(lost[i]) >= len(path) && slices.Equal(lost[i][:len(path)], path)
}

// comparePaths orders a path before those below it.
func comparePaths(a, b diag.Path) int {
	return slices.CompareFunc(a, b, func(x, y diag.Step) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Index, y.Index))
	})
}
