package simulate

import (
	"slices"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lb/envoy"
)

// EnvoyModel is Envoy's model of a resource as it stands, for rules that ask what its settings do. version is the minor
// one. Errors: what the model refuses, for instance a ring above its limit.
func EnvoyModel(r *eds.Resource, version int) (*envoy.Model, error) {
	s := &run{o: &Options{EnvoyVersion: version}, client: diag.Envoy}
	if err := s.prepare(r); err != nil {
		return nil, err
	}
	context, err := s.envoyContext()
	if err != nil {
		return nil, err
	}
	return envoy.Build(envoyInput(s.assignment(), context))
}

// EnvoyHashes tells whether an endpoint gets into a ring or table of Envoy at all, if its policy is one of those that
// make some; inLocalities as in envoy.Model.Rings.
func EnvoyHashes(r *eds.Resource, version int, inLocalities bool) (bool, error) {
	s := &run{o: &Options{EnvoyVersion: version}, client: diag.Envoy}
	if err := s.prepare(r); err != nil {
		return false, err
	}
	context, err := s.envoyContext()
	if err != nil {
		return false, err
	}
	in := envoyInput(s.assignment(), context)
	// A small ring has the same endpoints as a table of any size.
	in.Policy.Name, in.Policy.Hash.MinimumRingSize, in.Policy.Hash.MaximumRingSize = envoy.RingHash, new(uint64(1)), new(uint64(1))
	m, err := envoy.Build(in)
	if err != nil {
		return false, err
	}
	rings, err := m.Rings(inLocalities)
	return slices.ContainsFunc(rings, func(ring []envoy.RingKey) bool { return len(ring) > 0 }), err
}
