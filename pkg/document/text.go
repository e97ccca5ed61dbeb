package document

import "bytes"

// Text is the decoded value of a scalar: escapes resolved, lines folded, quotes removed; of an alias it is that of its
// target, of a collection it is empty. JSON strings are decoded, JSON numbers and literals are as written. Bytes that
// are not UTF-8 stay as they are.
func (n Node) Text() string { return string(n.TextBytes()) }

// TextBytes is Text without a copy where the text is in the source as it is read. It must not be changed.
func (n Node) TextBytes() []byte {
	n = n.Target()
	if n.i == 0 {
		return nil
	}
	r := n.record()
	if r.kind != Scalar {
		return nil
	}
	if r.raw {
		start, end := r.rawRange()
		return n.d.file.src[start:end]
	}
	return n.d.decode(r, nil)
}

// rawRange is the range of a raw scalar's text.
func (r *record) rawRange() (start, end uint32) {
	if r.style == SingleQuoted || r.style == DoubleQuoted {
		return r.start + 1, r.end - 1
	}
	return r.start, r.end
}

// decode reads the text of a scalar again, and notes where it comes from when pieces is not nil.
func (d *Document) decode(r *record, pieces *[]piece) []byte {
	if r.raw {
		start, end := r.rawRange()
		if pieces != nil {
			*pieces = []piece{{0, int(end - start), int(start), int(end - start)}}
		}
		return d.file.src[start:end]
	}
	if d.Format == JSON {
		return decodeJSONString(d.file.src, int(r.start), int(r.end), pieces)
	}
	// Columns do not matter for flow scalars any more, but the begin of the scalar must not look like that of a line.
	s := &scanner{src: d.file.src, pos: int(r.start), lineStart: -1, lineBreak: d.file.lineBreak}
	s.scalar.pieces = pieces
	switch r.style {
	case Literal, Folded:
		s.lineStart = bytes.LastIndexByte(s.src[:s.pos], s.lineBreak) + 1
		chomp, _, _, _ := s.scanBlockHeader()
		end := s.scanBlockText(r.style, chomp, int(r.child>>1), r.child&1 != 0)
		if pieces != nil {
			clampPieces(*pieces, end)
		}
	case SingleQuoted:
		s.pos++
		s.scanFlowScalar('\'', 0, int(r.end))
	case DoubleQuoted:
		s.pos++
		s.scanFlowScalar('"', 0, int(r.end))
	default:
		s.scanFlowScalar(0, 0, int(r.end))
	}
	return s.scalar.out
}
