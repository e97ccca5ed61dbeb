package author

import (
	"bytes"
	"errors"
	"fmt"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/document"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/selector"
)

// Verb is an edit of one assignment. It returns the assignment as it is to be and what happens to its text. What stays
// the same is shared with the assignment that it is given, which it must not change.
type Verb struct {
	// Steps are made one after the other, each on the result of the one before.
	Steps []Step
	// Optional: assignments in which the selector matches nothing are passed over, if it matches in one.
	Optional bool
}

// Step is one pass of a verb. The messages say what changes, for the user; without any, nothing does.
type Step func(cla *endpointv3.ClusterLoadAssignment) (*Outcome, error)

// Outcome is what a step does to an assignment.
type Outcome struct {
	Want     *endpointv3.ClusterLoadAssignment
	Messages []string

	changes changeSet
}

// Edited is the result of an edit.
type Edited struct {
	Data    []byte
	Changes []Change
	// File is the result, read again.
	File  *eds.File
	noted map[string]int // where a name is in Changes
}

// Change says what an edit did to one assignment.
type Change struct {
	Name     string
	Messages []string
}

// Load reads a file: the same way before and after the edit.
type Load func(data []byte) *eds.File

// Edit applies a verb to the resources of a file that pick chooses.
func Edit(data []byte, file *eds.File, load Load, pick func(*eds.Resource) bool, verb Verb) (*Edited, error) {
	out := &Edited{Data: data, File: file}
	for i, step := range verb.Steps {
		noMatch, err := out.step(load, pick, step)
		if err == nil && !(verb.Optional && (noMatch.some || i > 0)) {
			err = noMatch.err
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// step makes one pass over the file.
func (e *Edited) step(load Load, pick func(*eds.Resource) bool, step Step) (match matching, err error) {
	want := map[int]*endpointv3.ClusterLoadAssignment{}
	p := newPending(e.Data)
	for i, r := range e.File.Resources {
		if !pick(r) {
			continue
		}
		if !r.Node.IsValid() {
			return match, fmt.Errorf("%s: only YAML and JSON can be edited, not %s", r.Name, e.File.Format)
		}
		o, err := step(r.Assignment)
		if none := new(selector.NoMatchError); errors.As(err, &none) {
			match.err = fmt.Errorf("%s: %w", r.Name, err)
			continue
		}
		if err != nil {
			return match, fmt.Errorf("%s: %w", r.Name, err)
		}
		match.some = true
		if o == nil || o.changes.isEmpty() {
			continue
		}
		patches, err := patchesOf(r.Node, &o.changes)
		if o.Want.GetClusterName() != r.Assignment.GetClusterName() {
			patches = append(patches, renameWrapper(r, o.Want.GetClusterName())...)
		}
		if err == nil {
			err = p.add(r.Node.Document(), patches)
		}
		if err != nil {
			return match, fmt.Errorf("%s: %w", r.Name, err)
		}
		want[i] = o.Want
		p.changes = append(p.changes, touched{r, &o.changes})
		e.note(r.Name, o.Messages)
	}
	if len(want) == 0 {
		return match, nil
	}
	data, err := p.apply()
	if err != nil {
		return match, p.explain(err)
	}
	after := load(data)
	if err := compare(e.File, after, want); err != nil {
		return match, p.explain(err)
	}
	e.Data, e.File = data, after
	return match, nil
}

// matching says in which assignments a selector matched.
type matching struct {
	some bool  // in at least one
	err  error // why not in another
}

func (e *Edited) note(name string, messages []string) {
	if i, ok := e.noted[name]; ok {
		e.Changes[i].Messages = append(e.Changes[i].Messages, messages...)
		return
	}
	if e.noted == nil {
		e.noted = map[string]int{}
	}
	e.noted[name] = len(e.Changes)
	e.Changes = append(e.Changes, Change{name, messages})
}

// pending collects the patches of one pass, in terms of the outermost file.
type pending struct {
	data    []byte
	patches []document.Patch
	changes []touched
}

// touched is an assignment with the changes that were asked for.
type touched struct {
	resource *eds.Resource
	changes  *changeSet
}

func newPending(data []byte) *pending { return &pending{data: data} }

func (p *pending) add(d *document.Document, patches []document.Patch) error {
	if !bytes.Equal(d.Outer(), p.data) {
		return errors.New("only files in UTF-8 can be edited")
	}
	patches, err := outward(d, patches)
	p.patches = append(p.patches, patches...)
	return err
}

func (p *pending) apply() ([]byte, error) {
	return document.Apply(p.data, distinct(p.patches))
}

// errNotExact tells that the text would not say what the edit is to say, so that it must not be written.
var errNotExact = errors.New("the text cannot be edited in place: the result would not say exactly what was asked for")

// compare checks that a file holds exactly the assignments that it is to hold after an edit.
func compare(before, after *eds.File, want map[int]*endpointv3.ClusterLoadAssignment) error {
	for _, r := range after.Resources {
		if r.Unreadable && !anyUnreadable(before) {
			for _, p := range r.Problems {
				return fmt.Errorf("%w (line %d: %s)", errNotExact, p.Span.Start.Line, p.Message)
			}
		}
	}
	if len(before.Resources) != len(after.Resources) {
		return errNotExact
	}
	for i, r := range before.Resources {
		expected := want[i]
		if expected == nil {
			expected = r.Assignment
		}
		if !sameAssignment(expected, after.Resources[i].Assignment) {
			return errNotExact
		}
	}
	return nil
}

func anyUnreadable(f *eds.File) bool {
	for _, r := range f.Resources {
		if r.Unreadable {
			return true
		}
	}
	return false
}

// shallow copies a message; what it holds is shared, its lists are not.
func shallow[M proto.Message](m M) M {
	from := m.ProtoReflect()
	to := from.New()
	fds := from.Descriptor().Fields()
	for i := range fds.Len() {
		fd := fds.Get(i)
		switch {
		case !from.Has(fd):
		case fd.IsList():
			list := to.Mutable(fd).List()
			for k := range from.Get(fd).List().Len() {
				list.Append(from.Get(fd).List().Get(k))
			}
		default: // no map is ever changed
			to.Set(fd, from.Get(fd))
		}
	}
	to.SetUnknown(from.GetUnknown())
	return to.Interface().(M)
}
