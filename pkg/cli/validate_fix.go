package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/edsctl/edsctl/pkg/author"
	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/input"
	"github.com/edsctl/edsctl/pkg/validate"
)

// fixAll makes the certain fixes of all files, or shows them, and tells whether there are any. What cannot be read is
// left to the report.
func (v *validation) fixAll(ctx context.Context, args []string) (differ bool, err error) {
	files, err := input.Find(ctx, args, input.Options{
		Stdin: v.env.Stdin, Include: v.options.include, Exclude: v.project.Excluded, MaxBytes: v.options.maxBytes,
	})
	if err != nil && len(files) == 0 {
		return false, err
	}
	var errs []error
	for _, file := range files {
		if file.Name == input.Stdin && !v.options.diff {
			return false, withHint(usagef("--fix: standard input cannot be written"), "--fix --diff shows the fixes")
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		t, err := v.open(ctx, file)
		if err != nil {
			continue
		}
		fixed, err := t.fix(ctx)
		errs = append(errs, err)
		differ = differ || fixed
	}
	return differ, errors.Join(errs...)
}

// fix makes the fixes of one file.
func (t *edited) fix(ctx context.Context) (changed bool, err error) {
	result := author.Fix(t.data, t.loaded, t.load, t.wanted())
	if len(result.Fixes) == 0 {
		return false, nil
	}
	if err := t.write(ctx, result.Data, t.v.options.diff); err != nil {
		return false, err
	}
	for _, f := range result.Fixes {
		done := "fixed"
		if t.v.options.diff {
			done = "can be fixed"
		}
		fmt.Fprintf(t.env.Stderr, "%s:%d: %s: %s [%s]\n", t.name, f.Line, done, f.Message, f.Rule)
	}
	return true, nil
}

// wanted chooses the problems whose fixes are wanted: not those of rules that are off, or that a comment ignores. They
// are known by rule and path, since a fix moves what stands below it.
func (t *edited) wanted() func(p diag.Problem) bool {
	type problem struct{ rule, path string }
	judging := t.v.judging(&t.p, 0)
	report := validate.Run(t.loaded.Resources, judging)
	ignored := map[problem]bool{}
	for i := range report.Findings {
		ignored[problem{report.Findings[i].Rule, report.Findings[i].Path.String()}] = true
	}
	report.Suppress(t.name, slices.Concat(t.loaded.Docs, t.loaded.Embedded), judging)
	for i := range report.Findings {
		delete(ignored, problem{report.Findings[i].Rule, report.Findings[i].Path.String()})
	}
	return func(p diag.Problem) bool {
		level, set := t.p.rules[p.Rule]
		return !(set && level == diag.Off) && !ignored[problem{p.Rule, p.Path.String()}]
	}
}
