package validate

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
	"github.com/edsctl/edsctl/pkg/lint"
)

// ignoreMark begins a comment that takes findings out: "# edsctl:ignore rule-id, rule-id -- reason". There may be blanks
// around the colon.
const (
	ignoreMark = ignoreTool + ":" + ignoreVerb
	ignoreTool = "edsctl"
	ignoreVerb = "ignore"
)

// unusedIgnore is the rule about such a comment that takes out none.
const unusedIgnore = "unused-ignore"

// ignore is one rule id in an ignore comment.
type ignore struct {
	rule   string
	span   diag.Span // of the id
	line   int       // whose findings it takes out
	atTop  bool      // it stands above all content: it takes out findings without a place, too
	unused bool
}

// Suppress takes out the findings of a file that ignore comments in its documents name, and adds a finding for each id
// that takes out none. Verdicts stay: the clients do not read comments.
func (r *Report) Suppress(file string, docs []*document.Document, o Options) {
	ignores := findIgnores(docs)
	if len(ignores) == 0 {
		return
	}
	type key struct {
		rule string
		line int // noLine: findings without a place
	}
	const noLine = 0
	at := map[key][]int{}
	for i := range ignores {
		ig := &ignores[i]
		at[key{ig.rule, ig.line}] = append(at[key{ig.rule, ig.line}], i)
		if ig.atTop {
			at[key{ig.rule, noLine}] = append(at[key{ig.rule, noLine}], i)
		}
	}
	r.Findings = slices.DeleteFunc(r.Findings, func(f diag.Finding) bool {
		if f.File != file {
			return false
		}
		line := noLine
		if f.Span.IsKnown() {
			line = f.Span.Start.Line
		}
		takers := at[key{f.Rule, line}]
		for _, i := range takers {
			ignores[i].unused = false
		}
		if len(takers) > 0 {
			r.Ignored++
		}
		return len(takers) > 0
	})
	for i := range ignores {
		if f, ok := ignores[i].finding(file, o); ok {
			r.Findings = append(r.Findings, f)
		}
	}
	Sort(r.Findings)
}

// finding is what is said about an id that takes nothing out. A rule that is off cannot be found, so nothing is said.
func (ig *ignore) finding(file string, o Options) (diag.Finding, bool) {
	severity := lint.Lookup(unusedIgnore).Severity
	if level, ok := o.RuleLevels[unusedIgnore]; ok {
		severity = level
	}
	off, isSet := o.RuleLevels[ig.rule]
	if !ig.unused || severity == diag.Off || isSet && off == diag.Off {
		return diag.Finding{}, false
	}
	f := diag.Finding{Rule: unusedIgnore, Severity: severity, File: file, Span: ig.span, ResourceIndex: -1}
	switch {
	case ig.rule == "":
		f.Message = fmt.Sprintf("%q names no rule: write %q", ignoreMark, "# "+ignoreMark+" rule-id -- reason")
	case lint.Lookup(ig.rule) == nil:
		f.Message = fmt.Sprintf("there is no rule %q to ignore", ig.rule)
	default:
		f.Message = fmt.Sprintf("no finding of %q on line %d to ignore", ig.rule, ig.line)
	}
	f.Fingerprint = fingerprint(&f)
	return f, true
}

// findIgnores lists the ignore comments of a file's documents.
func findIgnores(docs []*document.Document) (out []ignore) {
	var last []byte
	var lines *targetLines // nil: there is no ignore comment
	for _, doc := range docs {
		src := doc.Source()
		if len(last) == 0 || len(src) == 0 || &src[0] != &last[0] { // documents of one file share its text
			last, lines = src, nil
			if bytes.Contains(src, []byte(ignoreTool)) {
				lines = newTargetLines(src)
			}
		}
		if lines == nil {
			continue // the usual case costs one search
		}
		from, _ := doc.Offsets()
		for _, at := range headComments(src[:from]) {
			out = append(out, parseIgnore(doc, lines, at[0], at[1])...)
		}
		for start, end := range doc.Comments() {
			if start >= from {
				out = append(out, parseIgnore(doc, lines, start, end)...)
			}
		}
	}
	return out
}

// headComments lists the comments above the first document: head is all text before it. There are none when head holds
// another document.
func headComments(head []byte) (out [][2]int) {
	at := 0
	for line := range bytes.Lines(head) {
		text := bytes.TrimSpace(line)
		switch {
		case len(text) == 0:
		case text[0] == '#':
			start := at + bytes.IndexByte(line, '#')
			out = append(out, [2]int{start, start + len(text)})
		default:
			return nil
		}
		at += len(line)
	}
	return out
}

// parseIgnore reads the ids of one comment, which stands from start to end.
func parseIgnore(doc *document.Document, lines *targetLines, start, end int) (out []ignore) {
	text := string(lines.src[start:end])
	list := text
	for _, word := range []string{ignoreTool, ":", ignoreVerb} {
		var ok bool
		if list, ok = strings.CutPrefix(strings.TrimLeft(list, "# \t"), word); !ok {
			return nil
		}
	}
	if list != "" && !strings.ContainsRune(" \t", rune(list[0])) {
		return nil
	}
	at := start + len(text) - len(list)
	list, _, _ = strings.Cut(list, "--")
	target, atTop := lines.of(start)
	common := ignore{line: doc.Position(target).Line, atTop: atTop, unused: true}
	for len(list) > 0 {
		skipped := len(list) - len(strings.TrimLeft(list, ", \t"))
		at, list = at+skipped, list[skipped:]
		id := list
		if i := strings.IndexAny(list, ", \t"); i >= 0 {
			id = list[:i]
		}
		if id == "" {
			break
		}
		ig := common
		ig.rule, ig.span = id, diag.Span{Start: doc.Position(at), End: doc.Position(at + len(id))}
		out = append(out, ig)
		at, list = at+len(id), list[len(id):]
	}
	if len(out) == 0 {
		common.span = diag.Span{Start: doc.Position(start), End: doc.Position(end)}
		out = append(out, common)
	}
	return out
}

// targetLines knows of a text which lines its comments speak of.
type targetLines struct {
	src     []byte
	content int // where the first line begins that is more than a comment or the begin of a document
	// from and to are the last block of comment lines, and where the line below it begins.
	from, to int
}

func newTargetLines(src []byte) *targetLines {
	t := &targetLines{src: src}
	for line := range bytes.Lines(src) {
		text := bytes.TrimSpace(line)
		if len(text) > 0 && text[0] != '#' && !bytes.Equal(text, []byte("---")) {
			break
		}
		t.content += len(line)
	}
	return t
}

// of returns an offset on the line that a comment speaks of: its own when something stands before it there, else the
// next line that is no comment; and whether nothing but comments stands above that.
func (t *targetLines) of(comment int) (offset int, atTop bool) {
	lineStart := bytes.LastIndexByte(t.src[:comment], '\n') + 1
	if len(bytes.TrimSpace(t.src[lineStart:comment])) > 0 {
		return comment, false
	}
	if comment < t.from || comment >= t.to {
		t.from, t.to = comment, belowComments(t.src, comment)
	}
	return t.to, lineStart <= t.content
}

// belowComments is where the first line begins below a comment that is none; on the last line, the comment itself.
func belowComments(src []byte, comment int) int {
	offset := comment
	for offset < len(src) {
		i := bytes.IndexByte(src[offset:], '\n')
		if i < 0 {
			break
		}
		offset += i + 1
		if line, _, _ := bytes.Cut(src[offset:], []byte("\n")); !bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")) {
			break
		}
	}
	return offset
}
