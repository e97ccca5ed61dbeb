package document

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestNasty gives the reader what is made to break it. Each input ends in a tree or a clear error, soon.
func TestNasty(t *testing.T) {
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 12; i++ {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	deepAliases := "a0: &a0 " + strings.Repeat("[", 400) + strings.Repeat("]", 400) + "\n"
	for i := 1; i < 60; i++ {
		deepAliases += fmt.Sprintf("a%d: &a%d %s*a%d%s\n", i, i, strings.Repeat("[", 400), i-1, strings.Repeat("]", 400))
	}
	line := strings.Repeat("x", 1<<20)
	for _, tt := range []struct {
		name, in string
		rule     string // of the error; "-": none
	}{
		{"billion laughs", laughs, "limit-exceeded"},
		{"billion laughs under !ignore", "!ignore a:\n  " + strings.ReplaceAll(laughs, "\n", "\n  "), "limit-exceeded"},
		{"deep aliases", deepAliases, "limit-exceeded"},
		{"alias cycle", "a: &a [*a]\n", "yaml-alias-cycle"},
		{"alias cycle in a value", "a: &a {b: {c: *a}}\n", "yaml-alias-cycle"},
		{"alias cycle under !ignore", "!ignore a: &a [*a]\nb: c\n", "-"},
		{"alias cycle reached from outside of !ignore", "!ignore a: &a [*a]\nb: *a\n", "yaml-alias-cycle"},
		{"10,000 flow levels", strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), "nesting-too-deep"},
		{"10,000 open flow levels", strings.Repeat("[", 10_000), "nesting-too-deep"},
		{"10,000 maps", strings.Repeat("{a: ", 10_000), "nesting-too-deep"},
		{"2,000 block levels", blockLevels(2_000), "nesting-too-deep"},
		{"10,000 dashes", strings.Repeat("- ", 10_000), "nesting-too-deep"},
		{"10,000 tags", strings.Repeat("!a ", 10_000), ""},
		{"400 levels", strings.Repeat("[", 400) + strings.Repeat("]", 400), "-"},
		{"long plain", line, "-"},
		{"long quoted", `"` + line + `"`, "-"},
		{"long key", line + ": a\n", ""},
		{"long flow", "[" + strings.Repeat("a, ", 1<<18) + "]", "-"},
		{"long flow with escapes", "[" + strings.Repeat(`"\n", `, 1<<16) + "]", "-"},
		{"many lines of plain", strings.Repeat("a\n", 1<<18), "-"},
		{"many documents", strings.Repeat("--- a\n", 1<<16), "-"},
		{"NUL", "a: \x00\n", ""},
		{"only NUL", strings.Repeat("\x00", 1000), ""},
		{"bad UTF-8", "a: \xff\xfe\xc3\n", "-"},
		{"BOM alone", "\ufeff", "-"},
		{"empty", "", "-"},
		{"control characters", "a: \x01\x02\x04\n", "-"},
		{"colons", strings.Repeat(":", 1<<16), ""},
		{"commas", strings.Repeat(" ,", 1<<10), "-"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			docs, err := ParseYAML([]byte(tt.in), Limits{})
			for i := 0; i < min(len(docs), 3); i++ {
				if len(tt.in) < 100_000 {
					checkDocument(t, docs[i])
				}
				lastScalar(docs[i].Root).Text()
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			checkRule(t, err, tt.rule)
		})
	}
}

func checkRule(t *testing.T, err error, rule string) {
	t.Helper()
	var se *SyntaxError
	switch errors.As(err, &se); {
	case rule == "-" && err != nil:
		t.Errorf("unexpected error %v", err)
	case rule != "-" && (se == nil || se.Rule != rule):
		t.Errorf("got the error %v, want the rule %q", err, rule)
	}
}

func blockLevels(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func TestNastyJSON(t *testing.T) {
	for _, tt := range []struct{ name, in, rule string }{
		{"100 levels", strings.Repeat("[", 100) + strings.Repeat("]", 100), "-"},
		{"101 levels", strings.Repeat("[", 101) + strings.Repeat("]", 101), "nesting-too-deep"},
		{"10,000 levels", strings.Repeat(`{"a":`, 10_000), "nesting-too-deep"},
		{"long string", `{"a": "` + strings.Repeat("x", 1<<20) + `"}`, "-"},
		{"long number", `{"a": 0.` + strings.Repeat("1", 1<<20) + `}`, "-"},
		{"escapes", `{"a": "` + strings.Repeat(`\n`, 1<<20) + `"}`, "-"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := ParseJSON([]byte(tt.in), Limits{})
			if err == nil {
				checkDocument(t, d)
			}
			checkRule(t, err, tt.rule)
		})
	}
}

func TestLimits(t *testing.T) {
	_, err := ParseYAML([]byte("a: b\n"), Limits{MaxBytes: 4})
	checkRule(t, err, "limit-exceeded")
	_, err = ParseJSON([]byte("[123]"), Limits{MaxBytes: 4})
	checkRule(t, err, "limit-exceeded")
	_, err = ParseYAML([]byte("a: &a [1, 2]\nb: [*a, *a]\n"), Limits{MaxAliasExpansion: 5})
	checkRule(t, err, "limit-exceeded")
	_, err = ParseYAML([]byte("a: &a [1, 2]\nb: [*a, *a]\n"), Limits{MaxAliasExpansion: 6})
	checkRule(t, err, "-")
}

func TestFirstDocumentSurvives(t *testing.T) {
	docs, err := ParseYAML([]byte("a: b\n---\n{[\n"), Limits{})
	if len(docs) != 1 || err == nil {
		t.Errorf("%d documents, error %v", len(docs), err)
	}
}

func FuzzParseYAML(f *testing.F) {
	for _, s := range []string{"a: b\n", "- |\n  a\n", "{a: [b, 'c']}", "&a [*a]", "? a\n: b", "%TAG ! x\n---\n!a b", "\"\\x41\"", "\xff\xfea\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		docs, err := ParseYAML(src, Limits{})
		for _, d := range docs {
			checkDocument(t, d)
			for start, end := range d.Comments() {
				if d.Source()[start] != '#' || end < start {
					t.Errorf("comment at %d to %d", start, end)
				}
			}
			if n := lastScalar(d.Root); n.IsValid() {
				inner, _ := n.Embedded(YAML, Limits{})
				for _, in := range inner {
					checkDocument(t, in)
					start, end := in.Root.OuterOffsets()
					if from, to := n.Offsets(); start < from || end > to || end < start {
						t.Errorf("embedded at %d to %d, outside of %d to %d", start, end, from, to)
					}
				}
			}
		}
		var se *SyntaxError
		if err != nil && (!errors.As(err, &se) || se.Message == "") {
			t.Errorf("error %#v", err)
		}
	})
}

func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{`{"a": [1, "b\n", null]}`, `{'a': b,}`, "[-1.5e3,]", `{"\ud83d\ude00": true}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if d, err := ParseJSON(src, Limits{}); err == nil {
			checkDocument(t, d)
		}
		docs, _ := ParseJSONLines(src, Limits{})
		for _, d := range docs {
			checkDocument(t, d)
		}
	})
}
