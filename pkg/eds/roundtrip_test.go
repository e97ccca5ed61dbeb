package eds

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/edsctl/edsctl/pkg/diag"
)

// fill sets random fields of a message, to a depth.
func fill(rng *rand.Rand, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if rng.IntN(2) == 0 || fd.Message() != nil && depth == 0 {
			continue
		}
		switch {
		case fd.IsMap():
			for range rng.IntN(3) {
				key := protoreflect.ValueOfString(fmt.Sprintf("k%d", rng.IntN(9))).MapKey()
				if fd.MapValue().Message() == nil {
					continue
				}
				v := m.Mutable(fd).Map().NewValue()
				fillMessage(rng, v.Message(), depth-1)
				m.Mutable(fd).Map().Set(key, v)
			}
		case fd.IsList():
			for range rng.IntN(3) {
				if fd.Message() != nil {
					fillMessage(rng, m.Mutable(fd).List().AppendMutable().Message(), depth-1)
				} else {
					m.Mutable(fd).List().Append(randomScalar(rng, fd))
				}
			}
		case fd.Message() != nil:
			fillMessage(rng, m.Mutable(fd).Message(), depth-1)
		default:
			m.Set(fd, randomScalar(rng, fd))
		}
	}
}

// fillMessage keeps the well-known types within what proto JSON can say.
func fillMessage(rng *rand.Rand, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	switch classify(m.Descriptor().FullName()) {
	case wktDuration:
		m.Set(fields.ByNumber(1), protoreflect.ValueOfInt64(rng.Int64N(1000)))
		m.Set(fields.ByNumber(2), protoreflect.ValueOfInt32(rng.Int32N(1_000_000_000)))
	case wktAny:
		return
	case wktValue:
		m.Set(fields.ByNumber(3), protoreflect.ValueOfString("v"))
	case wktStruct:
		v := m.Mutable(fields.ByNumber(1)).Map().NewValue()
		fillMessage(rng, v.Message(), depth)
		m.Mutable(fields.ByNumber(1)).Map().Set(protoreflect.ValueOfString("k").MapKey(), v)
	default:
		fill(rng, m, max(depth, 0))
	}
}

func randomScalar(rng *rand.Rand, fd protoreflect.FieldDescriptor) protoreflect.Value {
	texts := []string{"", "a", "on", "1", "0x10", "1e3", "null", "~", "a: b", "#x", "ünï", "tab\tline\nquote\"", "{{", "- x", "'", "@", "1.5"}
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(rng.IntN(2) == 0)
	case protoreflect.EnumKind:
		vs := fd.Enum().Values()
		return protoreflect.ValueOfEnum(vs.Get(rng.IntN(vs.Len())).Number())
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(rng.Uint32())
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(rng.Int64())
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(rng.Uint64N(1 << 53))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(rng.Float64())
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte{1, 2, 255})
	}
	return protoreflect.ValueOfString(texts[rng.IntN(len(texts))])
}

// TestDecodeWhatProtojsonWrites reads random assignments back from JSON and from YAML, in both spellings, and finds each
// scalar at its span.
func TestDecodeWhatProtojsonWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)) //nolint:gosec // a test
		want := &endpointv3.ClusterLoadAssignment{}
		fill(rng, want.ProtoReflect(), 6)
		j, err := protojson.MarshalOptions{UseProtoNames: rapid.Bool().Draw(t, "snake")}.Marshal(want)
		if err != nil {
			t.Skip(err) // an Any without a type and the like
		}
		y, err := yaml.JSONToYAML(j)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{"a.json": j, "a.yaml": y} {
			res := NewLoader(Options{Shape: ShapeAssignment}).Load(name, text, true).Resources[0]
			if res.Unreadable || len(withoutDeprecated(res.Problems)) > 0 {
				t.Fatalf("%s: %v\n%s", name, brief(res.Problems), text)
			}
			if diff := cmp.Diff(want, res.Assignment, protocmp.Transform()); diff != "" {
				t.Fatalf("%s (-want +got):\n%s\n%s", name, diff, text)
			}
			checkSpans(t, res, res.Assignment.ProtoReflect(), nil)
		}
	})
}

func withoutDeprecated(ps []diag.Problem) []diag.Problem {
	var out []diag.Problem
	for _, p := range ps {
		if p.Rule != "deprecated-field" && p.Rule != "load-balancer-endpoints-ignored" {
			out = append(out, p)
		}
	}
	return out
}

// checkSpans looks up every string and number of a message and compares the value at its place.
func checkSpans(t *rapid.T, res *Resource, m protoreflect.Message, at diag.Path) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		p := at.Field(string(fd.Name()))
		switch {
		case fd.IsMap() || fd.Message() != nil && classify(fd.Message().FullName()) != notWellKnown:
		case fd.IsList() && fd.Message() != nil:
			for i := range v.List().Len() {
				checkSpans(t, res, v.List().Get(i).Message(), p.Index(i))
			}
		case fd.Message() != nil && !fd.IsList():
			checkSpans(t, res, v.Message(), p)
		case fd.Kind() == protoreflect.StringKind && !fd.IsList(), fd.Kind() == protoreflect.Uint32Kind && !fd.IsList():
			n := res.Lookup(p)
			if got := n.Text(); got != v.String() {
				t.Fatalf("%s: the value at %v is %q, want %q", p, n.Span(), got, v.String())
			}
		}
		return true
	})
}

// checkLoaded checks that spans are inside a file, and that each resource has messages.
func checkLoaded(t *testing.T, src []byte, file *File) {
	t.Helper()
	lines := 2
	for _, b := range src {
		if b == '\n' || b == '\r' {
			lines++
		}
	}
	for _, res := range file.Resources {
		for _, p := range append(res.Problems, res.Around...) {
			if p.Span.Start.Line > lines || p.Span.End.Line > lines {
				t.Errorf("%s at %v is outside the file of %d lines", p.Rule, p.Span, lines)
			}
		}
		if res.Assignment == nil || res.Original == nil {
			t.Error("no message")
		}
		_ = res.Span(diag.Path{}.Field("endpoints").Index(0).Field("lb_endpoints"))
	}
}

// FuzzLoad reads arbitrary bytes in every format: nothing panics, spans stay inside the file, and what strict proto JSON
// reads is read to the same message.
func FuzzLoad(f *testing.F) {
	for _, s := range []string{
		"", "cluster_name: c", "{}", "[]", "resources:\n- \"@type\": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment\n  cluster_name: c\n",
		"static_resources: {clusters: [{name: a, load_assignment: {cluster_name: a, endpoints: [{lb_endpoints: [{}]}]}}]}",
		"data:\n  eds.yaml: |\n    cluster_name: c\n    endpoints: []\n", "cluster_name: {{ x }}", `{"cluster_name": "c", "endpoints": [{"priority": "1"}]}`,
		"\x0a\x01c", "resources { [type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment] { cluster_name: \"c\" } }",
		"configs:\n- dynamic_endpoint_configs: [{endpoint_config: {cluster_name: c}}]", "cluster_name: &a c\nendpoints: [*a]",
		"static_resources { clusters { name: \"a\" load_assignment { cluster_name: \"a\" endpoints { lb_endpoints {} } } } } node { id: \"a\" }",
		"\x12\x0a\x12\x08\x95\xd1\x8f\xcc00000", "\x0a\x03\x0a\x01n\x12\x12\x0a\x01l\x12\x0d\x0a\x01a\x22\x02\x08\x01\x8a\x02\x03\x0a\x01a\x22\x03\x0a\x01a",
	} {
		for _, name := range []string{"a.yaml", "a.json", "a.pb", "a.pb_text", "a"} {
			f.Add(name, []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, name string, src []byte) {
		checkLoaded(t, src, NewLoader(Options{}).Load(name, src, true))
		for _, format := range []Format{Binary, TextProto} {
			checkLoaded(t, src, NewLoader(Options{Format: format, Shape: ShapeBootstrap}).Load(name, src, true))
		}
		if sound, _ := salvage(src, outlineType(bootstrapOutline()), 0); len(sound) > 0 {
			if again, whole := salvage(sound, outlineType(bootstrapOutline()), 0); !whole || !bytes.Equal(again, sound) {
				t.Errorf("what is left of %q is damaged: %q, then %q", src, sound, again)
			}
			static, _ := unlinkedMessage{wire: sound}.message(wireField("static_resources"))
			for _, c := range static.list(unlinkedField{number: 2}) {
				if err := proto.Unmarshal(c.wire, newCluster()); err != nil {
					t.Errorf("what is left of a cluster, %q: %v", c.wire, err)
				}
			}
		}
		strict := &endpointv3.ClusterLoadAssignment{}
		if protojson.Unmarshal(src, strict) != nil {
			return
		}
		res := NewLoader(Options{Shape: ShapeAssignment, Format: JSON}).Load("a.json", src, true).Resources[0]
		if !res.Unreadable && len(res.Problems) == 0 && !proto.Equal(strict, res.Assignment) {
			t.Errorf("read %v, strictly %v", res.Assignment, strict)
		}
	})
}
