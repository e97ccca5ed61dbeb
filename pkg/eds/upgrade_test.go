package eds_test

import (
	"bytes"
	"slices"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"pgregory.net/rapid"

	apiv2 "github.com/edsctl/edsctl/pkg/api/envoy/api/v2"
	apiv3alpha "github.com/edsctl/edsctl/pkg/api/envoy/api/v3alpha"
	"github.com/edsctl/edsctl/pkg/eds"
)

func TestVersionOfURL(t *testing.T) {
	t.Parallel()
	tests := []struct {
		url  string
		want eds.APIVersion
	}{
		{"type.googleapis.com/envoy.api.v2.ClusterLoadAssignment", eds.V2},
		{"type.googleapis.com/envoy.api.v3alpha.ClusterLoadAssignment", eds.V3Alpha},
		{"type.googleapis.com/envoy.service.endpoint.v3alpha.ClusterLoadAssignment", eds.V3Alpha},
		{"type.googleapis.com/envoy.config.endpoint.v3alpha.ClusterLoadAssignment", eds.V3Alpha},
		{"type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment", eds.V3},
		{"example.org/a/envoy.config.endpoint.v3.ClusterLoadAssignment", eds.V3},
		{"envoy.config.endpoint.v3.ClusterLoadAssignment", ""},
		{"type.googleapis.com/envoy.config.cluster.v3.Cluster", ""},
		{"", ""},
	}
	for _, tt := range tests {
		got, ok := eds.VersionOfURL(tt.url)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("VersionOfURL(%q) = %q, %t, want %q", tt.url, got, ok, tt.want)
		}
	}
	for _, v := range eds.APIVersions {
		if got, _ := eds.VersionOfURL(eds.AssignmentURL(v)); got != v {
			t.Errorf("AssignmentURL(%s) is of version %q", v, got)
		}
		if got, _ := eds.ClusterVersionOfURL(eds.ClusterURL(v)); got != v {
			t.Errorf("ClusterURL(%s) is of version %q", v, got)
		}
		if got := eds.AssignmentURL(v); got != "type.googleapis.com/"+string(eds.NewAssignment(v).ProtoReflect().Descriptor().FullName()) {
			t.Errorf("AssignmentURL(%s) = %q is not the type of NewAssignment", v, got)
		}
	}
}

func TestUpgrade(t *testing.T) {
	t.Parallel()
	disabled := &apiv2.ClusterLoadAssignment_Policy{DisableOverprovisioning: true, OverprovisioningFactor: wrapperspb.UInt32(150)}
	kept := &endpointv3.ClusterLoadAssignment_Policy{OverprovisioningFactor: wrapperspb.UInt32(150)}
	kept.ProtoReflect().SetUnknown(protoreflect.RawFields{5 << 3, 1})
	v3 := &endpointv3.ClusterLoadAssignment{ClusterName: "c"}
	tests := []struct {
		name string
		in   proto.Message
		want *endpointv3.ClusterLoadAssignment
		lost []string
	}{
		{name: "v3 is returned as it is", in: v3, want: v3},
		{name: "v2", in: &apiv2.ClusterLoadAssignment{ClusterName: "c"}, want: v3},
		{name: "v3alpha", in: &apiv3alpha.ClusterLoadAssignment{ClusterName: "c"}, want: v3},
		{
			name: "v2 with the field that v3 does not have",
			in:   &apiv2.ClusterLoadAssignment{ClusterName: "c", Policy: disabled},
			want: &endpointv3.ClusterLoadAssignment{ClusterName: "c", Policy: kept},
			lost: []string{"policy.disable_overprovisioning"},
		},
		{
			name: "v3alpha with the field that v3 does not have",
			in: &apiv3alpha.ClusterLoadAssignment{ClusterName: "c", Policy: &apiv3alpha.ClusterLoadAssignment_Policy{
				DisableOverprovisioning: true, OverprovisioningFactor: wrapperspb.UInt32(150),
			}},
			want: &endpointv3.ClusterLoadAssignment{ClusterName: "c", Policy: kept},
			lost: []string{"policy.disable_overprovisioning"},
		},
		{
			name: "false is the default, so nothing is lost",
			in:   &apiv3alpha.ClusterLoadAssignment{Policy: &apiv3alpha.ClusterLoadAssignment_Policy{}},
			want: &endpointv3.ClusterLoadAssignment{Policy: &endpointv3.ClusterLoadAssignment_Policy{}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, lost, err := eds.Upgrade(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
			var paths []string
			for _, p := range lost {
				paths = append(paths, p.String())
			}
			if diff := cmp.Diff(tt.lost, paths); diff != "" {
				t.Errorf("lost (-want +got):\n%s", diff)
			}
		})
	}
	if _, _, err := eds.Upgrade(&corev3.Node{}); err == nil {
		t.Error("a message that is no assignment was upgraded")
	}
	if _, _, err := eds.Upgrade(&apiv2.ClusterLoadAssignment{ClusterName: "\xff"}); err == nil {
		t.Error("a string that is not UTF-8 was upgraded")
	}
}

// TestRoundTrips is api-versions.md 4.7: under deterministic encoding, going up and back down is the identity.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		older := eds.NewAssignment(rapid.SampledFrom([]eds.APIVersion{eds.V2, eds.V3Alpha}).Draw(t, "version"))
		fill(t, older.ProtoReflect(), 0)
		before := encode(t, older)

		v3, lost, err := eds.Upgrade(older)
		if err != nil {
			t.Fatal(err)
		}
		if got := encode(t, v3); !bytes.Equal(before, got) && len(lost) == 0 {
			t.Fatalf("v3 bytes differ:\n%x\n%x", before, got)
		}
		if unknown := unknownPaths(v3.ProtoReflect()); len(lost) != len(unknown) {
			t.Fatalf("lost %v, but unknown in v3 are %v", lost, unknown)
		}
		back := eds.NewAssignment(eds.V2)
		if _, ok := older.(*apiv3alpha.ClusterLoadAssignment); ok {
			back = eds.NewAssignment(eds.V3Alpha)
			v2 := eds.NewAssignment(eds.V2)
			if err := eds.Transcode(v2, older); err != nil {
				t.Fatal(err)
			}
			if got := encode(t, v2); !bytes.Equal(before, got) || len(unknownPaths(v2.ProtoReflect())) > 0 {
				t.Fatalf("v3alpha to v2 is not lossless:\n%x\n%x", before, got)
			}
		}
		if err := eds.Transcode(back, v3); err != nil {
			t.Fatal(err)
		}
		if got := encode(t, back); !bytes.Equal(before, got) {
			t.Fatalf("bytes after the round trip differ:\n%x\n%x", before, got)
		}
	})
}

func encode(t *rapid.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// unknownPaths names the messages that hold unknown fields.
func unknownPaths(m protoreflect.Message) []string {
	var out []string
	if len(m.GetUnknown()) > 0 {
		out = append(out, string(m.Descriptor().FullName()))
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap() && fd.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				out = append(out, unknownPaths(v.Message())...)
				return true
			})
		case fd.IsList() && fd.Message() != nil:
			for i := range v.List().Len() {
				out = append(out, unknownPaths(v.List().Get(i).Message())...)
			}
		case !fd.IsMap() && fd.Message() != nil:
			out = append(out, unknownPaths(v.Message())...)
		}
		return true
	})
	slices.Sort(out)
	return out
}

// fill sets a random part of the fields of m, with values of any kind, also those that PGV refuses.
func fill(t *rapid.T, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if depth > 6 || rapid.IntRange(0, 2).Draw(t, "set") == 0 {
			continue
		}
		switch {
		case fd.IsMap():
			v := m.Mutable(fd).Map()
			for range rapid.IntRange(0, 2).Draw(t, "entries") {
				key := protoreflect.ValueOfString(rapid.StringN(0, 3, -1).Draw(t, "key")).MapKey()
				if fd.MapValue().Message() != nil {
					fill(t, v.Mutable(key).Message(), depth+1)
				} else {
					v.Set(key, scalar(t, fd.MapValue()))
				}
			}
		case fd.IsList():
			v := m.Mutable(fd).List()
			for range rapid.IntRange(0, 2).Draw(t, "items") {
				if fd.Message() != nil {
					fill(t, v.AppendMutable().Message(), depth+1)
				} else {
					v.Append(scalar(t, fd))
				}
			}
		case fd.Message() != nil:
			fill(t, m.Mutable(fd).Message(), depth+1)
		default:
			m.Set(fd, scalar(t, fd))
		}
	}
}

func scalar(t *rapid.T, fd protoreflect.FieldDescriptor) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(rapid.StringN(0, 8, -1).Draw(t, "string"))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(rapid.Bool().Draw(t, "bool"))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(rapid.Uint32().Draw(t, "uint32"))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(rapid.Int32().Draw(t, "int32"))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(rapid.Int64().Draw(t, "int64"))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(rapid.Float64().Draw(t, "double"))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(rapid.Int32Range(-1, 9).Draw(t, "enum")))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "bytes"))
	default:
		panic("no scalar of kind " + fd.Kind().String())
	}
}
