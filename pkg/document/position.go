package document

import (
	"bytes"
	"sort"
	"sync"
	"unicode/utf8"

	"github.com/edsctl/edsctl/pkg/diag"
)

// file is a text that documents are read from, and where it stands in the text around it.
type file struct {
	src       []byte
	bom       int     // bytes of the byte order mark
	lineBreak byte    // the byte that begins a new line for yaml-cpp; 0: there was none
	outer     *file   // the text that this one is embedded in, if any
	pieces    []piece // how this text maps to the outer one
	host      Node    // the scalar in it whose text this is

	once  sync.Once
	lines []uint32 // offsets at which lines begin
	long  sync.Map // from the offset at which a long line begins to its []mark
}

// mark is a place in a long line, from which columns are counted.
type mark struct{ offset, column int }

// markEvery is the distance of the marks of a line in bytes, and the length from which a line has them: on a line of a
// megabyte with thousands of nodes counting from its start each time would be quadratic.
const markEvery = 4096

// outermost returns the file that is not embedded and the range that [start,end) has in it.
func (f *file) outermost(start, end int) (*file, int, int) {
	for f.outer != nil {
		start, end = mapRange(f.pieces, start, end)
		f = f.outer
	}
	return f, start, end
}

func (f *file) span(start, end int) diag.Span {
	f, start, end = f.outermost(start, end)
	return diag.Span{Start: f.position(start), End: f.position(end)}
}

// position of an offset. A line ends with LF, CR or CRLF, columns count code points; a byte order mark has no column.
func (f *file) position(offset int) diag.Position {
	if f.outer != nil {
		out, start, _ := f.outermost(offset, offset)
		return out.position(start)
	}
	f.once.Do(f.indexLines)
	offset = max(min(offset, len(f.src)), 0)
	line := sort.Search(len(f.lines), func(i int) bool { return int(f.lines[i]) > offset })
	m := mark{f.bom, 1}
	if line > 0 {
		m.offset = int(f.lines[line-1])
	}
	if offset-m.offset > markEvery {
		marks := f.marks(line, m.offset)
		m = marks[sort.Search(len(marks), func(i int) bool { return marks[i].offset > offset })-1]
	}
	if offset > m.offset {
		m.column += utf8.RuneCount(f.src[m.offset:offset])
	}
	return diag.Position{Line: line + 1, Column: m.column}
}

// marks of the line that begins at an offset. They stand between code points, so that each is counted once.
func (f *file) marks(line, begin int) []mark {
	if marks, ok := f.long.Load(begin); ok {
		return marks.([]mark)
	}
	end := len(f.src)
	if line < len(f.lines) {
		end = int(f.lines[line])
	}
	last := mark{begin, 1}
	marks := []mark{last}
	for at := begin + markEvery; at < end; at += markEvery {
		next := at
		for k := range utf8.UTFMax {
			if utf8.RuneStart(f.src[at-k]) {
				next = at - k
				break
			}
		}
		last = mark{next, last.column + utf8.RuneCount(f.src[last.offset:next])}
		marks = append(marks, last)
	}
	f.long.Store(begin, marks)
	return marks
}

// offset is the inverse of position; a column behind the end of the line is the end of the line.
func (f *file) offset(p diag.Position) int {
	f.once.Do(f.indexLines)
	at := f.bom
	if p.Line-2 >= len(f.lines) {
		return len(f.src)
	}
	if p.Line >= 2 {
		at = int(f.lines[p.Line-2])
	}
	for column := 1; column < p.Column && at < len(f.src) && f.src[at] != '\n' && f.src[at] != '\r'; column++ {
		_, size := utf8.DecodeRune(f.src[at:])
		at += size
	}
	return at
}

func (f *file) indexLines() {
	hasCR := bytes.IndexByte(f.src, '\r') >= 0
	f.lines = make([]uint32, 0, bytes.Count(f.src, []byte{'\n'}))
	for i := 0; i < len(f.src); i++ {
		if !hasCR {
			n := bytes.IndexByte(f.src[i:], '\n')
			if n < 0 {
				return
			}
			i += n
		}
		switch f.src[i] {
		case '\n':
			f.lines = append(f.lines, uint32(i+1))
		case '\r':
			if i+1 >= len(f.src) || f.src[i+1] != '\n' {
				f.lines = append(f.lines, uint32(i+1))
			}
		}
	}
}
