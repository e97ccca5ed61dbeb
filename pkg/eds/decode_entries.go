package eds

import (
	"github.com/edsctl/edsctl/pkg/document"
)

// readEntries appends the entries of a mapping to the scratch space, without those tagged !ignore, and reports and
// resolves keys that occur twice. known may be nil.
func (d *decoder) readEntries(n document.Node, known map[string]*fieldInfo) {
	base := len(d.entries)
	isYAML := n.Document().Format == document.YAML
	for k := n.First(); k.IsValid(); {
		val := k.Next()
		next := val.Next()
		raw, ok := keyBytes(k)
		if !ok || isYAML && k.ResolvedTag() == ignoreTag { // a collection as a key is reported once for the document
			k = next
			continue
		}
		e := entry{key: k, value: val, raw: raw, info: known[string(raw)]}
		for i := base; i < len(d.entries); i++ {
			old := &d.entries[i]
			if old.info != e.info {
				continue
			}
			if string(old.raw) == string(raw) {
				d.duplicate(old, e, isYAML)
			} else if e.info != nil {
				d.twoSpellings(old, &e)
			}
		}
		d.entries = append(d.entries, e)
		k = next
	}
}

// duplicate reports a key that occurs twice. In YAML the last copy replaces the others; in JSON the values are read one
// after the other into the same field.
func (d *decoder) duplicate(old *entry, e entry, isYAML bool) {
	if old.dead {
		return
	}
	old.dead = isYAML
	d.add(d.problem(e.key, "duplicate-key", "key %q occurs twice in one mapping, first at %s: the last one wins", e.text(), old.key.Span().Start))
}

// twoSpellings reports a field that is present in both spellings.
func (d *decoder) twoSpellings(old, e *entry) {
	if old.dead {
		return
	}
	d.bothSpellings = true
	d.add(d.problem(e.key, "field-both-spellings", "field %q is already given as %q at %s: which one Envoy uses is left to chance", e.text(), old.text(), old.key.Span().Start))
	if e.info.fd.IsList() || e.info.fd.IsMap() {
		return // both are read, one after the other
	}
	if d.firstWins {
		e.dead = true
	} else {
		old.dead = true
	}
}
