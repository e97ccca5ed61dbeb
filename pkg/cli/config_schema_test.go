package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/edsctl/edsctl/pkg/config"
	"github.com/edsctl/edsctl/pkg/lint"
)

// configSchema is the JSON Schema (2020-12) of .edsctl.yaml, published as docs/edsctl-config.schema.json. pkg/config reads what it describes.
func configSchema(root *cobra.Command) map[string]any {
	object := func(properties map[string]any) map[string]any {
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": false, "properties": properties}
	}
	describe := func(text string, schema map[string]any) map[string]any {
		out := map[string]any{"description": text}
		for key, value := range schema {
			out[key] = value
		}
		return out
	}
	ref := func(name string) map[string]any { return map[string]any{"$ref": "#/$defs/" + name} }
	flags := func(names []string) map[string]any {
		properties := map[string]any{}
		for _, name := range names {
			properties[name] = ref("value")
		}
		return object(properties)
	}
	rules := map[string]any{}
	for _, rule := range lint.Rules() {
		rules[rule.ID] = describe(rule.Summary, ref("level"))
	}
	override := object(map[string]any{
		"paths": describe("files for which the override holds", ref("globs")),
		"rules": ref("rules"),
		"flags": describe("values of flags for these files", flags(pathFlags())),
	})
	override["type"], override["required"] = "object", []string{"paths"}
	schema := object(map[string]any{
		"rules":     ref("rules"),
		"exclude":   describe("files and folders that a directory or a glob does not bring in", ref("globs")),
		"flags":     describe("values of flags that neither the command line nor the environment sets", flags(projectFlags(root))),
		"overrides": describe("what holds for some files only; the later one wins", map[string]any{"type": []string{"array", "null"}, "items": override}),
	})
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["$id"] = "https://github.com/edsctl/edsctl/raw/main/docs/edsctl-config.schema.json"
	schema["title"] = "edsctl configuration"
	schema["$defs"] = map[string]any{
		"rules":  describe("severity of a rule, whatever its effects", object(rules)),
		"level":  map[string]any{"enum": severityNames()},
		"globs":  map[string]any{"type": []string{"array", "null"}, "items": map[string]any{"type": "string", "minLength": 1}},
		"value":  map[string]any{"anyOf": []any{ref("scalar"), map[string]any{"type": "array", "items": ref("scalar")}}},
		"scalar": map[string]any{"type": []string{"string", "number", "boolean"}},
	}
	return schema
}

const configSchemaFile = "../../docs/edsctl-config.schema.json"

// TestDocsConfigSchema compares the published schema with the one that rules and flags give. UPDATE=1 rewrites it.
func TestDocsConfigSchema(t *testing.T) {
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(configSchema(docsRoot())); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(configSchemaFile, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(configSchemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("docs/edsctl-config.schema.json is not up to date: run make docs")
	}
}

// TestConfigSchemaAgreesWithReader puts each file of testdata/config to the published schema and to the reader: ok-*.yaml
// pass both, bad-*.yaml neither.
func TestConfigSchemaAgreesWithReader(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(configSchemaFile)
	if err != nil {
		t.Fatal(err)
	}
	root := docsRoot()
	known := config.Known{Rules: ruleIDs(), Flags: projectFlags(root), PathFlags: pathFlags()}
	files, err := filepath.Glob("testdata/config/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			asJSON, err := yaml.YAMLToJSON(data)
			if err != nil {
				t.Fatal(err)
			}
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
			if err != nil {
				t.Fatal(err)
			}
			schemaErr := schema.Validate(value)
			_, readErr := config.Parse(file, data, known)
			if strings.HasPrefix(filepath.Base(file), "ok-") {
				if schemaErr != nil || readErr != nil {
					t.Errorf("schema: %v; reader: %v", schemaErr, readErr)
				}
			} else if schemaErr == nil || readErr == nil {
				t.Errorf("accepted: by the schema %v, by the reader %v", schemaErr == nil, readErr == nil)
			}
		})
	}
}
