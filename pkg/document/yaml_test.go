package document

import (
	"errors"
	"testing"
)

func TestParseYAMLTree(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"block map", "a: 1\nb:\n  c: x y\n  d: z\n", `{"a": "1", "b": {"c": "x y", "d": "z"}}`},
		{"block seq", "- a\n- b: 1\n  c: 2\n-\n- - x\n  - y\n", `["a", {"b": "1", "c": "2"}, "", ["x", "y"]]`},
		{"seq at the column of its key", "a:\n- 1\n- 2\nb: 3\n", `{"a": ["1", "2"], "b": "3"}`},
		{"flow", "{a: [1, 2,], b: {c: d}, e, ? f : g, \"h\":i}", `{"a": ["1", "2"], "b": {"c": "d"}, "e": "", "f": "g", ""h": "i"}`},
		{"flow pairs", "[a: b, c]", `[{"a": "b"}, "c"]`},
		{"empty values", "a:\nb:\n", `{"a": "", "b": ""}`},
		{"quoted", `{'a''b': "c\n\u00e9\x41\"", d: 'e'}`, `{'"a'b": ""c\néA\"", "d": '"e"}`},
		{"plain over lines", "a: b\n  c\n\n  d\ne: f\n", `{"a": "b c\nd", "e": "f"}`},
		{"double over lines", "a: \"b \n  c\\\n  d\n\n  e\"\n", `{"a": ""b cd\ne"}`},
		{"literal", "a: |\n  b\n   c\n\n  d\ne: |-\n  f\ng: |+\n  h\n\n", `{"a": |"b\n c\n\nd\n", "e": |"f", "g": |"h\n\n"}`},
		{"folded", "a: >\n  b\n  c\n\n  d\n   e\n  f\n", `{"a": >"b c\nd\n e\nf\n"}`},
		{"indent indicator", "a: |2\n   b\n", `{"a": |" b\n"}`},
		{"props", "!ignore a: &x !!str b\nc: *x\n", `{!ignore "a": !!str &x "b", "c": *x}`},
		{"no blank behind colon", "a:b\n", `"a:b"`},
		{"comments", "# x\na: b # c\n# d\nc: d#e\n", `{"a": "b", "c": "d#e"}`},
		{"documents", "---\na\n---\nb\n...\n", `"a"` + "\n" + `"b"`},
		{"complex key", "? a\n: b\n", `{"a": "b"}`},
		{"no key", ": b\n", `{"": "b"}`},
		{"crlf", "a: b\r\nc:\r\n- d\r\n", `{"a": "b", "c": ["d"]}`},
		{"cr", "a: b\rc:\r- d\r", `{"a": "b", "c": ["d"]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			docs, err := ParseYAML([]byte(tt.in), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for i, d := range docs {
				if i > 0 {
					got += "\n"
				}
				got += dump(d.Root)
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestParseYAMLErrors(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"a: [1", "yaml-cpp: error at line 1, column 1: end of sequence flow not found"},
		{"a:\n\tb: c\n", "yaml-cpp: error at line 2, column 3: illegal map value"},
		{"a: *b\n", "yaml-cpp: error at line 1, column 4: the referenced anchor is not defined: b"},
		{"x: {{ a }}\n", "yaml-cpp: error at line 1, column 5: bad conversion"},
		{"a: b: c\n", "yaml-cpp: error at line 1, column 5: illegal map value"},
	} {
		_, err := ParseYAML([]byte(tt.in), Limits{})
		var se *SyntaxError
		if !errors.As(err, &se) {
			t.Errorf("%q: no error", tt.in)
			continue
		}
		if se.Envoy != tt.want {
			t.Errorf("%q:\ngot  %s\nwant %s", tt.in, se.Envoy, tt.want)
		}
	}
}
