package author

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/edsctl/edsctl/pkg/eds"
)

// TestDocsOfFields: schema_docs.txt holds the first sentence of the comment of each field, taken from the generated Go
// sources, where the comments of the .proto files are kept. UPDATE=1 writes it.
func TestDocsOfFields(t *testing.T) {
	roots := []proto.Message{
		&clusterv3.Cluster{}, &discoveryv3.DiscoveryResponse{}, &discoveryv3.DeltaDiscoveryResponse{},
		eds.NewAssignment(eds.V3), eds.NewAssignment(eds.V2), eds.NewAssignment(eds.V3Alpha),
	}
	seen := map[protoreflect.FullName]bool{}
	var queue []protoreflect.MessageDescriptor
	for _, m := range roots {
		queue = append(queue, m.ProtoReflect().Descriptor())
	}
	comments := goComments{t: t, byPackage: map[string]map[string]string{}}
	var lines []string
	for len(queue) > 0 {
		md := queue[0]
		queue = queue[1:]
		if seen[md.FullName()] || md.FullName().Parent() == "google.protobuf" {
			continue
		}
		seen[md.FullName()] = true
		for i := range md.Fields().Len() {
			fd := md.Fields().Get(i)
			if inner := fd.Message(); inner != nil && !fd.IsMap() {
				queue = append(queue, inner)
			} else if fd.IsMap() && fd.MapValue().Message() != nil {
				queue = append(queue, fd.MapValue().Message())
			}
			if doc := comments.of(fd); doc != "" {
				lines = append(lines, string(fd.FullName())+"\t"+doc+"\n")
			}
		}
	}
	slices.Sort(lines)
	got := strings.Join(lines, "")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile("schema_docs.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(schemaDocs, got); diff != "" {
		t.Errorf("UPDATE=1 rewrites schema_docs.txt:\n%s", diff)
	}
}

// goComments are the comments of the fields of generated structs, by package and by "Struct.proto_name".
type goComments struct {
	t         *testing.T
	byPackage map[string]map[string]string
}

func (c *goComments) of(fd protoreflect.FieldDescriptor) string {
	c.t.Helper()
	mt, err := protoregistry.GlobalTypes.FindMessageByName(fd.ContainingMessage().FullName())
	if err != nil {
		c.t.Fatal(err)
	}
	typ := reflect.TypeOf(mt.Zero().Interface()).Elem()
	if c.byPackage[typ.PkgPath()] == nil {
		c.byPackage[typ.PkgPath()] = c.parse(typ.PkgPath())
	}
	return c.byPackage[typ.PkgPath()][typ.Name()+"."+string(fd.Name())]
}

var (
	nameInTag  = regexp.MustCompile(`name=(\w+)`)
	reference  = regexp.MustCompile("(?s):\\w+:`([^<`]*?)\\s*(?:<[^`]*>)?`")
	directive  = regexp.MustCompile(`(?s)\[#[^\]]*\]`)
	literals   = regexp.MustCompile("``([^`]*)``")
	blockMarks = regexp.MustCompile(`(?m)^\s*\.\. .*$`)
)

func (c *goComments) parse(pkg string) map[string]string {
	out, err := exec.CommandContext(c.t.Context(), "go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		c.t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*.pb.go"))
	if err != nil {
		c.t.Fatal(err)
	}
	docs := map[string]string{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			c.t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			ts, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if st, ok := ts.Type.(*ast.StructType); ok {
				collectDocs(docs, ts.Name.Name, st)
			}
			return false
		})
	}
	return docs
}

// collectDocs reads the fields of a struct. A member of a oneof has a struct of its own, whose name begins with that of
// the message.
func collectDocs(docs map[string]string, name string, st *ast.StructType) {
	for _, f := range st.Fields.List {
		if f.Tag == nil {
			continue
		}
		m := nameInTag.FindStringSubmatch(f.Tag.Value)
		if m == nil {
			continue
		}
		if strings.Contains(f.Tag.Value, ",oneof") {
			suffix := "_" + f.Names[0].Name
			name = strings.TrimSuffix(strings.TrimRight(name, "_"), suffix)
		}
		if doc := firstSentence(f.Doc.Text()); doc != "" {
			docs[name+"."+m[1]] = doc
		}
	}
}

// firstSentence is the first sentence of a comment without the marks of reStructuredText.
func firstSentence(text string) string {
	text = blockMarks.ReplaceAllString(directive.ReplaceAllString(text, ""), "\n")
	text = literals.ReplaceAllString(reference.ReplaceAllString(text, "$1"), "$1")
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n\n")
	text = strings.Join(strings.Fields(text), " ")
	for i := 0; i < len(text); i++ {
		if text[i] == '.' && (i+1 == len(text) || text[i+1] == ' ') && !strings.HasSuffix(text[:i], "e.g") && !strings.HasSuffix(text[:i], "i.e") {
			return text[:i+1]
		}
	}
	return text
}
