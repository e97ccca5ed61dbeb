package author

import (
	"math"
	"strings"

	"github.com/envoyproxy/protoc-gen-validate/validate"
)

// stringRules are the constraints of a string that JSON Schema has words for. It counts code points, so that limits in
// bytes are the weaker ones here.
func stringRules(r *validate.StringRules) schema {
	s := schema{}
	if r == nil {
		return s
	}
	alternatives := func(inner schema) schema {
		if r.GetIgnoreEmpty() {
			return schema{"anyOf": []schema{{"maxLength": 0}, inner}}
		}
		return inner
	}
	inner := schema{}
	limits(inner, "minLength", r.MinLen)
	if r.GetMinBytes() > 0 && r.GetMinLen() == 0 {
		inner["minLength"] = 1
	}
	limits(inner, "maxLength", r.MaxLen)
	if r.MaxBytes != nil {
		inner["maxLength"] = min(r.GetMaxBytes(), uint64(valueOr(r.MaxLen, math.MaxInt64)))
	}
	if r.Len != nil {
		inner["minLength"], inner["maxLength"] = r.GetLen(), r.GetLen()
	}
	if r.Pattern != nil {
		inner["pattern"] = r.GetPattern()
	}
	if r.Const != nil {
		inner["enum"] = []any{r.GetConst(), nil}
	}
	if len(r.GetIn()) > 0 {
		inner["enum"] = append(anySlice(r.GetIn()), nil)
	}
	switch {
	case r.Prefix != nil && r.Pattern == nil:
		inner["pattern"] = "^" + quoteMeta(r.GetPrefix())
	case r.GetUri() && r.Pattern == nil:
		inner["minLength"] = 1
	case r.GetWellKnownRegex() != validate.KnownRegex_UNKNOWN && r.Pattern == nil:
		inner["pattern"] = `^[^\x00\n\r]*$` // the part that both the strict and the lenient form refuse
	}
	for k, v := range alternatives(inner) {
		s[k] = v
	}
	return s
}

func valueOr(p *uint64, other uint64) uint64 {
	if p == nil {
		return other
	}
	return *p
}

func quoteMeta(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(`\.+*?()|[]{}^$/`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
