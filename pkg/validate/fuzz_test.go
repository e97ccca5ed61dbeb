package validate_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

// FuzzValidate judges any bytes under any name and from any source: no panic, a verdict for every client, spans inside
// the file, and the same report whatever the number of workers.
func FuzzValidate(f *testing.F) {
	seeds, err := filepath.Glob("../../testdata/cases/*")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for i, path := range seeds {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint8(i), uint8(i/3))
	}
	f.Add([]byte(textBootstrap), uint8(3), uint8(0))
	names := []string{"a.yaml", "a.json", "a.pb", "a.pb_text", "a.conf", "a"}
	sources := []eds.Source{"", eds.FromBootstrap, eds.FromCDS, eds.FromFile, eds.FromSotW, eds.FromDelta, eds.FromREST}
	f.Fuzz(func(t *testing.T, data []byte, name, source uint8) {
		file := names[int(name)%len(names)]
		loaded := eds.NewLoader(eds.Options{}).Load(file, data, true)
		o := validate.Options{Source: sources[int(source)%len(sources)], Workers: 1}
		report := validate.Run(loaded.Resources, o)
		lines := bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte("\r")) + 2
		for _, r := range report.Resources {
			for _, client := range diag.Clients {
				switch v := r.Verdicts[client]; v.Kind {
				case diag.Accept, diag.Rejected, diag.Crashes, diag.Ignored, diag.NotApplicable, diag.Unknown:
				default:
					t.Errorf("verdict %q of %s", v.Kind, client)
				}
			}
		}
		for _, finding := range report.Findings {
			if s := finding.Span; s.IsKnown() && (s.End.Line > lines || s.End.Line < s.Start.Line) {
				t.Errorf("%s at %s to %s, of %d lines", finding.Rule, s.Start, s.End, lines)
			}
		}
		o.Workers = 4
		again := validate.Run(eds.NewLoader(eds.Options{}).Load(file, data, true).Resources, o)
		if diff := cmp.Diff(report.Findings, again.Findings); diff != "" {
			t.Errorf("the report changes with the number of workers (-1 +4):\n%s", diff)
		}
	})
}
