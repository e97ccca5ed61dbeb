package cli

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/simulate/assertion"
	"github.com/edsctl/edsctl/pkg/xds"
)

type watchOptions struct {
	xdsFlags
	xdsCheck
	maxUpdates int
	duration   time.Duration
	until      string
	output     string
	verbose    int
	record     string
	admin      string
	csds       string
}

func newWatchCmd(env *Env) *cobra.Command {
	var o watchOptions
	cmd := &cobra.Command{
		Use:   "watch [NAME...]",
		Short: "Show the changes of assignments as a control plane sends them",
		Long: `Subscribe to the assignments with the given names, or to those of all clusters, and print a line for every change:
what changed, and which part of the traffic goes elsewhere because of it. Connections that end are made anew.

It runs until Ctrl-C, --for, --max-updates or --until end it, all with exit code 0.`,
		Example: `  edsctl watch backend --server 127.0.0.1:18000 --plaintext
  edsctl watch --bootstrap envoy.yaml -o ndjson | jq .
  edsctl watch --admin http://127.0.0.1:9901
  edsctl watch backend --server 127.0.0.1:18000 --plaintext --until 'size(endpoints) >= 3' --for 60s`,
		GroupID: groupLive,
		RunE:    func(cmd *cobra.Command, args []string) error { return runWatch(cmd, env, &o, args) },
	}
	o.xdsFlags.bind(cmd)
	o.xdsCheck.bind(cmd)
	fs := cmd.Flags()
	fs.IntVar(&o.maxUpdates, "max-updates", 0, "end after so many changes of assignments; 0: no limit")
	limitFlag(fs, "max-updates", "a number of changes, or 0 for no limit", func() bool { return o.maxUpdates >= 0 })
	fs.DurationVar(&o.duration, "for", 0, "end after this time; 0: no limit")
	limitFlag(fs, "for", "a duration like 60s, or 0 for no limit", func() bool { return o.duration >= 0 })
	fs.StringVar(&o.until, "until", "", "end when this CEL expression holds for every assignment (fields of simulate's JSON, and share(SELECTOR))")
	fs.CountVarP(&o.verbose, "verbose", "v", "tell what is sent and received; twice: whole messages")
	fs.StringVar(&o.record, "record", "", "append every message to this file, for edsctl replay")
	noEnv(fs, "record")
	fs.StringVar(&o.admin, "admin", "", "watch a running Envoy through its admin interface at this URL or HOST:PORT, every --refresh-delay")
	fs.StringVar(&o.csds, "csds", "", "watch a gRPC client through its client status service at HOST:PORT, every --refresh-delay")
	noProject(fs, "admin", "csds")
	outputVar(cmd, &o.output, render.WatchFormats())
	return cmd
}

func runWatch(cmd *cobra.Command, env *Env, o *watchOptions, names []string) error {
	until, err := compileUntil(o.until)
	if err != nil {
		return err
	}
	if names, err = distinctNames(names); err != nil {
		return err
	}
	if err := refuseRecord(o.record, o.admin, o.csds); err != nil {
		return err
	}
	say := newRemarks(env, cmd, o.verbose)
	client, opts, err := o.clientSource(env, names)
	if err != nil {
		return err
	}
	if client == nil {
		var notes []string
		if opts, notes, err = o.options(cmd.Context(), env); err != nil {
			return err
		}
		for _, n := range notes {
			say.note(n)
		}
		if len(names) == 0 {
			names = o.fixed
		}
	}
	opts.Reconnect = true
	recorder, err := openRecording(cmd.Context(), o.record, opts, names)
	if err != nil {
		return err
	}
	w := &watching{
		say: say, check: o.newChecker(env, &opts), recorder: recorder, until: until, left: o.maxUpdates,
		names: names, env: env, format: o.output, live: client != nil,
		clusters: followedClusters{static: opts.StaticClusters}, options: render.Options{Color: useColor(cmd, env, env.Stdout)},
	}
	ctx := cmd.Context()
	if o.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.duration)
		defer cancel()
	}
	if client != nil {
		p := &clientPoll{read: client, from: opts.Dial.Target, every: cmp.Or(o.refresh, xds.DefaultRefreshDelay), asked: names}
		if err = p.run(ctx, w); err != nil && ctx.Err() == nil {
			err = clientError(ctx, opts.Dial, err, o.csds != "")
		}
	} else {
		err = xds.Watch(ctx, opts, names, w.event)
	}
	err = errors.Join(w.writeErr, recorder.Close(), endOfWatch(opts, err))
	if err != nil && cmd.Context().Err() != nil && w.writeErr == nil {
		return nil
	}
	return err
}

// endOfWatch makes nothing of the ends that the user chose.
func endOfWatch(opts xds.Options, err error) error {
	var failed *xds.StreamError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return nil
	case errors.As(err, &failed):
		return connectionError(opts, failed)
	}
	return err
}

func compileUntil(expr string) ([]*assertion.Assertion, error) {
	if expr == "" {
		return nil, nil
	}
	until, err := assertion.Compile([]string{expr})
	if err != nil {
		return nil, usagef("--until: %w", err)
	}
	return until, nil
}
