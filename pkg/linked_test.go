package pkg_test

import (
	"os/exec"
	"strings"
	"testing"
)

// unlinked says what the program may not link, by itself or through others. Whatever is linked sets itself up at every
// start, also of the commands that do not use it.
var unlinked = []struct{ imports, why string }{
	{"github.com/envoyproxy/go-control-plane/envoy/api/...", "pkg/api has the part of v2 that is needed, under the same names: both cannot be in one program"},
	{"github.com/envoyproxy/go-control-plane/envoy/type", "pkg/api has the part of v2 that is needed, under the same names: both cannot be in one program"},
	{"cel.dev/cel-go/cel", "its parser, checker and interpreter do without descriptors of descriptors"},
	{"cel.dev/cel-go/ext", "functions that no assertion needs, and the plural forms of all languages"},
	{"google.golang.org/protobuf/reflect/protodesc", "reads the descriptors of descriptors when it is linked"},
	{"google.golang.org/grpc/xds/...", "a second xDS client; the tests and conformance have it"},
	{"golang.org/x/net/trace", "html/template; the tag grpcnotrace leaves it out"},
	{"html/template", "what is called by name keeps the linker from leaving methods out: five megabytes"},
	{"github.com/xeipuuv/...", "schemas are checked in tests"},
	{"github.com/schollz/progressbar/...", "compiles patterns and widths of characters for one line of text"},
	{"go.yaml.in/yaml/v2", "compiles its patterns; what edsctl reads and writes has its own reader and writer"},
	{"github.com/dustin/go-humanize", "big numbers and patterns for the kinds of charts that are not drawn: chartdraw is enough"},
	{"k8s.io/...", "costs ten megabytes and half of the start-up time"},
	{"gonum.org/...", "costs start-up time"},
}

func TestLinked(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", "grpcnotrace", "./cmd/edsctl") // as make build
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if len(linked) < 100 {
		t.Fatalf("go list named %d packages only", len(linked))
	}
	for _, u := range unlinked {
		for _, path := range linked {
			if matches(u.imports, path) {
				t.Errorf("edsctl links %s: %s", path, u.why)
			}
		}
	}
}
