package eds

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// APIVersion of a resource.
type APIVersion string

// The API versions (api-versions.md). V3Alpha is that of the founding document and its two later spellings.
const (
	V2      APIVersion = "v2"
	V3Alpha APIVersion = "v3alpha"
	V3      APIVersion = "v3"
)

// Source is how an assignment reaches Envoy.
type Source string

// The sources (product.md, --source).
const (
	FromBootstrap Source = "bootstrap"
	FromCDS       Source = "cds"
	FromFile      Source = "file"
	FromSotW      Source = "sotw"
	FromDelta     Source = "delta"
	FromREST      Source = "rest"
)

// Origin is where the EDS cluster is defined: OriginBootstrap or OriginCDS (product.md, --cluster-origin).
type Origin string

// The origins.
const (
	OriginBootstrap Origin = "bootstrap"
	OriginCDS       Origin = "cds"
)

// Shape is what was found around an assignment (product.md, --input-shape).
type Shape string

// The shapes.
const (
	ShapeAssignment    Shape = "assignment"
	ShapeList          Shape = "list"
	ShapeResponse      Shape = "response"
	ShapeDeltaResponse Shape = "delta-response"
	ShapeAny           Shape = "any"
	ShapeResource      Shape = "resource" // Resource wrapper or {name, resource}
	ShapeCluster       Shape = "cluster"
	ShapeCDS           Shape = "cds" // a response whose resources are Clusters
	ShapeBootstrap     Shape = "bootstrap"
	ShapeConfigDump    Shape = "config-dump"
	ShapeEmbedded      Shape = "embedded" // text inside a ConfigMap or the like
)

// Resource is one assignment with all that is known about it.
type Resource struct {
	File       string // as shown to the user
	Name       string // cluster_name, or what stands in for it when that is empty or unreadable
	APIVersion APIVersion
	Shape      Shape
	Source     Source
	// SourceGiven: the source was said by the user, not taken from the shape.
	SourceGiven bool
	Origin      Origin // where the EDS cluster is defined

	// Assignment is the v3 message that all checks and simulations use. It is never nil; where text could not be
	// decoded it holds what could.
	Assignment *endpointv3.ClusterLoadAssignment
	// Original is the message in the resource's own API version: Assignment itself for v3. PGV runs on it.
	Original proto.Message

	Cluster   *Cluster   // nil when there is none at hand
	Bootstrap *Bootstrap // nil when the resource is in no bootstrap
	// Dumped is the bootstrap in the same config dump, which a running Envoy has taken: no rule judges it.
	Dumped *Bootstrap
	// CoarseHealth: the health is that of a config dump, where DRAINING endpoints are UNHEALTHY.
	CoarseHealth bool
	Response     *Response // nil when the resource stands alone (0.6)

	// Problems are what the decoder found, in document order.
	Problems []diag.Problem
	// Around are what the decoder found in the text around the assignment (its response, its bootstrap, the whole file).
	// They count for the verdict of every resource of that text; as a finding each is reported once, for the first.
	Around []diag.Problem
	// Unreadable: text that Envoy's reader refuses, so that no client ever gets a resource (gRPC: not_applicable).
	Unreadable bool

	// Absent: there is no assignment. The entry stands for a file or a response that holds none (Name is empty), so that
	// its problems (syntax, eds-empty-update, no-assignment) have a verdict, or for a Cluster without load_assignment
	// (Cluster is set, Name is its EDS name). Only rules about the text, the response and the cluster apply.
	Absent bool
	// Alternative is the same resource read with the other choice where both spellings of a field are present: Envoy
	// chooses at random, and the verdict is that of the worse one. Usually nil.
	Alternative *Resource
	// Followed: it came from the EDS file that a bootstrap names.
	Followed bool
	// Embedded: it stands as text inside another document, such as a ConfigMap.
	Embedded bool
	// Suffix is the extension of the file as Envoy sees it (".yaml"; "" for none), for messages about the file itself.
	Suffix string
	// Node is the assignment in its document; invalid for binary and text proto.
	Node document.Node

	text *textNode // the assignment in text proto, nil elsewhere
}

// Cluster is the Cluster around an assignment.
type Cluster struct {
	// File that the cluster stands in, as shown; not always that of the assignment.
	File string
	// Message has the fields that edsctl models; Anys of types it does not know stay undecoded.
	Message *clusterv3.Cluster
	// Problems are what the decoder found in the cluster outside its load_assignment; their paths start at the cluster.
	Problems []diag.Problem
	// Unreadable: Envoy's reader refuses the text of the cluster.
	Unreadable bool
	// Index is the position among the static clusters of the bootstrap, or in the CDS response.
	Index int
	// FromFlag: the cluster came from --cluster FILE or flags, not from the resource's own document.
	FromFlag bool
	// Node is the cluster in its document; invalid when not from text.
	Node document.Node

	text       *textNode                      // the cluster in text proto
	grpcPolicy *clusterv3.LoadBalancingPolicy // see GRPCPolicy; nil: that of Message
}

// Surroundings are the bootstrap around the resource, which may stand in a config dump; nil when there is none.
func (r *Resource) Surroundings() *Bootstrap {
	if r.Bootstrap == nil {
		return r.Dumped
	}
	return r.Bootstrap
}

// HasUnknown tells whether the cluster was written with a field of this name, which v3 does not have.
func (c *Cluster) HasUnknown(name string) bool {
	if c == nil {
		return false
	}
	for _, p := range c.Problems {
		if p.Rule == "unknown-field" && len(p.Path) == 1 && p.Path[0].Name == name {
			return true
		}
	}
	return false
}

// Bootstrap holds what edsctl models of the bootstrap around a resource.
type Bootstrap struct {
	File                string // that it stands in, as shown; not always that of the assignment
	NodeID, NodeCluster string
	NodeLocality        *corev3.Locality           // nil when absent
	LocalClusterName    string                     // cluster_manager.local_cluster_name
	HasADS              bool                       // dynamic_resources.ads_config is present
	ADSIsDelta          bool                       // its api_type is DELTA_GRPC or AGGREGATED_DELTA_GRPC
	HasCDS              bool                       // dynamic_resources.cds_config is present
	StaticLayers        []*structpb.Struct         // layered_runtime.layers[].static_layer, in order (the last wins)
	Clusters            []*Cluster                 // static_resources.clusters, all of them
	named               map[string][]*Cluster      // the same by name, made by the loader
	entries             map[string]*structpb.Value // of the static layers by key, made by the loader
	aggregates          map[string]*Cluster        // the first aggregate cluster over a name, made by the loader
	HasInternalListener bool                       // bootstrap_extensions has envoy.bootstrap.internal_listener
	// Assignments by the name of their cluster, of all static clusters that have one at hand, by EDS file too: the local
	// cluster's is needed for zone awareness.
	Assignments map[string]*Resource
	Node        document.Node // root of the bootstrap
	text        *textNode     // the same in text proto
}

// Response is the response (DiscoveryResponse or DeltaDiscoveryResponse) that a resource came in.
type Response struct {
	TypeURL  string   // of the response; empty when not said
	Count    int      // number of resources in it
	Names    []string // name of each resource as the client takes it (wrapper's name over cluster_name), by index
	Removed  []string // delta: removed_resources
	Index    int      // index of this resource in it
	AnyURL   string   // type URL of this resource's Any
	Wrapped  bool     // in a Resource wrapper or {name, resource}
	WrapName string   // name of the wrapper
	NoBody   bool     // a wrapper without resource, or an empty item
	Version  string   // of the wrapper
	uses     *nameUses
}

// nameUses tells of names that occur more than once in a response; all its resources share it.
type nameUses struct {
	repeated map[string]nameUse
	removed  map[string]bool // also among the resources
}

type nameUse struct{ first, count int }

// NewResponse is a response with resources of these names. It finds out once which of them occur more than once.
func NewResponse(typeURL string, names, removed []string) *Response {
	uses := &nameUses{repeated: map[string]nameUse{}, removed: map[string]bool{}}
	first := make(map[string]int, len(names))
	for i, name := range names {
		at, again := first[name]
		if !again {
			first[name] = i
			continue
		}
		use := uses.repeated[name]
		uses.repeated[name] = nameUse{first: at, count: max(use.count, 1) + 1}
	}
	for _, name := range removed {
		if _, ok := first[name]; ok {
			uses.removed[name] = true
		}
	}
	return &Response{TypeURL: typeURL, Count: len(names), Names: names, Removed: removed, uses: uses}
}

// Uses tells how often the name of this resource occurs in the response, the index of the first with it, and whether it
// is removed too.
func (r *Response) Uses() (count, first int, removed bool) {
	if r.Index >= len(r.Names) {
		return 0, 0, false
	}
	name, uses := r.Names[r.Index], r.uses
	if uses == nil { // not made by NewResponse
		uses = NewResponse("", r.Names, r.Removed).uses
	}
	if use, ok := uses.repeated[name]; ok {
		return use.count, use.first, uses.removed[name]
	}
	return 1, r.Index, uses.removed[name]
}

// Named are the static clusters of a name; more than one is an error that others report.
func (b *Bootstrap) Named(name string) []*Cluster {
	if b.named != nil {
		return b.named[name]
	}
	var out []*Cluster
	for _, c := range b.Clusters {
		if c.Message.GetName() == name {
			out = append(out, c)
		}
	}
	return out
}

// AggregateOf is the first aggregate cluster that has a cluster of that name below it, or nil.
func (b *Bootstrap) AggregateOf(name string) *Cluster {
	if b.aggregates == nil {
		return aggregatesOf(b.Clusters)[name]
	}
	return b.aggregates[name]
}

func aggregatesOf(clusters []*Cluster) map[string]*Cluster {
	out := map[string]*Cluster{}
	for _, c := range clusters {
		for _, name := range AggregateMembers(c.Message) {
			if out[name] == nil {
				out[name] = c
			}
		}
	}
	return out
}
