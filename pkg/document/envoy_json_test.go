package document

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/edsctl/edsctl/pkg/diag"
)

const recordingsJSON = "testdata/envoy-json.jsonl"

// TestEnvoyRecordingsJSON checks that JSON texts have the outcome that Envoy was seen to have with them. They stand
// under a key that Envoy does not know, where it reads them without expecting a type.
func TestEnvoyRecordingsJSON(t *testing.T) {
	f, err := os.Open(recordingsJSON)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for sc := bufio.NewScanner(f); sc.Scan(); n++ {
		var r recording
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		compareJSONWithEnvoy(t, r)
	}
	t.Logf("%d texts", n)
}

// TestEnvoyLiveJSON compares random texts with a real Envoy, when there is one, and records new ones.
func TestEnvoyLiveJSON(t *testing.T) {
	if *envoyPath == "" {
		t.Skip("no -envoy")
	}
	if *envoyRecordJSON != "" {
		texts, err := os.ReadFile(*envoyRecordJSON)
		if err != nil {
			t.Fatal(err)
		}
		out, err := os.OpenFile(recordingsJSON, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		for line := range strings.Lines(string(texts)) {
			text, err := strconv.Unquote(strings.TrimSpace(line))
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			r := askEnvoyJSON(t, []byte(text))
			compareJSONWithEnvoy(t, r)
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(out, "%s\n", b)
		}
	}
	rnd := rand.New(rand.NewPCG(*envoySeed, 1))
	for range *envoyRandom {
		compareJSONWithEnvoy(t, askEnvoyJSON(t, randomJSON(rnd)))
	}
}

var (
	jsonError = regexp.MustCompile(`(?s)Unable to parse JSON as proto \(INVALID_ARGUMENT: (?:invalid JSON +in .*?, +near +(\d+):(\d+) +\(offset +\d+\): +)?(.*)`)
	blanks    = regexp.MustCompile(`  +`)
)

func askEnvoyJSON(t *testing.T, text []byte) recording {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.json")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(*envoyPath, "--mode", "validate", "-l", "critical", "-c", path).CombinedOutput()
	r := recording{In: string(text)}
	if r.In != strings.ToValidUTF8(r.In, "") {
		r.In, r.Hex = "", fmt.Sprintf("%x", text)
	}
	if err == nil || strings.Contains(string(out), "has unknown fields") {
		return r
	}
	m := jsonError.FindStringSubmatch(string(out))
	if m == nil {
		t.Fatalf("%q: %s", text, out)
	}
	// The text goes on with the end of a parenthesis and the JSON.
	if i := strings.Index(m[3], "): "+string(text[:min(len(text), 1)])); i >= 0 {
		m[3] = m[3][:i]
	}
	if strings.HasSuffix(m[3], "character: '\n") {
		m[3] = strings.TrimSuffix(m[3], "\n") // cut at a NUL
	}
	r.Error = blanks.ReplaceAllString(strings.ToValidUTF8(m[3], "\ufffd"), " ")
	r.Line, _ = strconv.Atoi(m[1])
	r.Column, _ = strconv.Atoi(m[2])
	return r
}

func compareJSONWithEnvoy(t *testing.T, r recording) {
	t.Helper()
	_, err := ParseJSON(r.text(), Limits{})
	var se *SyntaxError
	got := ""
	if errors.As(err, &se) {
		got = blanks.ReplaceAllString(se.Envoy, " ")
	}
	if got != r.Error {
		t.Errorf("%q\ngot   %q\nenvoy %q", r.text(), got, r.Error)
		return
	}
	// Envoy counts columns in bytes, and not the lines inside of strings.
	if want := (diag.Position{Line: r.Line, Column: r.Column}); r.Line > 0 && isPlainASCII(r.text()) && se.Span.Start != want {
		t.Errorf("%q: %s\ngot   %s\nenvoy %s", r.text(), got, se.Span.Start, want)
	}
}

func isPlainASCII(text []byte) bool {
	return bytes.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf || r < ' ' }) < 0
}

// randomJSON makes a text of pieces that matter to a JSON reader.
func randomJSON(rnd *rand.Rand) []byte {
	pieces := []string{
		"{", "}", "[", "]", ",", ":", "\"a\"", "'b'", "c", "_d1", "1", "-2", "0.5", "1e3", "true", "false", "null", " ", "\n", "\"a\": 1", "\"b\": [1]",
		"\"\\u00e9\"", "\"\\ud83d\\ude00\"", "\"\\ud83d\"", "\"\\n\"", "\"\\q\"", "\"", "'", "\\", "1.", "01", "-", "1e", "tru", "//", "\"\xff\"", "\"\xc3\"", "é", "\"é\"", "\x00", "\"\x01\"",
		"{\"a\": {}}", "[1, 2]", "{c: 1}", "[1,]",
	}
	var b strings.Builder
	b.WriteString(`{"x": `)
	for range 1 + rnd.IntN(8) {
		b.WriteString(pieces[rnd.IntN(len(pieces))])
	}
	if rnd.IntN(3) > 0 {
		b.WriteString("}")
	}
	return []byte(b.String())
}
