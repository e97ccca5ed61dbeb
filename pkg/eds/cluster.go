package eds

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// cluster reads a Cluster and the assignment in it, or the EDS file that it names. A cluster without either still
// makes an entry, so that it is judged.
func (r *reader) cluster(n document.Node, p placement) {
	c, inner := r.decodeCluster(n, p)
	r.clusterResources(c, inner, p)
}

// decodeCluster decodes a Cluster; its load_assignment is returned as a node, or several in JSON.
func (r *reader) decodeCluster(n document.Node, p placement) (*Cluster, []document.Node) {
	c := &Cluster{File: r.name, Message: &clusterv3.Cluster{}, Index: p.index, Node: n}
	d := r.newDecoder(p.where)
	d.typed = p.shape != ShapeBootstrap // whose clusters are no Any
	d.skip = "load_assignment"
	d.message(n, c.Message)
	for _, problem := range d.problems {
		if p.version != V3 && problem.Rule == "unknown-field" {
			continue // a field of the older API, which Envoy refuses as a whole
		}
		c.Problems = append(c.Problems, problem)
	}
	c.Unreadable = d.hard
	if d.numberAsText && c.Message.GetLoadBalancingPolicy() != nil {
		c.grpcPolicy = r.policyWithNumbers(n, p)
	}
	return c, d.skipped
}

// clusterResources adds the resources of a cluster that was decoded.
func (r *reader) clusterResources(c *Cluster, inner []document.Node, p placement) {
	p.cluster = c
	if len(inner) > 0 {
		p.where = r.loadAssignmentWire(p)
		last := len(inner) - 1
		p.before = inner[:last]
		res := r.assignment(inner[last], p)
		res.Unreadable = res.Unreadable || c.Unreadable
		c.Message.LoadAssignment = res.Assignment
		r.add(res)
		return
	}
	r.clusterAlone(c, p)
}

// clusterAlone adds the resources of a cluster without a load_assignment: those of its EDS file, or an entry for itself.
func (r *reader) clusterAlone(c *Cluster, p placement) {
	res := r.newResource(p.shape)
	res.Absent = true
	res.Name = edsName(c.Message)
	res.APIVersion, res.Node, res.text = p.version, c.Node, c.text
	res.Response, res.Cluster, res.Bootstrap = p.response, c, p.bootstrap
	res.Problems = append(res.Problems, p.problems...)
	res.Unreadable = c.Unreadable || hasHard(p.problems) || hasHard(r.around)
	if path, at := edsPath(c.Message); path != "" && r.opts.ReadFile != nil {
		if r.follow(path, c, p) {
			return
		}
		problem := diag.Problem{
			Rule: "eds-path-not-found", Path: append(diag.Path{{Name: "cluster"}}, at...),
			Message: fmt.Sprintf("the EDS file %q was not found: neither as written nor beside the bootstrap", path),
			Hint:    "if Envoy sees it elsewhere, say where with --path-map FROM=TO",
		}
		problem.Span = c.span(at)
		res.Problems = append(res.Problems, problem)
	}
	r.add(res)
}

// edsName is the name under which the assignment of a cluster is asked for.
func edsName(c *clusterv3.Cluster) string {
	if name := c.GetEdsClusterConfig().GetServiceName(); name != "" {
		return name
	}
	return c.GetName()
}

// edsPath is the file of a cluster's EDS source and where it is written.
func edsPath(c *clusterv3.Cluster) (string, diag.Path) {
	if c.GetType() != clusterv3.Cluster_EDS {
		return "", nil
	}
	base := diag.Path{}.Field("eds_cluster_config.eds_config")
	source := c.GetEdsClusterConfig().GetEdsConfig()
	switch s := source.GetConfigSourceSpecifier().(type) {
	case *corev3.ConfigSource_PathConfigSource:
		return s.PathConfigSource.GetPath(), base.Field("path_config_source.path")
	case *corev3.ConfigSource_Path: //nolint:staticcheck // deprecated, and in use
		return s.Path, base.Field("path")
	}
	return "", nil
}

// follow reads the EDS file of a cluster; its resources get the cluster and the bootstrap as their context.
func (r *reader) follow(path string, c *Cluster, p placement) bool {
	name, src, err := r.opts.ReadFile(r.name, path)
	if err != nil {
		return false
	}
	r.file.Followed = append(r.file.Followed, name)
	opts := r.opts
	opts.Shape, opts.Format, opts.ReadFile = ShapeResponse, AutoFormat, nil
	if opts.Source == FromBootstrap || opts.Source == FromCDS {
		opts.Source = ""
	}
	sub := &reader{Loader: NewLoader(opts), file: &File{Name: name}, name: name, src: src, suffix: suffixOf(path), named: true}
	sub.read()
	for _, res := range sub.file.Resources {
		r.followed(res, c, p)
		if res.Alternative != nil {
			r.followed(res.Alternative, c, p)
		}
		r.add(res)
	}
	r.file.FollowedDocs = append(r.file.FollowedDocs, FollowedFile{Name: name, Source: src, Docs: sub.file.Docs})
	return len(sub.file.Resources) > 0
}

// followed gives a resource of an EDS file the cluster that names the file, and the bootstrap.
func (r *reader) followed(res *Resource, c *Cluster, p placement) {
	res.Cluster, res.Bootstrap = c, p.bootstrap
	res.Around = append(res.Around[:len(res.Around):len(res.Around)], r.around...)
	if r.opts.Origin == "" {
		res.Origin = r.origin(p.shape)
	}
	res.Followed = true
}

// bootstrap reads the static clusters of a bootstrap with what edsctl models around them.
func (r *reader) bootstrap(root document.Node) {
	d := r.newDecoder(wire{root: bootstrapMessage})
	d.outlined(root, bootstrapOutline())
	r.addPart(d, nil)
	r.staticClusters(r.surroundings(root), root)
}

// surroundings reads what a bootstrap says of all clusters.
func (r *reader) surroundings(root document.Node) *Bootstrap {
	b := &Bootstrap{File: r.name, Node: root}
	node := &corev3.Node{}
	r.decodePart(copies(root, "node"), node, wire{root: bootstrapMessage, at: "node", message: "envoy.config.core.v3.Node", depth: 1}, diag.Path{}.Field("node"))
	b.NodeID, b.NodeCluster, b.NodeLocality = node.GetId(), node.GetCluster(), node.GetLocality()
	if v := look(reach(root, "cluster_manager", "local_cluster_name")); v.kind == jsonString {
		b.LocalClusterName = v.text
	}
	b.HasADS, b.HasCDS = reach(root, "dynamic_resources", "ads_config").IsValid(), reach(root, "dynamic_resources", "cds_config").IsValid()
	switch strings.ToUpper(look(reach(root, "dynamic_resources", "ads_config", "api_type")).text) {
	case "DELTA_GRPC", "AGGREGATED_DELTA_GRPC":
		b.ADSIsDelta = true
	}
	for _, ext := range items(child(root, "bootstrap_extensions")) {
		b.HasInternalListener = b.HasInternalListener || textOf(ext, "name") == "envoy.bootstrap.internal_listener" ||
			strings.HasSuffix(textOf(child(ext, "typed_config"), "@type"), ".InternalListener")
	}
	r.runtime(b, reach(root, "layered_runtime", "layers"))
	b.entries = b.Runtime()
	return b
}

// runtime reads the static layers of the runtime.
func (r *reader) runtime(b *Bootstrap, layers document.Node) {
	for i, layer := range items(layers) {
		static := child(layer, "static_layer")
		if !static.IsValid() {
			continue
		}
		s := &structpb.Struct{}
		at := fmt.Sprintf("layered_runtime.layers[%d].static_layer", i)
		r.decodePart([]document.Node{static}, s, wire{root: bootstrapMessage, at: at, message: "google.protobuf.Struct", depth: 4}, diag.Path{}.Field("layered_runtime.layers").Index(i).Field("static_layer"))
		b.StaticLayers = append(b.StaticLayers, s)
	}
}

// staticClusters reads static_resources.clusters. All of them are decoded before the first resource is made, since
// each may look at the others.
func (r *reader) staticClusters(b *Bootstrap, root document.Node) {
	static := copyWith(root, "static_resources", "clusters")
	prefix := writtenKey(root, "static_resources") + "." + writtenKey(static, "clusters")
	var inner [][]document.Node
	var places []placement
	for _, list := range copies(static, "clusters") {
		for i, n := range items(list) {
			p := placement{shape: ShapeBootstrap, version: r.opts.APIVersion, index: len(b.Clusters), bootstrap: b}
			p.where = wire{root: bootstrapMessage, at: fmt.Sprintf("%s[%d]", prefix, i), message: clusterMessage, depth: 3}
			if !isSequence(list) { // a single message where a list belongs
				p.where.at = prefix
			}
			c, la := r.decodeCluster(n, p)
			b.Clusters = append(b.Clusters, c)
			inner, places = append(inner, la), append(places, p)
		}
	}
	r.eachCluster(b, func(i int, c *Cluster) { r.clusterResources(c, inner[i], places[i]) })
	lost := bytes.Contains(r.src, []byte("load_assignment")) || bytes.Contains(r.src, []byte("loadAssignment")) || nearlyBootstrap(root)
	r.noCluster(b, lost)
}

// eachCluster makes the resources of the clusters of a bootstrap, which may look at each other.
func (r *reader) eachCluster(b *Bootstrap, resources func(i int, c *Cluster)) {
	b.named, b.aggregates = make(map[string][]*Cluster, len(b.Clusters)), aggregatesOf(b.Clusters)
	before := len(r.file.Resources)
	for i, c := range b.Clusters {
		b.named[c.Message.GetName()] = append(b.named[c.Message.GetName()], c)
		resources(i, c)
	}
	b.index(r.file.Resources[before:])
}

// noCluster adds an entry for a bootstrap without a static cluster: what was found around nothing still counts where
// somebody asks, or where it is why there is nothing.
func (r *reader) noCluster(b *Bootstrap, lost bool) {
	if len(b.Clusters) > 0 {
		return
	}
	if r.opts.Shape == ShapeBootstrap || (r.named || lost) && slices.ContainsFunc(r.around, refusesBootstrap) {
		res := r.newResource(ShapeBootstrap)
		res.Absent, res.Bootstrap, res.Unreadable = true, b, hasHard(r.around)
		r.add(res)
	}
}

// refusesBootstrap tells of a problem in the text of a bootstrap that Envoy does not start with.
func refusesBootstrap(p diag.Problem) bool {
	return isHard(p.Rule) || p.Rule == "unknown-field" || p.Rule == "merge-key" || p.Rule == "enum-name-unknown"
}

// index notes the assignments of the bootstrap's clusters by the cluster's name.
func (b *Bootstrap) index(resources []*Resource) {
	b.Assignments = map[string]*Resource{}
	for _, res := range resources {
		if res.Bootstrap == b && res.Cluster != nil && !res.Absent {
			b.Assignments[res.Cluster.Message.GetName()] = res
		}
	}
}

// writtenKey is a field's key as written in a mapping.
func writtenKey(n document.Node, key string) string {
	for k := n.Target().First(); k.IsValid(); k = k.Next().Next() {
		if text, ok := keyText(k); ok && sameField(text, key) {
			return text
		}
	}
	return key
}
