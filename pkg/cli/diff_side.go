package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/xds"
)

// The schemes of live sides.
const (
	schemeXDS   = "xds://"
	schemeAdmin = "admin://"
)

// loadSide reads one side of a diff: a file, a directory, standard input, a recording, a management server
// (xds://HOST:PORT/NAME) or the admin interface of an Envoy (admin://HOST:PORT/NAME).
func loadSide(cmd *cobra.Command, env *Env, o *diffOptions, arg string) ([]simulated, error) {
	var live []*eds.Resource
	var err error
	switch {
	case strings.HasPrefix(arg, schemeXDS):
		live, err = o.fromServer(cmd, env, strings.TrimPrefix(arg, schemeXDS))
	case strings.HasPrefix(arg, schemeAdmin):
		live, err = o.fromAdmin(cmd, env, strings.TrimPrefix(arg, schemeAdmin))
	case isRecording(arg):
		live, err = fromRecording(arg)
	default:
		return loadSimulated(cmd, env, o.asSimulate(), []string{arg})
	}
	if err != nil {
		return nil, err
	}
	return surroundLive(cmd, env, o, live, arg)
}

// asSimulate are the options with which simulate would read the same files, with all names.
func (o *diffOptions) asSimulate() *simulateOptions {
	return &simulateOptions{inputOptions: o.inputOptions, profile: o.profile, clusterFile: o.clusterFile}
}

// splitSide cuts HOST:PORT/NAME[,NAME]; without a name all are wanted.
func splitSide(side string) (address string, names []string) {
	address, list, _ := strings.Cut(side, "/")
	if list != "" {
		names = strings.Split(list, ",")
	}
	return address, names
}

// fromServer fetches what a management server has.
func (o *diffOptions) fromServer(cmd *cobra.Command, env *Env, side string) ([]*eds.Resource, error) {
	flags := o.xdsFlags
	var names []string
	flags.server, names = splitSide(side)
	if flags.server != "" { // else the bootstrap names it
		if _, _, err := xds.ParseServer(flags.server); err != nil {
			return nil, usagef("%s: value %q: %w", schemeXDS, redactURL(flags.server), err)
		}
	}
	opts, _, err := flags.options(cmd.Context(), env)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	tracker, err := xds.Fetch(ctx, opts, names, func(*xds.Event) error { return nil })
	var failed *xds.StreamError
	switch {
	case cmd.Context().Err() != nil:
		return nil, cmd.Context().Err()
	case errors.As(err, &failed):
		return nil, connectionError(opts, failed)
	case err != nil && !errors.Is(err, context.DeadlineExceeded):
		return nil, err
	}
	if unanswered := tracker.Unanswered(); len(unanswered) > 0 {
		return nil, o.noAnswer(side, unanswered)
	}
	var out []*eds.Resource
	for _, a := range fetched(tracker) {
		out = append(out, a.Resource)
	}
	return out, nil
}

// noAnswer is the error for names of a side that a server says nothing of. The side is as the user gave it.
func (o *diffOptions) noAnswer(side string, names []string) error {
	err := fmt.Errorf("%s%s: no answer for %s within %s", schemeXDS, render.OneLine(side), quotedNames(names), o.timeout)
	return errUnanswered(withHint(err, "'edsctl fetch' with the same flags explains why"))
}

// fromAdmin reads what a running Envoy has applied.
func (o *diffOptions) fromAdmin(cmd *cobra.Command, env *Env, side string) ([]*eds.Resource, error) {
	address, names := splitSide(side)
	d, err := o.plainDial(env, schemeAdmin, address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	admin, err := xds.ReadAdmin(ctx, d, names)
	if err != nil {
		return nil, clientError(ctx, d, err, false)
	}
	var out []*eds.Resource
	for _, a := range admin.Assignments {
		out = append(out, a.Resource)
	}
	return out, missing(schemeAdmin+render.OneLine(side), names, admin)
}

// recordingMark begins the first line of a recording.
const recordingMark = `{"edsctl_recording":`

func isRecording(file string) bool {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return false // who reads it next says why; a pipe gives its bytes only once
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(recordingMark))
	n, _ := f.Read(head)
	return bytes.Equal(head[:n], []byte(recordingMark))
}

// fromRecording takes the newest version of each assignment.
func fromRecording(file string) ([]*eds.Resource, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, bareError(err))
	}
	defer f.Close()
	var names []string
	newest := map[string]*eds.Resource{}
	err = xds.ReadRecording(f, func(xds.RecordHeader) error { return nil }, func(ev *xds.Event) error {
		for i := range ev.Resources {
			r := &ev.Resources[i]
			if ev.Kind != xds.Received || !r.Asked || r.Assignment == nil {
				continue
			}
			if newest[r.Name] == nil {
				names = append(names, r.Name)
			}
			newest[r.Name] = r.Assignment
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var out []*eds.Resource
	for _, name := range names {
		out = append(out, newest[name])
	}
	return out, nil
}

// surroundLive gives live assignments what files get: the cluster of --cluster, a name for the side, and the profile.
func surroundLive(cmd *cobra.Command, env *Env, o *diffOptions, live []*eds.Resource, arg string) ([]simulated, error) {
	if len(live) == 0 {
		return nil, fmt.Errorf("%s: there is no assignment", render.OneLine(arg))
	}
	v, err := newValidation(cmd.Context(), env, o.asSimulate().validation(cmd))
	if err != nil {
		return nil, err
	}
	v.surround(live, &o.profile)
	var out []simulated
	for _, r := range live {
		r.File = arg
		out = append(out, simulated{r, o.profile, v.judging(&o.profile, 1)})
	}
	return out, nil
}
