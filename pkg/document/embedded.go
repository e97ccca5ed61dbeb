package document

import (
	"bytes"

	"github.com/edsctl/edsctl/pkg/diag"
)

// Embedded reads the text of a scalar as a file of its own: a ConfigMap's data key, a quoted JSON text. Spans and
// positions of the result are those of the outermost file, also in errors; offsets count in the text (Source).
func (n Node) Embedded(format Format, lim Limits) ([]*Document, error) {
	n = n.Target()
	if n.Kind() != Scalar {
		return nil, nil
	}
	lim = lim.withDefaults()
	f := &file{outer: n.d.file, host: n}
	f.src = n.d.decode(n.record(), &f.pieces)
	if err := lim.checkSize(f.src); err != nil {
		return nil, err
	}
	if len(f.pieces) == 0 { // an empty text stands where its scalar ends
		_, end := n.Offsets()
		f.pieces = []piece{{src: end}}
	}
	if format == JSON {
		d, err := parseJSON(f)
		if err != nil {
			return nil, err
		}
		return []*Document{d}, nil
	}
	if bytes.HasPrefix(f.src, utf8BOM) {
		f.bom = len(utf8BOM)
	}
	return parseYAML(f, lim)
}

// TextSpan is where a range of a scalar's text stands in the outermost file.
func (n Node) TextSpan(start, end int) diag.Span {
	n = n.Target()
	if n.Kind() != Scalar {
		return diag.Span{}
	}
	f := &file{outer: n.d.file, host: n}
	f.src = n.d.decode(n.record(), &f.pieces)
	return f.span(start, end)
}

// OuterOffsets is the range of bytes of the node in the outermost file (see Document.Outer).
func (n Node) OuterOffsets() (start, end int) {
	if n.i == 0 {
		return 0, 0
	}
	start, end = n.Offsets()
	_, start, end = n.d.file.outermost(start, end)
	return start, end
}

// Outer is the text of the outermost file: Source, unless the document is embedded.
func (d *Document) Outer() []byte {
	f, _, _ := d.file.outermost(0, 0)
	return f.src
}

// Host is the scalar whose text the document is; invalid for a document that is not embedded.
func (d *Document) Host() Node { return d.file.host }

// HostOffsets is the range that a range of Source has in the source of the document around it (see Host).
func (d *Document) HostOffsets(start, end int) (hostStart, hostEnd int) {
	return mapRange(d.file.pieces, start, end)
}
