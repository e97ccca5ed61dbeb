package eds

import (
	"slices"
	"strings"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/document"
)

// configDump reads a config_dump of Envoy's admin interface, whole or one of its elements. Each assignment is judged
// alone; the clusters in the dump are its context.
func (r *reader) configDump(root document.Node) {
	elements := items(child(root, "configs"))
	if len(elements) == 0 {
		elements = []document.Node{root}
	}
	clusters := map[string]*Cluster{}
	type static struct {
		cluster *Cluster
		inner   []document.Node
		place   placement
	}
	var withAssignment []static
	weighsHealth := map[*Cluster]bool{} // which the endpoints of a dump do not tell
	boot, before := r.dumpedBootstrap(elements), len(r.file.Resources)
	for _, e := range elements {
		for _, key := range []string{"static_clusters", "dynamic_active_clusters", "dynamic_warming_clusters"} {
			for _, entry := range items(child(e, key)) {
				n := child(entry, "cluster")
				if !isMapping(n) {
					continue
				}
				p := r.clusterPlace(ShapeConfigDump, len(clusters))
				c, inner := r.decodeCluster(n, p)
				c.Problems = nil // Envoy's own output
				clusters[edsName(c.Message)] = c
				if boot != nil && key == "static_clusters" {
					boot.Clusters = append(boot.Clusters, c)
				}
				if len(inner) > 0 {
					withAssignment = append(withAssignment, static{c, inner, p})
					weighsHealth[c] = textOf(child(inner[0], "policy"), "weighted_priority_health") == "true"
				}
			}
		}
	}
	seen := map[string]bool{}
	for _, e := range elements {
		for _, key := range []string{"static_endpoint_configs", "dynamic_endpoint_configs"} {
			for _, entry := range items(child(e, key)) {
				n := child(entry, "endpoint_config")
				if !isMapping(n) {
					continue
				}
				p := placement{shape: ShapeConfigDump, version: r.dumpVersion(n), where: r.assignmentWire(0, "")}
				name := textOf(n, "cluster_name")
				p.cluster = clusters[name]
				seen[name] = true
				res := r.assignment(n, p)
				res.CoarseHealth = true
				if weighsHealth[p.cluster] {
					keepWeightedHealth(res.Assignment)
				}
				r.add(res)
			}
		}
	}
	for _, s := range withAssignment {
		if !seen[textOf(s.inner[0], "cluster_name")] && !seen[s.cluster.Message.GetName()] {
			s.place.cluster = s.cluster
			s.place.where = r.assignmentWire(0, "")
			res := r.assignment(s.inner[0], s.place)
			s.cluster.Message.LoadAssignment = res.Assignment
			r.add(res)
		}
	}
	if len(seen) == 0 && len(withAssignment) == 0 {
		r.searchBelow(root)
		found := r.file.Resources[before:]
		if !slices.ContainsFunc(found, func(res *Resource) bool { return !res.Absent }) {
			r.file.Resources = r.file.Resources[:before] // clusters alone: the dump was taken without their assignments
		}
	}
	boot.surround(r.file.Resources[before:])
}

// dumpedBootstrap is the bootstrap in a dump, without what is wrong with its text; nil when there is none.
func (r *reader) dumpedBootstrap(elements []document.Node) *Bootstrap {
	for _, e := range elements {
		if n := child(e, "bootstrap"); isMapping(n) {
			around := r.around
			b := r.surroundings(n)
			r.around = around
			return b
		}
	}
	return nil
}

// surround makes a dumped bootstrap that of the resources in the same dump.
func (b *Bootstrap) surround(resources []*Resource) {
	if b == nil {
		return
	}
	b.named, b.aggregates = make(map[string][]*Cluster, len(b.Clusters)), aggregatesOf(b.Clusters)
	for _, c := range b.Clusters {
		b.named[c.Message.GetName()] = append(b.named[c.Message.GetName()], c)
	}
	b.Assignments = map[string]*Resource{}
	for _, res := range resources {
		res.Dumped = b
		if res.Cluster != nil && !res.Absent {
			b.Assignments[res.Cluster.Message.GetName()] = res
		}
	}
}

func keepWeightedHealth(cla *endpointv3.ClusterLoadAssignment) {
	if cla.Policy == nil {
		cla.Policy = &endpointv3.ClusterLoadAssignment_Policy{}
	}
	cla.Policy.WeightedPriorityHealth = true
}

// dumpVersion is the API version of an assignment in a dump.
func (r *reader) dumpVersion(n document.Node) APIVersion {
	if url, _, ok := typeURL(n); ok {
		if v, known := VersionOfURL(url); known {
			return v
		}
	}
	return r.opts.APIVersion
}

// searchBelow looks for assignments in the values of a mapping.
func (r *reader) searchBelow(n document.Node) {
	for k := n.Target().First(); k.IsValid(); k = k.Next().Next() {
		if key, _ := keyText(k); !strings.HasPrefix(key, "@") {
			r.search(k.Next(), 1)
		}
	}
}
