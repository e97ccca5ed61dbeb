package serve

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// The type URLs that are served, in the order of pushes: what names others comes first.
const (
	clusterURL    = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	assignmentURL = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	listenerURL   = "type.googleapis.com/envoy.config.listener.v3.Listener"
	routeURL      = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
)

var pushOrder = [...]string{clusterURL, assignmentURL, listenerURL, routeURL}

// Assignment is one assignment to serve.
type Assignment struct {
	Message *endpointv3.ClusterLoadAssignment
	// Cluster is the cluster around it, whose policies are kept; nil: one with defaults. What it says about the source
	// of its endpoints is replaced.
	Cluster *clusterv3.Cluster
}

// entry is one resource, encoded once for all clients.
type entry struct {
	any *anypb.Any
	tag string // hash of the bytes
	// service is, of a cluster, the name of its assignment.
	service string
}

// resources are the entries of one type by name, with a version that the content decides.
type resources struct {
	entries map[string]*entry
	version string
}

// fetchTimeout is the clusters' initial_fetch_timeout: a client that misses an assignment goes on after it.
const fetchTimeout = 2 * time.Second

// build makes the resources of all types.
func build(list []Assignment) (map[string]*resources, error) {
	out := map[string]*resources{}
	for _, url := range pushOrder {
		out[url] = &resources{entries: map[string]*entry{}}
	}
	for _, a := range list {
		name := a.Message.GetClusterName()
		cluster := a.ServedCluster()
		listener, err := listenerOf(name)
		if err != nil {
			return nil, fmt.Errorf("encode the listener of %q: %w", name, err)
		}
		messages := [len(pushOrder)]proto.Message{cluster, a.Message, listener, routeOf(name, cluster.GetName())}
		for i, url := range pushOrder {
			e, err := newEntry(url, messages[i])
			if err != nil {
				return nil, fmt.Errorf("encode %q: %w", name, err)
			}
			key := name
			if url == clusterURL {
				key, e.service = cluster.GetName(), name
			}
			if out[url].entries[key] != nil {
				return nil, fmt.Errorf("%q is there twice", key)
			}
			out[url].entries[key] = e
		}
	}
	for _, r := range out {
		r.version = r.hash()
	}
	// An assignment is sent again when its cluster changes: its version tells both.
	h := xxhash.New()
	_, _ = h.WriteString(out[clusterURL].version + out[assignmentURL].version)
	out[assignmentURL].version = hex.EncodeToString(h.Sum(nil))
	return out, nil
}

func newEntry(url string, m proto.Message) (*entry, error) {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	h := xxhash.New()
	_, _ = h.Write(data)
	return &entry{any: &anypb.Any{TypeUrl: url, Value: data}, tag: hex.EncodeToString(h.Sum(nil))}, nil
}

func (r *resources) hash() string {
	h := xxhash.New()
	for _, name := range r.names() {
		_, _ = h.WriteString(name + "\x00" + r.entries[name].tag + "\x00")
	}
	return hex.EncodeToString(h.Sum(nil))
}

// services are the tags of clusters by the names of their assignments.
func (r *resources) services() map[string]string {
	out := make(map[string]string, len(r.entries))
	for _, e := range r.entries {
		out[e.service] = e.tag
	}
	return out
}

func (r *resources) names() []string { return slices.Sorted(maps.Keys(r.entries)) }

func ads() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion: corev3.ApiVersion_V3, InitialFetchTimeout: durationpb.New(fetchTimeout),
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
	}
}

// ClusterName is the name of the cluster that is served with an assignment.
func (a Assignment) ClusterName() string {
	if name := a.Cluster.GetName(); name != "" {
		return name
	}
	return a.Message.GetClusterName()
}

// ServedCluster is the cluster that is served with an assignment.
func (a Assignment) ServedCluster() *clusterv3.Cluster {
	name := a.Message.GetClusterName()
	c := &clusterv3.Cluster{ConnectTimeout: durationpb.New(time.Second)}
	if a.Cluster != nil {
		c = proto.Clone(a.Cluster).(*clusterv3.Cluster)
	}
	c.Name = a.ClusterName()
	c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}
	c.LoadAssignment = nil
	c.EdsClusterConfig = &clusterv3.Cluster_EdsClusterConfig{EdsConfig: ads()}
	if c.Name != name {
		c.EdsClusterConfig.ServiceName = name
	}
	return c
}

// listenerOf is the API listener by which a gRPC client finds a service: xds:///NAME.
func listenerOf(name string) (*listenerv3.Listener, error) {
	manager, err := anypb.New(&hcmv3.HttpConnectionManager{
		StatPrefix:     name,
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{ConfigSource: ads(), RouteConfigName: name}},
		HttpFilters: []*hcmv3.HttpFilter{{
			Name: "envoy.filters.http.router",
			// An empty message: its package is not needed.
			ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: &anypb.Any{TypeUrl: "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}},
		}},
	})
	if err != nil {
		return nil, err
	}
	return &listenerv3.Listener{Name: name, ApiListener: &listenerv3.ApiListener{ApiListener: manager}}, nil
}

func routeOf(name, cluster string) *routev3.RouteConfiguration {
	return &routev3.RouteConfiguration{Name: name, VirtualHosts: []*routev3.VirtualHost{{
		Name: name, Domains: []string{"*"},
		Routes: []*routev3.Route{{
			Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{}},
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: cluster}}},
		}},
	}}}
}
