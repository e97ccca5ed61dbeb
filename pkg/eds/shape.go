package eds

import (
	"slices"
	"strings"
	"unicode"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// noShape: nothing that holds an assignment was recognised.
const noShape Shape = ""

// responseKeys are the fields that only responses have; clusterKeys, beside a name, those of a Cluster.
var (
	responseKeys = []string{"resources", "version_info", "system_version_info", "removed_resources"}
	clusterKeys  = []string{"load_assignment", "connect_timeout", "lb_policy", "eds_cluster_config", "cluster_type", "load_balancing_policy", "hosts", "dns_lookup_family"}
)

// recognise tells what a node is, from its keys.
func recognise(n document.Node) Shape {
	n = n.Target()
	if isSequence(n) {
		return ShapeList
	}
	if !isMapping(n) {
		return noShape
	}
	if url, _, ok := typeURL(n); ok {
		if s := recogniseURL(url); s != noShape {
			return s
		}
	}
	switch {
	case has(n, "static_resources"), has(n, "dynamic_resources") && has(n, "node", "admin", "cluster_manager"):
		return ShapeBootstrap
	case has(n, "configs") && isSequence(child(n, "configs")):
		return ShapeConfigDump
	case has(n, "api_version") && has(n, "kind"), has(n, "apiVersion") && has(n, "kind"):
		return ShapeEmbedded
	case has(n, "system_version_info", "removed_resources"):
		return ShapeDeltaResponse
	case has(n, "resources") && looksLikeResources(child(n, "resources")), onlyKeys(n, responseKeys...):
		return ShapeResponse
	case has(n, "cluster_name") && !has(n, "weight", "route"), onlyKeys(n, "cluster_name", "endpoints", "policy", "named_endpoints"):
		return ShapeAssignment
	case has(n, "load_assignment"), has(n, "name") && has(n, clusterKeys...):
		return ShapeCluster
	case has(n, "resource") && isMapping(child(n, "resource")) && has(n, "name"):
		return ShapeResource
	case nearlyBootstrap(n):
		return ShapeBootstrap
	case nearlyAssignment(n):
		return ShapeAssignment
	}
	return noShape
}

// recogniseURL tells what a typed message is.
func recogniseURL(url string) Shape {
	if _, ok := VersionOfURL(url); ok {
		return ShapeAny
	}
	if _, ok := ClusterVersionOfURL(url); ok {
		return ShapeAny
	}
	if _, ok := WrapperVersionOfURL(url); ok {
		return ShapeResource
	}
	name := url[strings.LastIndexByte(url, '/')+1:]
	switch name[strings.LastIndexByte(name, '.')+1:] {
	case "Bootstrap":
		return ShapeBootstrap
	case "DiscoveryResponse":
		return ShapeResponse
	case "DeltaDiscoveryResponse":
		return ShapeDeltaResponse
	case "ClustersConfigDump", "EndpointsConfigDump", "ConfigDump", "BootstrapConfigDump", "ClientConfig", "ClientStatusResponse":
		return ShapeConfigDump
	}
	return noShape
}

// looksLikeResources tells whether a list may be that of a response: nothing, or messages with a type or a name.
func looksLikeResources(n document.Node) bool {
	for _, item := range items(n) {
		if isMapping(item) && !has(item, "@type", "resource", "name", "cluster_name", "type_url") && item.Target().First().IsValid() {
			return false
		}
		if !isMapping(item) && look(item).kind != jsonNull {
			return false
		}
	}
	return true
}

// onlyKeys tells whether a mapping has at least one key, all of them among the given ones.
func onlyKeys(n document.Node, keys ...string) bool {
	n = n.Target()
	some := false
	for k := n.First(); k.IsValid(); k = k.Next().Next() {
		text, ok := keyText(k)
		if !ok {
			return false
		}
		known := false
		for _, key := range keys {
			known = known || sameField(text, key)
		}
		if !known {
			return false
		}
		some = true
	}
	return some
}

// nearlyBootstrap tells whether a mapping is a bootstrap whose static_resources are misspelt or missing around the
// clusters.
func nearlyBootstrap(n document.Node) bool {
	if has(n, "static_resources") {
		return false
	}
	isCluster := func(item document.Node) bool { return recognise(item) == ShapeCluster }
	if has(n, "node", "admin", "dynamic_resources", "cluster_manager", "layered_runtime") && slices.ContainsFunc(items(child(n, "clusters")), isCluster) {
		return true
	}
	for k := n.Target().First(); k.IsValid(); k = k.Next().Next() {
		text, ok := keyText(k)
		if !ok || !has(k.Next(), "clusters", "listeners") {
			continue
		}
		if _, near := diag.Nearest(letters(text), []string{"staticresources"}); near {
			return true
		}
	}
	return false
}

// letters are those of a key, in lower case.
func letters(key string) string {
	return strings.Map(func(c rune) rune {
		if c = unicode.ToLower(c); c < 'a' || c > 'z' {
			return -1
		}
		return c
	}, key)
}

// nearlyAssignment tells whether a mapping is an assignment whose cluster_name is misspelt.
func nearlyAssignment(n document.Node) bool {
	for k := n.Target().First(); k.IsValid(); k = k.Next().Next() {
		text, ok := keyText(k)
		if !ok {
			continue
		}
		switch letters(text) {
		case "clustername":
			return true
		case "endpoints", "endpointz":
			for _, e := range items(k.Next()) {
				if has(e, "lb_endpoints") {
					return true
				}
			}
		}
	}
	return false
}
