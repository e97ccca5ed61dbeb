package document

import "github.com/edsctl/edsctl/pkg/diag"

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
