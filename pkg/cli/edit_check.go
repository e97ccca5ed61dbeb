package cli

import (
	"fmt"
	"io"
	"slices"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/validate"
)

// judgeLoaded validates a file that was read.
func (t *edited) judgeLoaded(f *eds.File) validate.Report {
	t.v.surround(f.Resources, &t.p)
	judging := t.v.judging(&t.p, 0)
	report := validate.Run(f.Resources, judging)
	report.Suppress(t.name, slices.Concat(f.Docs, f.Embedded), judging)
	for _, followed := range f.FollowedDocs {
		report.Suppress(followed.Name, followed.Docs, judging)
	}
	return report
}

// accept refuses a result that does not validate; with allowInvalid, one that is worse than the file was before.
func (t *edited) accept(after *eds.File, data []byte, allowInvalid bool) error {
	report := t.judgeLoaded(after)
	bad := errorsOf(&report, t.p.clients())
	if len(bad) == 0 {
		return nil
	}
	if allowInvalid {
		before := t.judgeLoaded(t.load(t.data))
		known := errorsOf(&before, t.p.clients())
		worse := map[string]int{}
		for what, n := range bad {
			if n > known[what] {
				worse[what] = n
			}
		}
		if len(worse) == 0 {
			return nil
		}
		bad = worse
	}
	t.explain(t.env.Stderr, &report, data, func(f *diag.Finding) bool { return bad[errorKey(f.Resource, f.Rule)] > 0 })
	if allowInvalid {
		return &codeError{exitFindings, fmt.Errorf("%s: nothing is written: the result would be worse than the file is", t.name)}
	}
	return refused(t.name)
}

// refused tells that a result is not written because of its findings, which are shown: exit 1.
func refused(name string) error {
	return &codeError{exitFindings, withHint(fmt.Errorf("%s: nothing is written: the result does not validate", name),
		"--allow-invalid writes a result that is no worse than the file is")}
}

func errorKey(resource, rule string) string { return resource + "\x00" + rule }

// errorsOf counts the findings of severity error by resource and rule, and what a client does not take.
func errorsOf(r *validate.Report, clients []diag.Client) map[string]int {
	out := map[string]int{}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Severity == diag.Error {
			out[errorKey(f.Resource, f.Rule)]++
		}
	}
	for i := range r.Resources {
		for _, c := range clients {
			if v := r.Resources[i].Verdicts[c]; v.Kind == diag.Unknown {
				out[errorKey(r.Resources[i].Name, v.Rule)]++
			}
		}
	}
	return out
}

// explain prints the findings that pick chooses.
func (t *edited) explain(w io.Writer, r *validate.Report, data []byte, pick func(*diag.Finding) bool) {
	shown := &render.Validation{Clients: t.p.clients()}
	for i := range r.Findings {
		if f := &r.Findings[i]; pick(f) {
			shown.Findings = append(shown.Findings, *f)
		}
	}
	validate.Sort(shown.Findings)
	lines := lineIndex{}
	lines.collect(t.name, data, shown.Findings)
	for i := range shown.Findings {
		f := &shown.Findings[i]
		fmt.Fprintf(w, "%s:%s: %s: %s [%s]\n", f.File, f.Span.Start, f.Severity, f.Message, f.Rule)
		if line, ok := lines.line(f.File, f.Span.Start.Line); ok {
			fmt.Fprintf(w, "  %d | %s\n", f.Span.Start.Line, line)
		}
		if f.Hint != "" {
			fmt.Fprintf(w, "  hint: %s\n", f.Hint)
		}
	}
}
