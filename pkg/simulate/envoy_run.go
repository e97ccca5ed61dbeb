package simulate

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lb/envoy"
)

// envoy runs Envoy's model. Errors: an address of Options.Resolve that is none.
func (s *run) envoy() error {
	names := resolved{cla: s.assignment()}
	var err error
	if s.kind == kindStrictDNS {
		if names, err = resolve(s.assignment(), s.o.Resolve); err != nil {
			return err
		}
	}
	s.dnsNotes(names)
	context, err := s.envoyContext()
	if err != nil {
		return err
	}
	config := eds.EnvoyPolicy(s.cluster(), s.version())
	if why := unmodelled(&config); why != "" {
		s.result.Verdict, s.result.Message = string(diag.Unknown), why
		s.withoutShares()
		return nil
	}
	in := envoyInput(names.cla, context)
	if config.Has("load_aware_locality") && hashes(&in) {
		s.result.Notes = append(s.result.Notes, fmt.Sprintf("load_aware_locality chooses nothing: under it Envoy uses %s for the whole cluster", in.Policy.Name))
	}
	if len(s.o.MetadataMatch) > 0 && in.Policy.Subset == nil && in.Policy.Inside == nil {
		s.result.Notes = append(s.result.Notes, "the cluster has no subsets: metadata_match does not count")
	}
	s.surroundingNotes(&in)
	in.Tables = s.o.tables
	model, err := envoy.Build(in)
	if err != nil {
		s.refuse(err.Error())
		return nil
	}
	e := model.Compute()
	if e.Rejected != "" && !s.o.Force {
		s.refuse(e.Rejected)
		return nil
	}
	if e.Loads.Hole && s.kind == kindStrictDNS {
		// Observed: factor 1, two UNHEALTHY in priority 0, two of three healthy in priority 1, where all requests went.
		s.result.Notes = append(s.result.Notes, "no priority scores above 0 and not all are in panic: in a STRICT_DNS cluster the loads are then what the order in which its names are resolved leaves, and cannot be predicted")
	}
	s.result.fillEnvoy(names.cla, &in, e)
	if hashes(&in) {
		s.result.pick = model.Pick
		s.tieNotes(model)
	}
	s.addKeys()
	if s.o.Requests > 0 {
		s.sampleEnvoy(model)
	}
	if s.o.Explain {
		for _, step := range model.Explain(e) {
			s.result.Steps = append(s.result.Steps, Step(step))
		}
	}
	names.restore(s.result)
	return nil
}

// surroundingNotes says where what is around the cluster does not do what it looks like.
func (s *run) surroundingNotes(in *envoy.Input) {
	note := func(format string, args ...any) {
		s.result.Notes = append(s.result.Notes, fmt.Sprintf(format, args...))
	}
	if s.o.NodeLocality != nil && in.Local == nil && !hashes(in) && in.Policy.Name != envoy.LoadAwareLocality {
		note("there is no local cluster (--local-cluster FILE), so that the node's locality does not count")
	}
	if s.resource.CoarseHealth && hasUnhealthy(s.assignment()) {
		note("a config dump has DRAINING endpoints as UNHEALTHY: what is in it may be either (edsctl fetch --admin URL tells)")
	}
	if after := s.assignment().GetPolicy().GetEndpointStaleAfter().AsDuration(); s.kind == kindEDS && after >= time.Millisecond {
		note("without a newer assignment Envoy has no endpoints any more after %s (endpoint_stale_after)", after)
	}
	if b := s.resource.Surroundings(); b != nil && len(in.Drops) > 0 {
		if over := b.AggregateOf(s.cluster().GetName()); over != nil {
			note("requests that come through the aggregate cluster %s are not dropped", over.Message.GetName())
		}
	}
}

func hasUnhealthy(cla *endpointv3.ClusterLoadAssignment) bool {
	for _, group := range cla.GetEndpoints() {
		for _, e := range group.GetLbEndpoints() {
			if e.GetHealthStatus() == corev3.HealthStatus_UNHEALTHY {
				return true
			}
		}
	}
	return false
}

// refuse is for what the model refuses without a verdict that says so, or in spite of one that was forced.
func (s *run) refuse(message string) {
	if s.result.Accepted() {
		s.result.Verdict, s.result.Message = string(diag.Rejected), message
	}
	s.withoutShares()
}

func (s *run) dnsNotes(names resolved) {
	if s.kind == kindStrictDNS && names.unresolved() {
		s.result.Notes = append(s.result.Notes, "a host name is taken for one endpoint; in truth each address that it resolves to has the full weight (--resolve HOST=IP,IP)")
	}
}

// tieNotes names the endpoints that have the same place on the ring or in the table (envoy-hash-lb.md 1, "Equal keys").
func (s *run) tieNotes(m *envoy.Model) {
	for _, t := range m.Tables() {
		for _, tie := range t.Ties {
			e := &s.result.Endpoints[tie[0]]
			s.result.Notes = append(s.result.Notes, fmt.Sprintf("%d endpoints have the hash key of %s: which of them gets a request cannot be predicted, only what they get together", len(tie), e.Address))
			if len(s.result.Notes) > maxTieNotes {
				return
			}
		}
	}
}

// maxTieNotes bounds the notes about equal hash keys, which a cluster may have very many of.
const maxTieNotes = 8

// envoyContext collects what is known around the assignment; the options win over the bootstrap. Errors: those of resolve.
func (s *run) envoyContext() (envoyContext, error) {
	c := envoyContext{
		version: s.version(), asDocumented: s.o.AsDocumented || s.o.Force, cluster: s.cluster(),
		static: s.kind == kindStatic, logicalDNS: s.kind == kindLogicalDNS, strictDNS: s.kind == kindStrictDNS, keepCopies: s.kind != kindEDS,
		runtime:      s.runtime(),
		nodeLocality: s.o.NodeLocality, local: s.o.LocalCluster, match: s.o.MetadataMatch,
		panicThreshold: s.o.PanicThreshold, localityWeighted: s.o.LocalityWeighted,
	}
	b := s.resource.Surroundings()
	if b == nil {
		return c, nil
	}
	if c.nodeLocality == nil {
		c.nodeLocality = b.NodeLocality
	}
	// The local cluster itself is balanced before it can be looked at (cluster_manager_impl.cc, local_priority_set_).
	if c.local == nil && b.LocalClusterName != "" && (c.cluster == nil || c.cluster.GetName() != b.LocalClusterName) {
		var err error
		if c.local, c.localCopies, err = s.localCluster(); err != nil {
			return c, err
		}
	}
	return c, nil
}

// localCluster finds the assignment of the bootstrap's local cluster. One that takes its endpoints from elsewhere is
// taken for empty.
func (s *run) localCluster() (cla *endpointv3.ClusterLoadAssignment, copies bool, err error) {
	b := s.resource.Surroundings()
	kind := kindEDS
	for _, c := range b.Named(b.LocalClusterName) { // the last one counts
		_, kind = describeCluster(c.Message, s.resource.Source)
	}
	local := b.Assignments[b.LocalClusterName]
	if local == nil {
		s.result.Notes = append(s.result.Notes, "the endpoints of the local cluster are not known (--local-cluster FILE)")
		return &endpointv3.ClusterLoadAssignment{ClusterName: b.LocalClusterName}, kind != kindEDS, nil
	}
	names := resolved{cla: local.Assignment}
	if kind == kindStrictDNS {
		if names, err = resolve(local.Assignment, s.o.Resolve); err != nil {
			return nil, false, err
		}
		if names.unresolved() {
			s.result.Notes = append(s.result.Notes, "a host name of the local cluster is taken for one endpoint; in truth each address that it resolves to counts (--resolve HOST=IP,IP)")
		}
	}
	return names.cla, kind != kindEDS, nil
}

// sampleEnvoy makes seeded requests with Envoy's pick algorithms.
func (s *run) sampleEnvoy(m *envoy.Model) {
	sample := m.Run(s.o.Requests, rand.New(rand.NewPCG(s.o.Seed, 0)))
	s.result.Sample = &Run{Requests: s.o.Requests, Seed: s.o.Seed, Dropped: sample.Dropped, Unavailable: sample.Unavailable}
	s.result.addSamples(sample.Endpoints)
}
