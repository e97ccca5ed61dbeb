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
// every EDS cluster is a watch on its service_name, a cluster that CDS changes after start-up is warmed beside the old
// one until its assignment comes or its fetch timeout ends, and meanwhile the answer to CDS is held back.
type warming struct {
	timeout  time.Duration // of clusters that set no initial_fetch_timeout
	static   []string      // names that CDS cannot redefine
	begun    bool          // a cluster with EDS was seen: there is an EDS subscription
	started  bool          // all clusters of the start have been answered or timed out
	active   map[string]*instance
	warm     map[string]*instance
	watches  []*instance          // newest first, which is the order of names on the wire
	services map[string]int       // how many watches a service name has
	newest   map[string]*instance // by service name: the one whose watch is the newest
	dirty    bool
	received bool // a CDS response was processed
}

// instance is one version of a cluster.
type instance struct {
	name, service string // service is empty for a cluster without EDS
	bytes         []byte // deterministic encoding of the cluster
	message       *clusterv3.Cluster
	answered      bool
	deadline      time.Time // zero: waits for ever
}

func newWarming(timeout time.Duration, static []string) *warming {
	return &warming{timeout: timeout, static: static, services: map[string]int{}, newest: map[string]*instance{}, active: map[string]*instance{}, warm: map[string]*instance{}}
}

// update applies a CDS response: what it holds, then what it removes.
func (w *warming) update(clusters []Cluster, r *response, now time.Time) {
	w.received = true
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
		w.unwatch(w.active[name])
		w.unwatch(w.warm[name])
		delete(w.active, name)
		delete(w.warm, name)
	}
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
	if c.Service == "" || !w.started {
		w.unwatch(w.active[c.Name])
		w.unwatch(w.warm[c.Name])
		delete(w.warm, c.Name)
		w.active[c.Name] = in
	} else {
		w.unwatch(w.warm[c.Name])
		w.warm[c.Name] = in
	}
	if c.Service == "" {
		return
	}
	w.begun, w.dirty = true, true
	w.watches = slices.Insert(w.watches, 0, in)
	w.services[in.service]++
	w.newest[in.service] = in
	wait := w.timeout
	if t := c.Message.GetEdsClusterConfig().GetEdsConfig().GetInitialFetchTimeout(); t != nil {
		wait = t.AsDuration()
	}
	if wait > 0 {
		in.deadline = now.Add(wait)
	}
}

func (w *warming) unwatch(in *instance) {
	if in == nil {
		return
	}
	if i := slices.Index(w.watches, in); i >= 0 {
		w.watches = slices.Delete(w.watches, i, i+1)
		w.services[in.service]--
		if w.newest[in.service] == in {
			w.newest[in.service] = w.newestFor(in.service)
		}
		w.dirty = true
	}
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
	for _, in := range slices.Clone(w.watches) {
		if !in.answered && services[in.service] {
			w.finish(in)
		}
	}
	w.checkStarted()
}

// expire ends the wait of clusters whose deadline has passed, and returns the names that they waited for.
func (w *warming) expire(now time.Time) (stalled []string) {
	for _, in := range slices.Clone(w.watches) {
		if !in.answered && !in.deadline.IsZero() && !now.Before(in.deadline) {
			w.finish(in)
			stalled = append(stalled, in.service)
		}
	}
	w.checkStarted()
	slices.Sort(stalled)
	return slices.Compact(stalled)
}

func (w *warming) finish(in *instance) {
	in.answered = true
	if w.warm[in.name] == in {
		w.unwatch(w.active[in.name])
		delete(w.warm, in.name)
		w.active[in.name] = in
	}
}

func (w *warming) checkStarted() {
	if w.started || !w.received {
		return
	}
	for _, in := range w.active {
		if !in.answered {
			return
		}
	}
	w.started = true
}

// deadline is the next time at which a cluster stops waiting; zero: none does.
func (w *warming) deadline() time.Time {
	var next time.Time
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

func (w *warming) isWarming() bool { return len(w.warm) > 0 }

// changed tells once whether a watch came or went.
func (w *warming) changed() bool {
	was := w.dirty
	w.dirty = false
	return was
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
