package cli

import (
	"fmt"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/author"
	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

// convert brings an assignment into the API version that is written.
func (o *createOptions) convert(env *Env, assignment *endpointv3.ClusterLoadAssignment) (proto.Message, error) {
	made, losses, err := author.InVersion(assignment, eds.APIVersion(o.version))
	if err != nil {
		return nil, fmt.Errorf("create: %w", err)
	}
	if printLosses(env, losses, o.drop) {
		return nil, errFindings()
	}
	return made, nil
}

// check validates what is about to be written, as it would be read: in its shape for v3, and by the constraints of its
// own version for the older ones. Findings are told with their paths, since the text is not there yet.
func (o *createOptions) check(env *Env, made proto.Message) error {
	version := eds.APIVersion(o.version)
	t := author.Target{Format: eds.YAML, Shape: eds.Shape(o.shape), Version: version}
	loading := eds.Options{APIVersion: version, EnvoyVersion: o.minorVersion()}
	if version != eds.V3 {
		t.Shape, loading.Shape = eds.ShapeAssignment, eds.ShapeAssignment
	}
	text, err := t.Write([]author.Item{{Assignment: made}})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	file := eds.NewLoader(loading).Load("new.yaml", text, true)
	report := validate.Run(file.Resources, validate.Options{Clients: o.clients(), EnvoyVersion: o.minorVersion(), Getenv: env.clientGetenv()})
	failed := false
	for i := range report.Findings {
		f := &report.Findings[i]
		if f.Severity == diag.Info {
			continue
		}
		failed = failed || f.Severity == diag.Error
		path := ""
		if len(f.Path) > 0 {
			path = f.Path.String() + ": "
		}
		fmt.Fprintf(env.Stderr, "%s: %s%s [%s]\n", f.Severity, path, f.Message, f.Rule)
		if f.Hint != "" {
			fmt.Fprintf(env.Stderr, "  hint: %s\n", f.Hint)
		}
	}
	if failed && !o.allowInvalid {
		return &codeError{exitFindings, withHint(fmt.Errorf("create: nothing is written: the result does not validate"), "--allow-invalid writes it all the same")}
	}
	return nil
}
