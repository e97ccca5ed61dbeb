package document

import "github.com/edsctl/edsctl/pkg/diag"

// Lenience is something that no JSON allows and protobuf's reader takes all the same.
type Lenience struct {
	Span diag.Span
	What string
}

// The leniences of protobuf's lexer in its legacy mode, but for control characters in strings.
const (
	trailingComma = "a comma before a closing bracket"
	singleQuotes  = "single quotes"
	bareKey       = "a key without quotes"
)

// Leniences are the first of each kind in a JSON document, in the order of the text.
func (d *Document) Leniences() []Lenience { return d.leniences }

// lenient notes the first occurrence of a lenience.
func (p *jsonParser) lenient(what string, start, end int) {
	for _, l := range p.doc.leniences {
		if l.What == what {
			return
		}
	}
	p.doc.leniences = append(p.doc.leniences, Lenience{Span: p.file.span(start, end), What: what})
}
