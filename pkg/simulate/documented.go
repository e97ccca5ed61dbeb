package simulate

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/edsctl/edsctl/pkg/eds"
)

// documentedFactor is what the API's documentation makes of policy.disable_overprovisioning: "the overprovisioning factor
// is disabled". Envoy never had it.
const documentedFactor = 100

// disablesOverprovisioning tells whether the flag is set: in a message of v2 or v3alpha, which have the field, or in the
// text of one that has it no more.
func disablesOverprovisioning(r *eds.Resource) bool {
	if r.Original != nil {
		m := r.Original.ProtoReflect()
		policy := m.Descriptor().Fields().ByName("policy")
		if policy == nil || policy.Message() == nil {
			return false
		}
		if flag := policy.Message().Fields().ByName("disable_overprovisioning"); flag != nil && flag.Kind() == protoreflect.BoolKind {
			return m.Get(policy).Message().Get(flag).Bool()
		}
	}
	policy := r.Node // the value below, once it is found
	for _, names := range [][]string{{"policy"}, {"disable_overprovisioning", "disableOverprovisioning"}} {
		found := false
		for key := policy.First(); key.IsValid(); key = key.Next().Next() {
			if key.Text() == names[0] || key.Text() == names[len(names)-1] {
				policy, found = key.Next().Target(), true
				break
			}
		}
		if !found {
			return false
		}
	}
	switch strings.ToLower(policy.Text()) {
	case "true", "yes", "on", "y":
		return true
	}
	return false
}
