package document

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// recording is what Envoy did with a text: the error of its YAML reader, or the JSON that it made of it when the root
// is a list (Envoy then says so and prints it).
type recording struct {
	In    string `json:"in,omitempty"`
	Hex   string `json:"hex,omitempty"` // when the text is not UTF-8
	Error string `json:"error,omitempty"`
	JSON  string `json:"json,omitempty"`

	Line   int `json:"line,omitempty"` // where a JSON error is, when Envoy says so
	Column int `json:"column,omitempty"`
}

func (r recording) text() []byte {
	if r.Hex == "" {
		return []byte(r.In)
	}
	var b []byte
	fmt.Sscanf(r.Hex, "%x", &b)
	return b
}

var (
	envoyPath       = flag.String("envoy", "", "path of an Envoy binary to compare with")
	envoyRandom     = flag.Int("envoy-random", 0, "number of random texts to compare with Envoy")
	envoySeed       = flag.Uint64("envoy-seed", 1, "seed of the random texts")
	envoyRecord     = flag.String("envoy-record", "", "file of texts, one Go string literal a line, whose outcome is added to the recordings")
	envoyRecordJSON = flag.String("envoy-record-json", "", "the same for JSON texts")
)

const recordings = "testdata/envoy-yaml.jsonl"

// TestEnvoyRecordings checks that texts have the outcome that Envoy was seen to have with them.
func TestEnvoyRecordings(t *testing.T) {
	f, err := os.Open(recordings)
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
		compareWithEnvoy(t, r)
	}
	t.Logf("%d texts", n)
}

// TestEnvoyLive compares random texts with a real Envoy, when there is one, and records new ones.
func TestEnvoyLive(t *testing.T) {
	if *envoyPath == "" {
		t.Skip("no -envoy")
	}
	if *envoyRecord != "" {
		texts, err := os.ReadFile(*envoyRecord)
		if err != nil {
			t.Fatal(err)
		}
		out, err := os.OpenFile(recordings, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		for line := range strings.Lines(string(texts)) {
			text, err := strconv.Unquote(strings.TrimSpace(line))
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			r := askEnvoy(t, []byte(text))
			compareWithEnvoy(t, r)
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(out, "%s\n", b)
		}
	}
	rnd := rand.New(rand.NewPCG(*envoySeed, 0))
	for range *envoyRandom {
		compareWithEnvoy(t, askEnvoy(t, randomText(rnd)))
	}
}

var envoyOutcome = regexp.MustCompile(`(?s)error initializing configuration '[^']*': (.*)`)

func askEnvoy(t *testing.T, text []byte) recording {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.yaml")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(*envoyPath, "--mode", "validate", "-l", "critical", "-c", path).CombinedOutput()
	r := recording{In: string(text)}
	if !json.Valid([]byte(strconv.Quote(r.In))) || r.In != strings.ToValidUTF8(r.In, "") {
		r.In, r.Hex = "", fmt.Sprintf("%x", text)
	}
	if err == nil {
		return r
	}
	m := envoyOutcome.FindSubmatch(bytes.TrimRight(out, "\n"))
	if m == nil {
		r.Error = "crash"
		return r
	}
	switch msg := string(m[1]); {
	case strings.HasPrefix(msg, "yaml-cpp: "):
		r.Error = msg
	case strings.HasPrefix(msg, "Unable to convert YAML as JSON"):
		r.JSON = "null"
	case strings.Contains(msg, "Unable to parse JSON as proto"):
		if _, after, ok := strings.Cut(msg, "): "); ok && json.Valid([]byte(after)) {
			r.JSON = after
		}
	}
	return r
}

func compareWithEnvoy(t *testing.T, r recording) {
	t.Helper()
	docs, err := ParseYAML(r.text(), Limits{})
	var se *SyntaxError
	got := ""
	if len(docs) == 0 && errors.As(err, &se) {
		got = se.Envoy
		if se.Rule == "yaml-alias-cycle" {
			got = "crash"
		}
	}
	if strings.TrimRight(got, "\n") != r.Error {
		t.Errorf("%q\ngot   %q\nenvoy %q", r.text(), got, r.Error)
		return
	}
	if r.JSON == "" || got != "" {
		return
	}
	var want any
	dec := json.NewDecoder(strings.NewReader(r.JSON))
	dec.UseNumber()
	if err := dec.Decode(&want); err != nil {
		t.Fatal(err)
	}
	if want == nil {
		if len(docs) > 0 && docs[0].Root.Kind() != Scalar {
			t.Errorf("%q\ngot   %s\nenvoy read a scalar or nothing", r.text(), dump(docs[0].Root))
		}
		return
	}
	if msg := differs(docs[0].Root.Target(), want); msg != "" {
		t.Errorf("%q\ngot   %s\nenvoy %s\n%s", r.text(), dump(docs[0].Root), r.JSON, msg)
	}
}

// differs compares a tree with the JSON value that Envoy made of it. Envoy has converted plain scalars.
func differs(n Node, want any) string {
	n = n.Target()
	switch want := want.(type) {
	case map[string]any:
		entries := map[string]Node{}
		for k := n.First(); k.IsValid(); k = k.Next().Next() {
			if k.ResolvedTag() != "!ignore" {
				entries[keyText(k)] = k.Next()
			}
		}
		if n.Kind() != Mapping || len(entries) != len(want) {
			return fmt.Sprintf("%s: %d entries instead of %d", dump(n), len(entries), len(want))
		}
		for k, v := range want {
			e, ok := entries[k]
			if !ok {
				return fmt.Sprintf("no key %q", k)
			}
			if msg := differs(e, v); msg != "" {
				return msg
			}
		}
	case []any:
		if n.Kind() != Sequence {
			return fmt.Sprintf("%s is no list", dump(n))
		}
		c := n.First()
		for _, v := range want {
			if !c.IsValid() {
				return fmt.Sprintf("%s has too few items", dump(n))
			}
			if msg := differs(c, v); msg != "" {
				return msg
			}
			c = c.Next()
		}
		if c.IsValid() {
			return fmt.Sprintf("%s has too many items", dump(n))
		}
	case string:
		isNumber := n.ResolvedTag() != "!" && (strings.ContainsAny(n.Text(), "0123456789") || strings.HasPrefix(n.Text(), "."))
		if n.Kind() != Scalar || envoyText(n.Text()) != want && !isNumber {
			return fmt.Sprintf("%s instead of %q", dump(n), want)
		}
	case nil:
		if n.Kind() != Scalar || n.ResolvedTag() != "?" || !isNull(n.Text()) {
			return fmt.Sprintf("%s instead of null", dump(n))
		}
	default:
		if n.Kind() != Scalar || n.ResolvedTag() == "!" || n.Text() == "" {
			return fmt.Sprintf("%s instead of %v", dump(n), want)
		}
	}
	return ""
}

func isNull(s string) bool {
	return s == "" || s == "~" || s == "null" || s == "Null" || s == "NULL"
}

// keyText is the text that Envoy takes for a key.
func keyText(k Node) string {
	if k.ResolvedTag() == "?" && isNull(k.Text()) {
		return "null"
	}
	return envoyText(k.Text())
}

// envoyText is a text as it comes out of Envoy's JSON: bytes that are no UTF-8 become blanks.
func envoyText(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uffff") {
		b.WriteRune(r)
	}
	return strings.ReplaceAll(b.String(), "\uffff", " ")
}

// mutants are documents that randomText damages.
var mutants = []string{
	"- name: c\n  type: STATIC\n  load_assignment:\n    endpoints:\n    - lb_endpoints:\n      - endpoint: {address: {socket_address: {address: 1.2.3.4, port_value: 80}}}\n        weight: 3 # three\n",
	"- &x\n  a: 'b''c'\n  \"d\": \"e\\n\\u00e9 f\"\n- *x\n- [*x, {k: v, ? q : r}, !t [a, b], 'x y' ]\n",
	"- |\n  a\n   b\n\n  c\n- >-\n  d\n  e\n\n   f\n  g\n- |+2\n    h\n\n- last\n",
	"- plain text\n  over lines\n\n  and more\n- \"quoted\n  over \\\n  lines\"\n- 'single\n\n  too'\n- key: multi\n    line\n  other: v\n",
	"- ? complex key\n  : complex value\n- ? - a\n  : - b\n-\n  - x\n  -\n  - - y\n    - z: 1\n      w: 2\n",
	"%YAML 1.2\n%TAG !e! tag:x,\n---\n- !e!a b\n- !!str c\n- !<v> d\n...\n# end\n",
	"- {\n  \"json\": [1, 2.5e3, true, null],\n  \"nested\": {\"a\":\"b\", \"c\":[]},\n  \"s\": \"x\\ty\"\n  }\n",
}

// mutant changes a document at a few places.
func mutant(rnd *rand.Rand) []byte {
	b := []byte(mutants[rnd.IntN(len(mutants))])
	const chars = " \n\t:-?,[]{}#&*!|>'\"%@`\\~ab0\r"
	for range 1 + rnd.IntN(4) {
		i := rnd.IntN(len(b))
		c := chars[rnd.IntN(len(chars))]
		switch rnd.IntN(4) {
		case 0:
			b = append(b[:i], b[i+1:]...)
		case 1:
			b[i] = c
		case 2:
			j := i + rnd.IntN(min(20, len(b)-i))
			b = append(append([]byte{}, b[:i]...), b[j:]...)
		default:
			b = append(append(append([]byte{}, b[:i]...), c), b[i:]...)
		}
		if len(b) == 0 {
			return []byte("- a")
		}
	}
	return b
}

// randomText makes a text of pieces that matter to a YAML reader, often valid.
func randomText(rnd *rand.Rand) []byte {
	if rnd.IntN(2) == 0 {
		return mutant(rnd)
	}
	pieces := []string{
		"a", "b", "key", "- ", "-", "? ", ": ", ":", "\n", "\n", "\n  ", "\n ", "\n    ", "  ", " ", "\t", "[", "]", "{", "}", ", ", ",",
		"'x'", "\"y\"", "\"", "'", "|", ">", "|-\n", ">+\n", "|2\n", "&a ", "*a", "!t ", "!!str ", "!", "#", " # c", "---\n", "...\n", "%", "\\", "\\n",
		"\r\n", "x: y", "- z", "~", "1", "é", "\x00", "@", "`", "\"\\x41\"", "\"p\n q\"", "--- ", "a: b\n", "- c\n", "{a: b}", "[c, d]", "\"e\" ", "!ignore ",
	}
	var b strings.Builder
	if rnd.IntN(3) > 0 {
		b.WriteString("- ")
	}
	for range 1 + rnd.IntN(14) {
		b.WriteString(pieces[rnd.IntN(len(pieces))])
	}
	return []byte(b.String())
}
