package serve

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"google.golang.org/protobuf/types/known/anypb"
)

// store implements go-control-plane's cache.Cache over the newest resources. It is safe for use by many goroutines.
type store struct {
	mu      sync.Mutex
	types   map[string]*resources
	streams map[streamKey]*stream
	// owners remember, between a callback and the CreateWatch that follows it in the same goroutine, which stream a
	// request came on.
	owners map[any]streamKey
}

// own notes that a request came on a stream. One with a nonce that is no longer the newest is never asked for.
func (s *store) own(st *stream, key streamKey, request any) {
	delete(s.owners, st.request)
	st.request = request
	s.owners[request] = key
}

// streamKey identifies a stream: the two servers count theirs apart.
type streamKey struct {
	delta bool
	id    int64
}

// stream is what is known of one stream.
type stream struct {
	watches map[string]*watch  // open ones by type URL
	asked   map[string]bool    // type URLs
	asking  map[string]*asking // by type URL: what state of the world asks for
	// clusters are the clusters by service name as they were last sent on this stream, nil before that; queued the tags
	// of those in a response that is on its way.
	clusters map[string]sentCluster
	queued   map[string]string
	// assignments are those that go with the clusters last sent, and queuedAssignments those of the response on its way:
	// a client that has not been told yet that a cluster is gone waits for its assignment, and asks for no clusters
	// meanwhile.
	assignments, queuedAssignments *resources
	sendings                       int // of clusters that were new or changed
	request                        any // the newest
	client                         Client
	sent                           map[string]string // by type URL: version of the newest response
}

// sentCluster is a cluster as it was sent on a stream. Every time it comes anew or changed it has another number: a cluster
// that went and came back is a new one to Envoy, which wants its assignment again.
type sentCluster struct {
	tag    string
	number int
}

// watch is a request that waits for something to say.
type watch struct {
	sotw  *discoveryv3.DiscoveryRequest
	delta *discoveryv3.DeltaDiscoveryRequest
	sub   cache.Subscription
	// forced: the names that the client asked for anew, which are sent also when they are unchanged.
	forced   map[string]bool
	first    bool // nothing was sent for this type on this stream yet
	sotwOut  chan cache.Response
	deltaOut chan cache.DeltaResponse
}

func newStore() *store {
	empty, _ := build(nil)
	return &store{types: empty, streams: map[streamKey]*stream{}, owners: map[any]streamKey{}}
}

// set replaces all resources and answers every watch that they concern, on each stream in the order of pushes.
func (s *store) set(next map[string]*resources) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.types = next
	for _, key := range s.sortedStreams() {
		st := s.streams[key]
		for _, url := range pushOrder {
			w := st.watches[url]
			if w == nil {
				continue
			}
			sent := s.respond(st, url, w)
			if sent && url == clusterURL && st.watches[assignmentURL] != nil {
				break // the assignments follow when the clusters are on the wire (sentClusters)
			}
		}
	}
}

func (s *store) sortedStreams() []streamKey {
	return slices.SortedFunc(maps.Keys(s.streams), func(a, b streamKey) int {
		if a.delta != b.delta {
			if a.delta {
				return 1
			}
			return -1
		}
		return int(a.id - b.id)
	})
}

// respond answers a watch if there is something that its client does not have, and closes it.
func (s *store) respond(st *stream, url string, w *watch) bool {
	ok := false
	if w.sotw != nil {
		ok = s.respondSotW(st, url, w)
	} else {
		ok = s.respondDelta(st, url, w)
	}
	if ok {
		delete(st.watches, url)
		if url == clusterURL {
			st.queued, st.queuedAssignments = s.types[url].services(), s.types[assignmentURL]
		}
	}
	return ok
}

// sentClusters is called when clusters have gone out on a stream: the assignments that must follow them are due now.
func (s *store) sentClusters(st *stream) {
	now := make(map[string]sentCluster, len(st.queued))
	for service, tag := range st.queued {
		c, ok := st.clusters[service]
		if !ok || c.tag != tag {
			st.sendings++
			c = sentCluster{tag, st.sendings}
		}
		now[service] = c
	}
	st.clusters, st.assignments = now, st.queuedAssignments
	for _, url := range pushOrder[1:] {
		if w := st.watches[url]; w != nil {
			s.respond(st, url, w)
		}
	}
}

// tag is what tells whether a client has a resource as it is now: for an assignment that includes its cluster as it was
// sent on the stream, since Envoy drops the old one's endpoints with it.
func (s *store) tag(st *stream, url, name string, e *entry) string {
	if url == assignmentURL && st.clusters != nil {
		return e.tag + "/" + strconv.Itoa(st.clusters[name].number)
	}
	return e.tag
}

// lookup finds a resource as a stream is to see it; nil: it does not exist.
func (s *store) lookup(st *stream, url, name string) *entry {
	if e := s.types[url].entries[name]; e != nil || url != assignmentURL || st.assignments == nil {
		return e
	}
	if _, ok := st.clusters[name]; !ok {
		return nil
	}
	return st.assignments.entries[name]
}

// wanted are the names of a type that a subscription covers and that exist, sorted.
func (s *store) wanted(st *stream, url string, w *watch) []string {
	if w.sub.IsWildcard() {
		if url == listenerURL {
			return nil // Envoy refuses listeners for gRPC, and only Envoy asks for all
		}
		return s.types[url].names()
	}
	var out []string
	for name := range w.sub.SubscribedResources() {
		if s.lookup(st, url, name) != nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func (s *store) respondSotW(st *stream, url string, w *watch) bool {
	names := s.wanted(st, url, w)
	had := w.sub.ReturnedResources()
	now := make(map[string]string, len(names))
	due := w.first && (w.sub.IsWildcard() || len(w.sub.SubscribedResources()) > 0)
	for _, name := range names {
		now[name] = s.tag(st, url, name, s.lookup(st, url, name))
		if had[name] != now[name] {
			due = true
		}
	}
	if url == clusterURL || url == listenerURL {
		due = due || len(had) > len(now) // the absence of a name is its removal
	}
	if !due {
		return false
	}
	resp := s.response(st, url, names)
	w.sotwOut <- &cache.PassthroughResponse{Request: w.sotw, DiscoveryResponse: resp, ReturnedResources: now}
	return true
}

func (s *store) response(st *stream, url string, names []string) *discoveryv3.DiscoveryResponse {
	resp := &discoveryv3.DiscoveryResponse{VersionInfo: s.types[url].version, TypeUrl: url, ControlPlane: identity(), Resources: make([]*anypb.Any, len(names))}
	for i, name := range names {
		resp.Resources[i] = s.lookup(st, url, name).any
	}
	return resp
}

// absent is the tag of a name that the client was told does not exist.
const absent = "absent"

func (s *store) respondDelta(st *stream, url string, w *watch) bool {
	r := s.types[url]
	had := w.sub.ReturnedResources()
	resp := &discoveryv3.DeltaDiscoveryResponse{SystemVersionInfo: r.version, TypeUrl: url, ControlPlane: identity()}
	now := map[string]string{}
	for _, name := range s.wanted(st, url, w) {
		e := s.lookup(st, url, name)
		now[name] = s.tag(st, url, name, e)
		known := had[name]
		if w.first && url != assignmentURL && known == e.tag {
			known = now[name] // initial_resource_versions
		}
		if known != now[name] || w.forced[name] {
			resp.Resources = append(resp.Resources, &discoveryv3.Resource{Name: name, Version: e.tag, Resource: e.any})
		}
	}
	gone := map[string]bool{}
	for name, tag := range had {
		if _, ok := now[name]; !ok && tag != absent {
			gone[name] = true
		}
	}
	for name := range w.sub.SubscribedResources() {
		if s.lookup(st, url, name) == nil {
			now[name] = absent
			if had[name] != absent || w.forced[name] {
				gone[name] = true
			}
		}
	}
	resp.RemovedResources = slices.Sorted(maps.Keys(gone))
	first := w.first && w.sub.IsWildcard()
	if len(resp.Resources)+len(resp.RemovedResources) == 0 && !first {
		return false
	}
	w.deltaOut <- &cache.DeltaPassthroughResponse{DeltaRequest: w.delta, DeltaDiscoveryResponse: resp, NextVersionMap: now}
	return true
}

// CreateWatch implements cache.ConfigWatcher.
func (s *store) CreateWatch(req *cache.Request, sub cache.Subscription, out chan cache.Response) (func(), error) {
	return s.create(req, req.GetTypeUrl(), &watch{sotw: req, sub: sub, first: req.GetResponseNonce() == "", sotwOut: out})
}

// CreateDeltaWatch implements cache.ConfigWatcher.
func (s *store) CreateDeltaWatch(req *cache.DeltaRequest, sub cache.Subscription, out chan cache.DeltaResponse) (func(), error) {
	w := &watch{delta: req, sub: sub, deltaOut: out, forced: map[string]bool{}}
	for _, name := range req.GetResourceNamesSubscribe() {
		w.forced[name] = true
	}
	return s.create(req, req.GetTypeUrl(), w)
}

func (s *store) create(req any, url string, w *watch) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, ok := s.owners[req]
	delete(s.owners, req)
	st := s.streams[key]
	if !ok || st == nil {
		return nil, errors.New("a request of no known stream")
	}
	if s.types[url] == nil {
		return nil, nil // a type that is not served: silence, as a server that has nothing for the node
	}
	if w.delta != nil {
		w.first = !st.asked[url]
	}
	st.asked[url] = true
	st.watches[url] = w
	if s.respond(st, url, w) {
		return nil, nil
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if st.watches[url] == w {
			delete(st.watches, url)
		}
	}, nil
}

// Fetch implements cache.ConfigFetcher, for REST and unary calls.
func (s *store) Fetch(_ context.Context, req *cache.Request) (cache.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.types[req.GetTypeUrl()]
	if r == nil {
		return nil, errors.New("this type is not served")
	}
	if req.GetVersionInfo() == r.version {
		return nil, &types.SkipFetchError{}
	}
	names := req.GetResourceNames()
	if len(names) == 0 {
		names = r.names()
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return r.entries[name] == nil })
	return &cache.PassthroughResponse{Request: req, DiscoveryResponse: s.response(&stream{}, req.GetTypeUrl(), names)}, nil
}
