package author

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/edsctl/edsctl/pkg/document"
	"github.com/edsctl/edsctl/pkg/eds"
)

// compile makes a validator of a schema, which must be valid by the metaschema.
func compile(t *testing.T, o SchemaOptions) *jsonschema.Schema {
	t.Helper()
	text, err := Schema(o)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	meta, err := c.Compile("https://json-schema.org/draft/2020-12/schema")
	if err != nil {
		t.Fatal(err)
	}
	if err := meta.Validate(value); err != nil {
		t.Fatalf("%+v: %v", o, err)
	}
	if err := c.AddResource("urn:test", value); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("urn:test")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSchemasAreSchemas(t *testing.T) {
	for _, shape := range SchemaShapes() {
		for _, version := range eds.APIVersions {
			o := SchemaOptions{Shape: shape, Version: version}
			if _, err := Schema(o); err != nil {
				if version == eds.V3 {
					t.Error(err)
				}
				continue
			}
			compile(t, o)
		}
	}
}

type schemaVector struct {
	ID, Rule, Shape, Input string
	Ext                    *string
	Args                   []string
	Bootstrap              map[string]any
	Clusters               any
	Then                   []any
	Varies                 string
	Observed               []struct {
		Source           []string
		Cluster, Verdict string
		Message          string
		ClusterFields    map[string]any `json:"cluster_fields"`
	}
}

// beyondSchema are the rules whose cause no schema can express, with the reason. Of the other rejected inputs the schema
// must reject nearly all.
var beyondSchema = map[string]string{
	"host-weight-sum-overflow":        "a sum over a list",
	"locality-weight-sum-overflow":    "a sum over a list",
	"local-cluster-priority":          "the name of the local cluster stands elsewhere in the bootstrap",
	"eds-cluster-name-mismatch":       "the name that the cluster asks for stands in another file",
	"resource-duplicate-name":         "two values are compared",
	"yaml-document":                   "what is left of these parses, with another name than the cluster asks for",
	"leds-unsupported-source":         "what kind of source is served where depends on the rest of the bootstrap",
	"leds-collection-name-invalid":    "the grammar of xdstp names",
	"leds-over-sotw-ads":              "the kind of the ADS stream stands elsewhere in the bootstrap",
	"leds-static-cluster":             "that there is no ADS stream stands elsewhere in the bootstrap",
	"load-balancer-endpoints-ignored": "a runtime key that makes deprecated fields an error",
}

// parsed reads a text as Envoy's JSON reader gets it; false when it cannot be parsed at all.
func parsed(text string) (any, bool) {
	docs, err := document.ParseYAML([]byte(text), document.Limits{})
	if err != nil && len(docs) == 0 || len(docs) == 0 || !docs[0].Root.IsValid() {
		return nil, false
	}
	budget := maxTreeNodes
	l, err := treeLiteral(docs[0].Root, &budget)
	if err != nil {
		return nil, false
	}
	data, err := encodeJSON(l, false)
	if err != nil {
		return nil, false
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	return v, err == nil
}

// around puts a bare assignment or a cluster into what its source reads.
func (e *schemaVector) around(v any, source, cluster string, fields map[string]any) any {
	origin := strings.TrimSuffix(source, "@cds")
	switch {
	case e.Shape == "file":
		return v
	case origin == "file":
		if m, ok := v.(map[string]any); ok {
			out := map[string]any{"@type": eds.AssignmentURL(eds.V3)}
			for k, v := range m {
				out[k] = v
			}
			v = out
		}
		return map[string]any{"resources": []any{v}}
	}
	c := v
	if e.Shape != "cluster" {
		kind, policy, _ := strings.Cut(cluster, " ")
		m := map[string]any{"name": "v", "type": kind, "connect_timeout": "1s", "load_assignment": v}
		if policy != "" {
			m["lb_policy"] = policy
		}
		for k, v := range fields {
			m[k] = v
		}
		c = m
	}
	if origin == "cds" {
		if m, ok := c.(map[string]any); ok {
			m["@type"] = eds.ClusterURL(eds.V3)
		}
		return map[string]any{"resources": []any{c}}
	}
	return map[string]any{"node": map[string]any{"id": "n", "cluster": "c"}, "static_resources": map[string]any{"clusters": []any{c}}}
}

// TestSchemaOfVectors: the schema takes all that Envoy took, and refuses nearly all that it refused for a reason that a
// schema can express.
func TestSchemaOfVectors(t *testing.T) {
	schemas := map[string]*jsonschema.Schema{
		"bootstrap": compile(t, SchemaOptions{Shape: eds.ShapeBootstrap, Version: eds.V3}),
		"file":      compile(t, SchemaOptions{Shape: eds.ShapeResponse, Version: eds.V3}),
		"cds":       compile(t, SchemaOptions{Shape: eds.ShapeCDS, Version: eds.V3}),
	}
	auto := compile(t, SchemaOptions{Shape: AnySchema, Version: eds.V3})
	schemas["start"], schemas["file@cds"] = schemas["bootstrap"], schemas["file"]
	files, err := filepath.Glob("../../testdata/vectors/envoy-verdicts/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no vectors")
	}
	accepted, rejected, refused, beyond := 0, 0, 0, 0
	missed := map[string][]string{}
	for _, name := range files {
		for _, e := range schemaVectors(t, name) {
			if e.Input == "" || len(e.Args) > 0 || len(e.Then) > 0 || e.Varies != "" || e.Clusters != nil || e.Ext != nil && *e.Ext != ".yaml" && *e.Ext != ".json" {
				continue
			}
			_, ok := parsed(e.Input)
			for _, o := range e.Observed {
				for _, source := range o.Source {
					s := schemas[source]
					if s == nil {
						continue
					}
					err := errors.New("no text")
					if ok {
						v, _ := parsed(e.Input) // anew: what is put around it changes it
						instance := e.around(v, source, o.Cluster, o.ClusterFields)
						if err = s.Validate(instance); err == nil && source != "cds" { // auto takes a response for one of EDS
							err = auto.Validate(instance)
						}
					}
					switch {
					case o.Verdict == "accept" && err != nil:
						t.Errorf("%s by %s: Envoy accepts it: %v", e.ID, source, err)
					case o.Verdict == "accept":
						accepted++
					case o.Verdict != "reject" && o.Verdict != "start_failure":
					case beyondSchema[e.Rule] != "" && err == nil:
						beyond++
					default:
						rejected++
						if err != nil {
							refused++
						} else {
							missed[e.Rule] = append(missed[e.Rule], e.ID+" by "+source+": "+o.Message)
						}
					}
				}
			}
		}
	}
	t.Logf("accepted %d; rejected %d, of which the schema refuses %d; %d beyond a schema", accepted, rejected, refused, beyond)
	for rule, ids := range missed {
		t.Logf("%s: %d\n  %s", rule, len(ids), strings.Join(ids[:min(len(ids), 4)], "\n  "))
	}
	if refused*100 < rejected*90 {
		t.Errorf("the schema refuses %d of %d", refused, rejected)
	}
}

func schemaVectors(t *testing.T, name string) []schemaVector {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var f struct{ Entries []json.RawMessage }
	if err := yaml.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	var out []schemaVector
	for _, raw := range f.Entries {
		var e schemaVector
		if json.Unmarshal(raw, &e) == nil { // entries of another form are not for this test
			out = append(out, e)
		}
	}
	return out
}
