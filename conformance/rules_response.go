package main

import (
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// responses are what is wrong on the wire.
func responses() []mutation {
	streams := []route{viaStream, viaADS}
	edit := func(change func(g *generator, r *discoveryv3.DiscoveryResponse)) func(*generator, *input) {
		return func(g *generator, in *input) { in.response = func(r *discoveryv3.DiscoveryResponse) { change(g, r) } }
	}
	same := func(*generator, *input) {}
	wrapped := func(change func(g *generator, w *discoveryv3.Resource)) func(*generator, *input) {
		return edit(func(g *generator, r *discoveryv3.DiscoveryResponse) {
			w := &discoveryv3.Resource{Name: clusterName, Version: "1", Resource: r.Resources[0]}
			change(g, w)
			body, err := anypb.New(w)
			if err != nil {
				panic(err) // a message of our own making
			}
			r.Resources[0] = body
		})
	}
	// Fields that no version of the API has, in the assignment and in its policy.
	unknown := [][]byte{{0xc8, 0x3e, 1}, {0xd2, 0x3e, 2, 'h', 'i'}, {0x22, 3, 0xc8, 0x3e, 1}}
	return []mutation{
		{"unknown-field", streams, edit(func(g *generator, r *discoveryv3.DiscoveryResponse) { extend(r, pick(g, unknown...)) }),
			edit(func(_ *generator, r *discoveryv3.DiscoveryResponse) { extend(r, []byte{0x22, 2, 0x30, 1}) })},
		{"disable-overprovisioning-removed", streams, edit(func(_ *generator, r *discoveryv3.DiscoveryResponse) { extend(r, []byte{0x22, 2, 0x28, 1}) }),
			edit(func(_ *generator, r *discoveryv3.DiscoveryResponse) { extend(r, []byte{0x22, 2, 0x30, 1}) })},
		{"resource-not-unpackable", streams, edit(func(g *generator, r *discoveryv3.DiscoveryResponse) {
			if g.chance(50) {
				extend(r, []byte{0x0a, 1, 0xff}) // cluster_name that is no UTF-8
			} else {
				extend(r, []byte{0x0a, 200}) // ends too early
			}
		}), edit(func(_ *generator, r *discoveryv3.DiscoveryResponse) { extend(r, []byte{0x0a, 1, 'v'}) })},
		{"any-type-mismatch", streams, edit(func(g *generator, r *discoveryv3.DiscoveryResponse) {
			r.Resources[0].TypeUrl = pick(g, "type.googleapis.com/envoy.config.cluster.v3.Cluster", "type.googleapis.com/no.Such", "example.com/envoy.config.endpoint.v3.ClusterLoadAssignment")
		}), same},
		{"v2-type", streams, edit(func(g *generator, r *discoveryv3.DiscoveryResponse) {
			r.Resources[0].TypeUrl = "type.googleapis.com/" + pick(g, "envoy.api.v2.ClusterLoadAssignment", "envoy.api.v3alpha.ClusterLoadAssignment", "envoy.config.endpoint.v3alpha.ClusterLoadAssignment")
		}), same},
		{"response-type-not-subscribed", []route{viaStream}, edit(func(g *generator, r *discoveryv3.DiscoveryResponse) {
			r.TypeUrl = pick(g, "type.googleapis.com/envoy.api.v2.ClusterLoadAssignment", "envoy.config.endpoint.v3.ClusterLoadAssignment", "type.googleapis.com/envoy.config.cluster.v3.Cluster")
			r.Resources[0].TypeUrl = r.TypeUrl
		}), same},
		{"sotw-wrapper-empty-name", streams, wrapped(func(g *generator, w *discoveryv3.Resource) { w.Name = pick(g, "", "other") }), wrapped(func(*generator, *discoveryv3.Resource) {})},
		{"eds-cluster-name-mismatch", streams, func(g *generator, in *input) {
			in.assignment["cluster_name"] = pick(g, "other", "V")
			wrapped(func(*generator, *discoveryv3.Resource) {})(g, in)
		}, wrapped(func(*generator, *discoveryv3.Resource) {})},
		{"resource-without-body", streams, wrapped(func(g *generator, w *discoveryv3.Resource) { w.Resource = nil; w.Version = "none" }), wrapped(func(*generator, *discoveryv3.Resource) {})},
		{"resource-duplicate-name", streams, edit(func(_ *generator, r *discoveryv3.DiscoveryResponse) {
			r.Resources = append(r.Resources, r.Resources[0])
		}), same},
		{"file-eds-pb-garbage", []route{viaFile}, func(g *generator, in *input) {
			in.extension = "pb"
			in.binary = func(*discoveryv3.DiscoveryResponse) []byte {
				return pick(g, []byte("resources: []\n"), []byte{0xff, 0xff}, []byte{0x0a, 200})
			}
		}, binary},
		{"resource-not-unpackable", []route{viaFile}, func(g *generator, in *input) {
			binary(g, in)
			in.response = func(r *discoveryv3.DiscoveryResponse) { extend(r, []byte{0x0a, 1, 0xff}) }
		}, binary},
	}
}

// binary makes an input an EDS file in binary.
func binary(_ *generator, in *input) {
	in.extension = "pb"
	in.binary = func(r *discoveryv3.DiscoveryResponse) []byte {
		out, err := proto.Marshal(r)
		if err != nil {
			panic(err) // a message of our own making
		}
		return out
	}
}

// extend appends bytes to the first resource: fields that Go's messages cannot hold, or none at all.
func extend(r *discoveryv3.DiscoveryResponse, bytes []byte) {
	r.Resources[0].Value = append(r.Resources[0].Value[:len(r.Resources[0].Value):len(r.Resources[0].Value)], bytes...)
}
