package eds

import (
	"fmt"
	"strings"
	"unicode/utf8"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/document"
)

// Protobuf's reader parses JSON as it goes by the types that it wants (json/internal/parser.cc), so what it says of
// broken text depends on the place, and a value of a wrong type before that comes first. The decoder finds both out when
// it reads the document up to where it is broken.

// brokenText is what Envoy says of a broken document; empty when edsctl does not know the type of the place.
func (r *reader) brokenText(w wire, e *document.SyntaxError) string {
	if e.Read == nil {
		return ""
	}
	w.message = w.root
	b := &brokenReader{reader: r, where: w, cause: e.Envoy}
	root := e.Read.Root
	if w.root == responseMessage {
		b.decode(root, w, &discoveryv3.DiscoveryResponse{})
		return b.text
	}
	b.bootstrap(root)
	return b.text
}

// brokenReader reads the parts of a broken document that edsctl models, up to the first error.
type brokenReader struct {
	*reader
	where wire
	cause string
	text  string
}

// decode reads a message for the sake of its first error.
func (b *brokenReader) decode(n document.Node, w wire, m proto.Message) {
	if b.text != "" {
		return
	}
	if v := look(n); v.broken && (v.text == "" || v.kind == jsonNull) {
		b.at(w)
		return
	}
	d := b.newDecoder(w)
	d.cause, d.typed = b.cause, true
	d.message(n, m)
	for i, p := range d.problems {
		if hasHard(d.problems[i:i+1]) && p.Envoy.Message != "" {
			b.text = p.Envoy.Message
			return
		}
	}
}

// bootstrap reads the node and the static clusters of a bootstrap.
func (b *brokenReader) bootstrap(root document.Node) {
	for k := root.First(); k.IsValid() && k.Next().IsValid(); k = k.Next().Next() {
		key, _ := keyText(k)
		w := b.where
		w.at = key
		switch {
		case sameField(key, "node"):
			w.message, w.depth = "envoy.config.core.v3.Node", 1
			b.decode(k.Next(), w, &corev3.Node{})
		case sameField(key, "static_resources"):
			w.message = "envoy.config.bootstrap.v3.Bootstrap.StaticResources"
			b.staticResources(k.Next(), w)
		}
	}
}

// staticResources reads the clusters among the static resources.
func (b *brokenReader) staticResources(n document.Node, w wire) {
	if v := look(n); v.broken || v.kind != jsonObject && v.kind != jsonNull {
		b.decode(n, w, newCluster()) // another message, but only its brace is looked at
		return
	}
	for k := n.First(); k.IsValid(); k = k.Next().Next() {
		key, _ := keyText(k)
		list := k.Next()
		switch {
		case !list.IsValid():
			b.at(w)
		case (key == "listeners" || key == "secrets") && endsBroken(list):
			return // of a type that is not modelled
		case !sameField(key, "clusters") && endsBroken(list):
			b.at(w)
		case sameField(key, "clusters"):
			b.clusters(list, w, key)
		}
	}
}

func (b *brokenReader) clusters(list document.Node, w wire, key string) {
	w.message, w.depth = clusterMessage, 3
	prefix := w.at + "." + key
	w.at = prefix
	if v := look(list); v.kind != jsonArray {
		w.depth--
		b.decode(list, w, newCluster())
		return
	}
	i := 0
	for n := list.First(); n.IsValid(); n = n.Next() {
		if n.Kind() == document.Broken && n.Style() == document.Block {
			b.at(w)
			return
		}
		w.at = fmt.Sprintf("%s[%d]", prefix, i)
		b.decode(n, w, &clusterv3.Cluster{})
		i++
	}
}

// at is the error at the place of a message itself.
func (b *brokenReader) at(w wire) {
	if b.text == "" {
		d := b.newDecoder(w)
		d.cause = b.cause
		b.text = d.causeText()
	}
}

// endsBroken tells whether a node is where the document is broken, or around that.
func endsBroken(n document.Node) bool {
	for {
		last := document.Node{}
		for c := n.First(); c.IsValid(); c = c.Next() {
			last = c
		}
		if !last.IsValid() {
			return n.Kind() == document.Broken
		}
		n = last
	}
}

// lookBroken is the value of a node that could not be read, by its first character as protobuf's lexer peeks at it.
func lookBroken(n document.Node) value {
	v := value{node: n, kind: jsonNothing, broken: true}
	start, _ := n.Offsets()
	rest := n.Document().Source()[start:]
	if len(rest) == 0 {
		return v
	}
	v.text = string(utf8.RuneError)
	if rest[0] < utf8.RuneSelf {
		v.text = string(rune(rest[0]))
	}
	switch c := rest[0]; {
	case n.Style() == document.Block:
	case c == '{':
		v.kind = jsonObject
	case c == '[':
		v.kind = jsonArray
	case c == '"', c == '\'':
		v.kind = jsonString
	case c == 't', c == 'f':
		v.kind = jsonBool
	case c == 'n':
		v.kind = jsonNull
	case c == '-', c >= '0' && c <= '9':
		v.kind = jsonNumber
	}
	return v
}

// stops tells whether a broken value is an error whatever its type: at the end of the text, and a word that begins like
// null. It is reported.
func (d *decoder) stops(v value) bool {
	if v.text != "" && v.kind != jsonNull {
		return false
	}
	d.broke(v.node)
	return true
}

// brokenNumber tells whether a value that may be a number or a string is broken, rather than of another kind.
func (d *decoder) brokenNumber(v value) bool {
	if v.kind != jsonNumber && v.kind != jsonString && v.kind != jsonNothing {
		return false
	}
	d.broke(v.node)
	return true
}

// brokenOfValue reports a scalar in a google.protobuf.Value. The name of its field is a step of Envoy's paths.
func (d *decoder) brokenOfValue(v value) {
	f := frame{name: "number_value", typ: "double", index: -1}
	if v.kind == jsonBool {
		f = frame{name: "bool_value", typ: "bool", index: -1}
	}
	d.frames = append(d.frames, f)
	d.broke(v.node)
	d.frames = d.frames[:len(d.frames)-1]
}

// broke reports the place where the document is broken.
func (d *decoder) broke(n document.Node) {
	p := d.problem(n, "value-type", "the document is broken here")
	p.Envoy.Message = d.causeText()
	d.hardProblem(p)
}

// causeText is Envoy's text of the error in the document. A few texts stand alone.
func (d *decoder) causeText() string {
	if d.cause == "unexpected EOF" || strings.HasPrefix(d.cause, "extraneous characters") {
		return d.parseText(d.cause)
	}
	return d.jsonText(d.cause)
}
