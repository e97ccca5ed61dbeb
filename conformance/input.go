package main

import (
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// clusterName is the name of the cluster, and of the assignment, in every input.
const clusterName = "v"

// route is one way by which an input reaches a client.
type route uint8

// The routes.
const (
	viaBootstrap   route = iota // a bootstrap, envoy --mode validate
	viaFile                     // an EDS file of a running Envoy
	viaStream                   // a SotW EDS stream of a running Envoy, EDS cluster in its bootstrap
	viaADS                      // a SotW ADS stream of a running Envoy, EDS cluster by CDS
	viaCDS                      // a Cluster over ADS to a running Envoy
	viaGRPC                     // an assignment over ADS to grpc-go
	viaGRPCCluster              // a Cluster over ADS to grpc-go
	numRoutes
)

func (r route) String() string {
	return [...]string{"bootstrap", "file", "stream", "ads", "cds", "grpc", "grpc-cluster"}[r]
}

// input is what a client gets, before it is written in the form of a route.
type input struct {
	assignment tree
	cluster    func(c tree)                                  // edits the cluster around the assignment; bootstrap and cds only
	around     string                                        // the EDS cluster that asks for it: a name of contexts; file, stream and ads only
	bootstrap  func(b tree)                                  // edits the bootstrap
	document   func(d tree)                                  // edits the EDS file
	text       func(string) string                           // edits the text
	form       form                                          // of the text
	extension  string                                        // of the file: "yaml" or "json" after the form when empty
	response   func(*discoveryv3.DiscoveryResponse)          // edits the response on the wire
	binary     func(r *discoveryv3.DiscoveryResponse) []byte // what an EDS file with the extension pb holds
}

// form is how text is written.
type form uint8

const (
	anyForm form = iota
	blockYAML
	flowYAML
	jsonForm
)

// mutation is one way to break a rule, and one to just not break it.
type mutation struct {
	rule      string
	routes    []route
	hit, near func(g *generator, in *input)
}

// The routes of an assignment, whatever is in it, and those of text.
var (
	everywhere = []route{viaBootstrap, viaFile, viaStream, viaADS, viaCDS, viaGRPC}
	text       = []route{viaBootstrap, viaFile}
	byEDS      = []route{viaFile, viaStream, viaADS}
	clusters   = []route{viaBootstrap, viaCDS}
)

// mutations of all rules that a client can show.
func mutations() []mutation {
	var all []mutation
	for _, list := range [][]mutation{constraints(), hosts(), sums(), policies(), texts(), values(), responses(), clusterRules(), bootstrapRules(), grpcRules()} {
		all = append(all, list...)
	}
	return all
}

// combine keeps what an earlier mutation did where the later one did something of the same kind.
func (in *input) combine(before *input) {
	in.cluster = both(before.cluster, in.cluster)
	in.bootstrap = both(before.bootstrap, in.bootstrap)
	if before.document != nil {
		in.document = before.document // two would undo each other
	}
	if before.text != nil {
		in.text, in.form = before.text, before.form
	}
	if before.form != anyForm {
		in.form = before.form
	}
	if before.response != nil {
		in.response = before.response
	}
}

func both(first, second func(tree)) func(tree) {
	if first == nil {
		return second
	}
	return func(t tree) {
		first(t)
		if second != nil {
			second(t)
		}
	}
}
