package pkg_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/edsctl/edsctl/"

type direction struct {
	pkg string
	may []string
	why string // it may not import more
}

// directions says which of our own packages each package may import. Data flows one way: bytes to trees to resources
// to reports to output. A trailing /... takes the packages below as well.
var directions = []direction{
	{"cmd/edsctl", []string{"pkg/cli"}, "main only wires"},
	{"pkg/api/...", []string{"pkg/api/..."}, "generated code stands alone"},
	{"pkg/author", []string{"pkg/api/...", "pkg/diag", "pkg/document", "pkg/eds", "pkg/selector"}, "convert knows the messages of all versions; an edit is checked by a function that cli passes in"},
	{"pkg/cli", []string{"pkg/..."}, ""},
	{"pkg/config", []string{"pkg/diag", "pkg/document"}, "settings are data; cli gives them a meaning"},
	{"pkg/diag", nil, "the vocabulary of all others knows none of them"},
	{"pkg/diff", []string{"pkg/diag", "pkg/eds", "pkg/selector", "pkg/simulate"}, "a difference is one of resources and their shares, not of findings"},
	{"pkg/document", []string{"pkg/diag"}, "a tree knows nothing of the API"},
	{"pkg/eds", []string{"pkg/api/...", "pkg/diag", "pkg/document"}, "resources are read without judging them"},
	{"pkg/input", nil, "finding bytes needs no idea of what is in them"},
	{"pkg/lb", nil, "mechanisms know neither protos nor clients"},
	{"pkg/lb/envoy", []string{"pkg/lb"}, "a client's algorithms work on plain structs"},
	{"pkg/lb/grpc", []string{"pkg/lb"}, "a client's algorithms work on plain structs"},
	{"pkg/lint", []string{"pkg/diag", "pkg/eds", "pkg/lb/...", "pkg/simulate"}, "a check sees one resource; the pipeline around it is validate"},
	{"pkg/render", []string{"pkg/author", "pkg/config", "pkg/diag", "pkg/diff", "pkg/eds", "pkg/lint", "pkg/simulate", "pkg/validate", "pkg/xds/..."}, "output decides nothing, so it needs no readers"},
	{"pkg/selector", []string{"pkg/diag"}, "a selector works on plain values"},
	{"pkg/simulate", []string{"pkg/diag", "pkg/eds", "pkg/lb/...", "pkg/selector"}, "whether a client accepts is told to it, so that lint may ask for shares"},
	{"pkg/simulate/assertion", []string{"pkg/selector", "pkg/simulate"}, "an expression sees a result, and cel-go is linked by those who want expressions"},
	{"pkg/validate", []string{"pkg/diag", "pkg/document", "pkg/eds", "pkg/lint"}, "a report is data; render writes it"},
	{"pkg/xds", []string{"pkg/api/...", "pkg/diag", "pkg/eds"}, "the wire client is told what to refuse"},
	{"pkg/xds/serve", []string{"pkg/api/...", "pkg/diag", "pkg/eds", "pkg/xds"}, "the server is told what not to push"},
}

// bans says where a package from elsewhere may be imported.
var bans = []struct {
	imports string
	only    []string
	why     string
}{
	{"github.com/spf13/cobra", []string{"pkg/cli"}, "a library without commands can be tested without them"},
	{"github.com/spf13/pflag", []string{"pkg/cli"}, "options are structs below the commands"},
	{"google.golang.org/grpc/...", []string{"pkg/xds/...", "pkg/api/...", "pkg/cli"}, "everything but the wire works offline"},
	{"github.com/envoyproxy/go-control-plane/pkg/...", []string{"pkg/xds/serve"}, "the server alone needs a cache"},
	{"go.yaml.in/yaml/...", []string{"pkg/document"}, "Envoy's YAML is not Go's: one package knows the difference"},
	{"gopkg.in/yaml...", nil, "superseded"},
	{"sigs.k8s.io/yaml", nil, "what edsctl reads it reads as Envoy does, and what it writes pkg/author writes; tests read with it"},
	{"log", nil, "stderr belongs to cli; an error says what failed"},
	{"log/slog", nil, "stderr belongs to cli; an error says what failed"},
	{"k8s.io/...", nil, "costs ten megabytes and half of the start-up time"},
	{"gonum.org/...", nil, "costs start-up time"},
	{"github.com/stretchr/...", nil, "no assertion library"},
}

// matches tells whether a path is the pattern, or below it when the pattern ends in "...".
func matches(pattern, path string) bool {
	prefix, tree := strings.CutSuffix(pattern, "...")
	if !tree {
		return pattern == path
	}
	return strings.HasPrefix(path, prefix) || path == strings.TrimSuffix(prefix, "/")
}

func matchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, path) })
}

func TestImports(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := 0
	for dec := json.NewDecoder(bytes.NewReader(out)); ; packages++ {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pkg := strings.TrimPrefix(p.ImportPath, module)
		if !strings.HasPrefix(pkg, "pkg/") && !strings.HasPrefix(pkg, "cmd/") {
			continue // programs for developers
		}
		row := slices.IndexFunc(directions, func(d direction) bool { return matches(d.pkg, pkg) })
		if row < 0 {
			t.Errorf("%s is not in the table of directions: say what it may import, and why no more", pkg)
			continue
		}
		for _, imported := range p.Imports {
			if own, ok := strings.CutPrefix(imported, module); ok {
				if !matchesAny(directions[row].may, own) {
					t.Errorf("%s imports %s: %s", pkg, own, directions[row].why)
				}
				continue
			}
			for _, ban := range bans {
				if matches(ban.imports, imported) && !matchesAny(ban.only, pkg) {
					t.Errorf("%s imports %s: %s", pkg, imported, ban.why)
				}
			}
		}
	}
	if packages < 10 {
		t.Errorf("go list named %d packages only", packages)
	}
}

// calls says what is not called, or used, below cmd.
var calls = map[string]string{
	"os.Args":     "arguments are passed in",
	"os.Exit":     "an exit code is returned",
	"os.Stdin":    "streams are passed in",
	"os.Stdout":   "streams are passed in",
	"os.Stderr":   "streams are passed in",
	"fmt.Print":   "streams are passed in",
	"fmt.Printf":  "streams are passed in",
	"fmt.Println": "streams are passed in",
}

func TestSources(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		if ast.IsGenerated(f) {
			return nil
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					t.Errorf("%s: init() runs at every start, whatever the command", fset.Position(n.Pos()))
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && calls[x.Name+"."+n.Sel.Name] != "" {
					t.Errorf("%s: %s.%s: %s", fset.Position(n.Pos()), x.Name, n.Sel.Name, calls[x.Name+"."+n.Sel.Name])
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
