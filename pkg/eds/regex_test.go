package eds_test

import (
	"testing"

	"github.com/edsctl/edsctl/pkg/eds"
)

// TestRegexError has what Envoy 1.40.0 says about regular expressions.
func TestRegexError(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"": "", "a": "", "(?P<n>a)": "", "(?<n>a)": "", "a??": "", "a{,2}": "", "[]a]": "", `\pN`: "", `a\C`: "", `\\C\C`: "", "(?i-s:a)": "",
		"(": "missing ): (", "(?:a": "missing ): (?:a", ")": "unexpected ): )", "[a": "missing ]: [a", "[]": "missing ]: []",
		"a**": "bad repetition operator: **", "x{2}*": "bad repetition operator: {2}*", "*": "no argument for repetition operator: *",
		"(?!x)": "invalid perl operator: (?!", "(?<=a)": "invalid perl operator: (?<=", "(?<!a)": "invalid perl operator: (?<!", "(?": "invalid perl operator: (?",
		`\1`: `invalid escape sequence: \1`, `[\8]`: `invalid escape sequence: \8`, "x{1001}": "invalid repetition size: {1001}", "a{2,1}": "invalid repetition size: {2,1}",
		`\`: `trailing \`, "[b-a]": "invalid character class range: b-a", `\p{Foo}`: `invalid character class range: \p{Foo}`, "(?P<n": "invalid named capture group: (?P<n",
	} {
		if got := eds.RegexError(pattern); got != want {
			t.Errorf("%q: got %q, want %q", pattern, got, want)
		}
	}
}
