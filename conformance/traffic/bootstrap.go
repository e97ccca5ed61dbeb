package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
)

// bootstrap has one listener, and a route and a cluster for each scenario.
func (b *batch) bootstrap(dir string) (tree, error) {
	var clusters, routes []any
	for i, s := range b.scenarios {
		name := "c" + strconv.Itoa(i)
		cluster := maps.Clone(s.cluster)
		assignment := maps.Clone(s.assignment)
		cluster["name"], assignment["cluster_name"] = name, name
		if s.static {
			cluster["type"], cluster["load_assignment"] = "STATIC", assignment
		} else {
			path := filepath.Join(dir, name+".json")
			assignment["@type"] = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
			if err := writeJSON(path, tree{"version_info": "1", "resources": []any{assignment}}); err != nil {
				return nil, err
			}
			cluster["type"] = "EDS"
			cluster["eds_cluster_config"] = tree{"eds_config": tree{"resource_api_version": "V3", "path_config_source": tree{"path": path}}}
		}
		clusters = append(clusters, cluster)
		action := tree{"cluster": name, "timeout": "10s", "hash_policy": []any{tree{"header": tree{"header_name": "x-key"}}}}
		if s.match != nil {
			action["metadata_match"] = tree{"filter_metadata": tree{"envoy.lb": s.match}}
		}
		routes = append(routes, tree{"match": tree{"path": "/" + strconv.Itoa(i)}, "route": action})
	}
	node := tree{"id": "edsctl", "cluster": "edsctl"}
	if b.locality != nil {
		node["locality"] = b.locality
	}
	bootstrap := tree{
		"node":             node,
		"admin":            tree{"address": loopback(0)},
		"static_resources": tree{"listeners": []any{listener(routes)}, "clusters": clusters},
	}
	if b.local != nil {
		local := maps.Clone(b.local)
		local["cluster_name"] = "local"
		bootstrap["static_resources"].(tree)["clusters"] = append(clusters, tree{"name": "local", "type": "STATIC", "load_assignment": local})
		bootstrap["cluster_manager"] = tree{"local_cluster_name": "local"}
	}
	if b.runtime != nil {
		bootstrap["layered_runtime"] = tree{"layers": []any{tree{"name": "static", "static_layer": b.runtime}}}
	}
	return bootstrap, nil
}

func loopback(port int) tree {
	return tree{"socket_address": tree{"address": "127.0.0.1", "port_value": port}}
}

func listener(routes []any) tree {
	const http = "type.googleapis.com/envoy.extensions.filters."
	manager := tree{
		"@type": http + "network.http_connection_manager.v3.HttpConnectionManager", "stat_prefix": "in", "codec_type": "HTTP1",
		"route_config": tree{"virtual_hosts": []any{tree{"name": "all", "domains": []any{"*"}, "routes": routes}}},
		"http_filters": []any{tree{"name": "router", "typed_config": tree{"@type": http + "http.router.v3.Router"}}},
	}
	return tree{"name": "in", "address": loopback(0), "filter_chains": []any{tree{"filters": []any{tree{"name": "hcm", "typed_config": manager}}}}}
}

// listenerAddress asks the administration port for the listener's address; empty while there is none, or while a cluster
// still waits for its endpoints.
func listenerAddress(ctx context.Context, admin string) string {
	if get(ctx, admin, "/ready") != "LIVE\n" {
		return ""
	}
	var answer struct {
		Statuses []struct {
			Address struct {
				Socket struct {
					Address string
					Port    int `json:"port_value"`
				} `json:"socket_address"`
			} `json:"local_address"`
		} `json:"listener_statuses"`
	}
	if json.Unmarshal([]byte(get(ctx, admin, "/listeners?format=json")), &answer) != nil || len(answer.Statuses) == 0 {
		return ""
	}
	a := answer.Statuses[0].Address.Socket
	return fmt.Sprintf("%s:%d", a.Address, a.Port)
}

func get(ctx context.Context, admin, path string) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+strings.TrimSpace(admin)+path, nil)
	if err != nil {
		return ""
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return ""
	}
	return string(body)
}
