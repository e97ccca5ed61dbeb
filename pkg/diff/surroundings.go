package diff

import (
	"math"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/simulate"
)

// Surroundings adds what differs in the bootstraps around a pair (runtime keys, the node's locality, the local cluster) if
// that alone moves traffic of Envoy: all clusters of a bootstrap have the same surroundings, and few care.
func (r *Result) Surroundings(p Pair, after *simulate.Options) error {
	if r.compared == nil || p.Old.Surroundings() == nil || p.New.Surroundings() == nil || p.Old.Surroundings() == p.New.Surroundings() {
		return nil
	}
	changes := surroundings(p.Old.Surroundings(), p.New.Surroundings())
	if len(changes) == 0 {
		return nil
	}
	options := *after
	options.Check = nil // whoever refuses the assignment does so in both
	elsewhere := *p.New
	elsewhere.Bootstrap, elsewhere.Dumped = p.Old.Bootstrap, p.Old.Dumped
	was, err := simulate.FromResource(&elsewhere, diag.Envoy, &options)
	if err != nil {
		return err
	}
	now, err := simulate.FromResource(p.New, diag.Envoy, &options)
	if err != nil {
		return err
	}
	if !sameShares(was, now) {
		r.Changes = append(r.Changes, changes...)
	}
	return nil
}

func sameShares(a, b *simulate.Result) bool {
	near := func(x, y float64) bool { return math.Abs(x-y) < Threshold }
	if len(a.Endpoints) != len(b.Endpoints) || !near(a.Dropped, b.Dropped) || !near(a.Unavailable, b.Unavailable) {
		return false
	}
	for i := range a.Endpoints {
		if !near(a.Endpoints[i].Share, b.Endpoints[i].Share) {
			return false
		}
	}
	return true
}

// surroundings lists what differs of what load balancing reads in a bootstrap.
func surroundings(was, now *eds.Bootstrap) []Change {
	var changes []Change
	report := func(field, old, new string) {
		changes = append(changes, Change{Kind: Bootstrap, Field: field, Old: old, New: new})
	}
	if !proto.Equal(was.NodeLocality, now.NodeLocality) {
		report("node.locality", localityText(was.NodeLocality), localityText(now.NodeLocality))
	}
	if was.LocalClusterName != now.LocalClusterName {
		report("cluster_manager.local_cluster_name", was.LocalClusterName, now.LocalClusterName)
	} else if !proto.Equal(localAssignment(was), localAssignment(now)) {
		report("local cluster "+now.LocalClusterName, "", "")
	}
	old, values := was.Runtime(), now.Runtime()
	for _, key := range simulate.RuntimeKeys() {
		if o, n := jsonText(old[key]), jsonText(values[key]); o != n {
			report("runtime key "+key, o, n)
		}
	}
	return changes
}

func localityText(l *corev3.Locality) string {
	if l == nil {
		return ""
	}
	return simulate.LocalityID{Region: l.GetRegion(), Zone: l.GetZone(), SubZone: l.GetSubZone()}.String()
}

func localAssignment(b *eds.Bootstrap) proto.Message {
	if r := b.Assignments[b.LocalClusterName]; r != nil {
		return r.Assignment
	}
	return nil
}
