package eds

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// officialPackages are the first parts of the packages in which the official build of Envoy has types.
var officialPackages = []string{"envoy", "google", "xds", "udpa", "opentelemetry", "cel", "grpc", "validate", "skywalking", "zipkin"}

// wholePackages are the packages all of whose messages edsctl links, so that a name absent from them does not exist.
var wholePackages = []string{"envoy.config.endpoint.v3", "envoy.config.cluster.v3", "envoy.config.core.v3", "envoy.service.discovery.v3"}

// policySince are the packages of policies that not every Envoy has, with the first minor version that does; 0: none.
var policySince = map[string]int{"wrr_locality.v3": 37, "dynamic_modules.v3": 38, "load_aware_locality.v3": 39, "pick_first.v3": 0}

var v2Package = pattern(`^envoy\..*\.?v2(alpha\d*)?(\.|$)`)

// unknownTypeReason says why Envoy certainly has no message of this name; it is empty when that is not certain.
func unknownTypeReason(name string, version int) string {
	first, _, _ := strings.Cut(name, ".")
	pkg := packageOf(name)
	switch {
	case isOldAssignment(name):
		return fmt.Sprintf("type %q was removed with the v2 and v3alpha APIs in Envoy 1.18", name)
	case v2Package().MatchString(pkg):
		return fmt.Sprintf("type %q belongs to the v2 API, which was removed in Envoy 1.18", name)
	case !slices.Contains(officialPackages, first) && !strings.HasPrefix(name, "io.prometheus."):
		return fmt.Sprintf("type %q is none that Envoy has", name)
	case slices.Contains(wholePackages, pkg):
		if !isLinked(name) {
			return fmt.Sprintf("type %q does not exist", name)
		}
	case strings.HasPrefix(name, policyPackage):
		since, some := policySince[strings.TrimPrefix(pkg, policyPackage)]
		if some && (since == 0 || version < since) || !isLinked(name) { // all that Envoy has are
			return "Envoy does not have this load balancing policy"
		}
	}
	return ""
}

func isLinked(name string) bool {
	_, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name))
	return err == nil
}

// packageOf is the name up to the first part that begins with a capital letter.
func packageOf(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		if p != "" && p[0] >= 'A' && p[0] <= 'Z' {
			return strings.Join(parts[:i], ".")
		}
	}
	return name
}

// isOldAssignment tells whether a message is an assignment of an API version that Envoy no longer has.
func isOldAssignment(name string) bool {
	v, ok := VersionOfURL(urlPrefix + name)
	return ok && v != V3
}
