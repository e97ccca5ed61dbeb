package eds

import (
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// readEntries appends the entries of a mapping to the scratch space, without those tagged !ignore, and reports and
// resolves keys that occur twice. known may be nil.
func (d *decoder) readEntries(n document.Node, known map[string]*fieldInfo) {
	base := len(d.entries)
	isYAML := n.Document().Format == document.YAML
	var places map[string]int // of the keys so far, in a mapping with many
	for k := n.First(); k.IsValid(); {
		val := k.Next()
		next := val.Next()
		raw, ok := keyBytes(k)
		if !val.IsValid() { // JSON is broken here
			d.entries = append(d.entries, entry{key: k})
			return
		}
		if !ok || isYAML && k.ResolvedTag() == ignoreTag { // a collection as a key is reported once for the document
			k = next
			continue
		}
		e := entry{key: k, value: val, raw: raw, info: known[string(raw)]}
		if len(d.entries)-base < manyKeys {
			d.compareKey(base, &e, isYAML)
		} else {
			if places == nil {
				places = d.places(base)
			}
			d.findKey(places, &e, isYAML)
			places[e.text()] = len(d.entries)
		}
		d.entries = append(d.entries, e)
		k = next
	}
}

// compareKey reports a key that came before, in the same spelling or in the other one of its field. Of several copies
// the last is looked at.
func (d *decoder) compareKey(base int, e *entry, isYAML bool) {
	same, other := false, false
	for i := len(d.entries) - 1; i >= base; i-- {
		old := &d.entries[i]
		switch {
		case old.info != e.info:
		case string(old.raw) == string(e.raw):
			if !same {
				d.duplicate(old, e, isYAML)
			}
			same = true
		case e.info != nil:
			if !other {
				d.twoSpellings(old, e, isYAML)
			}
			other = true
		}
	}
}

// manyKeys is the number of keys from which those of a mapping are looked up instead of compared one by one.
const manyKeys = 32

// places are the last places of the keys of the mapping whose entries begin at base.
func (d *decoder) places(base int) map[string]int {
	places := map[string]int{}
	for i := base; i < len(d.entries); i++ {
		places[d.entries[i].text()] = i
	}
	return places
}

// findKey is compareKey in a mapping with many keys.
func (d *decoder) findKey(places map[string]int, e *entry, isYAML bool) {
	if i, found := places[e.text()]; found {
		d.duplicate(&d.entries[i], e, isYAML)
	}
	if e.info == nil {
		return
	}
	for _, spelling := range []string{string(e.info.fd.Name()), e.info.fd.JSONName()} {
		if i, found := places[spelling]; found && spelling != e.text() {
			d.twoSpellings(&d.entries[i], e, isYAML)
			places[d.entries[i].text()] = i // they may have changed places
			break
		}
	}
}

// duplicate reports a key that occurs twice. In YAML the last copy replaces the others; in JSON the values are read one
// after the other into the same field.
func (d *decoder) duplicate(old, e *entry, isYAML bool) {
	if old.dead {
		return
	}
	if !isYAML && e.text() == "@type" && d.typeTwice(e.key) {
		return
	}
	old.dead = isYAML
	many := e.info != nil && (e.info.fd.IsList() || e.info.fd.Message() != nil)
	e.again = e.again || !isYAML && e.info != nil && isSingularMessage(e.info.fd)
	d.add(d.duplicateKey(e.key, old.key, !isYAML && many))
}

// typeTwice reports a second @type in an Any; false where it is none.
func (d *decoder) typeTwice(key document.Node) bool {
	frames, where := d.frames, d.where
	switch last := len(frames) - 1; {
	case last >= 0 && frames[last].name == "<any>":
		d.frames = frames[:last]
	case last < 0 && d.typed && strings.HasSuffix(where.at, ".<any>"):
		d.where.at, d.where.message = strings.TrimSuffix(where.at, ".<any>"), "google.protobuf.Any"
	default:
		return false
	}
	d.typeError(key, "an Any has one \"@type\" only", "repeated @type in Any")
	d.frames, d.where = frames, where
	return true
}

// typesTwice reports a second @type in an Any whose fields are not read.
func (d *decoder) typesTwice(n document.Node) {
	n = n.Target()
	if n.Document().Format == document.YAML {
		return
	}
	some := false
	for k := n.First(); k.IsValid(); k = k.Next().Next() {
		if text, ok := keyText(k); !ok || text != "@type" {
			continue
		}
		if some {
			d.typeTwice(k)
			return
		}
		some = true
	}
}

// duplicateKey is the problem of a key that came before. added: the values are read one after the other.
func (d *decoder) duplicateKey(key, first document.Node, added bool) diag.Problem {
	text, _ := keyText(key)
	which := "the last one wins"
	if added {
		which = "Envoy reads one after the other"
	}
	return d.problem(key, "duplicate-key", "key %q occurs twice in one mapping, first at %s: %s", text, first.Span().Start, which)
}

// twoSpellings reports a field that is present in both spellings. To Envoy they are two keys, and both are read: in JSON
// in their order, in YAML in any, since the document is a Struct before it becomes JSON.
func (d *decoder) twoSpellings(old, e *entry, isYAML bool) {
	if old.dead {
		return
	}
	message := "field %q is already given as %q at %s: which one Envoy uses is left to chance"
	if !isYAML {
		message = "field %q is already given as %q at %s: Envoy reads one after the other"
	}
	d.add(d.problem(e.key, "field-both-spellings", message, e.text(), old.text(), old.key.Span().Start))
	d.bothSpellings = d.bothSpellings || isYAML
	e.again = e.again || e.info != nil && isSingularMessage(e.info.fd)
	if isYAML && d.firstWins {
		*old, *e = *e, *old
	}
}
