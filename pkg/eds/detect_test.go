package eds_test

import (
	"testing"

	"github.com/edsctl/edsctl/pkg/eds"
)

// TestDetectText: the content tells text proto from YAML, whatever the file is called.
func TestDetectText(t *testing.T) {
	t.Parallel()
	const endpoint = `lb_endpoints { endpoint { address { socket_address { address: "192.0.2.1" port_value: 80 } } } }`
	for text, want := range map[string]eds.Format{
		"cluster_name: \"a\"\nendpoints {\n  " + endpoint + "\n}\n": eds.TextProto,
		"cluster_name: 'a' endpoints { " + endpoint + " }\n":        eds.TextProto,
		"# a comment\npolicy <\n>\ncluster_name: \"a\"\n":           eds.TextProto,
		"cluster_name: \"a\" # endpoints {\n":                       eds.YAML,
		"cluster_name: \"a\"\nendpoints: [ {\n} ]\n":                eds.YAML,
		"x: |\n endpoints {\n }\ncluster_name: a\n":                 eds.YAML,
	} {
		for _, name := range []string{"<stdin>", "a", "a.txt", "a.cfg"} {
			if f := eds.NewLoader(eds.Options{}).Load(name, []byte(text), true); f.Format != want {
				t.Errorf("%s: %q is %s, want %s", name, text, f.Format, want)
			}
		}
	}
}
