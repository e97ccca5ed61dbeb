package simulate

import (
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
	return envoy.Build(envoyInput(s.assignment(), s.envoyContext()))
}
