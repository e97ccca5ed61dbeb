package author

import (
	"errors"

	"github.com/edsctl/edsctl/pkg/document"
	"github.com/edsctl/edsctl/pkg/eds"
)

// maxTreeNodes bounds what the aliases of a document expand to.
const maxTreeNodes = 50_000_000

var errTooLarge = errors.New("the aliases of the document expand to too much")

// treeLiteral is a document as Envoy's proto JSON reader gets it: aliases expanded, keys tagged !ignore left out, of
// repeated keys the last.
func treeLiteral(n document.Node, budget *int) (*literal, error) {
	n = n.Target()
	if *budget--; *budget < 0 {
		return nil, errTooLarge
	}
	switch n.Kind() {
	case document.Mapping:
		return treeMapping(n, budget)
	case document.Sequence:
		out := &literal{kind: listLiteral}
		for c := n.First(); c.IsValid(); c = c.Next() {
			v, err := treeLiteral(c, budget)
			if err != nil {
				return nil, err
			}
			out.vals = append(out.vals, v)
		}
		return out, nil
	}
	s := eds.ReadScalar(n)
	if s.IsString {
		return str(s.Text), nil
	}
	return bare(s.Text), nil
}

func treeMapping(n document.Node, budget *int) (*literal, error) {
	out := &literal{kind: mapLiteral, data: true}
	at := map[string]int{}
	for k := n.First(); k.IsValid(); k = k.Next().Next() {
		text, ok := eds.ReadKey(k)
		if !ok {
			continue
		}
		v, err := treeLiteral(k.Next(), budget)
		if err != nil {
			return nil, err
		}
		if i, again := at[text]; again {
			out.vals[i] = v
			continue
		}
		at[text] = len(out.keys)
		out.put(text, v)
	}
	return out, nil
}

// take removes a key, given in snake_case, from a mapping and returns its value; nil when it is absent.
func (l *literal) take(name string) *literal {
	var found *literal
	for i := 0; i < len(l.keys); i++ {
		if l.keys[i] != name && l.keys[i] != camelCase(name) {
			continue
		}
		found = l.vals[i]
		l.keys = append(l.keys[:i:i], l.keys[i+1:]...)
		l.vals = append(l.vals[:i:i], l.vals[i+1:]...)
		i--
	}
	return found
}
