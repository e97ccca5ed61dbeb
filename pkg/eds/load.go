package eds

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// Format is the syntax of an input (product.md, --input-format).
type Format string

// The formats. AutoFormat is detected from the content.
const (
	AutoFormat Format = ""
	YAML       Format = "yaml"
	JSON       Format = "json"
	JSONLines  Format = "jsonl"
	Binary     Format = "pb"
	TextProto  Format = "textpb"
)

// Options say how inputs are read. The zero value detects everything and takes the newest Envoy.
type Options struct {
	Format       Format
	Shape        Shape      // "" detects it
	APIVersion   APIVersion // of documents without a type URL; default v3
	Source       Source     // "" takes that of the shape
	Origin       Origin     // "" takes that of the shape
	EnvoyVersion int        // minor version, default 40
	Limits       document.Limits
	// ReadFile reads an EDS file that a bootstrap names and returns the name to show for it; nil: none is followed.
	ReadFile func(bootstrap, path string) (name string, src []byte, err error)
}

// Loader finds and decodes the assignments of inputs. It may be used by several goroutines.
type Loader struct {
	opts   Options
	schema schema
}

// NewLoader returns a loader with the defaults of opts filled in.
func NewLoader(opts Options) *Loader {
	if opts.APIVersion == "" {
		opts.APIVersion = V3
	}
	if opts.EnvoyVersion == 0 {
		opts.EnvoyVersion = NewestEnvoy
	}
	return &Loader{opts: opts}
}

// NewestEnvoy is the minor version of the newest Envoy whose behaviour is known.
const NewestEnvoy = 40

// File is what was found in one input.
type File struct {
	Name      string
	Format    Format
	Resources []*Resource
	// Docs are the documents of a text file, for source lines, comments and edits.
	Docs []*document.Document
	// Embedded are the documents that stand as text in those of Docs.
	Embedded []*document.Document
	// Skipped: nothing about the file is worth a word: it holds no assignment and was not named by the user.
	Skipped bool
	// Followed are the EDS files that were read because a bootstrap names them, as shown.
	Followed []string
	// FollowedDocs are their contents.
	FollowedDocs []FollowedFile
}

// FollowedFile is an EDS file that a bootstrap names.
type FollowedFile struct {
	Name   string
	Source []byte
	Docs   []*document.Document // empty unless it is a text file
}

// Load reads one input. named tells that the user named it, rather than finding it in a directory: then a file without
// an assignment is a problem. It never fails: what cannot be read becomes a problem of an absent resource.
func (l *Loader) Load(name string, src []byte, named bool) *File {
	in := &reader{Loader: l, file: &File{Name: name}, name: name, src: src, suffix: suffixOf(name), named: named}
	in.read()
	f := in.file
	if len(f.Resources) > 0 {
		return f
	}
	if !named {
		f.Skipped = true
		return f
	}
	in.absent(diag.Problem{
		Rule:    "no-assignment",
		Message: "the file holds no ClusterLoadAssignment",
		Hint:    insteadOf(src),
	})
	return f
}

// suffixOf is the extension that Envoy goes by. Standard input has none.
func suffixOf(name string) string {
	if name == "<stdin>" {
		return ""
	}
	return filepath.Ext(name)
}

// reader reads one file, or one text embedded in it.
type reader struct {
	*Loader
	file   *File
	name   string
	src    []byte
	suffix string
	named  bool
	around []diag.Problem // problems of the text that hold for each resource that follows
	depth  int            // how deep this text is embedded in others
	host   document.Node  // the scalar whose text it is
	marked *bool          // whether the text has an Envoy mark; nil: nobody has looked
	text   *textNode      // the root of text protobuf

	textResources []*textNode // what its resources are
}

// envoyMarks are words by which a text that cannot be parsed is recognised as meant for Envoy.
var envoyMarks = []string{
	"static_resources", "staticResources", "load_assignment", "loadAssignment", "lb_endpoints", "lbEndpoints",
	"cluster_name", "clusterName", "ClusterLoadAssignment",
}

func hasEnvoyMark(src []byte) bool {
	for _, m := range envoyMarks {
		if bytes.Contains(src, []byte(m)) {
			return true
		}
	}
	return false
}

// isMarked is hasEnvoyMark of the whole text, which may hold very many documents.
func (r *reader) isMarked() bool {
	if r.marked == nil {
		r.marked = new(hasEnvoyMark(r.src))
	}
	return *r.marked
}

// read finds the format and reads the file in it.
func (r *reader) read() {
	format := r.opts.Format
	if format == AutoFormat {
		format = detectFormat(r.src, r.suffix)
		if parser := envoyParser(r.suffix); format == Binary && parser != Binary && r.suffix != "" && !isWire(r.src) {
			format = parser
		}
	}
	r.file.Format = format
	switch format {
	case Binary:
		r.readBinary()
	case TextProto:
		r.readText()
	case JSON:
		r.readJSON()
	case JSONLines:
		r.readJSONLines()
	default:
		r.readYAML()
	}
}

// readJSON reads a JSON document. One that protobuf's reader refuses may still be flow YAML, which is how Envoy would
// read it under another name.
func (r *reader) readJSON() {
	doc, err := document.ParseJSON(r.src, r.opts.Limits)
	if err == nil {
		r.documents([]*document.Document{doc}, false)
		r.extension(JSON)
		return
	}
	if lines, lerr := document.ParseJSONLines(r.src, r.opts.Limits); lerr == nil && len(lines) > 1 && r.opts.Format == AutoFormat {
		r.file.Format = JSONLines
		r.documents(lines, false)
		if !r.readAsOne() {
			return
		}
		*r.file = File{Name: r.file.Name, Format: JSON, Docs: r.file.Docs}
	}
	r.syntax(err, JSON)
}

// readAsOne tells whether Envoy would be given the file as it is, for one JSON document: it refuses a second one.
func (r *reader) readAsOne() bool {
	lines := r.suffix == ".jsonl" || r.suffix == ".ndjson"
	return r.readByEnvoy() && r.name != "<stdin>" && r.depth == 0 && !lines && envoyParser(r.suffix) == JSON
}

func (r *reader) readJSONLines() {
	docs, err := document.ParseJSONLines(r.src, r.opts.Limits)
	r.documents(docs, err != nil)
	if err != nil {
		r.syntax(err, JSON)
	}
}

// readYAML reads a stream of YAML documents. Envoy reads the first of them only, so an error in a later one is no
// error for it.
func (r *reader) readYAML() {
	docs, err := document.ParseYAML(r.src, r.opts.Limits)
	if err != nil && len(docs) == 0 {
		r.syntax(err, YAML)
		return
	}
	first := r.documents(docs, err != nil)
	var se *document.SyntaxError
	switch {
	case err == nil:
	case errors.As(err, &se) && first.readByEnvoy():
		r.tail(unseen(r.restOf(docs, se)))
	default:
		r.syntax(err, YAML)
		return
	}
	r.extension(YAML)
}

// restOf is the beginning of what follows the documents, in which an error is.
func (r *reader) restOf(docs []*document.Document, se *document.SyntaxError) diag.Span {
	_, end := docs[len(docs)-1].Offsets()
	if end >= len(r.src) {
		return se.Span
	}
	start := end + len(r.src[end:]) - len(bytes.TrimLeft(r.src[end:], " \t\r\n"))
	return r.spanOf(start, min(start+len("---"), len(r.src)))
}

// readByEnvoy tells whether what was found so far is of a shape that Envoy itself reads from a file.
func (r *reader) readByEnvoy() bool {
	for _, res := range r.file.Resources {
		if res.Shape.readByEnvoy() {
			return true
		}
	}
	return false
}

// syntax reports text that cannot be parsed.
func (r *reader) syntax(err error, format Format) {
	var se *document.SyntaxError
	if !errors.As(err, &se) {
		se = &document.SyntaxError{Message: err.Error()}
	}
	if t, _, _, ok := r.template(); ok {
		t.Envoy = diag.Override{Stage: "00b-syntax", Message: r.syntaxText(se, format)}
		r.broken(t)
		return
	}
	rule := se.Rule
	if rule == "" {
		rule = "syntax"
	}
	p := diag.Problem{Rule: rule, Span: se.Span, Message: se.Message, Hint: r.syntaxHint(se)}
	p.Envoy = diag.Override{Stage: "00b-syntax", Message: r.syntaxText(se, format)}
	switch rule {
	case "json-bom":
		p.Envoy.Stage = ""
	case "limit-exceeded":
		p.Envoy = diag.Override{}
	case "nesting-too-deep":
		if format == JSON {
			p.Envoy.Stage = "00c-json"
		}
	}
	r.broken(p)
}

// syntaxText is what Envoy says of the error. An EDS or CDS file is named in it, a bootstrap is not.
func (r *reader) syntaxText(se *document.SyntaxError, format Format) string {
	w := wire{root: r.rootMessage()}
	if r.rootMessage() == responseMessage && r.source("") != FromREST {
		w.file = r.name
	}
	if r.named && r.depth == 0 && r.name != "<stdin>" && format == YAML && envoyParser(r.suffix) == JSON {
		if _, err := document.ParseJSON(r.src, r.opts.Limits); err != nil { // what Envoy takes the file for
			errors.As(err, &se)
			format = JSON
		}
	}
	switch {
	case format == JSON:
		if text := notAnObject(r.src); text != "" {
			return w.parseText(jsonErrorText(w.root, "", text))
		}
		if text := r.brokenText(w, se); text != "" {
			return text
		}
		return w.parseText(jsonErrorText(w.root, jsonPlace(w.root, se.Path), se.Envoy))
	case w.file != "":
		return "in " + w.file + ", " + se.Envoy
	}
	return se.Envoy
}

// jsonPlace is where an error of the JSON reader is, as protobuf says it. An Any is passed over as a whole before it is
// read, so in a response it is the resource; in a bootstrap it is the field, as far as edsctl models it.
func jsonPlace(root string, path diag.Path) string {
	switch {
	case root == responseMessage && len(path) > 1 && path[0].Name == "resources" && path[1].Name == "":
		return fmt.Sprintf(" @ resources[%d]: message google.protobuf.Any", path[1].Index)
	case root == bootstrapMessage && len(path) > 2 && sameField(path[0].Name, "static_resources") && path[1].Name == "clusters" && path[2].Name == "":
		return clusterPlace(path)
	}
	return ""
}

// clusterPlace is the path of a field of a static cluster with its type.
func clusterPlace(path diag.Path) string {
	text := fmt.Sprintf("%s.%s[%d]", path[0].Name, path[1].Name, path[2].Index)
	typ := "message " + clusterMessage
	md := (&clusterv3.Cluster{}).ProtoReflect().Descriptor()
	for i := 3; i < len(path) && md != nil; i++ {
		fd := md.Fields().ByTextName(path[i].Name)
		if fd == nil {
			fd = md.Fields().ByJSONName(path[i].Name)
		}
		if fd == nil || fd.IsMap() {
			return "" // skipped over, or without a name of its own
		}
		text += "." + path[i].Name
		typ, md = typeName(fd), fd.Message()
		if i+1 < len(path) && path[i+1].Name == "" {
			i++
			text += fmt.Sprintf("[%d]", path[i].Index)
		}
		if md != nil && classify(md.FullName()) != notWellKnown {
			break // an Any is passed over, a wrapper is its value
		}
	}
	return " @ " + text + ": " + typ
}

// jsonErrorText puts a lexer's error into the frame that protobuf gives it. A few texts stand alone.
func jsonErrorText(root, place, cause string) string {
	if cause == "unexpected EOF" || strings.HasPrefix(cause, "extraneous characters") {
		return cause
	}
	return "invalid JSON in " + root + place + ", near <pos>: " + cause
}

// The outermost messages of the files that Envoy reads.
const (
	bootstrapMessage     = "envoy.config.bootstrap.v3.Bootstrap"
	responseMessage      = "envoy.service.discovery.v3.DiscoveryResponse"
	deltaResponseMessage = "envoy.service.discovery.v3.DeltaDiscoveryResponse"
	assignmentMessage    = "envoy.config.endpoint.v3.ClusterLoadAssignment"
	clusterMessage       = "envoy.config.cluster.v3.Cluster"
	wrapperMessage       = "envoy.service.discovery.v3.Resource"
)

// rootMessage is the outermost message that Envoy would take a text for whose shape is not known.
func (r *reader) rootMessage() string {
	switch {
	case r.opts.Source == FromBootstrap || r.opts.Shape == ShapeBootstrap:
		return bootstrapMessage
	case r.opts.Source == "" && (bytes.Contains(r.src, []byte("static_resources")) || bytes.Contains(r.src, []byte("staticResources"))):
		return bootstrapMessage
	}
	return responseMessage
}

// broken adds an absent resource for a text that cannot be read, if the text is meant for Envoy.
func (r *reader) broken(p diag.Problem) {
	if !r.named && !r.isMarked() {
		return
	}
	r.absent(p)
	r.file.Resources[len(r.file.Resources)-1].Unreadable = true
}

// absent adds an entry without an assignment that carries the problems of the text.
func (r *reader) absent(p diag.Problem) {
	res := r.newResource(r.guessShape())
	res.Absent = true
	res.Problems = append(res.Problems, p)
	r.file.Resources = append(r.file.Resources, res)
}

func (r *reader) guessShape() Shape {
	if r.opts.Shape != "" {
		return r.opts.Shape
	}
	if r.rootMessage() == bootstrapMessage {
		return ShapeBootstrap
	}
	return ShapeResponse
}

// source is how an assignment of a shape reaches Envoy (envoy-eds-rules.md 0.6).
func (l *Loader) source(s Shape) Source {
	if l.opts.Source != "" {
		return l.opts.Source
	}
	switch s {
	case ShapeBootstrap:
		return FromBootstrap
	case ShapeCluster, ShapeCDS:
		return FromCDS
	case ShapeDeltaResponse:
		return FromDelta
	}
	return FromFile
}

func (l *Loader) origin(s Shape) Origin {
	if l.opts.Origin != "" {
		return l.opts.Origin
	}
	if s == ShapeCluster || s == ShapeCDS {
		return OriginCDS
	}
	return OriginBootstrap
}

// newResource makes a resource of the file with an empty assignment.
func (r *reader) newResource(s Shape) *Resource {
	m := NewAssignment(V3)
	v3, _, _ := Upgrade(m) // the identity for v3
	return &Resource{
		File: r.name, APIVersion: V3, Shape: s, Source: r.source(s), Origin: r.origin(s), Suffix: r.suffix, SourceGiven: r.opts.Source != "",
		Assignment: v3, Original: m, Around: r.around,
	}
}
