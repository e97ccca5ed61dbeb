package eds

import (
	"strings"

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
		inner   document.Node
		place   placement
	}
	var withAssignment []static
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
				if len(inner) > 0 {
					withAssignment = append(withAssignment, static{c, inner[len(inner)-1], p})
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
				r.add(r.assignment(n, p))
			}
		}
	}
	for _, s := range withAssignment {
		if !seen[textOf(s.inner, "cluster_name")] && !seen[s.cluster.Message.GetName()] {
			s.place.cluster = s.cluster
			s.place.where = r.assignmentWire(0, "")
			res := r.assignment(s.inner, s.place)
			s.cluster.Message.LoadAssignment = res.Assignment
			r.add(res)
		}
	}
	if len(seen) == 0 && len(withAssignment) == 0 {
		r.searchBelow(root)
	}
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
