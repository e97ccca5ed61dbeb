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

// accept refuses a result that does not validate; with allowInvalid, one that is worse than the file was before. The
// warnings of a result that is accepted are shown, if the file did not have them before.
func (t *edited) accept(after *eds.File, data []byte, allowInvalid bool) error {
	report := t.judgeLoaded(after)
	bad := errorsOf(&report, t.p.clients())
	if len(bad) > 0 && allowInvalid {
		bad = more(bad, errorsOf(t.before(), t.p.clients()))
	}
	if len(bad) == 0 {
		t.warn(&report, data)
		return nil
	}
	t.explain(t.env.Stderr, &report, data, func(f *diag.Finding) bool { return bad[errorKey(f.Resource, f.Rule)] > 0 })
	if allowInvalid {
		return &codeError{exitFindings, fmt.Errorf("%s: nothing is written: the result would be worse than the file is", t.name)}
	}
	return refused(t.name)
}

// before is the report on the file as it was.
func (t *edited) before() *validate.Report {
	if t.report == nil {
		report := t.judgeLoaded(t.load(t.data))
		t.report = &report
	}
	return t.report
}

// more is what occurs more often than before.
func more(now, before map[string]int) map[string]int {
	out := map[string]int{}
	for what, n := range now {
		if n > before[what] {
			out[what] = n
		}
	}
	return out
}

// warn shows the warnings that came with an edit. A rule that warns as often as before does so of a resource that was
// renamed.
func (t *edited) warn(r *validate.Report, data []byte) {
	byKey := warningsOf(r, func(f *diag.Finding) string { return errorKey(f.Resource, f.Rule) })
	if len(byKey) == 0 {
		return
	}
	rule := func(f *diag.Finding) string { return f.Rule }
	fresh := more(byKey, warningsOf(t.before(), func(f *diag.Finding) string { return errorKey(f.Resource, f.Rule) }))
	rules := more(warningsOf(r, rule), warningsOf(t.before(), rule))
	t.explain(t.env.Stderr, r, data, func(f *diag.Finding) bool {
		return f.Severity == diag.Warning && fresh[errorKey(f.Resource, f.Rule)] > 0 && rules[f.Rule] > 0
	})
}

// warningsOf counts the findings of severity warning.
func warningsOf(r *validate.Report, key func(*diag.Finding) string) map[string]int {
	out := map[string]int{}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Severity == diag.Warning {
			out[key(f)]++
		}
	}
	return out
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
