package author

import (
	"errors"
	"fmt"
	"slices"

	"github.com/edsctl/edsctl/pkg/document"
	"github.com/edsctl/edsctl/pkg/eds"
)

// FormatWidth is the width in characters up to which a collection in flow style stays on one line.
const FormatWidth = 120

// errNotNeutral tells that a formatted text would not mean the same.
var errNotNeutral = errors.New("the text cannot be formatted without changing what it says")

// Format writes the assignments of a file in canonical order and style: fields in the order of the API, two columns of
// indentation, lists not indented, a blank line at most, flow collections on one line or taken apart. Comments stay
// with their fields. What is around the assignments stays as it is. What Envoy reads does not change.
func Format(data []byte, file *eds.File, load Load) ([]byte, error) {
	targets, err := formatTargets(data, file)
	if err != nil || len(targets) == 0 {
		return data, err
	}
	f := formatter{oneLine: file.Format == eds.JSONLines, reorder: true}
	all := make([]int, len(targets))
	for i := range all {
		all[i] = i
	}
	if out, err := f.pass(data, file, load, all); err == nil {
		return out, nil
	}
	return f.oneByOne(data, file, load, len(targets))
}

// oneByOne formats one assignment after the other, without a new order where that would change the meaning: an alias
// must follow its anchor.
func (f formatter) oneByOne(data []byte, file *eds.File, load Load, n int) ([]byte, error) {
	for i := range n {
		var err error
		for _, f.reorder = range []bool{true, false} {
			var out []byte
			if out, err = f.pass(data, file, load, []int{i}); err == nil {
				data, file = out, load(out)
				break
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return data, nil
}

// formatTargets lists the assignments of a file that stand in it as text, each once.
func formatTargets(data []byte, file *eds.File) ([]*eds.Resource, error) {
	var out []*eds.Resource
	seen := map[document.Node]bool{}
	for _, r := range file.Resources {
		switch {
		case r.Absent || r.Followed:
		case !r.Node.IsValid():
			return nil, fmt.Errorf("only YAML and JSON can be formatted, not %s", file.Format)
		case string(r.Node.Document().Outer()) != string(data):
			return nil, errors.New("only files in UTF-8 can be formatted")
		case r.Node.Kind() == document.Mapping && !seen[r.Node]:
			seen[r.Node] = true
			out = append(out, r)
		}
	}
	return out, nil
}

// formatter holds how assignments are formatted.
type formatter struct {
	oneLine bool // JSON lines: a document must stay on its line
	reorder bool
	// comments of the documents of this pass
	comments map[*document.Document][]span
	flows    map[*document.Document][]span // that are in no other one
}

// pass formats some of a file's assignments and checks that nothing changes its meaning.
func (f formatter) pass(data []byte, file *eds.File, load Load, which []int) ([]byte, error) {
	targets, err := formatTargets(data, file)
	if err != nil {
		return nil, err
	}
	f.comments, f.flows = map[*document.Document][]span{}, map[*document.Document][]span{}
	var patches []document.Patch
	for _, i := range which {
		p, err := f.assignment(targets[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", targets[i].Name, err)
		}
		out, err := outward(targets[i].Node.Document(), []document.Patch{p})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", targets[i].Name, err)
		}
		patches = append(patches, out...)
	}
	out, err := document.Apply(data, patches)
	if err != nil {
		return nil, err
	}
	after := load(out)
	if err := compare(file, after, nil); err != nil || !slices.Equal(problemRules(file), problemRules(after)) {
		return nil, errNotNeutral
	}
	return out, nil
}

// problemRules lists the rules of what the decoder found in a file, sorted.
func problemRules(f *eds.File) []string {
	var out []string
	for _, r := range f.Resources {
		for _, p := range r.Problems {
			out = append(out, p.Rule)
		}
		for _, p := range r.Around {
			out = append(out, p.Rule)
		}
	}
	slices.Sort(out)
	return out
}
