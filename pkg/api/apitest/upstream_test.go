package apitest_test

import (
	"testing"

	apiv2 "github.com/envoyproxy/go-control-plane/envoy/api/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/edsctl/edsctl/pkg/api/apitest"
)

// TestV2OfGoControlPlane compares the v2 table, which our messages equal, with the messages of the full v2 API.
func TestV2OfGoControlPlane(t *testing.T) {
	t.Parallel()
	want, err := apitest.ReadTable("../testdata/v2.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := apitest.Describe(&apiv2.ClusterLoadAssignment{}, &apiv2.DiscoveryRequest{}, &apiv2.DiscoveryResponse{}, &apiv2.DeltaDiscoveryRequest{}, &apiv2.DeltaDiscoveryResponse{})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("v2 (-want +got):\n%s", diff)
	}
}
