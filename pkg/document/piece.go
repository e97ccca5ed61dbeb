package document

import "sort"

// piece says where a part of a decoded text comes from. When both lengths are equal the bytes are the same, otherwise
// all of the text stands for all of the source (an escape sequence, a folded line break).
type piece struct{ out, outLen, src, srcLen int }

// appendPiece adds a piece, joining it to the one before when both are copies of adjacent bytes.
func appendPiece(pieces []piece, p piece) []piece {
	if n := len(pieces); n > 0 {
		l := &pieces[n-1]
		if l.outLen == l.srcLen && p.outLen == p.srcLen && l.src+l.srcLen == p.src && l.out+l.outLen == p.out {
			l.outLen += p.outLen
			l.srcLen += p.srcLen
			return pieces
		}
	}
	return append(pieces, p)
}

// mapRange maps a range of the decoded text to the source. The end is mapped from the last byte inside, so that a
// range that ends with its line does not reach into the indentation of the next.
func mapRange(pieces []piece, start, end int) (int, int) {
	if len(pieces) == 0 {
		return 0, 0
	}
	p := pieces[pieceAt(pieces, start)]
	from := p.src
	switch {
	case start >= p.out+p.outLen:
		from += p.srcLen
	case p.outLen == p.srcLen:
		from += start - p.out
	}
	if end <= start {
		return from, from
	}
	p = pieces[pieceAt(pieces, end-1)]
	to := p.src + p.srcLen
	if p.outLen == p.srcLen && end <= p.out+p.outLen {
		to = p.src + end - p.out
	}
	return from, max(from, to)
}

// pieceAt is the index of the piece that holds offset i of the decoded text, or the last one before it.
func pieceAt(pieces []piece, i int) int {
	n := sort.Search(len(pieces), func(k int) bool { return pieces[k].out > i })
	return max(n-1, 0)
}

// truncatePieces forgets what is behind n bytes of the decoded text.
func truncatePieces(pieces []piece, n int) []piece {
	for len(pieces) > 0 {
		p := &pieces[len(pieces)-1]
		if p.out < n {
			if p.outLen == p.srcLen && p.out+p.outLen > n {
				p.outLen, p.srcLen = n-p.out, n-p.out
			}
			break
		}
		pieces = pieces[:len(pieces)-1]
	}
	return pieces
}

// clampPieces keeps the sources of all pieces before offset end: a folded scalar's last line break may be noted at the
// last of the breaks below its text, where the scalar itself ends behind the first.
func clampPieces(pieces []piece, end int) {
	for i := len(pieces) - 1; i >= 0 && pieces[i].src+pieces[i].srcLen > end; i-- {
		p := &pieces[i]
		p.src = min(p.src, end)
		p.srcLen = end - p.src
	}
}
