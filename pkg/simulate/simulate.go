package simulate

import (
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lb/envoy"
)

// newestEnvoy is the minor version that is simulated where none is named.
const newestEnvoy = 40

// FromResource simulates an assignment for one client. Errors: a selector of a what-if that matches nothing.
func FromResource(r *eds.Resource, client diag.Client, o *Options) (*Result, error) {
	s := &run{o: o, client: client}
	if err := s.prepare(r); err != nil {
		return nil, err
	}
	s.judge()
	s.result.notes(r, client)
	s.whatIfNotes()
	if o.AsDocumented && o.OverprovisioningFactor == nil && client == diag.Envoy && disablesOverprovisioning(r) {
		s.result.Notes = append(s.result.Notes, "disable_overprovisioning is followed as documented: overprovisioning factor 100; no Envoy ever did")
	}
	switch {
	case s.result.Verdict == string(diag.NotApplicable): // nothing to say about traffic
	case !s.result.Accepted() && !o.Force:
		s.withoutShares()
	case client == diag.GRPC:
		s.grpc()
	default:
		if err := s.envoy(); err != nil {
			return nil, err
		}
	}
	s.result.bound()
	s.result.applyRates(o.RPS)
	return s.result, nil
}

// run is one simulation on its way.
type run struct {
	o      *Options
	client diag.Client

	resource    *eds.Resource // with what-ifs and the policy of the options in it
	unreachable []Change
	kind        clusterKind
	result      *Result
}

// cluster of the resource; nil when none is at hand.
func (s *run) cluster() *clusterv3.Cluster {
	if s.resource.Cluster == nil {
		return nil
	}
	return s.resource.Cluster.Message
}

func (s *run) assignment() *endpointv3.ClusterLoadAssignment { return s.resource.Assignment }

// prepare applies what the options change in the resource, and starts the result.
func (s *run) prepare(r *eds.Resource) error {
	what := changedResource{Resource: r}
	var err error
	if !WithoutEndpoints(r) {
		if what, err = applyChanges(r, s.o); err != nil {
			return err
		}
	}
	changed, err := withPolicy(what.Resource, s.o.Policy, s.client)
	if err != nil {
		return err
	}
	_, s.kind = describeCluster(clusterOf(changed), changed.Source)
	if s.client == diag.GRPC && s.kind != kindNoEndpoints {
		changed = overXDS(changed)
		_, s.kind = describeCluster(clusterOf(changed), changed.Source)
	}
	s.resource, s.unreachable = changed, what.unreachable
	s.result = &Result{
		Name: r.Name, File: r.File, Line: r.Span(nil).Start.Line, Client: s.client.String(), APIVersion: string(r.APIVersion),
		Method: "analytic", Notes: append([]string{}, what.notes...), Drops: []Drop{}, Priorities: []Priority{}, Endpoints: []Endpoint{},
		ZoneAware: ZoneAware{Mode: "off"}, Missed: what.missed, cla: changed.Assignment,
	}
	if m := clusterOf(r); m != nil {
		typeName, _ := describeCluster(m, r.Source)
		s.result.Cluster = &Cluster{Name: m.GetName(), Type: typeName}
	}
	s.result.Policy = s.policyName()
	return nil
}

func clusterOf(r *eds.Resource) *clusterv3.Cluster {
	if r.Cluster == nil {
		return nil
	}
	return r.Cluster.Message
}

// policyName is the name of the policy that picks endpoints, after load_aware_locality if that chooses the locality; empty
// when the client finds none.
func (s *run) policyName() string {
	if s.client == diag.GRPC {
		if config := eds.GRPCPolicy(s.cluster()); config.Picker().Name == "" || config.Picker().Name == "wrr_locality" {
			return ""
		}
		return string(grpcPolicy(s.cluster(), readGRPCEnv(s.o.Getenv)).Kind)
	}
	config := eds.EnvoyPolicy(s.cluster(), s.version())
	if envoyPolicy(&config).Name == envoy.LoadAwareLocality {
		return string(envoy.LoadAwareLocality) + " > " + config.Picker().Name
	}
	return config.Picker().Name
}

func (s *run) version() int {
	if s.o.EnvoyVersion == 0 {
		return newestEnvoy
	}
	return s.o.EnvoyVersion
}

// overXDS returns an assignment of a bootstrap as if a control plane had sent it, since gRPC reads no bootstrap: its
// cluster becomes an EDS cluster, but for LOGICAL_DNS, which gRPC has too.
func overXDS(r *eds.Resource) *eds.Resource {
	if r.Source != eds.FromBootstrap {
		return r
	}
	out := *r
	out.Source, out.Shape, out.Origin, out.Bootstrap = eds.FromSotW, eds.ShapeAssignment, eds.OriginCDS, nil
	if m := clusterOf(r); m != nil {
		if _, kind := describeCluster(m, r.Source); kind == kindLogicalDNS {
			return &out
		}
		cluster := *r.Cluster
		cluster.Message = asEDS(m)
		out.Cluster = &cluster
	}
	return &out
}

// asEDS is a cluster with the same policy that takes its endpoints from EDS.
func asEDS(m *clusterv3.Cluster) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 m.GetName(),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig:     &clusterv3.Cluster_EdsClusterConfig{EdsConfig: adsSource()},
		LbPolicy:             m.GetLbPolicy(),
		LbConfig:             m.GetLbConfig(),
		CommonLbConfig:       m.GetCommonLbConfig(),
		LoadBalancingPolicy:  m.GetLoadBalancingPolicy(),
		LbSubsetConfig:       m.GetLbSubsetConfig(),
		CircuitBreakers:      m.GetCircuitBreakers(),
	}
}

// notes says what a reader has to know about how the resource was taken.
func (r *Result) notes(resource *eds.Resource, client diag.Client) {
	if v := resource.APIVersion; v == eds.V2 || v == eds.V3Alpha {
		r.Notes = append(r.Notes, fmt.Sprintf("written in API %s, simulated after the upgrade to v3", v))
	}
	if client == diag.GRPC && resource.Source == eds.FromBootstrap {
		r.Notes = append(r.Notes, "gRPC reads no bootstrap: computed as if a control plane had sent the assignment over xDS")
	}
}

// whatIfNotes names the what-ifs that do nothing: what selects nothing here, and what the client does not know.
func (s *run) whatIfNotes() {
	note := func(text string) { s.result.Notes = append(s.result.Notes, text) }
	for _, m := range s.result.Missed {
		note(m.Err.Error())
	}
	if s.client == diag.Envoy && len(s.unreachable) > 0 {
		note("Envoy's load balancing does not know which endpoints can be reached: unreachable ones count for gRPC only (set their health_status for Envoy)")
	}
	if s.client == diag.GRPC && (s.o.PanicThreshold != nil || s.o.OverprovisioningFactor != nil || s.o.LocalityWeighted != nil || s.o.NodeLocality != nil || s.o.LocalCluster != nil || len(s.o.Runtime) > 0 || len(s.o.MetadataMatch) > 0) {
		note("what-ifs about Envoy's own settings (panic, overprovisioning, locality weights, zones, subsets, runtime) do not count for gRPC")
	}
}

// withoutShares fills in what is known of an assignment that the client does not take: its drops, and that the rest
// reaches no endpoint.
func (s *run) withoutShares() {
	var pass float64
	s.result.Drops, pass = composedDrops(s.assignment())
	s.result.Dropped, s.result.Unavailable = 1-pass, pass
}

// applyRates turns shares into requests per second.
func (r *Result) applyRates(rps float64) {
	if rps == 0 {
		return
	}
	r.RPS = rps
	for i := range r.Drops {
		r.Drops[i].Rate = r.Drops[i].Share * rps
	}
	for i := range r.Priorities {
		p := &r.Priorities[i]
		p.Rate = p.Share * rps
		for j := range p.Localities {
			p.Localities[j].Rate = p.Localities[j].Share * rps
		}
	}
	for i := range r.Endpoints {
		r.Endpoints[i].Rate = r.Endpoints[i].Share * rps
	}
}
