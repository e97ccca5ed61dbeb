package xds

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/proto"
)

// warming follows Envoy's cluster manager as far as it shows on the wire (cluster_manager_impl.cc, cds_api_helper.cc):
// every EDS cluster is a watch on its service_name, and a cluster that CDS changes is warmed beside the old one until its
// assignment comes or its fetch timeout ends. After start-up the answer to CDS is held back meanwhile.
type warming struct {
	timeout  time.Duration // of clusters that set no initial_fetch_timeout
	static   []string      // names that CDS cannot redefine
	begun    bool          // a cluster with EDS was seen: there is an EDS subscription
	started  bool          // all clusters of the start have been answered or timed out
	received bool          // a CDS response was processed, refused, or waited for in vain
	applied  bool          // one was processed
	patience time.Time     // when the first CDS response is waited for no longer; zero: for ever
	active   map[string]*instance
	warm     map[string]*instance
	starting map[string]*instance // what the start waits for, by the name of the cluster
	watches  []*instance          // newest first, which is the order of names on the wire
	services map[string]int       // how many watches a service name has
	newest   map[string]*instance // by service name: the one whose watch is the newest
	dirty    bool
	changes  []change
	emptied  bool   // the last warming cluster went
	settled  func() // called when a cluster has taken the place of its old version
}

// change tells that the first watch of a name came or the last one went.
type change struct {
	name    string
	watched bool
}

// instance is one version of a cluster.
type instance struct {
	name, service string // service is empty for a cluster without EDS
	bytes         []byte // deterministic encoding of the cluster
	message       *clusterv3.Cluster
	answered      bool
	deadline      time.Time // zero: waits for ever
}

func newWarming(timeout time.Duration, static []string, now time.Time) *warming {
	w := &warming{
		timeout: timeout, static: static, services: map[string]int{}, newest: map[string]*instance{},
		active: map[string]*instance{}, warm: map[string]*instance{}, starting: map[string]*instance{},
	}
	if timeout > 0 {
		w.patience = now.Add(timeout)
	}
	return w
}

// update applies a CDS response: what it holds, then what it removes.
func (w *warming) update(clusters []Cluster, r *response, now time.Time) {
	w.applied = true
	present := map[string]bool{}
	for i := range clusters {
		c := &clusters[i]
		present[c.Name] = true
		if c.Err == nil && c.Message != nil && !slices.Contains(w.static, c.Name) {
			w.put(c, now)
		}
	}
	removed := r.removed
	if !r.delta {
		removed = nil
		for name := range w.active {
			if !present[name] {
				removed = append(removed, name)
			}
		}
		for name := range w.warm {
			if !present[name] {
				removed = append(removed, name)
			}
		}
	}
	for _, name := range removed {
		w.discard(w.active[name])
		w.discard(w.warm[name])
		delete(w.active, name)
		w.warmed(name)
	}
	w.clustersOver()
}

// clustersOver ends the wait for the first CDS response, also by one that is refused.
func (w *warming) clustersOver() {
	w.received = true
	w.checkStarted()
}

func (w *warming) put(c *Cluster, now time.Time) {
	enc, err := proto.MarshalOptions{Deterministic: true}.Marshal(c.Message)
	if err != nil {
		return
	}
	newest := w.warm[c.Name]
	if newest == nil {
		newest = w.active[c.Name]
	}
	if newest != nil && bytes.Equal(newest.bytes, enc) {
		return
	}
	in := &instance{name: c.Name, service: c.Service, bytes: enc, message: c.Message, answered: c.Service == ""}
	if c.Service == "" {
		// An old one that the start waits for stays among these: Envoy looks for it among clusters of the new one's kind.
		w.unwatch(w.active[c.Name])
		w.unwatch(w.warm[c.Name])
		w.warmed(c.Name)
		w.active[c.Name] = in
		return
	}
	w.watch(in)
	w.unwatch(w.warm[c.Name])
	w.warm[c.Name] = in
	if !w.started {
		w.starting[c.Name] = in
	}
	wait := w.timeout
	if t := c.Message.GetEdsClusterConfig().GetEdsConfig().GetInitialFetchTimeout(); t != nil {
		wait = t.AsDuration()
	}
	if wait > 0 {
		in.deadline = now.Add(wait)
	}
}

func (w *warming) watch(in *instance) {
	w.begun, w.dirty = true, true
	w.watches = slices.Insert(w.watches, 0, in)
	w.services[in.service]++
	w.newest[in.service] = in
	if w.services[in.service] == 1 {
		w.changes = append(w.changes, change{in.service, true})
	}
}

func (w *warming) unwatch(in *instance) {
	if in == nil {
		return
	}
	i := slices.Index(w.watches, in)
	if i < 0 {
		return
	}
	w.watches = slices.Delete(w.watches, i, i+1)
	w.services[in.service]--
	if w.newest[in.service] == in {
		w.newest[in.service] = w.newestFor(in.service)
	}
	if w.services[in.service] == 0 {
		w.changes = append(w.changes, change{in.service, false})
	}
	w.dirty = true
}

// warmed takes a cluster out of those that are warming.
func (w *warming) warmed(name string) {
	if w.warm[name] != nil {
		delete(w.warm, name)
		w.emptied = w.emptied || len(w.warm) == 0
	}
}

// letsGo tells once whether there was a moment at which no cluster was warming any more: then the answers to CDS that
// were held back are sent, whatever else the same response brings.
func (w *warming) letsGo() bool {
	was := w.emptied
	w.emptied = false
	return was
}

// discard drops a cluster that CDS removes: the start waits for it no longer.
func (w *warming) discard(in *instance) {
	w.unwatch(in)
	if in != nil && w.starting[in.name] == in {
		delete(w.starting, in.name)
	}
}

// oldestFirst are the watches in the order in which they began, and their timers with them.
func (w *warming) oldestFirst() []*instance {
	out := slices.Clone(w.watches)
	slices.Reverse(out)
	return out
}

// newestFor is the newest watch of a service name; nil: there is none.
func (w *warming) newestFor(service string) *instance {
	if w.services[service] == 0 {
		return nil
	}
	i := slices.IndexFunc(w.watches, func(in *instance) bool { return in.service == service })
	return w.watches[i]
}

// answered marks the clusters whose assignment came.
func (w *warming) answered(services map[string]bool) {
	for _, in := range w.oldestFirst() {
		if !in.answered && services[in.service] {
			w.finish(in)
		}
	}
	w.checkStarted()
}

// expire ends the wait of clusters whose deadline has passed, and returns the names that they waited for.
func (w *warming) expire(now time.Time) (stalled []string) {
	for _, in := range w.oldestFirst() {
		if !in.answered && !in.deadline.IsZero() && !now.Before(in.deadline) {
			w.finish(in)
			stalled = append(stalled, in.service)
		}
	}
	if !w.received && !w.patience.IsZero() && !now.Before(w.patience) {
		w.received = true
	}
	w.checkStarted()
	slices.Sort(stalled)
	return slices.Compact(stalled)
}

func (w *warming) finish(in *instance) {
	in.answered = true
	w.settle(in)
}

// failed ends the warming of all clusters, as a refused response does to whoever waits for one, also for other names.
// Their assignments are missed all the same when their time is over.
func (w *warming) failed() {
	for _, in := range w.oldestFirst() {
		if !in.answered {
			w.settle(in)
		}
	}
	w.checkStarted()
}

// settle puts a cluster into the place of its old version.
func (w *warming) settle(in *instance) {
	if w.warm[in.name] == in {
		w.unwatch(w.active[in.name])
		w.warmed(in.name)
		w.active[in.name] = in
		if w.settled != nil {
			w.settled()
		}
	}
	if w.starting[in.name] == in {
		delete(w.starting, in.name)
	}
}

func (w *warming) checkStarted() {
	w.started = w.started || w.received && len(w.starting) == 0
}

// deadline is the next time at which a cluster stops waiting; zero: none does.
func (w *warming) deadline() time.Time {
	var next time.Time
	if !w.received {
		next = w.patience
	}
	for _, in := range w.watches {
		if !in.answered && !in.deadline.IsZero() && (next.IsZero() || in.deadline.Before(next)) {
			next = in.deadline
		}
	}
	return next
}

// names are the service names to ask for, newest first, each once.
func (w *warming) names() []string {
	var out []string
	seen := map[string]bool{}
	for _, in := range w.watches {
		if !seen[in.service] {
			seen[in.service] = true
			out = append(out, in.service)
		}
	}
	return out
}

func (w *warming) wants(name string) bool { return w.services[name] > 0 }

// cluster is the newest cluster that asks for a name; nil when none is known.
func (w *warming) cluster(name string) *clusterv3.Cluster {
	if in := w.newest[name]; in != nil {
		return in.message
	}
	return nil
}

// holdsBack tells whether the answer to CDS has to wait.
func (w *warming) holdsBack() bool { return w.started && len(w.warm) > 0 }

// changed tells once whether a watch came or went, and which names did.
func (w *warming) changed() ([]change, bool) {
	changes, was := w.changes, w.dirty
	w.changes, w.dirty = nil, false
	return changes, was
}

// markDuplicates gives the second and later clusters of a name Envoy's error.
func markDuplicates(clusters []Cluster) {
	seen := map[string]bool{}
	for i := range clusters {
		c := &clusters[i]
		if seen[c.Name] && c.Err == nil {
			c.Err = fmt.Errorf("duplicate cluster %s found", c.Name)
		}
		seen[c.Name] = true
	}
}
