package eds

import (
	"fmt"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"

	apiv2 "github.com/edsctl/edsctl/pkg/api/envoy/api/v2"
	apiv3alpha "github.com/edsctl/edsctl/pkg/api/envoy/api/v3alpha"
	"github.com/edsctl/edsctl/pkg/diag"
)

// Upgrade turns an assignment of any API version into v3. All fields that the versions share have the same numbers and
// types, so the upgrade is the identity on the bytes (api-versions.md 1): a field that v3 does not have stays in the
// message as an unknown one. lost lists the paths of those that are set, in the words of the old version; there is one
// such field, policy.disable_overprovisioning. A v3 message is returned as it is.
func Upgrade(m proto.Message) (v3 *endpointv3.ClusterLoadAssignment, lost []diag.Path, err error) {
	switch m := m.(type) {
	case *endpointv3.ClusterLoadAssignment:
		return m, nil, nil
	case *apiv2.ClusterLoadAssignment:
		if m.GetPolicy().GetDisableOverprovisioning() {
			lost = append(lost, disableOverprovisioning)
		}
	case *apiv3alpha.ClusterLoadAssignment:
		if m.GetPolicy().GetDisableOverprovisioning() {
			lost = append(lost, disableOverprovisioning)
		}
	default:
		return nil, nil, fmt.Errorf("upgrade %s: no assignment", m.ProtoReflect().Descriptor().FullName())
	}
	v3 = &endpointv3.ClusterLoadAssignment{}
	if err := Transcode(v3, m); err != nil {
		return nil, nil, fmt.Errorf("upgrade: %w", err)
	}
	return v3, lost, nil
}

var disableOverprovisioning = diag.Path{{Name: "policy"}, {Name: "disable_overprovisioning"}}

// Transcode fills to with the fields of from, a message of another API version with the same field numbers. What to
// does not have ends in its unknown fields. A string that is not UTF-8 is an error.
func Transcode(to, from proto.Message) error {
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(from)
	if err != nil {
		return err
	}
	return proto.Unmarshal(bytes, to)
}
