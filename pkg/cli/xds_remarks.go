package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/xds"
)

// remarks are what a run says about itself on standard error.
type remarks struct {
	w       io.Writer
	verbose int
	options render.Options
}

func newRemarks(env *Env, cmd *cobra.Command, verbose int) *remarks {
	return &remarks{w: env.Stderr, verbose: verbose, options: render.Options{Color: useColor(cmd, env, env.Stderr)}}
}

// note says something that the user should know.
func (r *remarks) note(text string) { fmt.Fprintf(r.w, "note: %s\n", render.Printable(text)) }

// event says what happened: notes always, the rest with -v.
func (r *remarks) event(ev *xds.Event) {
	switch {
	case ev.Kind == xds.Note && r.verbose == 0:
		r.note(ev.Text)
	case r.verbose > 0:
		render.EventLine(r.w, ev, r.verbose > 1)
	}
	if ev.Kind == xds.Received && ev.Refused != nil && r.verbose == 0 {
		r.note(fmt.Sprintf("response %q is one that the client refuses: %s", ev.Version, firstLine(ev.Refused.Error())))
	}
}

// silence explains one name without an answer.
func (r *remarks) silence(s xds.Silence) {
	name := "clusters"
	if s.Name != "" {
		name = fmt.Sprintf("%q", s.Name)
	}
	fmt.Fprintf(r.w, "%s: asked for %s; came: %s\n", name, s.Asked, render.Printable(s.Came))
	fmt.Fprintf(r.w, "  likely cause: %s\n", render.Printable(s.Cause))
	if len(s.Try) > 0 {
		fmt.Fprintf(r.w, "  try: %s\n", strings.Join(s.Try, ", or "))
	}
}

func (r *remarks) findings(v *render.Validation) {
	if err := v.Write(r.w, render.ValidationFormats()[0], r.options); err != nil {
		r.note(err.Error())
	}
}

func firstLine(s string) string {
	line, _, more := strings.Cut(s, "\n")
	if more {
		line += " ..."
	}
	return line
}
