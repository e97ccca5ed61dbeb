package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/xds"
)

// runFetchAdmin reads a running Envoy instead of a management server.
func runFetchAdmin(cmd *cobra.Command, env *Env, o *fetchOptions, names []string) error {
	d, err := o.plainDial(env, "--admin", o.admin)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	say := newRemarks(env, cmd, o.verbose)
	admin, err := xds.ReadAdmin(ctx, d, names)
	if err != nil {
		return clientError(ctx, d, err, false)
	}
	var list []render.Assignment
	var resources []*eds.Resource
	for _, a := range admin.Assignments {
		list = append(list, render.Assignment{Name: a.Resource.Name, Cluster: a.Cluster, TypeURL: xds.AssignmentURL(xds.V3), Resource: a.Resource, Hosts: a.Hosts})
		if a.IsEDS() {
			resources = append(resources, a.Resource)
		}
	}
	if err := render.Assignments(env.Stdout, o.output, list, render.Options{Color: useColor(cmd, env, env.Stdout)}); err != nil {
		return err
	}
	for _, w := range admin.Warming {
		say.note(fmt.Sprintf("cluster %q is warming: it waits for its first assignment", w))
	}
	check := o.newChecker(env, &xds.Options{Dial: d})
	if o.verbose == 0 {
		check.least = diag.Warning // what Envoy has applied is rebuilt: advice about its form is of no use
	}
	check.judge(resources)
	failed := check.report(say)
	return errors.Join(missing("fetch", names, admin), failed)
}

// missing is the error for names that Envoy does not have.
func missing(what string, names []string, admin *xds.Admin) error {
	var absent []string
	for _, n := range names {
		found := false
		for _, a := range admin.Assignments {
			found = found || a.Resource.Name == n || a.Cluster == n
		}
		if !found {
			absent = append(absent, n)
		}
	}
	if len(absent) == 0 {
		return nil
	}
	return errUnanswered(fmt.Errorf("%s: Envoy has no active cluster for %s", what, quotedNames(absent)))
}

// runFetchCSDS reads a gRPC client.
func runFetchCSDS(cmd *cobra.Command, env *Env, o *fetchOptions, names []string) error {
	d, err := o.plainDial(env, "--csds", o.csds)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	configs, err := xds.ReadCSDS(ctx, d)
	if err != nil {
		return clientError(ctx, d, err, true)
	}
	options := render.Options{Color: useColor(cmd, env, env.Stdout)}
	if o.output == "table" || !o.flags.Changed("output") {
		return render.ClientConfigs(env.Stdout, configs, names, options)
	}
	var list []render.Assignment
	var resources []*eds.Resource
	for _, c := range configs {
		for _, r := range c.Resources {
			if r.Resource != nil && (len(names) == 0 || slices.Contains(names, r.Name)) {
				list = append(list, render.Assignment{Name: r.Name, Version: r.Version, TypeURL: r.TypeURL, Resource: r.Resource})
				resources = append(resources, r.Resource)
			}
		}
	}
	if err := render.Assignments(env.Stdout, o.output, list, options); err != nil {
		return err
	}
	say := newRemarks(env, cmd, o.verbose)
	for _, c := range configs {
		for _, r := range c.Resources {
			if r.Error != "" {
				say.note(fmt.Sprintf("client %q refused version %q of %q: %s", c.Node.GetId(), r.FailedVersion, r.Name, render.Reason(r.Error)))
			}
		}
	}
	check := o.newChecker(env, &xds.Options{Dial: d, Client: diag.GRPC})
	check.judge(resources)
	return check.report(say)
}

// plainDial is the way to a client: plaintext unless the flags or the URL speak of TLS.
func (f *xdsFlags) plainDial(env *Env, flag, server string) (xds.Dial, error) {
	if f.server != "" || f.bootstrap != "" {
		return xds.Dial{}, usagef("%s cannot be combined with --server or --bootstrap", flag)
	}
	d, err := f.dial(&xds.Bootstrap{Target: server}, env)
	if err != nil {
		return d, err
	}
	target, plaintext, err := xds.ParseServer(server)
	if err != nil {
		return d, usagef("%s: value %q: %w", flag, redactURL(server), err)
	}
	d.Target = target
	secure := f.caCert != "" || f.cert != "" || f.insecure || f.serverName != ""
	d.Plaintext = !secure && (plaintext == nil || *plaintext)
	return d, nil
}

// clientError says why a running Envoy, or with csds a gRPC client, could not be read.
func clientError(ctx context.Context, d xds.Dial, err error, csds bool) error {
	var failed *xds.StreamError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errUnanswered(fmt.Errorf("%s: no answer in time", d.Target))
	case errors.As(err, &failed):
		cause, hints := explainClient(d, failed, csds)
		return explained(d.Target, failed, cause, hints)
	}
	return err
}

// explainClient is ExplainClose with the hints of --admin or --csds, which are others than those about a management server.
func explainClient(d xds.Dial, failed *xds.StreamError, csds bool) (cause string, hints []string) {
	o := xds.Options{Dial: d, Transport: xds.REST}
	if csds {
		o.Transport = xds.Unary
	}
	cause, hints = xds.ExplainClose(failed, o)
	for i, hint := range hints {
		switch {
		case failed.Code == codes.Unimplemented && csds:
			return "the server does not have the client status service", []string{"name the port on which the gRPC process offers it; --admin reads an Envoy"}
		case strings.Contains(hint, "--transport") && csds:
			hints[i] = "name the port of the client status service; --admin reads an Envoy"
		case strings.Contains(hint, "--transport"):
			hints[i] = "name the port of the admin interface; --csds reads a gRPC client"
		case strings.Contains(hint, "leave out --plaintext"):
			hints[i] = "begin the address with https://"
		case strings.Contains(hint, "add --plaintext"):
			hints[i] = "begin the address with http://"
		}
	}
	return cause, hints
}
