package document

import (
	"bytes"
	"iter"
)

// Comments yields the byte ranges of the document's comments, from # to the end of the line, in order. They are found
// by going through the text again, between what the tree knows: a # where a token may begin is a comment. JSON has none.
func (d *Document) Comments() iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		if d.Format == JSON {
			return
		}
		c := commentFinder{src: d.file.src, at: int(d.begin), yield: yield}
		for i := uint32(1); i <= d.nodes.last && !c.stopped; i++ {
			if p, ok := d.props[i]; ok {
				c.properties(p)
			}
			r := d.nodes.at(i)
			if r.kind != Scalar && r.kind != Alias || r.end <= r.start {
				continue
			}
			c.gap(int(r.start))
			if r.style == Literal || r.style == Folded {
				c.header(int(r.start))
			}
			c.at = max(c.at, int(r.end))
		}
		if d.next > 0 {
			c.gap(int(d.next))
		} else {
			c.gap(len(c.src))
		}
	}
}

// commentFinder goes through the text of a document from at.
type commentFinder struct {
	src     []byte
	at      int
	yield   func(start, end int) bool
	stopped bool
}

// gap yields the comments up to an offset, where no scalar, tag or anchor stands.
func (c *commentFinder) gap(to int) {
	for c.at < to && !c.stopped {
		i := bytes.IndexByte(c.src[c.at:to], '#')
		if i < 0 {
			break
		}
		start := c.at + i
		if c.inDirective(start) {
			start = c.nextInDirective(start)
		}
		if start < to {
			c.found(start)
		}
	}
	c.at = max(c.at, to)
}

// found yields the comment at an offset.
func (c *commentFinder) found(start int) {
	end := start
	for end < len(c.src) && !is(c.src[end], chBreak) {
		end++
	}
	c.at = end
	c.stopped = c.stopped || !c.yield(start, end)
}

// inDirective tells whether the # at an offset is inside a word of a directive.
func (c *commentFinder) inDirective(at int) bool {
	if at == 0 || is(c.src[at-1], chBlank|chBreak) {
		return false
	}
	line := bytes.LastIndexAny(c.src[:at], "\r\n") + 1
	if bytes.HasPrefix(c.src[line:], utf8BOM) {
		line += len(utf8BOM)
	}
	return c.src[line] == '%'
}

// nextInDirective is where the comment behind a # inside of a directive's word begins, or the end of the line.
func (c *commentFinder) nextInDirective(at int) int {
	for at < len(c.src) && !is(c.src[at], chBreak) && !(c.src[at] == '#' && is(c.src[at-1], chBlank)) {
		at++
	}
	c.at = at
	if at < len(c.src) && c.src[at] == '#' {
		return at
	}
	return len(c.src)
}

// properties passes a tag and an anchor, between which there may be comments.
func (c *commentFinder) properties(p properties) {
	tag, anchor := [2]uint32{p.tag, p.tagEnd}, [2]uint32{p.anchor, p.anchorEnd}
	if tag[0] > anchor[0] {
		tag, anchor = anchor, tag
	}
	for _, r := range [][2]uint32{tag, anchor} {
		if r[1] > 0 {
			c.gap(int(r[0]))
			c.at = max(c.at, int(r[1]))
		}
	}
}

// header yields the comment in the first line of a block scalar.
func (c *commentFinder) header(start int) {
	end := start
	for end < len(c.src) && !is(c.src[end], chBreak) {
		end++
	}
	if i := bytes.IndexByte(c.src[start:end], '#'); i >= 0 && !c.stopped {
		c.found(start + i)
	}
}
