package xds

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

// Tracker follows the events of one Watch and knows the newest state: what each name was answered with, which clusters
// there are, and what the server did otherwise. It is what a fetch ends by and what silence is explained from.
type Tracker struct {
	fixed    []string // names asked for by the user; nil: from CDS
	answers  map[string]*Answer
	clusters map[string]Cluster
	hasCDS   bool // a CDS response came

	Responses    int      // of any kind
	EDSResponses int      // about assignments
	CDSResponses int      // about clusters
	Strangers    []string // names that came without being asked for, sorted
	Methods      []string // opened, in order
	ControlPlane string   // the newest identifier
	NodeVersion  string   // the newest version_info of an EDS response
	LastClose    error
	Ignored      int    // responses of a type that was not asked for
	IgnoredType  string // of the last of them
	Numbered     bool   // every nonce was the number of the response on its stream, as go-control-plane counts
	Nonces       int
	EmptyEDS     bool // the last EDS response had no resources

	refusedClusters error // why the client takes none of the clusters of the newest CDS response
	requestedEDS    bool
	perStream       map[int]int
	strangers       map[string]bool
}

// Answer is the newest that is known of one name.
type Answer struct {
	Resource *Resource   // nil: none came
	Removed  bool        // the server says that it does not exist
	Error    *NamedError // what resource_errors says
	At       time.Time
	Updates  int
}

// NewTracker follows a Watch for the given names.
func NewTracker(names []string) *Tracker {
	names, _ = followable(names)
	return &Tracker{
		fixed: names, answers: map[string]*Answer{}, clusters: map[string]Cluster{}, Numbered: true,
		perStream: map[int]int{}, strangers: map[string]bool{},
	}
}

// Add takes an event into the state.
func (t *Tracker) Add(ev *Event) {
	switch ev.Kind {
	case Opened:
		t.Methods = append(t.Methods, ev.Method)
	case Sent:
		t.requestedEDS = t.requestedEDS || !ev.IsCDS()
	case Note:
		if ev.Ignored {
			t.Ignored++
			t.IgnoredType = ev.TypeURL
		}
	case Closed:
		t.LastClose = ev.Err
	case Received:
		t.Responses++
		if ev.ControlPlane != "" {
			t.ControlPlane = ev.ControlPlane
		}
		t.countNonce(ev)
		if ev.IsCDS() {
			t.addClusters(ev)
			return
		}
		t.EDSResponses++
		t.NodeVersion = ev.Version
		t.EmptyEDS = len(ev.Resources) == 0
		t.addAssignments(ev)
	}
}

func (t *Tracker) countNonce(ev *Event) {
	t.perStream[ev.Stream]++
	t.Nonces++
	if ev.Nonce != strconv.Itoa(t.perStream[ev.Stream]) {
		t.Numbered = false
	}
}

func (t *Tracker) addClusters(ev *Event) {
	t.CDSResponses++
	t.hasCDS = true
	if _, delta := deltaOf(ev); !delta {
		clear(t.clusters)
	}
	for _, c := range ev.Clusters {
		if old, ok := t.clusters[c.Name]; !ok || old.Err != nil || c.Err == nil {
			t.clusters[c.Name] = c
		}
	}
	for _, name := range ev.Removed {
		delete(t.clusters, name)
	}
}

func (t *Tracker) addAssignments(ev *Event) {
	for i := range ev.Resources {
		r := &ev.Resources[i]
		if r.Passed {
			continue
		}
		if !r.Asked {
			if !t.strangers[r.Name] && len(t.strangers) < maxStrangers {
				t.strangers[r.Name] = true
				t.Strangers = slices.Sorted(maps.Keys(t.strangers))
			}
			continue
		}
		a := t.answer(r.Name)
		a.At = ev.Time
		if r.Heartbeat {
			continue
		}
		a.Resource, a.Removed, a.Error = r, false, nil
		a.Updates++
	}
	for _, name := range ev.Removed {
		a := t.answer(name)
		a.Resource, a.Removed, a.At = nil, true, ev.Time
	}
	for i := range ev.Errors {
		a := t.answer(ev.Errors[i].Name)
		a.Error, a.At = &ev.Errors[i], ev.Time
	}
}

// maxStrangers bounds what is kept of names that nobody asked for.
const maxStrangers = 100

func (t *Tracker) answer(name string) *Answer {
	a := t.answers[name]
	if a == nil {
		a = &Answer{}
		t.answers[name] = a
	}
	return a
}

// Names are the names that are asked for: the user's in their order, or those of the clusters, sorted.
func (t *Tracker) Names() []string {
	if t.fixed != nil {
		return t.fixed
	}
	set := map[string]bool{}
	for _, c := range t.clusters {
		if c.wanted() {
			set[c.Service] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// Clusters are the clusters of CDS by name, sorted; empty unless the names come from it.
func (t *Tracker) Clusters() []Cluster {
	out := make([]Cluster, 0, len(t.clusters))
	for _, name := range slices.Sorted(maps.Keys(t.clusters)) {
		out = append(out, t.clusters[name])
	}
	return out
}

// Answer is what is known of a name; nil: nothing.
func (t *Tracker) Answer(name string) *Answer { return t.answers[name] }

// Unanswered are the names of which nothing came.
func (t *Tracker) Unanswered() []string {
	var out []string
	for _, name := range t.Names() {
		if t.answers[name] == nil {
			out = append(out, name)
		}
	}
	return out
}

// Done tells whether every name is answered.
func (t *Tracker) Done() bool {
	if t.fixed == nil && !t.hasCDS {
		return false
	}
	for _, name := range t.fixed {
		if t.answers[name] == nil {
			return false
		}
	}
	for _, c := range t.clusters {
		if t.fixed == nil && c.wanted() && t.answers[c.Service] == nil {
			return false
		}
	}
	return true
}
