package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/validate"
	"github.com/edsctl/edsctl/pkg/xds"
)

// xdsCheck are the flags about judging what comes.
type xdsCheck struct {
	profile
	validate   string
	failOn     string
	clientFlag *pflag.Flag
}

func (c *xdsCheck) bind(cmd *cobra.Command) {
	c.profile.bind(cmd, "client", "envoy-version", "unknown-fields")
	c.clientFlag = cmd.Flags().Lookup("client")
	enumVar(cmd, &c.validate, "validate", "on", []string{"on", "off"}, "validate what comes")
}

// bindFailOn declares the threshold, which a watch has not: findings do not end it.
func (c *xdsCheck) bindFailOn(cmd *cobra.Command) {
	enumVar(cmd, &c.failOn, "fail-on", diag.Error.String(), []string{"error", "warning", "info", failNever}, "least severity of a finding that makes the exit code 1")
}

// checker judges the assignments of responses as they come, and keeps the newest report of each name.
type checker struct {
	on      bool
	client  diag.Client // whose refusal becomes a NACK
	clients []diag.Client
	failOn  string
	server  string
	options validate.Options
	least   diag.Severity          // findings below it are not shown
	shows   func(name string) bool // whether the user wants to know of a name; nil: of all
	nacks   bool                   // responses are refused when the client refuses them
	reports map[string]validate.Report
	order   []string
	refused error // what the client refuses of the newest response about assignments as a whole
}

// newChecker judges for the client that asks: that of --client, else the one that a preset, a gRPC bootstrap or --csds
// brought into o.
func (c *xdsCheck) newChecker(env *Env, o *xds.Options) *checker {
	clients := c.profile.clients()
	switch isGiven := c.clientFlag != nil && c.clientFlag.Changed; {
	case !isGiven && o.Client == diag.GRPC:
		clients = []diag.Client{diag.GRPC}
	case len(clients) == 1:
		o.Client = clients[0]
	}
	o.EnvoyVersion = c.profile.minorVersion()
	return &checker{
		nacks: o.Ack == xds.AckValid,
		on:    c.validate == "on", client: o.Client, clients: clients, failOn: c.failOn, server: o.Dial.Target, reports: map[string]validate.Report{},
		options: validate.Options{
			Clients: clients, EnvoyVersion: c.profile.minorVersion(), UnknownFields: c.profile.unknownKeys, Getenv: env.clientGetenv(),
		},
	}
}

// event judges the assignments of a response. The error is what the client would refuse the response for.
func (c *checker) event(ev *xds.Event) error {
	if ev.Kind != xds.Received || !c.on {
		return nil
	}
	if ev.IsCDS() && c.nacks && c.client == diag.Envoy {
		return c.clusters(ev)
	}
	if !ev.IsCDS() && (c.shows == nil || slices.ContainsFunc(ev.Resources, func(r xds.Resource) bool { return c.shows(r.Name) })) {
		c.refused = ev.Refused
	}
	var resources []*eds.Resource
	var of []int // the index in the response
	for i := range ev.Resources {
		r := &ev.Resources[i]
		judged := r.Assignment
		if judged == nil && !r.Heartbeat {
			judged = r.Broken
		}
		if judged != nil && !r.Inline {
			judged.File = c.server
			resources = append(resources, judged)
			of = append(of, i)
		}
	}
	if len(resources) == 0 {
		return nil
	}
	report := c.run(resources)
	c.keepAll(report, resources, ev, of)
	return c.refusal(report, resources, ev, of)
}

// keepAll stores what a report says of the resources that were asked for: what is found in a copy that the client does not
// keep goes with the one that it keeps.
func (c *checker) keepAll(report judged, resources []*eds.Resource, ev *xds.Event, of []int) {
	kept := make(map[string]bool, len(resources))
	for _, passed := range []bool{false, true} {
		for i, r := range resources {
			item := &ev.Resources[of[i]]
			switch {
			case item.Passed != passed || !item.Asked || c.shows != nil && !c.shows(r.Name):
			case kept[r.Name]:
				c.add(r.Name, report, i)
			default:
				c.keep(r.Name, report, i)
				kept[r.Name] = true
			}
		}
	}
}

// judged is a report with its findings by resource.
type judged struct {
	validate.Report
	findings map[int][]diag.Finding // by index of the resource, in the order of the report
}

func (c *checker) run(resources []*eds.Resource) judged {
	j := judged{Report: validate.Run(resources, c.options)}
	for i := range j.Findings {
		j.Findings[i].Span = diag.Span{} // the text of an answer over REST is not shown
	}
	for i := range j.Resources {
		j.Resources[i].Start = diag.Position{}
	}
	if len(j.Findings) > 0 {
		j.findings = map[int][]diag.Finding{}
	}
	for _, f := range j.Findings {
		j.findings[f.ResourceIndex] = append(j.findings[f.ResourceIndex], f)
	}
	return j
}

// clusters marks the clusters of a CDS response that Envoy would not take. The error is for a response of which it takes
// none.
func (c *checker) clusters(ev *xds.Event) error {
	var resources []*eds.Resource
	var at []int
	for i := range ev.Clusters {
		m := ev.Clusters[i].Message
		if m == nil || ev.Clusters[i].Err != nil {
			continue
		}
		r := &eds.Resource{
			File: c.server, Name: m.GetName(), APIVersion: eds.V3, Shape: eds.ShapeCDS, Source: eds.FromCDS, Origin: eds.OriginCDS,
			Assignment: m.GetLoadAssignment(), Cluster: &eds.Cluster{Message: m, Index: i},
		}
		if r.Assignment == nil {
			r.Absent, r.Assignment = true, &endpointv3.ClusterLoadAssignment{}
		}
		r.Original = r.Assignment
		resources, at = append(resources, r), append(at, i)
	}
	report := c.run(resources)
	for k := range resources {
		text, _ := refusedFor(report, k, diag.Envoy)
		if text == "" {
			continue
		}
		full, whole := xds.ClusterRefusalText(&ev.Clusters[at[k]], text)
		if whole {
			return &xds.DecodeError{Index: at[k], Text: full}
		}
		ev.Clusters[at[k]].Err = errors.New(strings.TrimPrefix(full, "Error adding/updating cluster(s) "+resources[k].Name+": "))
	}
	return nil
}

// judge validates assignments that came otherwise than by a stream.
func (c *checker) judge(resources []*eds.Resource) {
	if !c.on {
		return
	}
	for _, r := range resources {
		r.File = c.server
	}
	report := c.run(resources)
	for i, r := range resources {
		c.keep(r.Name, report, i)
	}
}

// keep stores what a report says about one of its resources.
func (c *checker) keep(name string, report judged, index int) {
	one := validate.Report{Resources: report.Resources[index : index+1], Findings: report.alone(index)}
	if _, ok := c.reports[name]; !ok {
		c.order = append(c.order, name)
	}
	c.reports[name] = one
}

// watchStage begins the stages that only resources reach that were asked for.
const watchStage = "08"

// refusal is the client's reason to refuse a response, of which the resources have the indexes of.
func (c *checker) refusal(report judged, resources []*eds.Resource, ev *xds.Event, of []int) error {
	if c.client == diag.GRPC {
		return refusalGRPC(report, resources)
	}
	return refusalEnvoy(report, resources, ev, of)
}

// refusalEnvoy is the first thing that Envoy refuses. Of resources that nobody asked for it checks bytes and constraints in
// state of the world, and nothing in delta; nothing more of further copies of a name.
func refusalEnvoy(report judged, resources []*eds.Resource, ev *xds.Event, of []int) error {
	var late error
	for i, r := range resources {
		item := &ev.Resources[of[i]]
		text, f := refusedFor(report, i, diag.Envoy)
		if f == nil && text == "" {
			continue
		}
		early := false
		if f != nil {
			early = strings.Compare(f.Clients[diag.Envoy].Stage, watchStage) < 0
			text = xds.RefusalText(r, text, f.Path)
		}
		switch {
		case early && (item.Asked || r.Source != eds.FromDelta):
			return &xds.DecodeError{Index: of[i], Text: text}
		case !early && item.Asked && !item.Passed && late == nil:
			late = errors.New(text)
		}
	}
	return late
}

// namedStage begins the stages in which grpc-go knows the name of a resource.
const namedStage = "05"

// refusalGRPC is everything that grpc-go refuses: it reads all resources of a response, asked for or not.
func refusalGRPC(report judged, resources []*eds.Resource) error {
	var topLevel []string
	var named []xds.NamedRefusal
	for i, r := range resources {
		text, f := refusedFor(report, i, diag.GRPC)
		switch {
		case f == nil && text == "":
		case f != nil && strings.Compare(f.Clients[diag.GRPC].Stage, namedStage) < 0:
			topLevel = append(topLevel, text)
		case f != nil:
			named = append(named, xds.NamedRefusal{Name: r.Name, Text: xds.DumpGRPC(r, text, f.Path)})
		default:
			named = append(named, xds.NamedRefusal{Name: r.Name, Text: text})
		}
	}
	return xds.RefusalGRPC(topLevel, named)
}

// refusedFor is the text of a client's refusal of a resource and the finding that decides; empty and nil: it takes it.
func refusedFor(report judged, index int, client diag.Client) (string, *diag.Finding) {
	v := report.Resources[index].Verdicts[client]
	if v.Kind != diag.Rejected && v.Kind != diag.Crashes {
		return "", nil
	}
	return v.Message, decider(report, index, v.Rule)
}

// add joins what a report says about a further resource of a name that occurs twice in a response.
func (c *checker) add(name string, report judged, index int) {
	one := c.reports[name]
	one.Findings = append(one.Findings, report.alone(index)...)
	c.reports[name] = one
}

// alone are the findings of a resource as if it were the only one.
func (j *judged) alone(index int) []diag.Finding {
	findings := slices.Clone(j.findings[index])
	for i := range findings {
		findings[i].ResourceIndex = 0
	}
	return findings
}

// decider is the finding that gave a resource its verdict; nil when it is not reported.
func decider(report judged, index int, rule string) *diag.Finding {
	findings := report.findings[index]
	for i := range findings {
		if findings[i].Rule == rule {
			return &findings[i]
		}
	}
	return nil
}

// newest is what was found in the newest version of an assignment; nil when nothing was judged.
func (c *checker) newest(name string) *validate.Report {
	if r, ok := c.reports[name]; ok {
		return &r
	}
	return nil
}

// refuses tells whether the client refuses the newest version of an assignment.
func (c *checker) refuses(name string) bool {
	r, ok := c.reports[name]
	if !ok {
		return false
	}
	kind := r.Resources[0].Verdicts[c.client].Kind
	return kind == diag.Rejected || kind == diag.Crashes
}

// all joins the newest reports of all names.
func (c *checker) all() *render.Validation {
	out := &render.Validation{Report: validate.Report{Resources: make([]validate.Resource, 0, len(c.order))}, Clients: c.clients}
	for _, name := range c.order {
		r := c.reports[name]
		for _, f := range r.Findings {
			f.ResourceIndex = len(out.Resources)
			out.Findings = append(out.Findings, f)
		}
		out.Resources = append(out.Resources, r.Resources...)
	}
	return out
}

// report writes the findings to standard error. The error is for those at or above the threshold.
func (c *checker) report(say *remarks) error {
	v := c.all()
	failed := failOn(v, c.failOn)
	if c.refused != nil && c.failOn != failNever && !slices.ContainsFunc(c.order, c.refuses) { // else a finding tells
		failed = &codeError{exitFindings, fmt.Errorf("%s: %s refuses the response as a whole, with every assignment in it: %s",
			c.server, c.client, render.Reason(c.refused.Error()))}
	}
	v.Findings = slices.DeleteFunc(v.Findings, func(f diag.Finding) bool { return f.Severity < c.least })
	if len(v.Findings) > 0 {
		say.findings(v)
	}
	return failed
}
