package eds

import (
	"errors"
	"regexp/syntax"
	"strings"
	"sync"
)

// re2Texts are RE2's words (re2/regexp.cc, kErrorStrings) for the errors of Go's parser, which takes the same syntax.
var re2Texts = sync.OnceValue(func() map[syntax.ErrorCode]string {
	return map[syntax.ErrorCode]string{
		syntax.ErrInvalidCharClass: "invalid character class", syntax.ErrInvalidCharRange: "invalid character class range", syntax.ErrInvalidEscape: "invalid escape sequence",
		syntax.ErrInvalidNamedCapture: "invalid named capture group", syntax.ErrInvalidPerlOp: "invalid perl operator", syntax.ErrInvalidRepeatOp: "bad repetition operator",
		syntax.ErrInvalidRepeatSize: "invalid repetition size", syntax.ErrInvalidUTF8: "invalid UTF-8", syntax.ErrMissingBracket: "missing ]", syntax.ErrMissingParen: "missing )",
		syntax.ErrMissingRepeatArgument: "no argument for repetition operator", syntax.ErrTrailingBackslash: "trailing \\", syntax.ErrUnexpectedParen: "unexpected )",
		syntax.ErrNestingDepth: "expression nests too deeply", syntax.ErrLarge: "expression too large",
	}
})

// RegexError is what RE2, which Envoy compiles regular expressions with, says about one that it does not take; empty for
// one that it takes. The limit on the size of its program is not looked at.
func RegexError(pattern string) string {
	_, err := syntax.Parse(pattern, syntax.Perl)
	var e *syntax.Error
	if errors.As(err, &e) && e.Expr == `\C` { // any byte, which Go does not have
		_, err = syntax.Parse(strings.NewReplacer(`\\`, `\\`, `\C`, ".").Replace(pattern), syntax.Perl)
	}
	if !errors.As(err, &e) {
		return ""
	}
	switch {
	case e.Code == syntax.ErrTrailingBackslash:
		return re2Texts()[e.Code]
	case strings.HasPrefix(e.Expr, "(?<=") || strings.HasPrefix(e.Expr, "(?<!"): // which Go takes for the begin of a name
		return re2Texts()[syntax.ErrInvalidPerlOp] + ": " + e.Expr[:len("(?<=")]
	}
	return re2Texts()[e.Code] + ": " + e.Expr
}
