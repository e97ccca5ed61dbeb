package eds

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/edsctl/edsctl/pkg/document"
)

func (d *decoder) listField(v value, info *fieldInfo) {
	if v.kind == jsonArray {
		d.elements(v, info)
		return
	}
	before := len(d.problems)
	d.singular(v, info)
	if len(d.problems) == before || !d.hard {
		d.add(d.problem(v.node, "json-lenient", "a list belongs here: Envoy reads a single value as a list of one"))
	}
}

func (d *decoder) elements(v value, info *fieldInfo) {
	if !d.enter(v) {
		d.leave()
		return
	}
	defer d.leave()
	for n := v.node.Target().First(); n.IsValid(); n = n.Next() {
		top := &d.frames[len(d.frames)-1]
		top.index++
		if n.Tag() == ignoreTag {
			d.add(d.problem(n, "ignore-tag-misplaced", "the tag !ignore on a list item does nothing: it works on keys only"))
		}
		item := look(n)
		item.node = n
		switch {
		case item.broken && n.Style() == document.Block:
			top.index-- // it is the list that goes on wrongly
			d.broke(n)
		case item.broken && d.stops(item):
		case item.kind == jsonNull && info.wkt != wktValue:
			d.add(d.problem(n, "json-lenient", "null in a list: Envoy reads it as an empty value"))
			d.zero(info.fd)
		case item.kind == jsonArray && info.wkt != wktValue && info.wkt != wktList:
			d.add(d.problem(n, "json-lenient", "a list inside a list: Envoy reads its items as items of the outer one"))
			top.index-- // the items count on
			top.lists++
			d.elements(item, info)
		default:
			d.singular(item, info)
		}
	}
}

// zero writes the zero value of a field.
func (d *decoder) zero(fd protoreflect.FieldDescriptor) {
	switch fd.Kind() {
	case protoreflect.MessageKind, protoreflect.StringKind, protoreflect.BytesKind:
		d.out = protowire.AppendTag(d.out, fd.Number(), protowire.BytesType)
		d.out = append(d.out, 0)
	default:
		d.varint(fd, 0) // no modelled list has another wire type
	}
}

func (d *decoder) mapField(v value, info *fieldInfo) {
	if v.kind != jsonObject {
		d.unexpected(v, "{")
		return
	}
	if !d.enter(v) {
		d.leave()
		return
	}
	defer d.leave()
	base := len(d.entries)
	d.readEntries(v.node.Target(), nil)
	end := len(d.entries)
	at := len(d.frames) - 1
	for i := base; i < end; i++ {
		e := d.entries[i]
		if !e.value.IsValid() {
			d.broke(e.key)
			break
		}
		if !e.dead {
			e.raw = d.validKey(e) // its place is that of the entry before
		}
		d.frames[at].index++
		d.frames[at].entry = e.key
		if e.dead {
			continue
		}
		if i > base && d.repeated(d.entries[base:i], e) {
			d.typeError(e.key, fmt.Sprintf("the key %q occurs twice in a map", e.text()), fmt.Sprintf("got unexpectedly-repeated repeated map key: '%s'", e.text()))
		}
		d.nested(info.fd.Number(), func() {
			d.mapKey(e, info.key.fd)
			val := look(e.value)
			val.node = e.value
			if val.broken && d.stops(val) {
				return
			}
			if val.kind != jsonNull || info.value.wkt == wktValue {
				d.singular(val, info.value)
			}
		})
	}
	d.frames[at].entry = document.Node{}
	d.entries = d.entries[:base]
}

// repeated tells whether a key stands among the entries before it; in YAML those copies are gone by now.
func (d *decoder) repeated(before []entry, e entry) bool {
	return e.key.Document().Format == document.JSON && slices.ContainsFunc(before, func(o entry) bool { return string(o.raw) == string(e.raw) })
}

// mapKey writes the key of a map's entry. All maps that edsctl models have strings for keys, but for one whose values
// no resource needs.
func (d *decoder) mapKey(e entry, fd protoreflect.FieldDescriptor) {
	switch fd.Kind() {
	case protoreflect.StringKind:
		d.out = protowire.AppendTag(d.out, 1, protowire.BytesType)
		d.out = protowire.AppendBytes(d.out, e.raw)
	case protoreflect.BoolKind:
		if e.text() != "true" && e.text() != "false" {
			d.typeError(e.key, fmt.Sprintf("the key %q is no boolean", e.text()), fmt.Sprintf("expected bool string, got '%s'", e.text()))
			return
		}
		d.varint(fd, protowire.EncodeBool(e.text() == "true"))
	default:
		n, err := atoi(e.text())
		if err != nil || n.neg {
			d.typeError(e.key, fmt.Sprintf("the key %q is no number", e.text()), "non-number characters in quoted number")
			return
		}
		d.varint(fd, n.abs)
	}
}
