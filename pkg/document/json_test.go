package document

import (
	"errors"
	"testing"
)

func TestParseJSON(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"a": [1, -2.5e3, true, null], "b": {"c": "x\ny"},}`, `{""a": ["1", "-2.5e3", "true", "null"], ""b": {""c": ""x\ny"}}`},
		{`{'a': 'b"\'', c_1: "\u00e9\ud83d\ude00\/"}`, `{'"a": '"b\"'", "c_1": ""é😀/"}`},
		{" [ ] ", `[]`},
	} {
		d, err := ParseJSON([]byte(tt.in), Limits{})
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		if got := dump(d.Root); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.in, got, tt.want)
		}
	}
}

func TestParseJSONErrors(t *testing.T) {
	for _, tt := range []struct{ in, want, rule string }{
		{"", "unexpected EOF", ""},
		{"x", "unexpected character: 'x'; expected '{'", ""},
		{"\ufeff{}", "unexpected character: '\ufffd'; expected '{'", "json-bom"},
		{"{} x", "extraneous characters after end of JSON object", ""},
		{`{"a": NaN}`, "unexpected character: 'N'", ""},
		{`{"a": 01}`, "number cannot have extraneous leading zero", ""},
		{`{"a": 1.}`, "number cannot have trailing period", ""},
		{`{"a": -}`, "expected a number", ""},
		{`{"a": 1e999}`, "invalid number: '1e999'", ""},
		{`{"a" 1}`, "unexpected character: '1'; expected ':'", ""},
		{`{"a": 1 "b": 2}`, "unexpected character: '\"'", ""},
		{`{"a": {} "b": 2}`, "expected ','", ""},
		{`{"a": tru}`, "unexpected character: 't'; expected 'true'", ""},
		{`{"a": tr`, "unexpected EOF", ""},
		{`{"a": "\q"}`, "invalid escape char: 'q'", ""},
		{`{"a": "\ud800x"}`, "unexpected character: 'x'; expected '\\u'", ""},
		{`{"a": "x`, "unexpected EOF", ""},
		{`{,}`, "expected bare word", ""},
	} {
		_, err := ParseJSON([]byte(tt.in), Limits{})
		var se *SyntaxError
		if !errors.As(err, &se) {
			t.Errorf("%q: no error", tt.in)
			continue
		}
		if se.Envoy != tt.want || se.Rule != tt.rule {
			t.Errorf("%q:\ngot  %s %s\nwant %s %s", tt.in, se.Envoy, se.Rule, tt.want, tt.rule)
		}
	}
}
