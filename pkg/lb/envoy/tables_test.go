package envoy

import "testing"

// TestTablesAgain: a table is built again only where its hosts or weights change.
func TestTablesAgain(t *testing.T) {
	t.Parallel()
	build := func(k *Tables, weight uint32) *table {
		in := Input{Tables: k, Policy: Policy{Name: RingHash}, Groups: []Group{{Endpoints: []Endpoint{{Address: "a"}, {Address: "b", Weight: weight}}}}}
		return in.build(t).balancers[0].tables[0]
	}
	k := &Tables{}
	first := build(k, 1)
	if build(k, 1) != first || build(nil, 1) == first {
		t.Error("the same hosts are not the same table, or without being asked for")
	}
	if build(k, 2) == first || build(k, 1) == first {
		t.Error("another weight is the same table")
	}
}
