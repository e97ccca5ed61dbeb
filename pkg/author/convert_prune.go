package author

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// Loss is something that the target of a conversion cannot say.
type Loss struct {
	File     string
	Resource string    // name of the assignment; empty for what is around them
	Path     diag.Path // in the source
	Span     diag.Span // of it; unknown for binary
	Message  string
	Field    protowire.Number // of an unknown field of binary protobuf
}

// pruner takes out of a message what the target cannot say, and lists it.
type pruner struct {
	to       eds.APIVersion // "": that of the source
	yaml     bool           // the target is YAML
	text     bool           // the target is a text format
	fromText bool           // the source was
	whole    bool           // the text goes over as a whole, so that nothing in it needs to be understood
	losses   []Loss
}

func (p *pruner) lose(path diag.Path, format string, args ...any) {
	p.losses = append(p.losses, Loss{Path: slices.Clone(path), Message: fmt.Sprintf(format, args...)})
}

// message prunes m against the descriptor that the message has in the target's version (api-versions.md 4, steps 1 and
// 2: all fields that the versions share have the same numbers and types). A nil descriptor keeps all known fields.
func (p *pruner) message(m protoreflect.Message, to protoreflect.MessageDescriptor, path diag.Path) {
	switch v := m.Interface().(type) {
	case *structpb.Struct, *structpb.Value, *structpb.ListValue:
		p.numbers(v, path)
		return
	}
	p.unknown(m, path)
	fds := m.Descriptor().Fields()
	for i := range fds.Len() {
		fd := fds.Get(i)
		if !m.Has(fd) {
			continue
		}
		at := path.Field(string(fd.Name()))
		var target protoreflect.FieldDescriptor
		if to != nil {
			if target = to.Fields().ByNumber(fd.Number()); target == nil {
				p.lose(at, "%s has no %q in %s", p.to, fd.Name(), to.Name())
				m.Clear(fd)
				continue
			}
		}
		p.field(m, fd, target, at)
	}
}

// field prunes the value of a field that the target has.
func (p *pruner) field(m protoreflect.Message, fd, target protoreflect.FieldDescriptor, at diag.Path) {
	switch {
	case fd.IsMap():
		p.entries(m, fd, target, at)
	case fd.Message() == nil:
	case fd.IsList():
		for i := range m.Get(fd).List().Len() {
			p.message(m.Get(fd).List().Get(i).Message(), messageType(target), at.Index(i))
		}
	case p.opaque(m.Get(fd).Message(), at):
		m.Clear(fd)
	default:
		p.message(m.Get(fd).Message(), messageType(target), at)
	}
}

func (p *pruner) entries(m protoreflect.Message, fd, target protoreflect.FieldDescriptor, at diag.Path) {
	entries := m.Mutable(fd).Map()
	var keys []string
	entries.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k.String())
		return true
	})
	slices.Sort(keys)
	for _, k := range keys {
		key := protoreflect.ValueOfString(k).MapKey()
		entry := at.Key(k)
		switch {
		case k == "" && p.newKeyRule(fd, target):
			p.lose(entry, "%s takes no empty key in %q", p.to, fd.Name())
			entries.Clear(key)
		case fd.MapValue().Message() == nil:
		case p.opaque(entries.Get(key).Message(), entry):
			entries.Clear(key)
		case target == nil:
			p.message(entries.Get(key).Message(), nil, entry)
		default:
			p.message(entries.Get(key).Message(), target.MapValue().Message(), entry)
		}
	}
	if entries.Len() == 0 {
		m.Clear(fd)
	}
}

// newKeyRule tells whether the target's version has a constraint on the keys of metadata that the source's lacks
// (api-versions.md 2, Metadata: v3 only).
func (p *pruner) newKeyRule(fd, target protoreflect.FieldDescriptor) bool {
	return target != nil && p.to == eds.V3 && target.FullName() == "envoy.config.core.v3.Metadata.filter_metadata" && fd.FullName() != target.FullName()
}

// messageType of a field; nil when there is no field, or when the type is protobuf's own.
func messageType(fd protoreflect.FieldDescriptor) protoreflect.MessageDescriptor {
	if fd == nil || fd.Message().FullName().Parent() == "google.protobuf" {
		return nil
	}
	return fd.Message()
}

// opaque tells whether m is an Any whose content cannot be carried over: its type is not known, and either side is text.
func (p *pruner) opaque(m protoreflect.Message, at diag.Path) bool {
	a, ok := m.Interface().(*anypb.Any)
	if !ok || p.whole || !p.text && !p.fromText {
		return false
	}
	if _, err := protoregistry.GlobalTypes.FindMessageByURL(a.GetTypeUrl()); err == nil || a.GetTypeUrl() == "" {
		return false
	}
	p.lose(at, "the type %q is not known, so its content cannot be converted", a.GetTypeUrl())
	return true
}

// unknown takes out the fields that the source's own version does not have.
func (p *pruner) unknown(m protoreflect.Message, path diag.Path) {
	for rest := m.GetUnknown(); len(rest) > 0; {
		num, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			break
		}
		rest = rest[n:]
		if num == 5 && strings.HasSuffix(string(m.Descriptor().FullName()), ".v3.ClusterLoadAssignment.Policy") {
			p.lose(path, "unknown field 5 in %s: it is \"disable_overprovisioning\" of v2, which v3 does not have", path)
			continue
		}
		where := path.String()
		if where == "" {
			where = string(m.Descriptor().Name())
		}
		p.lose(path, "unknown field %d in %s", num, where)
		p.losses[len(p.losses)-1].Field = num
	}
	if len(m.GetUnknown()) > 0 {
		m.SetUnknown(nil)
	}
}

// numbers lists the numbers of a Struct that YAML cannot say: Envoy reads every number with a fraction, and every one
// beyond 32 bits, as a string there.
func (p *pruner) numbers(m proto.Message, path diag.Path) {
	if !p.text {
		return
	}
	switch v := m.(type) {
	case *structpb.Struct:
		for _, k := range sortedKeys(v.GetFields()) {
			p.numbers(v.GetFields()[k], path.Key(k))
		}
	case *structpb.ListValue:
		for i, item := range v.GetValues() {
			p.numbers(item, path.Index(i))
		}
	case *structpb.Value:
		switch k := v.GetKind().(type) {
		case *structpb.Value_StructValue:
			p.numbers(k.StructValue, path)
		case *structpb.Value_ListValue:
			p.numbers(k.ListValue, path)
		case *structpb.Value_NumberValue:
			p.number(k.NumberValue, path)
		}
	}
}

func (p *pruner) number(f float64, path diag.Path) {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		p.lose(path, "JSON and YAML have no number %v", f)
	case p.yaml && f != float64(int32(f)):
		p.lose(path, "Envoy reads the number %s as a string in YAML", numberText(f))
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
