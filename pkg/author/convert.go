package author

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// Conversion says what is to be made of files. Empty fields keep what the files have.
type Conversion struct {
	Format  eds.Format
	Shape   eds.Shape
	Version eds.APIVersion
}

// ConversionInput is a file to convert, read and as bytes.
type ConversionInput struct {
	File *eds.File
	Data []byte
}

// Converted is what a conversion gives.
type Converted struct {
	Data  []byte
	Names []string // of the assignments in Data
	// Losses are what the target cannot say; it is left out of Data.
	Losses []Loss
	// Broken are the constraints of the target's version that assignments break, as they did before.
	Broken []string
}

// ShapeError tells that the shape to write must be said.
type ShapeError struct{ Shape eds.Shape }

func (e *ShapeError) Error() string {
	if e.Shape == "" {
		return "the files are of several shapes"
	}
	return fmt.Sprintf("a %s is not written whole in another format or API version", e.Shape)
}

// ErrVersions tells that the API version to write must be said.
var ErrVersions = errors.New("the assignments are of several API versions")

// NoAssignmentError tells that there is nothing to convert.
type NoAssignmentError struct {
	File   string
	Format eds.Format
}

func (e *NoAssignmentError) Error() string { return e.File + ": no assignment found" }

// isResponse tells whether a shape has a place for no resource at all.
func isResponse(s eds.Shape) bool {
	return s == eds.ShapeResponse || s == eds.ShapeDeltaResponse || s == eds.ShapeCDS
}

// Convert writes the assignments of files in another format, shape and API version. Documents whose shape and version
// stay as they are go from text to text as a whole, with all that is around the assignments.
func (c Conversion) Convert(in []ConversionInput) (*Converted, error) {
	if c.keepsDocuments(in) {
		return c.documents(in)
	}
	b, err := c.collect(in)
	if err != nil {
		return nil, err
	}
	out := &Converted{Losses: b.losses, Broken: b.broken, Names: b.names}
	out.Data, err = b.target.Write(b.items)
	return out, err
}

// Split is Convert with one output for each assignment.
func (c Conversion) Split(in []ConversionInput) ([]Converted, error) {
	b, err := c.collect(in)
	if err != nil {
		return nil, err
	}
	if b.target.Shape == eds.ShapeList {
		b.target.Shape = eds.ShapeAssignment
	}
	out := make([]Converted, len(b.items))
	for i := range b.items {
		data, err := b.target.Write(b.items[i : i+1])
		if err != nil {
			return nil, err
		}
		out[i] = Converted{Data: data, Names: b.names[i : i+1]}
	}
	if len(out) > 0 {
		out[0].Losses, out[0].Broken = b.losses, b.broken
	}
	return out, nil
}

func isText(f eds.Format) bool { return f == eds.YAML || f == eds.JSON || f == eds.JSONLines }

// keepsDocuments tells whether only the text format of whole documents changes.
func (c Conversion) keepsDocuments(in []ConversionInput) bool {
	if !isText(c.Format) {
		return false
	}
	for _, f := range in {
		if !isText(f.File.Format) || len(f.File.Docs) == 0 {
			return false
		}
		for _, r := range f.File.Resources {
			switch {
			case c.Shape != "" && c.Shape != r.Shape, c.Version != "" && c.Version != r.APIVersion && !r.Absent:
				return false
			case r.Shape == eds.ShapeList && c.Format == eds.JSONLines && f.File.Format != eds.JSONLines:
				return false
			}
		}
	}
	return true
}

// documents converts the trees of text files.
func (c Conversion) documents(in []ConversionInput) (*Converted, error) {
	out := &Converted{}
	var values []*literal
	budget := maxTreeNodes
	for _, f := range in {
		for _, r := range f.File.Resources {
			if err := unreadable(r); err != nil {
				return nil, err
			}
			if r.Absent {
				continue
			}
			out.Names = append(out.Names, r.Name)
			p := pruner{yaml: c.Format == eds.YAML && f.File.Format != eds.YAML, text: true, whole: true}
			p.message(proto.Clone(r.Original).ProtoReflect(), nil, nil)
			out.Losses = append(out.Losses, placed(p.losses, r)...)
		}
		for _, d := range f.File.Docs {
			if !d.Root.IsValid() {
				continue
			}
			v, err := treeLiteral(d.Root, &budget)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.File.Name, err)
			}
			values = append(values, v)
		}
	}
	if len(in) == 1 && in[0].File.Format == c.Format {
		out.Data = bytes.Clone(in[0].Data)
		return out, nil
	}
	var err error
	out.Data, err = encodeValues(c.Format, values)
	return out, err
}

// batch is what is written from the messages, rather than from the text.
type batch struct {
	c      Conversion
	target Target
	items  []Item
	names  []string
	losses []Loss
	broken []string
}

// collect converts the assignments of files one by one.
func (c Conversion) collect(in []ConversionInput) (*batch, error) {
	b := &batch{c: c, target: Target{Format: c.Format}}
	if err := b.choose(in); err != nil {
		return nil, err
	}
	var envelopes []*envelope
	for _, f := range in {
		wrapping := newWrapping(f)
		for _, r := range f.File.Resources {
			e, err := wrapping.of(r)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.File, err)
			}
			if r.Absent && e != nil && e.other {
				return nil, &NoAssignmentError{r.File, f.File.Format}
			}
			if e != nil && !slices.Contains(envelopes, e) {
				envelopes = append(envelopes, e)
			}
			if err := b.add(r, e, f.File.Format); err != nil {
				return nil, err
			}
		}
		for _, e := range wrapping.all() {
			b.losses = append(b.losses, e.others(f.File.Name)...)
		}
	}
	if len(b.items) == 0 && len(b.losses) == 0 && !isResponse(b.target.Shape) {
		return nil, &NoAssignmentError{in[0].File.Name, in[0].File.Format}
	}
	if len(envelopes) == 1 {
		b.envelope(envelopes[0], in[0].File.Name)
	}
	slices.SortStableFunc(b.losses, func(x, y Loss) int {
		return cmp.Or(strings.Compare(x.File, y.File), x.Span.Start.Line-y.Span.Start.Line, x.Span.Start.Column-y.Span.Start.Column)
	})
	return b, nil
}

// choose finds the shape and the version to write.
func (b *batch) choose(in []ConversionInput) error {
	for _, f := range in {
		for _, r := range f.File.Resources {
			if err := unreadable(r); err != nil {
				return err
			}
		}
	}
	b.target.Shape, b.target.Version = b.c.Shape, b.c.Version
	for _, f := range in {
		for _, r := range f.File.Resources {
			shape := r.Shape
			if b.c.Shape == "" && b.target.Shape != "" && b.target.Shape != shape {
				return &ShapeError{}
			}
			if b.target.Shape == "" {
				b.target.Shape = shape
			}
			if r.Absent {
				continue
			}
			if b.c.Version == "" && b.target.Version != "" && b.target.Version != r.APIVersion {
				return ErrVersions
			}
			if b.target.Version == "" {
				b.target.Version = r.APIVersion
			}
		}
	}
	if b.target.Version == "" {
		b.target.Version = eds.V3
	}
	if b.target.Shape == "" || !slices.Contains(Shapes(), b.target.Shape) || b.c.Shape == "" && b.target.Shape == eds.ShapeBootstrap {
		return &ShapeError{b.target.Shape}
	}
	return nil
}

// add converts one resource.
func (b *batch) add(r *eds.Resource, e *envelope, format eds.Format) error {
	it := Item{Wrapper: e.wrapper(r)}
	it.Wrapped = r.Response != nil && r.Response.Wrapped
	holdsClusters := b.target.Shape == eds.ShapeCluster || b.target.Shape == eds.ShapeCDS || b.target.Shape == eds.ShapeBootstrap
	if r.Absent && (r.Cluster == nil || !holdsClusters) {
		if r.Response != nil && r.Response.Count > 0 && !r.Response.NoBody && r.Cluster == nil {
			b.losses = append(b.losses, Loss{File: r.File, Span: r.Node.Span(), Message: fmt.Sprintf("a resource of type %q is not converted", r.Response.AnyURL)})
		}
		return nil
	}
	p := b.pruner(format)
	if holdsClusters && r.Cluster != nil {
		if b.target.Version != eds.V3 {
			return &TargetError{fmt.Sprintf("%s: a Cluster is not converted to %s: write the assignment alone", r.File, b.target.Version)}
		}
		it.Cluster = b.cluster(r, format)
	}
	if !r.Absent {
		m, err := b.assignment(r, p)
		if err != nil {
			return fmt.Errorf("%s: %q: %w", r.File, r.Name, err)
		}
		it.Assignment = m
	}
	if it.Wrapper != nil {
		p.losses = nil
		p.wrapper(it.Wrapper)
		b.losses = append(b.losses, placed(p.losses, r)...)
	}
	b.items, b.names = append(b.items, it), append(b.names, r.Name)
	return nil
}

func (b *batch) pruner(from eds.Format) *pruner {
	return &pruner{to: b.target.Version, yaml: b.c.Format == eds.YAML && from != eds.YAML, text: isText(b.c.Format) || b.c.Format == eds.TextProto, fromText: from != eds.Binary}
}

// assignment converts the message of a resource.
func (b *batch) assignment(r *eds.Resource, p *pruner) (proto.Message, error) {
	source := proto.Clone(r.Original)
	out := eds.NewAssignment(b.target.Version)
	p.message(source.ProtoReflect(), out.ProtoReflect().Descriptor(), nil)
	b.losses = append(b.losses, placed(append(p.losses, dropped(r)...), r)...)
	if err := eds.Transcode(out, source); err != nil {
		return nil, err
	}
	if err := sameBytes(source, out); err != nil {
		return nil, err
	}
	b.broken = append(b.broken, broken(r.Name, out)...)
	return out, nil
}

// InVersion is an assignment of any version in another, and what that cannot say.
func InVersion(m proto.Message, to eds.APIVersion) (proto.Message, []Loss, error) {
	source, out := proto.Clone(m), eds.NewAssignment(to)
	p := pruner{to: to}
	p.message(source.ProtoReflect(), out.ProtoReflect().Descriptor(), nil)
	if err := eds.Transcode(out, source); err != nil {
		return nil, nil, err
	}
	return out, p.losses, sameBytes(source, out)
}

// sameBytes is the check after a conversion: the versions share numbers and types, so the bytes must be the same.
func sameBytes(source, out proto.Message) error {
	o := proto.MarshalOptions{Deterministic: true}
	before, err := o.Marshal(source)
	if err != nil {
		return err
	}
	after, err := o.Marshal(out)
	if err != nil {
		return err
	}
	if !bytes.Equal(before, after) {
		return errors.New("the converted message is not the same")
	}
	return nil
}

// broken lists the constraints that a message breaks.
func broken(name string, m proto.Message) []string {
	v, ok := m.(interface{ ValidateAll() error })
	if !ok {
		return nil
	}
	err := v.ValidateAll()
	var all interface{ AllErrors() []error }
	if !errors.As(err, &all) {
		return nil
	}
	var out []string
	for _, e := range all.AllErrors() {
		out = append(out, fmt.Sprintf("%q: %s", name, e))
	}
	return out
}

// cluster is the Cluster around an assignment without it.
func (b *batch) cluster(r *eds.Resource, format eds.Format) *clusterv3.Cluster {
	out := proto.CloneOf(r.Cluster.Message)
	out.LoadAssignment = nil
	p := b.pruner(format)
	p.message(out.ProtoReflect(), nil, diag.Path{}.Field("cluster"))
	for _, problem := range r.Cluster.Problems {
		if problem.Rule == "unknown-field" || problem.Rule == "enum-name-unknown" {
			p.losses = append(p.losses, Loss{Path: diag.Path{}.Field("cluster").Join(problem.Path), Span: problem.Span, Message: problem.Message})
		}
	}
	b.losses = append(b.losses, placed(p.losses, r)...)
	return out
}
