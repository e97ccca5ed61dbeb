// Package validate is the pipeline of `edsctl validate`: what the decoder found, the constraints and the checks become
// findings, and those the verdict of each client by its own order of stages (envoy-eds-rules.md 0.5).
package validate

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// NewestEnvoy is the newest minor version of Envoy whose behaviour is known.
const NewestEnvoy = 40

// Options of a run. The zero value judges as Envoy 1.40 does and takes the source from the shape.
type Options struct {
	Clients       []diag.Client            // whose effects decide the severity; empty: Envoy
	Source        eds.Source               // overrides the resource's own; empty: as loaded
	Origin        eds.Origin               // overrides the resource's own; empty: as loaded
	EnvoyVersion  int                      // minor version; 0: the newest known
	UnknownFields string                   // "default", "strict", "warn" or "ignore"; empty: default
	ExpectName    string                   // the name that the EDS cluster asks for
	RuleLevels    map[string]diag.Severity // by rule id: the severity whatever the effects; Off: not reported
	Getenv        func(string) string      // gRPC's environment variables; nil: none is set
	Cluster       *eds.Cluster             // stands for the cluster around every resource (--cluster)
	Workers       int                      // resources judged at a time; 0: as many as there are processors
}

// Run judges resources. The order of the report does not depend on the number of workers.
func Run(resources []*eds.Resource, o Options) Report {
	report := Report{Resources: make([]Resource, len(resources))}
	findings := make([][]found, len(resources))
	each(len(resources), o.Workers, func(i int) {
		report.Resources[i], findings[i] = judge(resources[i], o)
		for k := range findings[i] {
			findings[i][k].ResourceIndex = i
		}
	})
	report.Findings = templates(once(slices.Concat(findings...)))
	Sort(report.Findings)
	return report
}

// each calls f for 0 to n-1 on several workers and returns when all calls have.
func each(n, workers int, f func(int)) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if workers = min(workers, n); workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}

// once leaves out what several resources say about the text, the bootstrap or the cluster that they share.
func once(all []found) []diag.Finding {
	type key struct {
		rule, file, path, message string
		span                      diag.Span
	}
	seen := map[key]bool{}
	findings := make([]diag.Finding, 0, len(all))
	for _, f := range all {
		if f.shared {
			k := key{f.Rule, f.File, f.Path.String(), f.Message, f.Span}
			if !f.Span.IsKnown() && len(f.Path) > 0 && f.Path[0].Name == "cluster" {
				k.message += "\x00" + f.Resource // without positions, clusters are told apart by name
			}
			if seen[k] {
				continue
			}
			seen[k] = true
		}
		findings = append(findings, f.Finding)
	}
	return findings
}

// templates leaves of a file that is a template the one finding that says so: the others only follow from it.
func templates(all []diag.Finding) []diag.Finding {
	const rule = "template-unrendered"
	first := map[string]int{}
	for i, f := range all {
		if _, seen := first[f.File]; f.Rule == rule && !seen {
			first[f.File] = i
		}
	}
	if len(first) == 0 {
		return all
	}
	var out []diag.Finding
	for i, f := range all {
		if at, isTemplate := first[f.File]; !isTemplate || at == i {
			out = append(out, f)
		}
	}
	return out
}

// aboutSurroundings tells whether a path leads to the cluster or the bootstrap around a resource.
func aboutSurroundings(p diag.Path) bool {
	return len(p) > 0 && !p[0].IsKey && (p[0].Name == "cluster" || p[0].Name == "bootstrap")
}

// Sort orders findings by file, position and rule; what is equal in these stays as it is.
func Sort(findings []diag.Finding) {
	slices.SortStableFunc(findings, func(a, b diag.Finding) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Span.Start.Line, b.Span.Start.Line),
			cmp.Compare(a.Span.Start.Column, b.Span.Start.Column),
			cmp.Compare(a.Rule, b.Rule),
		)
	})
}
