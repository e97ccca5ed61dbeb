package diag

import (
	"strconv"
	"strings"
)

// Step is one element of a Path: a field name, an index into a list, or a key of a map.
type Step struct {
	Name  string // proto name of a field, or a map key when IsKey
	Index int    // index into a list when Name is empty
	IsKey bool
}

// Path leads from the root of a resource to a value, in proto field names:
// endpoints[0].lb_endpoints[2].load_balancing_weight. A Path is immutable: its methods return copies.
type Path []Step

func (p Path) with(s Step) Path {
	out := make(Path, len(p)+1)
	copy(out, p)
	out[len(p)] = s
	return out
}

// Field returns the path of a field of the message at p. A dotted name adds several steps.
func (p Path) Field(name string) Path {
	if !strings.Contains(name, ".") {
		return p.with(Step{Name: name})
	}
	for part := range strings.SplitSeq(name, ".") {
		p = p.with(Step{Name: part})
	}
	return p
}

// Index returns the path of the i-th element of the list at p.
func (p Path) Index(i int) Path { return p.with(Step{Index: i}) }

// Key returns the path of the value under key in the map at p.
func (p Path) Key(key string) Path { return p.with(Step{Name: key, IsKey: true}) }

// Join returns the path that follows p and then q.
func (p Path) Join(q Path) Path {
	out := make(Path, 0, len(p)+len(q))
	return append(append(out, p...), q...)
}

// String returns the canonical text: fields joined by dots, list indices in brackets, map keys in brackets too.
func (p Path) String() string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case s.IsKey:
			b.WriteString("[" + s.Name + "]")
		case s.Name == "":
			b.WriteString("[" + strconv.Itoa(s.Index) + "]")
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.Name)
		}
	}
	return b.String()
}
