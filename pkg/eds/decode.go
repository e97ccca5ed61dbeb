package eds

import (
	"fmt"
	"math"
	"slices"
	"strings"

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
	written string                       // the key as written, or "<any>", "<struct>", "<list>" as Envoy names these steps
	fd      protoreflect.FieldDescriptor // nil for the steps that Envoy names itself
	typ     string                       // type as Envoy prints it: "string", "message envoy.config.core.v3.Locality"
	index   int                          // element of a list, or entry of a map; -1 when neither
	key     string                       // key of a map entry
	isKey   bool
}

// decoder reads one message from a tree as Envoy reads JSON and YAML, and goes on after an error. All problems are
// reported with their spans; what can be read is set in the message.
type decoder struct {
	schema   *schema
	version  int // minor version of Envoy
	where    wire
	problems []diag.Problem
	hard     bool // a problem that makes the whole text unreadable was found

	frames    []frame
	jsonDepth int // containers around the value being read, in the document as Envoy gets it
	wireDepth int // messages around it, from the root of the resource
	tooDeep   bool // the limit of JSON's nesting was reported
	tooNested bool // that of the wire was
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
	at      string // path from there to the message, "resources[0].<any>"
	depth   int    // containers around the message's own object
	inAny   bool   // the message is in an Any, so it is read into a buffer first and unpacked from binary
}

// entry is one key of an object with what it stands for.
type entry struct {
	key   document.Node
	value document.Node
	text  string
	info  *fieldInfo // nil when unknown
	dead  bool       // overridden by a later copy of the same key
}

// message decodes the object at n into m.
func (d *decoder) message(n document.Node, m protoreflect.Message) {
	d.jsonDepth = d.where.depth
	v := look(n)
	if v.kind == jsonNull {
		return
	}
	if classify(m.Descriptor().FullName()) == wktStruct { // a layer of the runtime
		d.structMessage(v, m)
		return
	}
	d.object(v, m)
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

// object reads the fields of an object into m.
func (d *decoder) object(v value, m protoreflect.Message) {
	if v.kind != jsonObject {
		d.unexpected(v, "{")
		return
	}
	if !d.enter(v) {
		d.leave()
		return
	}
	defer d.leave()
	d.enterMessage(v)
	defer func() { d.wireDepth-- }()

	fields := d.schema.fields(m.Descriptor())
	base := len(d.entries)
	d.entries = d.readEntries(v.node, func(key string) *fieldInfo { return fields[key] })
	end := len(d.entries)
	for i := base; i < end; i++ { // by index: reading a value may move the slice
		if e := d.entries[i]; !e.dead {
			d.entry(e, m)
		}
	}
	d.entries = d.entries[:base]
}

// readEntries appends the entries of a mapping to the scratch space, without those tagged !ignore, and reports and
// resolves keys that occur twice.
func (d *decoder) readEntries(n document.Node, lookup func(string) *fieldInfo) []entry {
	entries := d.entries
	base := len(entries)
	isYAML := n.Document().Format == document.YAML
	for k := n.First(); k.IsValid(); {
		val := k.Next()
		next := val.Next()
		if isYAML && k.ResolvedTag() == ignoreTag {
			k = next
			continue
		}
		text, ok := keyText(k)
		if !ok { // reported once for the whole document
			k = next
			continue
		}
		e := entry{key: k, value: val, text: text, info: lookup(text)}
		for i := base; i < len(entries); i++ {
			old := &entries[i]
			if old.text == text {
				d.duplicate(old, e, isYAML)
			} else if e.info != nil && old.info == e.info {
				d.twoSpellings(old, &e)
			}
		}
		entries = append(entries, e)
		k = next
	}
	return entries
}

// duplicate reports a key that occurs twice. In YAML the last copy replaces the others; in JSON the values are read one
// after the other into the same field.
func (d *decoder) duplicate(old *entry, e entry, isYAML bool) {
	if isYAML {
		if old.dead {
			return
		}
		old.dead = true
	}
	p := d.problem(e.key, "duplicate-key", "key %q occurs twice in one mapping, first at %s: the last one wins", e.text, old.key.Span().Start)
	d.add(p)
}

// twoSpellings reports a field that is present in both spellings.
func (d *decoder) twoSpellings(old, e *entry) {
	if old.dead {
		return
	}
	d.bothSpellings = true
	d.add(d.problem(e.key, "field-both-spellings", "field %q is already given as %q at %s: which one Envoy uses is left to chance", e.text, old.text, old.key.Span().Start))
	if e.info.fd.IsList() || e.info.fd.IsMap() {
		return // both are read, one after the other
	}
	if d.firstWins {
		e.dead = true
	} else {
		old.dead = true
	}
}

// entry reads one field of a message.
func (d *decoder) entry(e entry, m protoreflect.Message) {
	if e.info == nil {
		if d.typed && len(d.frames) == 0 && e.text == "@type" {
			return
		}
		d.unknownField(e, m.Descriptor())
		return
	}
	fd := e.info.fd
	if d.skip != "" && len(d.frames) == 0 && fd.Name() == d.skip {
		d.skipped = e.value
		return
	}
	if e.value.Tag() == ignoreTag {
		d.add(d.problem(e.value, "ignore-tag-misplaced", "the tag !ignore on a value does nothing: put it before the key %q to drop the entry", e.text))
	}
	d.frames = append(d.frames, frame{written: e.text, fd: fd, typ: typeName(fd), index: -1})
	defer func() { d.frames = d.frames[:len(d.frames)-1] }()

	v := look(e.value)
	v.node = e.value // point at an alias, not at what it names
	if v.kind != jsonNull && fd.ContainingOneof() != nil && !fd.ContainingOneof().IsSynthetic() {
		if other := m.WhichOneof(fd.ContainingOneof()); other != nil {
			p := d.problem(e.key, "oneof-set-twice", "%q and %q cannot both be set", fd.Name(), other.Name())
			p.Envoy.Message = d.jsonText(fmt.Sprintf("'%s' has already been set (either directly or as part of a oneof)", e.text))
			d.hardProblem(p)
		}
	}
	if e.info.deprecated && v.kind != jsonNull {
		d.deprecatedField(e, m.Descriptor())
	}
	switch {
	case fd.IsMap():
		d.mapField(v, fd, m)
	case fd.IsList():
		d.listField(v, e.info, m)
	default:
		d.singular(v, e.info, m)
	}
}

func (d *decoder) singular(v value, info *fieldInfo, m protoreflect.Message) {
	fd := info.fd
	if v.kind == jsonNull && info.wkt != wktValue {
		return
	}
	if fd.Message() != nil {
		d.wellKnownMessage(v, info.wkt, m.Mutable(fd).Message())
		return
	}
	if x, ok := d.scalar(v, fd); ok {
		m.Set(fd, x)
	}
}

func (d *decoder) listField(v value, info *fieldInfo, m protoreflect.Message) {
	if v.kind == jsonNull {
		return
	}
	list := m.Mutable(info.fd).List()
	if v.kind != jsonArray { // a single value where a list belongs
		before := len(d.problems)
		d.element(v, info, list)
		if len(d.problems) == before || !d.hard {
			d.add(d.problem(v.node, "json-lenient", "a list belongs here: Envoy reads a single value as a list of one"))
		}
		return
	}
	d.elements(v, info, list)
}

func (d *decoder) elements(v value, info *fieldInfo, list protoreflect.List) {
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
			if info.fd.Message() != nil {
				list.AppendMutable()
			} else {
				list.Append(list.NewElement())
			}
		case item.kind == jsonArray && info.wkt != wktValue && info.wkt != wktList:
			d.add(d.problem(n, "json-lenient", "a list inside a list: Envoy reads its items as items of the outer one"))
			top.index-- // the items count on
			d.elements(item, info, list)
		default:
			d.element(item, info, list)
		}
	}
}

func (d *decoder) element(v value, info *fieldInfo, list protoreflect.List) {
	if info.fd.Message() != nil {
		d.wellKnownMessage(v, info.wkt, list.AppendMutable().Message())
		return
	}
	if x, ok := d.scalar(v, info.fd); ok {
		list.Append(x)
	}
}

func (d *decoder) mapField(v value, fd protoreflect.FieldDescriptor, m protoreflect.Message) {
	if v.kind == jsonNull {
		return
	}
	if v.kind != jsonObject {
		d.unexpected(v, "{")
		return
	}
	if !d.enter(v) {
		d.leave()
		return
	}
	defer d.leave()
	valueInfo := &fieldInfo{fd: fd.MapValue()}
	if fd.MapValue().Message() != nil {
		valueInfo.wkt = classify(fd.MapValue().Message().FullName())
	}
	out := m.Mutable(fd).Map()
	base := len(d.entries)
	d.entries = d.readEntries(v.node.Target(), func(string) *fieldInfo { return nil })
	end := len(d.entries)
	at := len(d.frames) - 1
	for i := base; i < end; i++ {
		e := d.entries[i]
		if e.dead {
			continue
		}
		d.frames[at].index++
		d.frames[at].key, d.frames[at].isKey = e.text, true
		key, ok := d.mapKey(e, fd.MapKey())
		if !ok {
			continue
		}
		val := look(e.value)
		val.node = e.value
		if fd.MapValue().Message() != nil {
			d.wellKnownMessage(val, valueInfo.wkt, out.Mutable(key).Message())
		} else if val.kind == jsonNull {
			out.Set(key, out.NewValue())
		} else if x, ok := d.scalar(val, fd.MapValue()); ok {
			out.Set(key, x)
		}
	}
	d.frames[at].isKey = false
	d.entries = d.entries[:base]
}

func (d *decoder) mapKey(e entry, fd protoreflect.FieldDescriptor) (protoreflect.MapKey, bool) {
	if fd.Kind() == protoreflect.StringKind {
		return protoreflect.ValueOfString(e.text).MapKey(), true
	}
	if fd.Kind() == protoreflect.BoolKind {
		if e.text == "true" || e.text == "false" {
			return protoreflect.ValueOfBool(e.text == "true").MapKey(), true
		}
		d.typeError(e.key, fmt.Sprintf("the key %q is no boolean", e.text), fmt.Sprintf("expected bool string, got '%s'", e.text))
		return protoreflect.MapKey{}, false
	}
	i, err := atoi(e.text)
	if err != nil || i.neg || i.abs > math.MaxUint32 || fd.Kind() != protoreflect.Uint32Kind {
		d.typeError(e.key, fmt.Sprintf("the key %q is no number", e.text), "non-number characters in quoted number")
		return protoreflect.MapKey{}, false
	}
	return protoreflect.ValueOfUint32(uint32(i.abs)).MapKey(), true
}

// path is the canonical path of the value being read.
func (d *decoder) path() diag.Path {
	p := make(diag.Path, 0, len(d.frames)+2)
	for _, f := range d.frames {
		if f.fd == nil {
			continue
		}
		p = append(p, diag.Step{Name: string(f.fd.Name())})
		switch {
		case f.isKey:
			p = append(p, diag.Step{Name: f.key, IsKey: true})
		case f.index >= 0:
			p = append(p, diag.Step{Index: f.index})
		}
	}
	return slices.Clip(p)
}
