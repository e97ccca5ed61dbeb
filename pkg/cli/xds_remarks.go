package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/xds"
)

// remarks are what a run says about itself on standard error.
type remarks struct {
	cmd     *cobra.Command
	w       io.Writer
	verbose int
	options render.Options
}

func newRemarks(env *Env, cmd *cobra.Command, verbose int) *remarks {
	return &remarks{cmd: cmd, w: env.Stderr, verbose: verbose, options: render.Options{Color: useColor(cmd, env, env.Stderr)}}
}

// note says something that the user should know, in one line.
func (r *remarks) note(text string) { fmt.Fprintf(r.w, "note: %s\n", render.OneLine(text)) }

// event says what happened: notes always, the rest with -v.
func (r *remarks) event(ev *xds.Event) {
	switch {
	case ev.Kind == xds.Note && r.verbose == 0:
		r.note(ev.Text)
	case r.verbose > 0:
		render.EventLine(r.w, ev, r.verbose > 1)
	}
	if ev.Kind == xds.Received && ev.Refused != nil && r.verbose == 0 {
		r.note(fmt.Sprintf("response %q is one that the client refuses: %s", ev.Version, render.Reason(ev.Refused.Error())))
	}
}

// silence explains one name without an answer.
func (r *remarks) silence(s xds.Silence, names []string) {
	name := "clusters"
	if s.Name != "" {
		name = fmt.Sprintf("%q", s.Name)
	}
	fmt.Fprintf(r.w, "%s: asked for %s; came: %s\n", name, s.Asked, render.Printable(s.Came))
	fmt.Fprintf(r.w, "  likely cause: %s\n", render.Printable(s.Cause))
	for _, a := range s.Try {
		fmt.Fprintf(r.w, "  try: %s\n", render.Printable(commandWith(r.cmd, names, a)))
	}
}

// commandWith is the command line as it was given, with another value of a flag, or without names. Values of headers are
// left out.
func commandWith(cmd *cobra.Command, names []string, a xds.Attempt) string {
	words := []string{cmd.CommandPath()}
	if a.Flag != "" {
		words = append(words, names...)
	}
	add := func(flag, value string, boolean bool) {
		words = append(words, "--"+flag)
		if !boolean {
			words = append(words, value)
		} else if value != "true" {
			words[len(words)-1] += "=" + value
		}
	}
	done := a.Flag == ""
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch list, isList := f.Value.(pflag.SliceValue); {
		case f.Name == a.Flag:
			add(a.Flag, a.Value, false)
			done = true
		case f.Name == "header":
			for _, h := range list.GetSlice() {
				name, _, _ := strings.Cut(h, ":")
				add("header", name+": ...", false)
			}
		case isList:
			for _, v := range list.GetSlice() {
				add(f.Name, v, false)
			}
		default:
			add(f.Name, f.Value.String(), f.Value.Type() == "bool" || f.Value.Type() == "count")
		}
	})
	if !done {
		add(a.Flag, a.Value, false)
	}
	for i, w := range words[1:] {
		words[i+1] = shellQuoted(w)
	}
	return strings.Join(words, " ")
}

// shellQuoted quotes a word for a shell when it needs that.
func shellQuoted(w string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if w != "" && strings.IndexFunc(w, func(r rune) bool { return !plain(r) }) < 0 {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

func (r *remarks) findings(v *render.Validation) {
	if err := v.Write(r.w, render.ValidationFormats()[0], r.options); err != nil {
		r.note(err.Error())
	}
}
