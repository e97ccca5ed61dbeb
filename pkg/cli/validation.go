package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/config"
	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/input"
	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/validate"
)

// validation is one run of validate: what its files share.
type validation struct {
	env       *Env
	options   *validateOptions
	project   *config.File
	flagRules map[string]diag.Severity // of --rule
	loaders   *loaders

	clusters     []*eds.Resource // of --cluster
	clusterFiles []eds.FollowedFile
}

// judgedFile is what came of one file.
type judgedFile struct {
	file     *input.File
	report   validate.Report
	skipped  bool
	followed []string
	lines    lineIndex
	err      error // the file could not be read
}

// all finds, reads and judges the files that the arguments name, several at a time. The result does not depend on how
// many. The error joins what could not be read; the rest is in the result.
func (v *validation) all(ctx context.Context, args []string) (*render.Validation, error) {
	files, err := input.Find(ctx, args, input.Options{
		Stdin: v.env.Stdin, Include: v.options.include, Exclude: v.project.Excluded, MaxBytes: v.options.maxBytes,
	})
	errs := []error{err}
	judged := make([]judgedFile, len(files))
	progress := newProgress(v.env, len(files))
	inParallel(ctx, len(files), func(i int) {
		judged[i] = v.judge(ctx, files[i], len(files))
		progress.add()
	})
	progress.finish()
	for i := range judged {
		if err := judged[i].err; err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", judged[i].file.Name, err))
		}
	}
	return v.join(judged), errors.Join(errs...)
}

// inParallel calls f for 0 to n-1 on as many workers as there are processors, until the context ends.
func inParallel(ctx context.Context, n int, f func(int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		next <- i
	}
	close(next)
	wg.Wait()
}

// judge reads and judges one of n files.
func (v *validation) judge(ctx context.Context, file *input.File, n int) judgedFile {
	out := judgedFile{file: file}
	p, err := v.options.profile.with(v.project.For(file.Name), v.options.flags, v.flagRules)
	if err != nil {
		out.err = err
		return out
	}
	data, err := file.Read(ctx)
	var tooLarge *input.TooLargeError
	if errors.As(err, &tooLarge) {
		out.report = validate.Run([]*eds.Resource{tooLargeResource(file.Name, tooLarge)}, v.judging(&p, 1))
		return out
	}
	if err != nil {
		out.err = err
		return out
	}
	loaded := v.loaders.of(&p).Load(file.Name, data, file.Named)
	out.skipped, out.followed = loaded.Skipped, loaded.Followed
	v.surround(loaded.Resources, &p)
	workers := 0
	if n > 1 {
		workers = 1 // the files are the unit of work
	}
	judging := v.judging(&p, workers)
	out.report = validate.Run(loaded.Resources, judging)
	out.report.Suppress(file.Name, slices.Concat(loaded.Docs, loaded.Embedded), judging)
	for _, f := range loaded.FollowedDocs {
		out.report.Suppress(f.Name, f.Docs, judging)
	}
	if wantsLines(v.options.outputs) {
		out.lines = lineIndex{}
		out.lines.collect(file.Name, data, out.report.Findings)
		for _, f := range slices.Concat(loaded.FollowedDocs, v.clusterFiles) {
			out.lines.collect(f.Name, f.Source, out.report.Findings)
		}
	}
	return out
}

func (v *validation) judging(p *profile, workers int) validate.Options {
	return validate.Options{
		Clients: p.clients(), Source: eds.Source(p.source), Origin: eds.Origin(p.origin), EnvoyVersion: p.minorVersion(),
		UnknownFields: p.unknownKeys, ExpectName: p.expectName, RuleLevels: p.rules, Getenv: v.env.clientGetenv(), Workers: workers,
	}
}

// join puts the reports of files together. A file that a bootstrap names is judged with it, not once more alone.
func (v *validation) join(judged []judgedFile) *render.Validation {
	out := &render.Validation{Clients: v.options.profile.clients()}
	followed := map[string]bool{}
	for i := range judged {
		for _, name := range judged[i].followed {
			followed[name] = true
		}
	}
	lines := lineIndex{}
	for i := range judged {
		j := &judged[i]
		switch {
		case j.err != nil || j.file == nil: // not reached before an interrupt
			continue
		case j.skipped:
			out.Skipped++
			continue
		}
		out.Files++
		if followed[j.file.Name] && !slices.Contains(j.followed, j.file.Name) {
			continue
		}
		for k := range j.report.Findings {
			if f := &j.report.Findings[k]; f.ResourceIndex >= 0 {
				f.ResourceIndex += len(out.Resources)
			}
		}
		out.Resources = append(out.Resources, j.report.Resources...)
		out.Findings = append(out.Findings, j.report.Findings...)
		out.Ignored += j.report.Ignored
		maps.Copy(lines, j.lines)
	}
	validate.Sort(out.Findings)
	out.Line = lines.line
	return out
}

// tooLargeResource stands for a file that was not read because of its size.
func tooLargeResource(name string, err *input.TooLargeError) *eds.Resource {
	empty := &endpointv3.ClusterLoadAssignment{}
	return &eds.Resource{
		File: name, Absent: true, Unreadable: true, Assignment: empty, Original: empty,
		Problems: []diag.Problem{{
			Rule: "limit-exceeded", Message: "the file has " + err.Error(), Hint: "raise the limit with --max-bytes",
		}},
	}
}
