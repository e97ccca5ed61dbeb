package eds

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fieldTag is the tag that protoc-gen-go gives a field in the struct of its message, and structLine the begin of that.
var (
	fieldTag   = regexp.MustCompile("protobuf:\"(bytes|varint),(\\d+),(opt|rep),(?:packed,)?name=(\\w+)(?:,json=\\w+)?,proto3(,oneof)?")
	structLine = regexp.MustCompile(`(?m)^type (\w+) struct \{$`)
)

// generatedFields are the fields of the messages in a file of the module with Envoy's API, by the message and then by the name.
func generatedFields(t *testing.T, file string) map[string]map[string]string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/envoyproxy/go-control-plane/envoy").Output()
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), file))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]string{}
	for _, at := range structLine.FindAllSubmatchIndex(src, -1) {
		body, _, _ := strings.Cut(string(src[at[1]:]), "\n}")
		owner := string(src[at[2]:at[3]])
		for _, m := range fieldTag.FindAllStringSubmatch(body, -1) {
			if m[5] != "" { // a member of a oneof, which has a struct of its own
				owner = strings.TrimSuffix(strings.TrimRight(owner, "_"), "_"+unlinkedField{name: m[4]}.goName())
			}
			if out[owner] == nil {
				out[owner] = map[string]string{}
			}
			out[owner][m[4]] = fmt.Sprintf("%s %s %s", m[1], m[2], m[3])
		}
	}
	return out
}

// TestOutlines: the outlines have the fields of Envoy's messages, with their numbers and kinds.
func TestOutlines(t *testing.T) {
	t.Parallel()
	bootstrap := generatedFields(t, "config/bootstrap/v3/bootstrap.pb.go")
	http := generatedFields(t, "extensions/upstreams/http/v3/http_protocol_options.pb.go")
	core := generatedFields(t, "config/core/v3/extension.pb.go")
	var check func(o *outline)
	check = func(o *outline) {
		want := bootstrap
		switch packageOf(o.message) {
		case packageOf(HTTPOptionsName):
			want = http
		case "envoy.config.core.v3":
			want = core
		}
		generated := want[strings.ReplaceAll(strings.TrimPrefix(o.message, packageOf(o.message)+"."), ".", "_")]
		var missing []string
		for name := range generated {
			if !slices.Contains(o.names(), name) {
				missing = append(missing, name)
			}
		}
		if len(missing) > 0 {
			t.Errorf("%s lacks %q", o.message, missing)
		}
		for _, f := range o.fields {
			kind, many := "bytes", "opt"
			if f.is&isBool != 0 {
				kind = "varint"
			}
			if f.is&(isList|isEntries) != 0 {
				many = "rep"
			}
			if want := fmt.Sprintf("%s %d %s", kind, f.number, many); generated[f.name] != want {
				t.Errorf("%s.%s: %q, want %q", o.message, f.name, want, generated[f.name])
			}
		}
		for field, inner := range o.inner {
			if !slices.Contains(o.names(), field) {
				t.Errorf("%s has no %q", o.message, field)
			}
			check(inner)
		}
	}
	check(bootstrapOutline())
	check(httpOutline())
}
