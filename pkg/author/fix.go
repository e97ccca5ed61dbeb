package author

import (
	"bytes"
	"slices"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
	"github.com/edsctl/edsctl/pkg/eds"
)

// FixRule is a rule whose findings can be fixed.
type FixRule struct {
	ID   string
	What string // what the fix does, and when it does nothing
	// neutral: what Envoy reads must stay the same.
	neutral bool
	fix     func(f *fixer, p diag.Problem) bool
}

// FixRules lists the rules with a certain fix, by id.
func FixRules() []FixRule {
	return []FixRule{
		{"disable-overprovisioning-removed", "takes the field out: Envoy never implemented it", false, (*fixer).removedField},
		{"duplicate-key", "takes out the later of two copies that are the same, byte for byte", true, (*fixer).duplicate},
		{"enum-case", "writes the name as the API does", true, (*fixer).hinted},
		{"field-both-spellings", "takes out the later of the two when both have the same value, byte for byte", true, (*fixer).duplicate},
		{"json-bom", "takes the byte order mark out", false, (*fixer).byteOrderMark},
		{"json-lenient", "writes what Envoy reads: `5` for `{value: 5}`, `\"5s\"` for `{seconds: 5}`, `true` for `\"yes\"`, `8` for `010`; lists of other forms stay", true, (*fixer).lenient},
		{"unknown-field", "writes the name of the field where another spelling, or a usual mistake (`port`, `weight`, `health`, `status`), is the only thing that is wrong", false, (*fixer).misspelt},
		{"v2-type", "writes the type URL of v3, unless the assignment has a field that v3 does not have", false, (*fixer).typeURL},
		{"value-type", "writes `5s` for a duration `5`; everything else stays", false, (*fixer).duration},
		{"yaml-boolean", "writes `true` or `false`", true, (*fixer).hinted},
		{"yaml-scalar-type", "puts the text in quotes", false, (*fixer).quote},
	}
}

// Fixed is a file after its fixes.
type Fixed struct {
	Data  []byte
	File  *eds.File
	Fixes []AppliedFix
}

// AppliedFix is one fix that was made.
type AppliedFix struct {
	Rule, Message string
	Line          int // in the file as it was when the fix was made
}

// maxRounds bounds how often a file is read again: a fix may bring to light what was hidden before.
const maxRounds = 8

// Fix makes the certain fixes of a file, for the problems that want chooses. A fix counts only if, read again, the file
// has fewer problems, no new ones, and otherwise says the same.
func Fix(data []byte, file *eds.File, load Load, want func(p diag.Problem) bool) *Fixed {
	out := &Fixed{Data: data, File: file}
	refused := map[AppliedFix]bool{}
	for range maxRounds {
		candidates := slices.DeleteFunc(out.candidates(want), func(c candidate) bool { return refused[c.AppliedFix] })
		if len(candidates) == 0 {
			break
		}
		if out.try(load, candidates) {
			continue
		}
		for _, c := range candidates { // one of them is wrong, or two meet in one place
			if out.try(load, []candidate{c}) {
				break // the places of the others have moved
			}
			refused[c.AppliedFix] = true
		}
	}
	return out
}

// candidate is a fix that may be made.
type candidate struct {
	AppliedFix
	neutral bool
	patches []document.Patch // of the outermost file
}

// candidates lists the fixes for what is wrong with the file.
func (f *Fixed) candidates(want func(p diag.Problem) bool) []candidate {
	var out []candidate
	rules := map[string]FixRule{}
	for _, r := range FixRules() {
		rules[r.ID] = r
	}
	seen := map[AppliedFix]bool{}
	clusters := map[*eds.Cluster]bool{}
	for _, res := range f.File.Resources {
		if res.Followed {
			continue
		}
		fx := newFixer(f.File, res)
		problems, own := res.Problems, len(res.Problems)
		if c := res.Cluster; c != nil && !c.FromFlag && !clusters[c] {
			clusters[c] = true
			problems = slices.Concat(problems, c.Problems)
		}
		for i, p := range problems {
			rule, ok := rules[p.Rule]
			shown := p
			if i >= own {
				shown.Path = diag.Path{{Name: "cluster"}}.Join(p.Path)
			}
			if !ok || !want(shown) {
				continue
			}
			c := candidate{AppliedFix: AppliedFix{p.Rule, p.Message, p.Span.Start.Line}, neutral: rule.neutral}
			if patches, ok := fx.patchesFor(rule, p, i >= own, f.Data); ok && !seen[c.AppliedFix] {
				seen[c.AppliedFix] = true
				c.patches = patches
				out = append(out, c)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b candidate) int { return a.Line - b.Line })
	return out
}

// try makes fixes and keeps the result if it is better.
func (f *Fixed) try(load Load, candidates []candidate) bool {
	var patches []document.Patch
	neutral := true
	for _, c := range candidates {
		patches = append(patches, c.patches...)
		neutral = neutral && c.neutral
	}
	data, err := document.Apply(f.Data, distinct(patches))
	if err != nil || bytes.Equal(data, f.Data) {
		return false
	}
	after := load(data)
	if !fewerProblems(f.File, after) || neutral && compare(f.File, after, nil) != nil {
		return false
	}
	f.Data, f.File = data, after
	for _, c := range candidates {
		f.Fixes = append(f.Fixes, c.AppliedFix)
	}
	return true
}

// fewerProblems tells whether a file has fewer problems than before and of no rule more.
func fewerProblems(before, after *eds.File) bool {
	was, is := problemCounts(before), problemCounts(after)
	fewer := false
	for rule, n := range is {
		if n > was[rule] {
			return false
		}
	}
	for rule, n := range was {
		fewer = fewer || is[rule] < n
	}
	return fewer
}

func problemCounts(f *eds.File) map[string]int {
	out := map[string]int{}
	count := func(ps []diag.Problem) {
		for _, p := range ps {
			out[p.Rule]++
		}
	}
	clusters := map[*eds.Cluster]bool{}
	for _, r := range f.Resources {
		count(r.Problems)
		count(r.Around)
		if r.Cluster != nil && !clusters[r.Cluster] {
			clusters[r.Cluster] = true
			count(r.Cluster.Problems)
		}
	}
	return out
}
