package author

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

func load(o eds.Options, name string, data []byte) ConversionInput {
	return ConversionInput{File: eds.NewLoader(o).Load(name, data, true), Data: data}
}

// present resources of a file.
func assignmentsOf(f *eds.File) []*eds.Resource {
	return slices.DeleteFunc(slices.Clone(f.Resources), func(r *eds.Resource) bool { return r.Absent })
}

// realFiles are the project's cases, and other people's files where they are at hand.
func realFiles(t *testing.T) []string {
	t.Helper()
	shared := os.Getenv("EDSCTL_SHARED")
	if shared == "" {
		shared = "../../../shared"
	}
	var files []string
	for _, pattern := range []string{"../../testdata/cases/*.*", filepath.Join(shared, "realworld", "*.*")} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	return slices.DeleteFunc(files, func(name string) bool { return filepath.Ext(name) == ".md" || filepath.Ext(name) == ".tsv" })
}

// TestConvertThereAndBack: a file in every format and shape holds the same assignments, and so does what is made of that
// in the file's own.
func TestConvertThereAndBack(t *testing.T) {
	t.Parallel()
	done := 0
	for _, name := range realFiles(t) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		in := load(eds.Options{}, filepath.Base(name), data)
		want := assignmentsOf(in.File)
		if len(want) == 0 {
			continue
		}
		for _, format := range Formats() {
			for _, shape := range append([]eds.Shape{""}, Shapes()...) {
				if skipped(want[0], len(data), format, shape) {
					continue
				}
				c := Conversion{Format: format, Shape: shape}
				out, err := c.Convert([]ConversionInput{in})
				if err != nil {
					if !expected(err) {
						t.Errorf("%s: %+v: %v", name, c, err)
					}
					continue
				}
				if len(out.Losses) > 0 {
					continue
				}
				o := eds.Options{Format: format, APIVersion: want[0].APIVersion}
				if format == eds.Binary || shape == eds.ShapeList {
					o.Shape = cmp.Or(shape, want[0].Shape)
				}
				there := load(o, "x"+Extension(format), out.Data)
				if problem := sameAssignments(want, assignmentsOf(there.File)); problem != "" {
					t.Errorf("%s: %+v: %s\n%.600s", name, c, problem, out.Data)
					continue
				}
				done++
				back, err := Conversion{Format: in.File.Format, Shape: eds.ShapeResponse}.Convert([]ConversionInput{there})
				if err != nil {
					continue
				}
				again := load(eds.Options{Format: in.File.Format}, "x", back.Data)
				if problem := sameAssignments(want, assignmentsOf(again.File)); len(back.Losses) == 0 && problem != "" {
					t.Errorf("%s: %+v and back: %s", name, c, problem)
				}
			}
		}
	}
	t.Logf("%d conversions", done)
	if done < 1000 {
		t.Errorf("only %d conversions", done)
	}
}

// skipped are the conversions whose result edsctl cannot read, and most of those of large files, which take long.
func skipped(r *eds.Resource, size int, format eds.Format, shape eds.Shape) bool {
	switch {
	case isText(format):
		return size > 30_000 && shape != "" && shape != eds.ShapeResponse
	case size > 30_000:
		return shape != eds.ShapeResponse
	case shape == eds.ShapeBootstrap: // nothing in the bytes tells what they are
		return true
	}
	return r.APIVersion != eds.V3 && (shape == eds.ShapeCluster || shape == eds.ShapeCDS)
}

// expected are the errors that say why something cannot be written.
func expected(err error) bool {
	var shape *ShapeError
	var several *SeveralError
	var unreadable *UnreadableError
	var target *TargetError
	return errors.As(err, &shape) || errors.As(err, &several) || errors.As(err, &unreadable) || errors.Is(err, ErrVersions) || errors.As(err, &target)
}

func sameAssignments(want, got []*eds.Resource) string {
	if len(want) != len(got) {
		return fmt.Sprintf("%d assignments, want %d", len(got), len(want))
	}
	for i := range want {
		if !proto.Equal(want[i].Original, got[i].Original) {
			return fmt.Sprintf("%q differs:\n got %v\nwant %v", want[i].Name, got[i].Original, want[i].Original)
		}
	}
	return ""
}

// TestConvertVersions: between the API versions and back the bytes are the same, when nothing is lost.
func TestConvertVersions(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	lossless, lost := 0, 0
	for range 400 {
		for _, from := range eds.APIVersions {
			source := eds.NewAssignment(from)
			fillMessage(r, source.ProtoReflect(), 0)
			for _, to := range eds.APIVersions {
				there, losses, err := InVersion(source, to)
				if err != nil {
					t.Fatal(err)
				}
				if len(there.ProtoReflect().GetUnknown()) > 0 {
					t.Fatalf("unknown fields in %v", there)
				}
				back, more, err := InVersion(there, from)
				if err != nil {
					t.Fatal(err)
				}
				losses = append(losses, more...) // of an empty key of metadata, which v3 refuses
				same := bytes.Equal(deterministic(t, source), deterministic(t, back))
				switch {
				case len(losses) == 0 && !same:
					t.Fatalf("%s to %s and back:\n%v\n%v", from, to, source, back)
				case len(losses) > 0 && same:
					t.Fatalf("%s to %s loses nothing but lists %v", from, to, losses)
				case len(losses) == 0:
					lossless++
				default:
					lost++
				}
				if len(losses) > 0 && (to == from || from == eds.V3Alpha && to == eds.V2) {
					t.Fatalf("%s to %s must lose nothing: %v", from, to, losses)
				}
			}
		}
	}
	t.Logf("%d lossless, %d with losses", lossless, lost)
}

func deterministic(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// fillMessage sets some fields of a message at random.
func fillMessage(r *rand.Rand, m protoreflect.Message, depth int) {
	switch v := m.Interface().(type) {
	case *anypb.Any:
		if err := v.MarshalFrom(&corev3.Locality{Zone: "z"}); err != nil {
			panic(err)
		}
		return
	case *structpb.Struct:
		v.Fields = map[string]*structpb.Value{"k": structpb.NewStringValue("yes"), "n": structpb.NewNumberValue(3)}
		return
	}
	fds := m.Descriptor().Fields()
	for i := range fds.Len() {
		fd := fds.Get(i)
		if r.IntN(3) > 0 && depth > 0 || depth > 7 {
			continue
		}
		switch {
		case fd.IsMap():
			v := m.NewField(fd)
			item := v.Map().NewValue()
			if fd.MapValue().Message() != nil {
				fillMessage(r, item.Message(), depth+1)
			}
			v.Map().Set(protoreflect.ValueOfString([]string{"a", "envoy.lb", ""}[r.IntN(3)]).MapKey(), item)
			m.Set(fd, v)
		case fd.IsList():
			v := m.NewField(fd)
			for range 1 + r.IntN(2) {
				item := v.List().NewElement()
				if fd.Message() != nil {
					fillMessage(r, item.Message(), depth+1)
				}
				v.List().Append(item)
			}
			m.Set(fd, v)
		case fd.Message() != nil:
			v := m.NewField(fd)
			fillMessage(r, v.Message(), depth+1)
			m.Set(fd, v)
		default:
			m.Set(fd, someScalar(r, fd))
		}
	}
}

func someScalar(r *rand.Rand, fd protoreflect.FieldDescriptor) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString([]string{"", "a", "no", "1.5", "ü\n\"'\\", "#x: y"}[r.IntN(6)])
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(r.IntN(2) == 0)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(fd.Enum().Values().Get(r.IntN(fd.Enum().Values().Len())).Number())
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32([]uint32{0, 1, 80, 1<<32 - 1}[r.IntN(4)])
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(r.IntN(1000))) //nolint:gosec // small
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(r.Int64N(1000))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(r.IntN(100)))
	}
	return fd.Default()
}

// TestConvertGenerated: generated assignments of every version are the same in every format and back.
func TestConvertGenerated(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		for _, version := range eds.APIVersions {
			source := eds.NewAssignment(version)
			fillMessage(r, source.ProtoReflect(), 0)
			for _, format := range Formats() {
				data, err := EncodeMessages(format, source)
				if err != nil {
					t.Fatal(err)
				}
				o := eds.Options{Format: format, Shape: eds.ShapeAssignment, APIVersion: version}
				got := eds.NewLoader(o).Load("x"+Extension(format), data, true).Resources
				if len(got) != 1 || !proto.Equal(source, got[0].Original) {
					t.Fatalf("%s %s: %v\n%s", version, format, got[0].Problems, data)
				}
			}
		}
	}
}

// TestConvertLosses: each field that a version lacks is named by its path.
func TestConvertLosses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		from, to   eds.APIVersion
		want       []string // path or, for what decoding dropped, the path of the key
	}{
		{"hostname", `{cluster_name: a, endpoints: {lb_endpoints: {endpoint: {hostname: h, health_check_config: {hostname: i}, address: {pipe: {path: p, mode: 1}}}}}}`, eds.V2, eds.V3Alpha, []string{
			"endpoints[0].lb_endpoints[0].endpoint.address.pipe.mode", "endpoints[0].lb_endpoints[0].endpoint.health_check_config.hostname", "endpoints[0].lb_endpoints[0].endpoint.hostname",
		}},
		{"disable_overprovisioning", `{cluster_name: a, policy: {disable_overprovisioning: true}}`, eds.V2, eds.V3, []string{"policy.disable_overprovisioning"}},
		{"disable_overprovisioning off", `{cluster_name: a, policy: {disable_overprovisioning: false}}`, eds.V2, eds.V3, nil},
		{"empty metadata key", `{cluster_name: a, endpoints: {lb_endpoints: {metadata: {filter_metadata: {"": {}}}}}}`, eds.V2, eds.V3, []string{`endpoints[0].lb_endpoints[0].metadata.filter_metadata[]`}},
		{"empty metadata key, v2 to v3alpha", `{cluster_name: a, endpoints: {lb_endpoints: {metadata: {filter_metadata: {"": {}}}}}}`, eds.V2, eds.V3Alpha, nil},
		{"v3 only", `{cluster_name: a, policy: {weighted_priority_health: true}, endpoints: [{metadata: {}, load_balancer_endpoints: {}}]}`, eds.V3, eds.V2, []string{
			"endpoints[0].load_balancer_endpoints", "endpoints[0].metadata", "policy.weighted_priority_health",
		}},
		{"default values", `{cluster_name: a, policy: {weighted_priority_health: false}}`, eds.V3, eds.V2, nil},
		{"unknown", `{cluster_name: a, foo: 1}`, eds.V3, eds.V2, []string{"foo"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := load(eds.Options{APIVersion: tt.from}, "a.yaml", []byte(tt.text))
			out, err := Conversion{Format: eds.YAML, Version: tt.to}.Convert([]ConversionInput{in})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range out.Losses {
				got = append(got, l.Path.String())
				if !l.Span.IsKnown() {
					t.Errorf("%s has no position", l.Path)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("losses %q, want %q", got, tt.want)
			}
		})
	}
}

// TestConvertUnknownBinary: unknown fields of a binary message are named by number.
func TestConvertUnknownBinary(t *testing.T) {
	t.Parallel()
	in := load(eds.Options{Format: eds.Binary, Shape: eds.ShapeAssignment}, "a.pb", []byte("\x0a\x01a\x22\x02\x28\x01\xca\x3e\x01x"))
	out, err := Conversion{Format: eds.JSON}.Convert([]ConversionInput{in})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range out.Losses {
		got = append(got, l.Message)
	}
	want := []string{"unknown field 1001 in ClusterLoadAssignment", `unknown field 5 in policy: it is "disable_overprovisioning" of v2, which v3 does not have`}
	if !slices.Equal(got, want) {
		t.Errorf("losses %q, want %q", got, want)
	}
}

// TestConvertResponses: what stands around the resources of a response is converted with them.
func TestConvertResponses(t *testing.T) {
	t.Parallel()
	text := `
version_info: "7"
nonce: n1
type_url: type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment
control_plane: {identifier: cp}
resources:
- "@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment
  cluster_name: a
- "@type": type.googleapis.com/envoy.service.discovery.v3.Resource
  name: b
  version: "3"
  ttl: 5s
  resource:
    "@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment
    cluster_name: b
`
	in := load(eds.Options{}, "a.yaml", []byte(text))
	out, err := Conversion{Format: eds.Binary, Version: eds.V2}.Convert([]ConversionInput{in})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Losses) != 1 || out.Losses[0].Path.String() != "ttl" {
		t.Errorf("losses %+v", out.Losses)
	}
	var m discoveryv3.DiscoveryResponse
	if err := proto.Unmarshal(out.Data, &m); err != nil {
		t.Fatal(err)
	}
	if m.GetVersionInfo() != "7" || m.GetNonce() != "n1" || m.GetControlPlane().GetIdentifier() != "cp" || m.GetTypeUrl() != eds.AssignmentURL(eds.V2) {
		t.Errorf("envelope %v", &m)
	}
	if got := m.GetResources()[1].GetTypeUrl(); got != eds.WrapperURL(eds.V2) {
		t.Errorf("wrapper type %q", got)
	}
	// and back, all but the loss
	back, err := Conversion{Format: eds.YAML, Version: eds.V3}.Convert([]ConversionInput{load(eds.Options{}, "a.pb", out.Data)})
	if err != nil {
		t.Fatal(err)
	}
	again := load(eds.Options{}, "a.yaml", back.Data)
	if problem := sameAssignments(assignmentsOf(in.File), assignmentsOf(again.File)); problem != "" || len(back.Losses) > 0 {
		t.Errorf("%s %v\n%s", problem, back.Losses, back.Data)
	}
	if !bytes.Contains(back.Data, []byte(`version: "3"`)) {
		t.Errorf("the wrapper's version is lost:\n%s", back.Data)
	}
}

// TestConvertUnknownAny: the content of an Any whose type is not known goes from text to text, and is refused elsewhere.
func TestConvertUnknownAny(t *testing.T) {
	t.Parallel()
	text := `{"cluster_name": "a", "endpoints": [{"lb_endpoints": [{"metadata": {"typed_filter_metadata": {"x": {"@type": "type.googleapis.com/envoy.extensions.Foo", "bar": 1}}}}]}]}`
	in := load(eds.Options{}, "a.json", []byte(text))
	out, err := Conversion{Format: eds.YAML}.Convert([]ConversionInput{in})
	if err != nil || len(out.Losses) > 0 || !bytes.Contains(out.Data, []byte("bar: 1")) {
		t.Errorf("to YAML: %v %+v", err, out)
	}
	out, err = Conversion{Format: eds.Binary}.Convert([]ConversionInput{in})
	if err != nil || len(out.Losses) != 1 || out.Losses[0].Span.Start.Line != 1 {
		t.Errorf("to binary: %v %+v", err, out)
	}
}

// TestConvertNumbers: numbers of metadata that Envoy reads as strings in YAML are named.
func TestConvertNumbers(t *testing.T) {
	t.Parallel()
	text := `{"cluster_name": "a", "endpoints": [{"lb_endpoints": [{"metadata": {"filter_metadata": {"x": {"f": 0.5, "big": 5000000000, "small": 7}}}}]}]}`
	in := load(eds.Options{}, "a.json", []byte(text))
	for format, want := range map[eds.Format]int{eds.YAML: 2, eds.JSONLines: 0, eds.Binary: 0, eds.TextProto: 0} {
		out, err := Conversion{Format: format}.Convert([]ConversionInput{in})
		if err != nil || len(out.Losses) != want {
			t.Errorf("%s: %v, losses %+v", format, err, out.Losses)
		}
	}
}

func TestFileNames(t *testing.T) {
	t.Parallel()
	parts := []Converted{{Names: []string{"outbound|80||a.b"}}, {Names: []string{"outbound_80__a.b"}}, {Names: []string{"../x"}}, {Names: []string{""}}}
	got := FileNames(parts, eds.JSON)
	want := []string{"outbound_80__a.b.json", "outbound_80__a.b-2.json", "_x.json", "assignment.json"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}

}

// TestConvertBootstraps: what a bootstrap has of static clusters is the same in text and binary protobuf and back, with the
// same verdict, wherever convert says that nothing is lost.
func TestConvertBootstraps(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, f := range corpus(t) {
		in := load(eds.Options{}, f.fileName(), []byte(f.data))
		if len(in.File.Resources) == 0 || in.File.Resources[0].Shape != eds.ShapeBootstrap || in.File.Resources[0].Cluster == nil {
			continue
		}
		var first []byte
		for _, format := range []eds.Format{eds.Binary, eds.TextProto} {
			to := Conversion{Format: format, Shape: eds.ShapeBootstrap}
			out, err := to.Convert([]ConversionInput{in})
			if err != nil || len(out.Losses) > 0 {
				continue
			}
			again := load(eds.Options{}, "b"+Extension(format), out.Data)
			if got := again.File.Resources[0].Shape; got != eds.ShapeBootstrap {
				t.Errorf("%s: %s is read as %q", f.name, format, got)
				continue
			}
			if problem := sameAssignments(assignmentsOf(in.File), assignmentsOf(again.File)); problem != "" {
				t.Errorf("%s: %s: %s", f.name, format, problem)
			}
			if out, err := to.Convert([]ConversionInput{again}); err != nil || !bytes.Equal(out.Data, again.Data) {
				t.Errorf("%s: %s: %v, not the same again", f.name, format, err)
			}
			back, err := Conversion{Format: eds.YAML, Shape: eds.ShapeBootstrap}.Convert([]ConversionInput{again})
			if err != nil {
				t.Errorf("%s: from %s: %v", f.name, format, err)
				continue
			}
			if first == nil {
				first = back.Data
			}
			if !bytes.Equal(first, back.Data) {
				t.Errorf("%s: %s gives other YAML:\n%s", f.name, format, lineDiff(string(first), string(back.Data)))
			}
			yaml := load(eds.Options{}, "b.yaml", back.Data)
			if want, got := verdictsOf(yaml.File), verdictsOf(again.File); !slices.Equal(want, got) {
				t.Errorf("%s: verdicts in %s %q, in YAML %q", f.name, format, got, want)
			}
			checked++
		}
	}
	if checked < 10 {
		t.Errorf("%d conversions were compared", checked)
	}
}

// verdictsOf are the verdicts of the resources of a file.
func verdictsOf(f *eds.File) []string {
	var out []string
	for _, r := range validate.Run(f.Resources, validate.Options{}).Resources {
		v := r.Verdicts[diag.Envoy]
		if v.Rule == "lb-policy-unknown" || v.Rule == "any-type-unknown" { // found by whoever reads text, and later in binary
			v = diag.Verdict{Kind: v.Kind}
		}
		out = append(out, fmt.Sprintf("%s %+v", r.Name, v))
	}
	return out
}
