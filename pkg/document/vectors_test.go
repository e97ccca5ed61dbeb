package document

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	yamlv4 "go.yaml.in/yaml/v4"
)

type vector struct {
	ID       string  `yaml:"id"`
	Input    *string `yaml:"input"`
	Hex      string  `yaml:"hex"`
	Ext      *string `yaml:"ext"`
	Observed []struct {
		Source  []string `yaml:"source"`
		Verdict string   `yaml:"verdict"`
		Message string   `yaml:"message"`
	} `yaml:"observed"`
}

// isJSON tells whether Envoy read the input as JSON.
func (v vector) isJSON() bool {
	if v.Ext == nil {
		return false
	}
	switch strings.ToLower(*v.Ext) {
	case ".yaml", ".yml", ".pb", ".pb_text":
		return false
	}
	return true
}

// readerError finds the text of Envoy's YAML or JSON reader in a message.
var readerError = regexp.MustCompile(`(?s)(yaml-cpp: error at .*)|Unable to parse JSON as proto \(INVALID_ARGUMENT: (?:invalid JSON in [^@]*?, near <pos>: )?((?:unexpected (?:EOF|character)|extraneous characters).*)\)$`)

// TestEnvoyVerdicts reads the inputs of the vectors: those that Envoy's readers refused must fail with its text, the
// others must be read.
func TestEnvoyVerdicts(t *testing.T) {
	errorTexts, read := 0, 0
	for _, name := range []string{"yaml.yaml", "files.yaml", "fields.yaml", "realworld.yaml", "rules.yaml"} {
		var file struct {
			Entries []vector `yaml:"entries"`
		}
		path := filepath.Join("../../testdata/vectors/envoy-verdicts", name)
		if err := decodeFile(path, &file); err != nil {
			if os.IsNotExist(err) {
				continue
			}
			t.Fatal(err)
		}
		for _, v := range file.Entries {
			src := []byte(v.Hex)
			switch {
			case v.Input != nil:
				src = []byte(*v.Input)
			case v.Hex != "" && (v.Ext == nil || *v.Ext == ".yaml"):
				src, _ = hex.DecodeString(v.Hex)
			default:
				continue
			}
			if v.Ext != nil && (*v.Ext == ".pb" || *v.Ext == ".pb_text") {
				continue
			}
			want := ""
			for _, o := range v.Observed {
				if m := readerError.FindStringSubmatch(o.Message); m != nil {
					want = m[1] + m[2]
				}
				if o.Verdict == "crash" && v.ID == "yaml/alias-cycle" {
					want = "crash"
				}
			}
			got := ""
			var err error
			var docs []*Document
			if v.isJSON() {
				_, err = ParseJSON(src, Limits{})
			} else {
				docs, err = ParseYAML(src, Limits{})
			}
			var se *SyntaxError
			if errors.As(err, &se) && len(docs) == 0 {
				got = se.Envoy
				if se.Rule == "yaml-alias-cycle" {
					got = "crash"
				}
			}
			if v.isJSON() == false && strings.Contains(want, "unexpected character") {
				want = "" // about the type of a value
			}
			if got != want {
				t.Errorf("%s:\ngot  %q\nwant %q", v.ID, got, want)
			}
			if got != "" {
				errorTexts++
			} else {
				read++
			}
		}
	}
	t.Logf("%d inputs read, %d error texts", read, errorTexts)
	if errorTexts < 10 || read < 90 {
		t.Errorf("the vectors have shrunk: %d inputs read, %d error texts", read, errorTexts)
	}
}

func decodeFile(path string, into any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return yamlv4.Unmarshal(b, into)
}
