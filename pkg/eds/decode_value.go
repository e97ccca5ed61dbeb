package eds

import "google.golang.org/protobuf/encoding/protowire"

// stringOfValue writes the string in a google.protobuf.Value. The name of its field is a step of Envoy's paths.
func (d *decoder) stringOfValue(v value) {
	d.frames = append(d.frames, frame{name: "string_value", typ: "string", index: -1})
	text, ok := d.stringValue(v)
	d.frames = d.frames[:len(d.frames)-1]
	if ok {
		d.out = protowire.AppendTag(d.out, 3, protowire.BytesType)
		d.out = protowire.AppendString(d.out, text)
	}
}
