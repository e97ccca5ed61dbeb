package eds

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// jsonDepthLimit is the number of nested objects and arrays that protobuf's JSON reader takes
// (json/internal/lexer.h, ParseOptions::kDefaultDepth).
const jsonDepthLimit = 100

// wireDepthLimit is the number of nested messages that protobuf's binary reader takes; an assignment that came in an
// Any is serialised and read again, so it meets this limit too.
const wireDepthLimit = 100

// ignoreTag on the key of a YAML mapping makes Envoy drop the entry.
const ignoreTag = "!ignore"

// frame is one step from the root of the decoded message to the value being read.
type frame struct {
	key   document.Node // the key as written; invalid for the steps that Envoy names itself
	name  string        // of such a step: "<any>", "<struct>", "<list>"
	typ   string        // type of such a step, as Envoy prints it
	info  *fieldInfo    // nil for such a step
	index int           // element of a list, or entry of a map; -1 when neither
	entry document.Node // key of a map's entry
}

// written is the step as it stands in Envoy's paths, without the index.
func (f frame) written() string {
	if f.key.IsValid() {
		text, _ := keyText(f.key)
		return text
	}
	return f.name
}

// decoder reads one message from a tree as Envoy reads JSON and YAML, and goes on after an error. All problems are
// reported with their spans. What can be read is written as protobuf's wire format, whose rules for fields that occur
// more than once are those of protobuf's JSON reader: scalars are replaced, messages merged, lists continued.
type decoder struct {
	schema   *schema
	version  int // minor version of Envoy
	where    wire
	problems []diag.Problem
	hard     bool // a problem that makes the whole text unreadable was found

	out       []byte // the message on the wire
	frames    []frame
	jsonDepth int     // containers around the value being read, in the document as Envoy gets it
	wireDepth int     // messages around it, from the root of the resource
	tooDeep   bool    // the limit of JSON's nesting was reported
	tooNested bool    // that of the wire was
	entries   []entry // scratch space of all objects being read
	// firstWins makes the first of two spellings of a field count instead of the last: Envoy chooses at random.
	firstWins     bool
	bothSpellings bool
	// typed: the object of the root message may hold an @type.
	typed bool
	// skip leaves a field of the root message to the caller.
	skip protoreflect.Name
	// skipped is the value of that field.
	skipped document.Node
}

// wire is the document around a message as Envoy names it in its errors.
type wire struct {
	file string // name of the file when Envoy mentions it, as in "in FILE.yaml, Unable to parse …"
	root string // full name of the outermost message
	// message is the full name of the message that is decoded.
	message string
	at      string // path from the root to the message, "resources[0].<any>"
	depth   int    // containers around the message's own object
	inAny   bool   // the message is in an Any, so it is read into a buffer first and unpacked from binary
}

// entry is one key of an object with what it stands for.
type entry struct {
	key   document.Node
	value document.Node
	raw   []byte     // the key's text
	info  *fieldInfo // nil when unknown
	dead  bool       // overridden by a later copy of the same key
}

// text of the key.
func (e entry) text() string { return string(e.raw) }

// message decodes the object at n into m.
func (d *decoder) message(n document.Node, m proto.Message) {
	d.jsonDepth = d.where.depth
	if v := look(n); v.kind != jsonNull {
		md := m.ProtoReflect().Descriptor()
		d.anyForm(v, classify(md.FullName()), md) // a layer of the runtime is a Struct
	}
	// Everything on the wire was made for this descriptor; only a string that is not UTF-8 could be refused.
	if err := proto.Unmarshal(d.out, m); err != nil {
		d.hardProblem(diag.Problem{Rule: "value-type", Span: n.Span(), Message: plainError(err)})
	}
}

// enter notes that a container begins; false when it is too deep to be read.
func (d *decoder) enter(v value) bool {
	d.jsonDepth++
	if d.jsonDepth <= jsonDepthLimit {
		return true
	}
	if !d.tooDeep {
		d.tooDeep = true
		d.hard = true
		p := d.problem(v.node, "nesting-too-deep", "the document is nested more than %d levels deep", jsonDepthLimit)
		p.Envoy = diag.Override{Stage: "00c-json", Message: d.jsonText("JSON content was too deeply nested")}
		if d.where.inAny { // the object of an Any is skipped over once before it is read
			at := strings.TrimSuffix(d.where.at, ".<any>")
			p.Envoy.Message = d.parseText(fmt.Sprintf("invalid JSON in %s @ %s: message google.protobuf.Any, near <pos>: JSON content was too deeply nested", d.where.root, at))
		}
		d.add(p)
	}
	return false
}

func (d *decoder) leave() { d.jsonDepth-- }

// enterMessage notes that a message begins inside others.
func (d *decoder) enterMessage(v value) {
	if d.wireDepth++; d.wireDepth > wireDepthLimit+1 && d.where.inAny && !d.tooNested {
		d.tooNested = true
		p := d.problem(v.node, "nesting-too-deep", "messages are nested more than %d levels deep", wireDepthLimit)
		p.Envoy = diag.Override{Stage: "04-unpack", Message: unpackText}
		d.add(p)
	}
}

// nested writes a field that is a message: its tag, and its content with the length in front.
func (d *decoder) nested(num protowire.Number, content func()) {
	d.out = protowire.AppendTag(d.out, num, protowire.BytesType)
	d.out = append(d.out, 0) // room for the length of a small message
	start := len(d.out)
	content()
	d.closeLength(start)
}

// closeLength writes the length of what was written since start into the byte before it, and makes room when one byte
// is not enough.
func (d *decoder) closeLength(start int) {
	n := len(d.out) - start
	if n < 0x80 {
		d.out[start-1] = byte(n)
		return
	}
	extra := protowire.SizeVarint(uint64(n)) - 1 //nolint:gosec // a length
	d.out = append(d.out, make([]byte, extra)...)
	copy(d.out[start+extra:], d.out[start:start+n])
	protowire.AppendVarint(d.out[:start-1], uint64(n)) //nolint:gosec // a length
}

// object writes the fields of an object as those of a message.
func (d *decoder) object(v value, md protoreflect.MessageDescriptor) {
	if v.kind != jsonObject {
		d.unexpected(v, "{")
		return
	}
	if d.enter(v) {
		d.enterMessage(v)
		d.fields(v, d.schema.message(md), plainFields)
		d.wireDepth--
	}
	d.leave()
}

// fields writes the fields of an object. In an Any the @type among them is passed over.
func (d *decoder) fields(v value, m *messageInfo, mode fieldsMode) {
	base := len(d.entries)
	d.readEntries(v.node.Target(), m.fields)
	end := len(d.entries)
	var oneofs [8]*fieldInfo      // the member that was set, by index
	for i := base; i < end; i++ { // by index: reading a value may move the slice
		e := d.entries[i]
		switch {
		case e.dead, mode == anyFields && e.text() == "@type":
		case e.info == nil || e.info.since > d.version:
			if !(d.typed && len(d.frames) == 0 && e.text() == "@type") {
				d.unknownField(e, m.md)
			}
		case d.skip != "" && len(d.frames) == 0 && e.info.fd.Name() == d.skip:
			d.skipped = e.value
		default:
			d.field(e, &oneofs)
		}
	}
	d.entries = d.entries[:base]
}

// fieldsMode tells where the fields of an object stand.
type fieldsMode uint8

const (
	plainFields fieldsMode = iota
	anyFields
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

// field reads one known field of a message.
func (d *decoder) field(e entry, oneofs *[8]*fieldInfo) {
	if e.value.Tag() == ignoreTag {
		d.add(d.problem(e.value, "ignore-tag-misplaced", "the tag !ignore on a value does nothing: put it before the key %q to drop the entry", e.text()))
	}
	d.frames = append(d.frames, frame{key: e.key, info: e.info, index: -1})
	v := look(e.value)
	v.node = e.value // point at an alias, not at what it names
	if v.kind != jsonNull && e.info.oneof > 0 && e.info.oneof <= len(oneofs) {
		set := &oneofs[e.info.oneof-1]
		if *set != nil && *set != e.info {
			p := d.problem(e.key, "oneof-set-twice", "%q and %q cannot both be set", e.info.fd.Name(), (*set).fd.Name())
			p.Envoy.Message = d.jsonText(fmt.Sprintf("'%s' has already been set (either directly or as part of a oneof)", e.text()))
			d.hardProblem(p)
		}
		*set = e.info
	}
	if e.info.deprecated && v.kind != jsonNull {
		d.deprecatedField(e)
	}
	switch {
	case v.kind == jsonNull && e.info.wkt != wktValue:
	case e.info.fd.IsMap():
		d.mapField(v, e.info)
	case e.info.fd.IsList():
		d.listField(v, e.info)
	default:
		d.singular(v, e.info)
	}
	d.frames = d.frames[:len(d.frames)-1]
}

// singular writes one value of a field.
func (d *decoder) singular(v value, info *fieldInfo) {
	if info.fd.Message() == nil {
		d.scalar(v, info.fd)
		return
	}
	d.nested(info.fd.Number(), func() { d.anyForm(v, info.wkt, info.fd.Message()) })
}

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
		case item.kind == jsonNull && info.wkt != wktValue:
			d.add(d.problem(n, "json-lenient", "null in a list: Envoy reads it as an empty value"))
			d.zero(info.fd)
		case item.kind == jsonArray && info.wkt != wktValue && info.wkt != wktList:
			d.add(d.problem(n, "json-lenient", "a list inside a list: Envoy reads its items as items of the outer one"))
			top.index-- // the items count on
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

// path is the canonical path of the value being read.
func (d *decoder) path() diag.Path {
	p := make(diag.Path, 0, 2*len(d.frames))
	for _, f := range d.frames {
		if f.info == nil {
			continue
		}
		p = append(p, diag.Step{Name: string(f.info.fd.Name())})
		switch {
		case f.entry.IsValid():
			text, _ := keyText(f.entry)
			p = append(p, diag.Step{Name: text, IsKey: true})
		case f.index >= 0:
			p = append(p, diag.Step{Index: f.index})
		}
	}
	return slices.Clip(p)
}
