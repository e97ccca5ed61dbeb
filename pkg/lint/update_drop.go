package lint

import (
	"fmt"
	"slices"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/diag"
)

// dropAlone reports drop_overloads that change while nothing changes that Envoy hands on to its workers: the ratio is
// stored, and takes effect together with the next change of a host (cluster_manager_impl.cc,
// postThreadLocalClusterUpdate).
func dropAlone(u *Update, report func(diag.Problem)) {
	was, now := u.Was.Resource.Assignment.GetPolicy().GetDropOverloads(), u.Now.Resource.Assignment.GetPolicy().GetDropOverloads()
	if len(u.changed) > 0 || slices.EqualFunc(was, now, func(a, b *endpointv3.ClusterLoadAssignment_Policy_DropOverload) bool { return proto.Equal(a, b) }) {
		return
	}
	does := "goes on dropping as before"
	if len(was) == 0 {
		does = "drops nothing"
	}
	report(diag.Problem{
		Rule: "drop-overload-alone-not-propagated",
		Path: root().Field("policy.drop_overloads"),
		Message: fmt.Sprintf("only drop_overloads changes (from %s to %s): Envoy %s until an endpoint changes too",
			dropWords(was), dropWords(now), does),
	})
}

func dropWords(drops []*endpointv3.ClusterLoadAssignment_Policy_DropOverload) string {
	if len(drops) == 0 {
		return "none"
	}
	text := ""
	for i, d := range drops {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s %d/%s", d.GetCategory(), d.GetDropPercentage().GetNumerator(), d.GetDropPercentage().GetDenominator())
	}
	return text
}
