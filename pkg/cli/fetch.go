package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/xds"
)

type fetchOptions struct {
	xdsFlags
	xdsCheck
	timeout time.Duration
	output  string
	verbose int
	record  string
	admin   string
	csds    string
	retry   bool
}

func newFetchCmd(env *Env) *cobra.Command {
	var o fetchOptions
	cmd := &cobra.Command{
		Use:   "fetch [NAME...]",
		Short: "Ask a control plane for assignments, and say what is wrong with them",
		Long: `Ask a management server for the assignments with the given names, as Envoy or a gRPC client would, and print them.
Without names, ask for the clusters first and for the assignment of every cluster with EDS.

What comes is validated as it comes; findings go to standard error. Names that stay without an answer until --timeout
are explained, and make the exit code 4.`,
		Example: `  edsctl fetch backend --server 127.0.0.1:18000 --plaintext
  edsctl fetch --server istiod.istio-system:15010 --plaintext --as istio-sidecar -o table
  edsctl fetch --bootstrap envoy.yaml --transport delta
  edsctl fetch backend --server 127.0.0.1:18000 --plaintext | edsctl simulate -
  edsctl fetch --admin http://127.0.0.1:9901 -o table
  edsctl fetch --csds 127.0.0.1:50051`,
		GroupID: groupLive,
		RunE:    func(cmd *cobra.Command, args []string) error { return runFetch(cmd, env, &o, args) },
	}
	o.xdsFlags.bind(cmd)
	o.xdsCheck.bind(cmd)
	o.bindFailOn(cmd)
	timeoutVar(cmd, &o.timeout, "longest time to wait for all answers")
	cmd.Flags().BoolVar(&o.retry, "retry", false, "try again until --timeout when the connection fails or ends")
	cmd.Flags().CountVarP(&o.verbose, "verbose", "v", "tell what is sent and received; twice: whole messages")
	cmd.Flags().StringVar(&o.record, "record", "", "append every message to this file, for edsctl replay")
	noEnv(cmd.Flags(), "record")
	cmd.Flags().StringVar(&o.admin, "admin", "", "read a running Envoy through its admin interface at this URL or HOST:PORT")
	cmd.Flags().StringVar(&o.csds, "csds", "", "read a gRPC client through its client status service at HOST:PORT")
	noProject(cmd.Flags(), "admin", "csds")
	outputVar(cmd, &o.output, render.AssignmentFormats())
	return cmd
}

// outputVar declares -o, --output with one value.
func outputVar(cmd *cobra.Command, value *string, formats []string) {
	enumVarP(cmd, value, "output", "o", formats[0], formats, "output format")
}

// timeoutVar declares --timeout.
func timeoutVar(cmd *cobra.Command, timeout *time.Duration, help string) {
	cmd.Flags().DurationVar(timeout, "timeout", 15*time.Second, help)
	limitFlag(cmd.Flags(), "timeout", "a duration like 15s, more than 0", func() bool { return *timeout > 0 })
}

func runFetch(cmd *cobra.Command, env *Env, o *fetchOptions, names []string) error {
	names, err := distinctNames(names)
	if err != nil {
		return err
	}
	if err := refuseRecord(o.record, o.admin, o.csds); err != nil {
		return err
	}
	switch {
	case o.admin != "" && o.csds != "":
		return usagef("--admin and --csds exclude each other")
	case o.admin != "":
		return runFetchAdmin(cmd, env, o, names)
	case o.csds != "":
		return runFetchCSDS(cmd, env, o, names)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	opts, notes, err := o.options(ctx, env)
	if err != nil {
		return err
	}
	opts.Reconnect = o.retry
	say := newRemarks(env, cmd, o.verbose)
	for _, n := range notes {
		say.note(n)
	}
	if len(names) == 0 {
		names = o.fixed
	}
	check := o.newChecker(env, &opts)
	recorder, err := openRecording(ctx, o.record, opts, names)
	if err != nil {
		return err
	}
	var recordErr error
	tracker, err := xds.Fetch(ctx, opts, names, func(ev *xds.Event) error {
		if recordErr = recorder.Record(ev); recordErr != nil {
			return xds.Stop(nil)
		}
		say.event(ev)
		return check.event(ev)
	})
	if recordErr = errors.Join(recordErr, recorder.Close()); recordErr != nil {
		return recordErr
	}
	if cmd.Context().Err() != nil {
		return cmd.Context().Err()
	}
	out := fetched(tracker)
	if werr := render.Assignments(env.Stdout, o.output, out, render.Options{Color: useColor(cmd, env, env.Stdout)}); werr != nil {
		return werr
	}
	failed := check.report(say)
	sayClusters(say, tracker)
	if err == nil && len(names) == 0 && len(tracker.Clusters()) == 0 {
		say.note(noClusters(o.as))
	}
	return errors.Join(fetchError(say, tracker, opts, o, names, err), failed)
}

// noClusters is the remark on a server that answers, but with no cluster; preset is the value of --as.
func noClusters(preset string) string {
	text := "the server has no clusters for this node"
	if preset == "istio-grpc" {
		text += ": istiod makes them for a gRPC client by name only, so give names"
	}
	return text
}

// fetched are the assignments that came, in the order of the names.
func fetched(t *xds.Tracker) []render.Assignment {
	var out []render.Assignment
	for _, name := range t.Names() {
		if a := t.Answer(name); a != nil && a.Resource != nil && a.Resource.Assignment != nil {
			any := a.Resource.Any
			out = append(out, render.Assignment{
				Name: name, Version: a.Resource.Version, Resource: a.Resource.Assignment, TypeURL: any.GetTypeUrl(), Wire: any.GetValue(),
			})
		}
	}
	return out
}

// sayClusters names the clusters whose endpoints do not come by EDS, and why.
func sayClusters(say *remarks, t *xds.Tracker) {
	for _, c := range t.Clusters() {
		switch {
		case c.Err != nil:
			say.note(fmt.Sprintf("cluster %q: %s", c.Name, c.Err))
		case c.Why != "" && !c.IsEDS():
			say.note(fmt.Sprintf("cluster %q has no EDS: %s", c.Name, c.Why))
		case c.Why != "":
			say.note(fmt.Sprintf("cluster %q: %s", c.Name, c.Why))
		}
	}
	for _, name := range t.Names() {
		switch a := t.Answer(name); {
		case a == nil:
		case a.Error != nil && a.Error.Code == codes.NotFound:
			say.note(fmt.Sprintf("%q does not exist: the server says %s: %s", name, a.Error.Code, a.Error.Message))
		case a.Removed:
			say.note(fmt.Sprintf("%q does not exist: the server lists it as removed", name))
		}
	}
}

// fetchError is the error that a fetch ends with: a failed connection, or names without an answer, each explained.
func fetchError(say *remarks, t *xds.Tracker, opts xds.Options, o *fetchOptions, names []string, err error) error {
	var failed *xds.StreamError
	switch {
	case errors.As(err, &failed):
		return connectionError(opts, failed)
	case errors.Is(err, context.DeadlineExceeded):
		if errors.As(t.LastClose, &failed) && t.Responses == 0 {
			return connectionError(opts, failed) // with --retry
		}
	case err != nil:
		return err
	}
	silences := t.Explain(opts, o.as)
	if len(silences) == 0 {
		return refusedNames(t, names)
	}
	for _, s := range silences {
		say.silence(s, names)
	}
	what := "clusters"
	if silences[0].Name != "" {
		what = quotedNames(t.Unanswered())
	}
	if t.OnlyIgnored() {
		return errUnanswered(fmt.Errorf("fetch: no answer for %s within %s: what came is of type %q", what, o.timeout, strings.TrimPrefix(t.IgnoredType, "type.googleapis.com/")))
	}
	return errUnanswered(fmt.Errorf("fetch: no answer for %s within %s", what, o.timeout))
}

// quotedNames lists names for a message.
func quotedNames(names []string) string {
	const most = 5
	quoted := make([]string, 0, most+1)
	for i, n := range names {
		if i == most {
			quoted = append(quoted, fmt.Sprintf("%d more", len(names)-most))
			break
		}
		quoted = append(quoted, fmt.Sprintf("%q", n))
	}
	return strings.Join(quoted, ", ")
}

// connectionError says why a server could not be asked, in one line with hints. What the server says is its own text.
func connectionError(o xds.Options, failed *xds.StreamError) error {
	cause, hints := xds.ExplainClose(failed, o)
	return explained(o.Dial.Target, failed, cause, hints)
}

// explained puts what a server says and what it means into one line.
func explained(target string, failed *xds.StreamError, cause string, hints []string) error {
	text := render.Printable(strings.Join(strings.Fields(failed.Error()), " "))
	if cause != "" {
		text = fmt.Sprintf("%s (%s)", cause, text)
	}
	return withHint(fmt.Errorf("%s: %s", target, text), hints...)
}

// refusedNames is the error for names that the server has an error for instead of an assignment, and for those that were
// not asked for because edsctl does not follow them. That one does not exist is an answer.
func refusedNames(t *xds.Tracker, names []string) error {
	var errs []error
	for _, name := range t.Names() {
		if a := t.Answer(name); a != nil && a.Resource == nil && a.Error != nil && a.Error.Code != codes.NotFound {
			errs = append(errs, errUnanswered(fmt.Errorf("fetch: the server has an error for %q: %s: %s", name, a.Error.Code, a.Error.Message)))
		}
	}
	if asked := t.Names(); len(asked) < len(names) {
		for _, name := range names {
			if !slices.Contains(asked, name) {
				errs = append(errs, errUnanswered(fmt.Errorf("fetch: %q was not asked for", name)))
			}
		}
	}
	return errors.Join(errs...)
}

// distinctNames leaves out copies, which no client asks for. A name that is empty is a variable that was not set.
func distinctNames(names []string) ([]string, error) {
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if name == "" {
			return nil, usageError(withHint(errors.New("a name is empty"), "leave it out to ask for all"))
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		copied := seen[name]
		seen[name] = true
		return copied
	}), nil
}
