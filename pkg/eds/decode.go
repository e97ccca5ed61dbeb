package eds

import (
	"fmt"
	"slices"
	"strings"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
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
	field string        // name of a field of an outline
	info  *fieldInfo    // nil for both
	index int           // element of a list, or entry of a map; -1 when neither
	lists int           // lists inside the list before this element: Envoy counts them as well
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
	// firstWins makes the first of two spellings of a field in YAML be read after the other: Envoy chooses at random.
	firstWins     bool
	bothSpellings bool
	// cause is the error behind which nothing of the document was read, in protobuf's words; see brokenText.
	cause string
	// typed: the object of the root message may hold an @type.
	typed bool
	// skip leaves a field of the root message to the caller.
	skip protoreflect.Name
	// skipped are the values of that field: of both spellings, and in JSON of all copies.
	skipped []document.Node
	// numbers reads YAML's numbers in a Struct as numbers; numberAsText: Envoy took one of them for a string.
	numbers, numberAsText bool
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
	again bool       // a message whose field came before, in JSON or in the other spelling
}

// text of the key.
func (e entry) text() string { return string(e.raw) }

// message decodes the object at n into m; of several, which JSON may have, one after the other.
func (d *decoder) message(n document.Node, m proto.Message, more ...document.Node) {
	d.typed = d.typed && has(n, "@type")
	for i, n := range append([]document.Node{n}, more...) {
		before := d.out
		d.out, d.jsonDepth = nil, d.where.depth
		if v := look(n); v.kind != jsonNull {
			md := m.ProtoReflect().Descriptor()
			d.anyForm(v, classify(md.FullName()), md) // a layer of the runtime is a Struct
		}
		if i > 0 {
			d.out = overlay(before, d.out)
		}
	}
	// Everything on the wire was made for this descriptor; only a string that is not UTF-8 could be refused.
	if a, ok := m.(*endpointv3.ClusterLoadAssignment); ok && plainAssignment(d.out, a) {
		return
	}
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
	base, start, twice := len(d.entries), len(d.out), false
	d.readEntries(v.node.Target(), m.fields)
	end := len(d.entries)
	var oneofs [8]*fieldInfo      // the member that was set, by index
	for i := base; i < end; i++ { // by index: reading a value may move the slice
		e := d.entries[i]
		switch {
		case e.value.Kind() == document.Invalid: // the last one
			d.broke(e.key)
		case e.dead, mode == anyFields && e.text() == "@type":
		case e.info == nil || e.info.since > d.version:
			if !(d.typed && len(d.frames) == 0 && e.text() == "@type") {
				d.unknownField(e, m.md)
			}
		case d.skip != "" && len(d.frames) == 0 && e.info.fd.Name() == d.skip:
			if look(e.value).kind != jsonNull { // null sets nothing
				d.skipped = append(d.skipped, e.value)
			}
		default:
			d.field(e, &oneofs)
			twice = twice || e.again
		}
	}
	d.entries = d.entries[:base]
	if twice {
		d.out = append(d.out[:start], d.replaced(d.out[start:], m)...)
	}
}

// fieldsMode tells where the fields of an object stand.
type fieldsMode uint8

const (
	plainFields fieldsMode = iota
	anyFields
)

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
		if *set != nil {
			d.setTwice(e, *set)
		}
		*set = e.info
	}
	if e.info.deprecated && v.kind != jsonNull {
		d.deprecatedField(e)
	}
	switch {
	case v.broken && d.stops(v):
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

// setTwice reports a member of a oneof after another one or after itself, which the reader refuses even in the legacy
// mode that lets other fields be repeated (HasParsed of json/internal/parser_traits.h).
func (d *decoder) setTwice(e entry, set *fieldInfo) {
	p := d.problem(e.key, "oneof-set-twice", "%q and %q cannot both be set", e.info.fd.Name(), set.fd.Name())
	if set == e.info {
		p.Message = fmt.Sprintf("%q belongs to a oneof and cannot be set twice", e.info.fd.Name())
	}
	d.alreadySet(p, e.text())
}

// alreadySet adds the problem of a key whose oneof has a member, with Envoy's words for it.
func (d *decoder) alreadySet(p diag.Problem, key string) {
	p.Envoy.Message = d.jsonText(fmt.Sprintf("'%s' has already been set (either directly or as part of a oneof)", key))
	d.hardProblem(p)
}

// singular writes one value of a field.
func (d *decoder) singular(v value, info *fieldInfo) {
	if info.fd.Message() == nil {
		d.scalar(v, info.fd)
		return
	}
	d.nested(info.fd.Number(), func() { d.anyForm(v, info.wkt, info.fd.Message()) })
}

// path is the canonical path of the value being read.
func (d *decoder) path() diag.Path {
	p := make(diag.Path, 0, 2*len(d.frames))
	for _, f := range d.frames {
		name := f.field
		if f.info != nil {
			name = string(f.info.fd.Name())
		}
		if name == "" {
			continue
		}
		p = append(p, diag.Step{Name: name})
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
