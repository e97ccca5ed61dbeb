package author

import (
	"errors"
	"strings"

	"github.com/edsctl/edsctl/pkg/document"
)

// outward translates the patches of a document that is embedded as text to patches of the file around it.
func outward(d *document.Document, patches []document.Patch) ([]document.Patch, error) {
	for d.Host().IsValid() {
		host := d.Host()
		out := make([]document.Patch, len(patches))
		for i, p := range patches {
			var err error
			if out[i], err = translate(d, host, p); err != nil {
				return nil, layoutError(host, err.Error())
			}
		}
		d, patches = host.Document(), out
	}
	return patches, nil
}

// translate turns a patch of an embedded text into one of the scalar that holds it.
func translate(d *document.Document, host document.Node, p document.Patch) (document.Patch, error) {
	start, end := d.HostOffsets(p.Start, p.End)
	if p.Start == p.End {
		end = start
	}
	switch host.Style() {
	case document.DoubleQuoted:
		text := quoted(p.New)
		return document.Patch{Start: start, End: end, New: text[1 : len(text)-1]}, nil
	case document.SingleQuoted:
		if strings.Contains(p.New, "\n") {
			return p, errors.New("lines cannot be added to a text in single quotes: write it as a block (|)")
		}
		return document.Patch{Start: start, End: end, New: strings.ReplaceAll(p.New, "'", "''")}, nil
	case document.Literal:
		return translateLines(d, host, p, start, end), nil
	}
	return p, errors.New("a text in this style cannot be edited: write it as a literal block (|)")
}

// translateLines translates a patch of a literal block, whose lines are all indented. A patch that begins with a line
// begins before its indentation, unless what it puts there is only a part of that line.
func translateLines(d *document.Document, host document.Node, p document.Patch, start, end int) document.Patch {
	inner, outer := d.Source(), host.Document().Source()
	indent := strings.Repeat(" ", blockIndent(d, host))
	atLine := p.Start == 0 || inner[p.Start-1] == '\n'
	endAtLine := p.End > p.Start && inner[p.End-1] == '\n'
	if endAtLine { // what the reader passes with a line break is the indentation of the next line too
		at, _ := d.HostOffsets(p.End-1, p.End-1)
		end = lineEnd(outer, at)
	}
	wholeLines := strings.HasSuffix(p.New, "\n") || p.Start == len(inner)
	switch {
	case !atLine:
		if endAtLine && !strings.HasSuffix(p.New, "\n") { // the next line joins this one
			for n := 0; n < len(indent) && end < len(outer) && outer[end] == ' '; n++ {
				end++
			}
		}
	case p.Start == p.End && wholeLines, endAtLine, p.End > p.Start && p.New != "":
		empty := start == end
		start = lineStart(outer, start)
		if empty {
			end = start
		}
	default:
		atLine = false // the indentation that is there serves
	}
	lines := strings.Split(p.New, "\n")
	for i, line := range lines {
		if line != "" && (i > 0 || atLine) {
			lines[i] = indent + line
		}
	}
	return document.Patch{Start: start, End: end, New: strings.Join(lines, eolOf(outer))}
}

// blockIndent is the number of blanks before the lines of a literal block.
func blockIndent(d *document.Document, host document.Node) int {
	inner, outer := d.Source(), host.Document().Source()
	for at := 0; at < len(inner); at = lineEnd(inner, at) {
		if isBreak(inner[at]) {
			continue
		}
		start, _ := d.HostOffsets(at, at+1)
		return start - lineStart(outer, start)
	}
	return 0
}
