package author

import (
	"errors"
	"math/big"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/edsctl/edsctl/pkg/eds"
)

func TestScale(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		old      uint32
		num, den int64
		want     uint32
	}{{3, 1, 2, 2}, {1, 1, 10, 1}, {5, 1, 2, 3}, {4, 1, 10, 1}, {1 << 31, 1, 1, 1 << 31}} {
		if got, err := scale(tt.old, big.NewRat(tt.num, tt.den)); got != tt.want || err != nil {
			t.Errorf("%d * %d/%d: %d (%v), want %d", tt.old, tt.num, tt.den, got, err, tt.want)
		}
	}
	if _, err := scale(1<<31, big.NewRat(2, 1)); err == nil {
		t.Error("a weight above 32 bits is taken")
	}
}

// TestWeightBeforeList gives a locality a weight: it stands where it is seen, before the list of a thousand lines.
func TestWeightBeforeList(t *testing.T) {
	t.Parallel()
	const src = "cluster_name: a\nendpoints:\n- locality:\n    zone: a\n  lb_endpoints:\n  - endpoint: {address: {pipe: {path: /a}}}\n  - endpoint: {address: {pipe: {path: /b}}}\n"
	const want = "cluster_name: a\nendpoints:\n- locality:\n    zone: a\n  load_balancing_weight: 3\n  lb_endpoints:\n  - endpoint: {address: {pipe: {path: /a}}}\n  - endpoint: {address: {pipe: {path: /b}}}\n"
	weight := uint32(3)
	got, err := editText("a.yaml", src, SetWeight(mustSelect(t, "zone=a"), &weight, true))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestPruneOfOneName removes the endpoints of one of two assignments of a name: the other keeps its locality.
func TestPruneOfOneName(t *testing.T) {
	t.Parallel()
	const src = "cluster_name: a\nendpoints:\n- lb_endpoints: [{endpoint: {address: {pipe: {path: /a}}}}]\n---\ncluster_name: a\nendpoints:\n- lb_endpoints: [{endpoint: {address: {pipe: {path: /b}}}}]\n"
	const want = "cluster_name: a\nendpoints: []\n---\ncluster_name: a\nendpoints:\n- lb_endpoints: [{endpoint: {address: {pipe: {path: /b}}}}]\n"
	verb := Remove(mustSelect(t, "address=/a"), true)
	verb.Optional = true
	got, err := editText("a.yaml", src, verb)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestCompare: a text that would say anything else than what was asked for is not written.
func TestCompare(t *testing.T) {
	t.Parallel()
	file := func(names ...string) *eds.File {
		f := &eds.File{}
		for _, name := range names {
			f.Resources = append(f.Resources, &eds.Resource{Assignment: &endpointv3.ClusterLoadAssignment{ClusterName: name}})
		}
		return f
	}
	renamed := map[int]*endpointv3.ClusterLoadAssignment{1: {ClusterName: "c"}}
	for _, tt := range []struct {
		name  string
		after *eds.File
		exact bool
	}{
		{"as asked for", file("a", "c"), true}, {"unchanged", file("a", "b"), false},
		{"another one too", file("x", "c"), false}, {"one more", file("a", "c", "d"), false},
	} {
		if err := compare(file("a", "b"), tt.after, renamed); errors.Is(err, errNotExact) == tt.exact {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
