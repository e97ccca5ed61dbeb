package eds

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// fromStruct reads the values of a Struct into the message that is wanted in its place (config/utility.cc,
// translateOpaqueConfig): Envoy writes them as JSON and reads that (protobuf/utility.cc, jsonConvert). bad is what it
// complains of, nil when nothing: a value that it cannot read, or else the first that it does not know, which it passes over
// where unknown fields are allowed.
func fromStruct(values *structpb.Struct, m proto.Message, version int) (bad *diag.Problem) {
	doc, err := document.ParseJSON(appendStruct(nil, values), document.Limits{})
	if err != nil { // it was just written, so only its size can be refused
		return &diag.Problem{Rule: "value-type", Message: err.Error()}
	}
	name := string(m.ProtoReflect().Descriptor().FullName())
	d := &decoder{schema: &schema{}, version: version, where: wire{root: name, message: name}}
	d.message(doc.Root, m)
	for i := range d.problems {
		switch p := &d.problems[i]; {
		case isHard(p.Rule), p.Rule == "lb-policy-unknown":
			return p
		case bad == nil && isUnknownRule(p.Rule):
			bad = p
		}
	}
	return bad
}

// isUnknownRule tells whether a problem of the decoder is about a name that Envoy passes over where it is told to.
func isUnknownRule(rule string) bool {
	switch rule {
	case "unknown-field", "enum-name-unknown", "disable-overprovisioning-removed", "merge-key":
		return true
	}
	return false
}

// appendStruct writes a Struct as protobuf's JSON writer does, whose order of the keys is by chance.
func appendStruct(out []byte, s *structpb.Struct) []byte {
	out = append(out, '{')
	for i, key := range slices.Sorted(maps.Keys(s.GetFields())) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendText(out, key), ':')
		out = appendValue(out, s.GetFields()[key])
	}
	return append(out, '}')
}

func appendValue(out []byte, v *structpb.Value) []byte {
	switch k := v.GetKind().(type) {
	case *structpb.Value_NumberValue:
		return appendNumber(out, k.NumberValue)
	case *structpb.Value_StringValue:
		return appendText(out, k.StringValue)
	case *structpb.Value_BoolValue:
		return strconv.AppendBool(out, k.BoolValue)
	case *structpb.Value_StructValue:
		return appendStruct(out, k.StructValue)
	case *structpb.Value_ListValue:
		out = append(out, '[')
		for i, item := range k.ListValue.GetValues() {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendValue(out, item)
		}
		return append(out, ']')
	}
	return append(out, "null"...)
}

// appendNumber writes 15 digits where they are enough and 17 otherwise (io/strtod.cc, SimpleDtoa): 2⁵³ is 9007199254740992.
func appendNumber(out []byte, f float64) []byte {
	text := strconv.FormatFloat(f, 'g', 15, 64)
	if short, err := strconv.ParseFloat(text, 64); err != nil || short != f {
		text = strconv.FormatFloat(f, 'g', 17, 64)
	}
	return append(out, text...)
}

func appendText(out []byte, s string) []byte {
	quoted, _ := json.Marshal(s) // no string is refused
	return append(out, quoted...)
}

// complain puts what fromStruct says before the refusals of the policy. There are none of values that were not read.
func (p *PolicyConfig) complain(bad *diag.Problem) {
	if bad == nil {
		return
	}
	r := valuesRefusal(bad, p.Path.Field("value"))
	if !r.Unknown {
		p.Refusals = nil
	}
	p.Refusals = append([]Refusal{r}, p.Refusals...)
}

// valuesRefusal is the refusal for what fromStruct says of values at a path.
func valuesRefusal(bad *diag.Problem, at diag.Path) Refusal {
	return Refusal{Rule: bad.Rule, Path: at.Join(bad.Path), Thrown: true, Unknown: isUnknownRule(bad.Rule), Message: bad.Envoy.Message, Words: bad.Message}
}
