package validate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

// grpcObserved is an entry of testdata/vectors/grpc-observed: what grpc-go did with an input.
type grpcObserved struct {
	ID        string  `json:"id"`
	Shape     string  `json:"shape"`
	Input     *string `json:"input"`
	Verdict   string  `json:"verdict"`
	Message   string  `json:"message"`
	Delivered *bool   `json:"delivered"`
	Steps     []any   `json:"steps"`
}

// grpcExceptions are inputs that were recorded as Go's YAML reads them, not as Envoy does, and one without a resource.
var grpcExceptions = map[string]string{
	"yaml/merge-key":               "Go's reader merges",
	"yaml/ignore-tag-on-known-key": "Go's reader does not know the tag",
	"yaml/nested-200":              "Go's reader takes more levels than Envoy's",
	"wire/empty-response":          "there is no resource to judge",
}

var grpcVerdictWords = map[string]diag.VerdictKind{
	"accept": diag.Accept, "ack": diag.Accept, "reject": diag.Rejected, "nack": diag.Rejected, "none": diag.Ignored,
}

// TestGRPCObserved compares gRPC's verdicts and messages with those of a real grpc-go.
func TestGRPCObserved(t *testing.T) {
	inputs := map[string]*vectorEntry{}
	files, _ := filepath.Glob(filepath.Join(vectors, "*.yaml"))
	for _, name := range files {
		f := readVectors(t, name)
		for i := range f.Entries {
			inputs[f.Entries[i].ID] = &f.Entries[i]
		}
	}
	var golden strings.Builder
	for _, name := range []string{"verdicts.yaml", "variants.yaml"} {
		var observed struct {
			Entries []grpcObserved `json:"entries"`
		}
		readYAML(t, filepath.Join(vectors, "..", "grpc-observed", name), &observed)
		sum := tally{}
		t.Run(name, func(t *testing.T) {
			for i := range observed.Entries {
				o := &observed.Entries[i]
				base, _, _ := strings.Cut(strings.Split(o.ID, "~")[0], "#resources")
				if inputs[base] == nil {
					base, _, _ = strings.Cut(o.ID, "~")
				}
				if strings.HasPrefix(base, "realworld/") {
					continue // not part of the project
				}
				compareGRPC(t, o, inputs[base], &sum)
			}
		})
		fmt.Fprintf(&golden, "grpc-observed/%-22s checked %4d  agree %4d  not run %3d\n", name, sum.checked, sum.agreed, sum.notRun)
	}
	compareEDSVectors(t, &golden)
	compareGolden(t, filepath.Join(vectors, "..", "checked-grpc.golden"), golden.String())
}

func readYAML(t *testing.T, name string, v any) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func compareGRPC(t *testing.T, o *grpcObserved, e *vectorEntry, sum *tally) {
	in := grpcInput(o, e)
	if in == nil || len(o.Steps) > 0 || grpcExceptions[o.ID] != "" {
		sum.notRun++
		return
	}
	sum.checked++
	want := grpcVerdictWords[o.Verdict]
	if o.Delivered != nil && !*o.Delivered {
		want = diag.Ignored
	}
	resources := in.load()
	if len(resources) == 0 {
		t.Errorf("%s: no resource", o.ID)
		return
	}
	got := validate.Run(resources, in.options).Resources[0].Verdicts[diag.GRPC]
	if problem := grpcProblem(got, want, o.Message); problem != "" {
		t.Errorf("%s: %s", o.ID, problem)
		return
	}
	sum.agreed++
}

func grpcProblem(got diag.Verdict, want diag.VerdictKind, message string) string {
	if got.Kind != want {
		return fmt.Sprintf("verdict is %s (%s: %s), observed %s: %s", got.Kind, got.Rule, got.Message, want, message)
	}
	if want != diag.Rejected {
		return ""
	}
	return compareMessages(got.Message, message)
}

// grpcInput is the input as a control plane sent it; nil for what is not one assignment or one cluster.
func grpcInput(o *grpcObserved, e *vectorEntry) *vectorCase {
	text := o.Input
	in := &vectorCase{name: "FILE.yaml", item: -1}
	in.loader.Source, in.loader.Shape = eds.FromSotW, eds.ShapeAssignment
	if e != nil && text == nil && !strings.Contains(o.ID, "~") { // of the variants it is not recorded whether they were delivered
		in.options.ExpectName = e.EDSName
		switch {
		case e.Response != nil:
			return grpcResponse(in, o, e)
		case e.File != "" && in.readFile(e.File) == "":
			text = new(string(in.data))
		default:
			text = e.Input
		}
	} else if text == nil && e != nil && e.Response != nil {
		return grpcResponse(in, o, e)
	}
	if text == nil {
		return nil
	}
	in.data = []byte(*text)
	if e != nil && e.Shape == "file" && o.Input == nil {
		in.loader.Shape, in.item = eds.ShapeResponse, resourceIndex(o.ID)
		in.options.ExpectName = "" // served under its own name
		if o.Shape == "cluster" {
			in.loader.Source, in.loader.Shape = eds.FromCDS, eds.ShapeCDS
		}
		return in
	}
	if o.Shape == "cluster" {
		in.loader.Source, in.loader.Shape = eds.FromCDS, eds.ShapeCluster
		if e != nil && e.File != "" {
			in.loader.Shape = ""
		}
		return in
	}
	if in.item >= 0 {
		in.loader.Shape = eds.ShapeList
		return in
	}
	data, err := binaryAssignment(*text)
	if err != nil {
		return nil
	}
	in.data, in.loader.Format = data, eds.Binary
	return in
}

// resourceIndex is the n of an id that ends in "#resources[n]", else -1.
func resourceIndex(id string) int {
	_, rest, ok := strings.Cut(id, "#resources[")
	n, err := strconv.Atoi(strings.TrimSuffix(rest, "]"))
	if !ok || err != nil {
		return -1
	}
	return n
}

// grpcResponse is a literal response, or one resource of it alone.
func grpcResponse(in *vectorCase, o *grpcObserved, e *vectorEntry) *vectorCase {
	r := *e.Response
	if i := resourceIndex(o.ID); i >= 0 {
		r.Resources = r.Resources[i : i+1]
	}
	data, err := responseBytes(&r, "grpc", e.EDSName, strings.HasSuffix(o.ID, "~located"))
	if err != nil {
		return nil
	}
	in.data, in.loader.Format, in.loader.Shape = data, eds.Binary, eds.ShapeResponse
	return in
}

// edsVector is an entry of the part "validation" of grpc-eds-vectors.yaml.
type edsVector struct {
	ID     string            `json:"id"`
	Input  json.RawMessage   `json:"input"`
	Env    map[string]string `json:"env"`
	Wire   json.RawMessage   `json:"wire"`
	Expect struct {
		Verdict string `json:"verdict"`
		Equals  string `json:"error_equals"`
		Prefix  string `json:"error_prefix"`
	} `json:"expect.go"`
}

func compareEDSVectors(t *testing.T, golden *strings.Builder) {
	var f struct {
		Validation []edsVector `json:"validation"`
	}
	readYAML(t, filepath.Join(vectors, "..", "grpc-eds-vectors.yaml"), &f)
	sum := tally{}
	for i := range f.Validation {
		v := &f.Validation[i]
		if v.Input == nil || v.Wire != nil {
			sum.notRun++
			continue
		}
		sum.checked++
		options := eds.Options{Shape: eds.ShapeAssignment, Source: eds.FromSotW}
		resources := eds.NewLoader(options).Load("FILE.json", v.Input, true).Resources
		report := validate.Run(resources, validate.Options{Getenv: func(k string) string { return v.Env[k] }})
		got := report.Resources[0].Verdicts[diag.GRPC]
		message := v.Expect.Equals
		if v.Expect.Prefix != "" {
			message = v.Expect.Prefix + "<dump>"
		}
		if problem := grpcProblem(got, grpcVerdictWords[v.Expect.Verdict], message); problem != "" {
			t.Errorf("%s: %s", v.ID, problem)
			continue
		}
		sum.agreed++
	}
	fmt.Fprintf(golden, "%-36s checked %4d  agree %4d  not run %3d\n", "grpc-eds-vectors.yaml", sum.checked, sum.agreed, sum.notRun)
}
