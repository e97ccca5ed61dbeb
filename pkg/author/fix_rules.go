package author

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
	"github.com/edsctl/edsctl/pkg/eds"
)

// fixer computes the patches of fixes for one assignment, in the text that it stands in.
type fixer struct {
	file     *eds.File
	resource *eds.Resource
	changers map[document.Node]*changer
	*changer
	raw []document.Patch // of the outermost file, for what has no tree
}

func newFixer(file *eds.File, r *eds.Resource) *fixer {
	return &fixer{file: file, resource: r, changers: map[document.Node]*changer{}}
}

// patchesFor asks a rule for its patches. The paths of problems of a cluster start there.
func (f *fixer) patchesFor(rule FixRule, p diag.Problem, inCluster bool, data []byte) ([]document.Patch, bool) {
	f.raw = nil
	root := f.resource.Node
	if inCluster {
		root = f.resource.Cluster.Node
	}
	f.changer = nil
	if root.IsValid() {
		if f.changers[root] == nil {
			f.changers[root] = newChanger(root)
		}
		f.changer = f.changers[root]
		f.patches = nil
		if !bytes.Equal(root.Document().Outer(), data) {
			return nil, false
		}
	}
	if !rule.fix(f, p) {
		return nil, false
	}
	if f.changer == nil {
		return f.raw, len(f.raw) > 0
	}
	out, err := outward(root.Document(), f.patches)
	return append(out, f.raw...), err == nil && len(out)+len(f.raw) > 0
}

// at finds the entry that a path names: the value of a field with its key, or an item of a list without one.
func (f *fixer) at(path diag.Path) (pr pair, around document.Node, ok bool) {
	if f.changer == nil {
		return pair{}, document.Node{}, false
	}
	n := f.root.Target()
	pr.val = f.root
	for _, step := range path {
		around = n
		if step.Name == "" && !step.IsKey {
			items, err := f.itemsAt(n)
			if err != nil || step.Index >= len(items) {
				return pair{}, document.Node{}, false
			}
			pr = pair{val: items[step.Index]}
		} else {
			names := []string{step.Name, camelCase(step.Name)}
			if step.IsKey {
				names = names[:1]
			}
			if pr, ok = pairOf(n, names...); !ok {
				return pair{}, document.Node{}, false
			}
		}
		n = pr.val.Target()
	}
	return pr, around, true
}

// scalarAt finds the scalar of a problem; it must stand at the place that the problem names, not behind an alias.
func (f *fixer) scalarAt(p diag.Problem) (document.Node, bool) {
	pr, _, ok := f.at(p.Path)
	if !ok || pr.val.Kind() != document.Scalar || pr.val.Span() != p.Span {
		return document.Node{}, false
	}
	return pr.val, true
}

// hinted replaces a scalar by the one in "write X".
func (f *fixer) hinted(p diag.Problem) bool {
	n, ok := f.scalarAt(p)
	text, certain := strings.CutPrefix(p.Hint, "write ")
	if !ok || !certain {
		return false
	}
	start, end := n.Offsets()
	l := &literal{kind: enumLiteral, text: text}
	if p.Rule != "enum-case" {
		f.replace(start, end, text) // in quotes it would still be a string
		return true
	}
	f.replace(start, end, f.scalar(l, n))
	return true
}

// quote puts a plain scalar into quotes.
func (f *fixer) quote(p diag.Problem) bool {
	n, ok := f.scalarAt(p)
	if !ok || n.Style() != document.Plain {
		return false
	}
	start, end := n.Offsets()
	f.replace(start, end, quoted(n.Text()))
	return true
}

// lenient writes a wrapper, a duration, a boolean or a number in the usual form.
func (f *fixer) lenient(p diag.Problem) bool {
	pr, _, ok := f.at(p.Path)
	if !ok || pr.val.Span() != p.Span {
		return false
	}
	if pr.val.Kind() == document.Scalar {
		return f.hinted(p)
	}
	if pr.val.Kind() != document.Mapping || !pr.key.IsValid() || pr.val.Anchor() != "" || f.hasComments(pr.val) {
		return false
	}
	v, ok := compactForm(pr.val)
	if !ok {
		return false
	}
	start, end := pr.val.FullOffsets()
	if isBlock(pr.val) {
		f.replace(f.colonEnd(pr.key), end, " "+v)
	} else {
		f.replace(start, end, v)
	}
	return true
}

// compactForm is the scalar that stands for {value: x} or {seconds: s, nanos: n}.
func compactForm(n document.Node) (string, bool) {
	pairs := pairsOf(n)
	if value, ok := pairOf(n, "value"); ok && len(pairs) == 1 && value.val.Kind() == document.Scalar && !isNull(value.val) && !isBlockScalar(value.val) && value.val.Tag() == "" {
		start, end := value.val.Offsets()
		return string(n.Document().Source()[start:end]), true
	}
	var amounts [2]int64
	for _, pr := range pairs {
		unit := slices.Index([]string{"seconds", "nanos"}, pr.key.Target().Text())
		amount, err := strconv.ParseInt(pr.val.Text(), 10, 64)
		if unit < 0 || err != nil || amount < 0 || pr.val.Kind() != document.Scalar {
			return "", false
		}
		amounts[unit] = amount
	}
	if len(pairs) == 0 || amounts[1] >= 1e9 {
		return "", false
	}
	text := strconv.FormatInt(amounts[0], 10)
	if amounts[1] > 0 {
		digits := strconv.FormatInt(1e9+amounts[1], 10)[1:]
		text += "." + strings.TrimRight(digits, "0")
	}
	if n.Document().Format == document.JSON {
		return quoted(text + "s"), true
	}
	return text + "s", true
}

// hasComments tells whether there are comments inside of a node.
func (f *fixer) hasComments(n document.Node) bool {
	from, to := n.Offsets()
	if bytes.IndexByte(f.src[from:to], '#') < 0 {
		return false
	}
	for start := range n.Document().Comments() {
		if start > from && start < to {
			return true
		}
	}
	return false
}

// duration writes 5s for 5.
func (f *fixer) duration(p diag.Problem) bool {
	n, ok := f.scalarAt(p)
	text, certain := strings.CutPrefix(p.Hint, "write ")
	if !ok || !certain || n.Style() != document.Plain || !plainSeconds().MatchString(text) {
		return false
	}
	if f.json {
		text = quoted(text)
	}
	start, end := n.Offsets()
	f.replace(start, end, text)
	return true
}

// usualMistakes are words that people write for a field of another name (eds knows in which messages).
func usualMistakes() map[string]string {
	return map[string]string{"port": "port_value", "weight": "load_balancing_weight", "health": "health_status", "status": "health_status"}
}

// misspelt renames a key whose field is certain.
func (f *fixer) misspelt(p diag.Problem) bool {
	field, certain := strings.CutPrefix(p.Hint, "did you mean `")
	field, closed := strings.CutSuffix(field, "`?")
	if !certain || !closed || len(p.Path) == 0 {
		return false
	}
	word := p.Path[len(p.Path)-1].Name
	normal := func(s string) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
	}
	if normal(word) != normal(field) && usualMistakes()[word] != field {
		return false
	}
	_, around, ok := f.at(p.Path[:len(p.Path)-1].Join(diag.Path{{Name: word, IsKey: true}}))
	if !ok {
		return false
	}
	snake := field
	if _, taken := pairOf(around, snake, camelCase(snake)); taken {
		return false
	}
	pr, _ := pairOf(around, word)
	if pr.key.Kind() != document.Scalar || pr.key.Span() != p.Span {
		return false
	}
	if f.camel {
		field = camelCase(field)
	}
	start, end := pr.key.Offsets()
	if pr.key.Style() != document.Plain {
		start, end = start+1, end-1
	}
	f.replace(start, end, field)
	return true
}

// removedField takes a field out.
func (f *fixer) removedField(p diag.Problem) bool {
	if f.changer == nil {
		return false
	}
	patches, err := patchesOf(f.root, &changeSet{sets: []fieldSet{{path: p.Path, collapse: true}}})
	f.patches = patches
	return err == nil && len(patches) > 0
}

// duplicate takes out the copy at which the problem is, if another says the same.
func (f *fixer) duplicate(p diag.Problem) bool {
	pr, _, ok := f.at(p.Path)
	if !ok || pr.val.Target().Kind() != document.Mapping {
		return false
	}
	n := pr.val.Target()
	var copies []pair
	var at pair
	for _, c := range pairsOf(n) {
		if c.key.Span() == p.Span {
			at = c
		}
	}
	if !at.key.IsValid() {
		return false
	}
	for _, c := range pairsOf(n) {
		if same := camelCase(c.key.Target().Text()) == camelCase(at.key.Target().Text()); same && c != at {
			copies = append(copies, c)
		}
	}
	for _, c := range copies {
		if f.valueText(c) != f.valueText(at) {
			return false
		}
	}
	if len(copies) == 0 || f.hasComments(at.val) {
		return false
	}
	if isFlow(n) {
		pairs := pairsOf(n)
		f.removeFromFlow(n, func(i int) bool { return pairs[i] == at })
		return true
	}
	return f.removeFromBlock(n, at) == nil
}

func (f *fixer) valueText(pr pair) string {
	start, end := pr.val.FullOffsets()
	return string(f.src[start:end])
}

// typeURL writes the URL of v3 wherever the document has that of an older API.
func (f *fixer) typeURL(diag.Problem) bool {
	if f.changer == nil {
		return false
	}
	var walk func(n document.Node)
	walk = func(n document.Node) {
		if n.Kind() == document.Mapping {
			for _, name := range []string{"@type", "type_url", "typeUrl"} {
				if pr, ok := pairOf(n, name); ok && pr.val.Kind() == document.Scalar {
					f.upgradeURL(pr.val)
				}
			}
		}
		if n.Kind() == document.Mapping || n.Kind() == document.Sequence {
			for c := n.First(); c.IsValid(); c = c.Next() {
				walk(c)
			}
		}
	}
	walk(f.root.Document().Root)
	return len(f.patches) > 0
}

func (f *fixer) upgradeURL(n document.Node) {
	if v, ok := eds.VersionOfURL(n.Text()); ok && v != eds.V3 && !isBlockScalar(n) {
		start, end := n.Offsets()
		f.replace(start, end, f.scalar(str(eds.AssignmentURL(eds.V3)), n))
	}
}

// byteOrderMark takes the mark out that a JSON reader does not take.
func (f *fixer) byteOrderMark(diag.Problem) bool {
	f.raw = append(f.raw, document.Patch{Start: 0, End: len(utf8BOM)})
	return true
}
