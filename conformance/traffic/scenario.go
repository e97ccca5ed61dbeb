package main

import (
	"encoding/json"
	"fmt"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/simulate"
)

// tree is a JSON object.
type tree = map[string]any

// scenario is one cluster with its assignment.
type scenario struct {
	name       string
	cluster    tree // without name, type and assignment
	assignment tree // without cluster_name
	static     bool // a STATIC cluster instead of EDS from a file
	match      tree // the route's criteria under envoy.lb
	hash       bool // judged key by key
}

// batch is the scenarios that one Envoy runs.
type batch struct {
	name      string
	locality  tree // of the node
	local     tree // assignment of the local cluster; nil without one
	runtime   map[string]any
	port      int // of the endpoints
	minor     int // version of the Envoy that is asked: 40 is 1.40
	scenarios []*scenario
}

func (b *batch) keep(only string) {
	var kept []*scenario
	for _, s := range b.scenarios {
		if strings.Contains(s.name, only) {
			kept = append(kept, s)
		}
	}
	b.scenarios = kept
}

func message[M proto.Message](value any, m M) (M, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return m, err
	}
	return m, protojson.Unmarshal(text, m)
}

// predict asks edsctl; the result lists shares by endpoint, and the endpoint of each key.
func (b *batch) predict(s *scenario, keys []string) (*simulate.Result, error) {
	cla, err := message(s.assignment, &endpointv3.ClusterLoadAssignment{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	cluster, err := message(s.cluster, &clusterv3.Cluster{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	cluster.Name, cla.ClusterName = s.name, s.name
	r := &eds.Resource{Name: s.name, APIVersion: eds.V3, Assignment: cla, Original: cla, Source: eds.FromFile, Origin: eds.OriginBootstrap}
	kind := clusterv3.Cluster_EDS
	if s.static {
		kind, r.Source = clusterv3.Cluster_STATIC, eds.FromBootstrap
	}
	cluster.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: kind}
	r.Cluster = &eds.Cluster{Message: cluster}
	o := &simulate.Options{EnvoyVersion: b.minor, MetadataMatch: s.match, HashKeys: keys, Runtime: map[string]string{}}
	for key, value := range b.runtime {
		o.Runtime[key] = fmt.Sprint(value)
	}
	if b.locality != nil {
		if o.NodeLocality, err = message(b.locality, &corev3.Locality{}); err != nil {
			return nil, err
		}
	}
	if b.local != nil {
		if o.LocalCluster, err = message(b.local, &endpointv3.ClusterLoadAssignment{}); err != nil {
			return nil, err
		}
	}
	result, err := simulate.FromResource(r, diag.Envoy, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	if !result.Accepted() {
		return nil, fmt.Errorf("%s: %s", s.name, result.Message)
	}
	return result, nil
}
