package eds

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/edsctl/edsctl/pkg/diag"
)

// wireProblems reports what Envoy says of the fields of a binary message and of those in it: numbers that it does not
// know, and deprecated fields.
func (r *reader) wireProblems(m protoreflect.Message, path diag.Path, parents []string) []diag.Problem {
	if isPlain(m) {
		return nil
	}
	var out []diag.Problem
	name := string(m.Descriptor().FullName())
	if unknown := m.GetUnknown(); len(unknown) > 0 {
		var numbers []string
		for len(unknown) > 0 {
			num, _, n := protowire.ConsumeField(unknown)
			if n < 0 {
				break
			}
			numbers = append(numbers, fmt.Sprint(num))
			unknown = unknown[n:]
		}
		p := diag.Problem{Rule: "unknown-field", Path: path, Message: fmt.Sprintf("%s has no field with the number %s", m.Descriptor().Name(), strings.Join(numbers, ", "))}
		if strings.HasSuffix(name, "ClusterLoadAssignment.Policy") && len(numbers) == 1 && numbers[0] == "5" {
			p.Rule = "disable-overprovisioning-removed"
			p.Message = "field 5 of the policy is \"disable_overprovisioning\" of v2, which v3 does not have and Envoy never implemented"
		}
		p.Envoy = diag.Override{Stage: "05-unknown", Message: unknownNumberText(name, parents, numbers)}
		out = append(out, p)
	}
	for _, f := range r.schema.message(m.Descriptor()).recent {
		if r.opts.EnvoyVersion < f.since && m.Has(f.fd) {
			p := diag.Problem{Rule: "unknown-field", Path: path.Field(string(f.fd.Name())), Message: fmt.Sprintf("%q is unknown to Envoy before 1.%d", f.fd.Name(), f.since)}
			p.Envoy = diag.Override{Stage: "05-unknown", Message: unknownNumberText(name, parents, []string{fmt.Sprint(f.fd.Number())})}
			if r.text != nil { // whose reader knows no name that the message does not have
				p.Envoy = r.unreadText(parents)
			}
			out = append(out, p)
		}
	}
	parents = append(parents[:len(parents):len(parents)], name)
	known := r.schema.message(m.Descriptor()).fields
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.Message() == nil && !known[string(fd.Name())].deprecated {
			return true
		}
		at := path.Field(string(fd.Name()))
		if known[string(fd.Name())].deprecated {
			out = append(out, deprecatedProblem(fd, at))
		}
		switch {
		case fd.IsMap() && fd.MapValue().Message() != nil:
			v.Map().Range(func(k protoreflect.MapKey, mv protoreflect.Value) bool {
				out = append(out, r.wireProblems(mv.Message(), at.Key(k.String()), parents)...)
				return true
			})
		case fd.IsList() && fd.Message() != nil:
			for i := range v.List().Len() {
				out = append(out, r.wireProblems(v.List().Get(i).Message(), at.Index(i), parents)...)
			}
		case fd.Message() != nil && !fd.IsMap():
			out = append(out, r.wireProblems(v.Message(), at, parents)...)
		}
		return true
	})
	return out
}

// unreadText is what Envoy says of text proto with a name that it does not know, in a message in these.
func (r *reader) unreadText(parents []string) diag.Override {
	root := responseMessage
	if len(parents) > 0 && parents[0] == bootstrapMessage {
		root = bootstrapMessage
	}
	reject := diag.Reject
	o := r.textProblem("", "", diag.Span{}, root).Envoy
	o.Effect = &reject
	return o
}

func unknownNumberText(name string, parents, numbers []string) string {
	chain := "root"
	if len(parents) > 0 {
		chain = strings.Join(parents, "::")
	}
	return fmt.Sprintf("type %s(%s) with unknown field set {%s}", name, chain, strings.Join(numbers, ", "))
}
