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
	Rule     string  `yaml:"rule"`
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

// text is the input as YAML or JSON; false when it is something else.
func (v vector) text() ([]byte, bool) {
	if v.Ext != nil && (*v.Ext == ".pb" || *v.Ext == ".pb_text") {
		return nil, false
	}
	if v.Input != nil {
		return []byte(*v.Input), true
	}
	if v.Hex == "" || v.isJSON() {
		return nil, false
	}
	src, err := hex.DecodeString(v.Hex)
	return src, err == nil
}

// read is the error text of our reader, "crash" for an alias cycle, empty when the first document is read.
func (v vector) read(src []byte) string {
	var docs []*Document
	var err error
	if v.isJSON() {
		_, err = ParseJSON(src, Limits{})
	} else {
		docs, err = ParseYAML(src, Limits{})
	}
	var se *SyntaxError
	switch {
	case len(docs) > 0 || !errors.As(err, &se):
		return ""
	case se.Rule == "yaml-alias-cycle":
		return "crash"
	default:
		return se.Envoy
	}
}

// want is the error text of Envoy's reader. In a YAML file what the JSON reader says is about the types of values.
func (v vector) want() string {
	for _, o := range v.Observed {
		if o.Verdict == "crash" && v.Rule == "yaml-alias-cycle" {
			return "crash"
		}
		m := readerError.FindStringSubmatch(o.Message)
		switch {
		case m == nil:
		case m[1] != "":
			return m[1]
		case v.isJSON():
			return m[2]
		}
	}
	return ""
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
			src, ok := v.text()
			if !ok {
				continue
			}
			got := v.read(src)
			if want := v.want(); got != want {
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
