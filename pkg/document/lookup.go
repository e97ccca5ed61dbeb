package document

import (
	"bytes"
	"iter"

	"github.com/edsctl/edsctl/pkg/diag"
)

// NodeAt is the innermost node at a byte of Source, invalid when there is none. At the border of two nodes it is the
// one that begins there. Aliases are not followed.
func (d *Document) NodeAt(offset int) Node {
	return d.innermost(d.Root, uint32(max(offset, 0)))
}

func (d *Document) innermost(n Node, at uint32) Node {
	if !n.IsValid() {
		return Node{}
	}
	r := n.record()
	if at < r.start || at > r.end {
		return Node{}
	}
	best := n
	if r.kind == Mapping || r.kind == Sequence {
		for child := n.First(); child.IsValid(); child = child.Next() {
			if child.record().start > at {
				break
			}
			if found := d.innermost(child, at); found.IsValid() {
				best = found
			}
		}
	}
	return best
}

// NodeAtPosition is NodeAt for a line and column of a file that is not embedded.
func (d *Document) NodeAtPosition(p diag.Position) Node { return d.NodeAt(d.file.offset(p)) }

// Offset is the inverse of Position for a file that is not embedded.
func (d *Document) Offset(p diag.Position) int { return d.file.offset(p) }

// Comments yields the byte ranges of the document's comments, from # to the end of the line, in order. They are found
// by going through the text again, between the scalars of the tree. JSON has none.
func (d *Document) Comments() iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		if d.Format == JSON {
			return
		}
		src, at := d.file.src, int(d.begin)
		// gap yields the comments of text that holds no scalar.
		gap := func(to int) bool {
			for at < to {
				i := bytes.IndexByte(src[at:to], '#')
				if i < 0 {
					break
				}
				start := at + i
				if start > 0 && !is(src[start-1], chBlank|chBreak|chStop) && src[start-1] != ':' {
					at = start + 1 // inside an anchor or a tag
					continue
				}
				end := start
				for end < len(src) && !is(src[end], chBreak) {
					end++
				}
				if !yield(start, end) {
					return false
				}
				at = end
			}
			at = max(at, to)
			return true
		}
		for i := uint32(1); i <= d.nodes.last; i++ {
			r := d.nodes.at(i)
			if r.kind != Scalar && r.kind != Alias || r.end <= r.start {
				continue
			}
			if !gap(int(r.start)) {
				return
			}
			if r.style == Literal || r.style == Folded {
				if !d.headerComment(r, yield) {
					return
				}
			}
			at = max(at, int(r.end))
		}
		gap(int(d.commentEnd()))
	}
}

// headerComment yields the comment in the first line of a block scalar.
func (d *Document) headerComment(r *record, yield func(start, end int) bool) bool {
	src := d.file.src
	end := int(r.start)
	for end < len(src) && !is(src[end], chBreak) {
		end++
	}
	i := bytes.IndexByte(src[r.start:end], '#')
	return i < 0 || yield(int(r.start)+i, end)
}

// commentEnd is where the comments behind the document end: where the next one begins, or the file.
func (d *Document) commentEnd() uint32 {
	if d.next > 0 {
		return d.next
	}
	return uint32(len(d.file.src))
}
