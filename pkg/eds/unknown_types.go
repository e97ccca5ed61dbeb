package eds

import (
	_ "embed" // envoy_types.txt
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/edsctl/edsctl/pkg/diag"
)

// officialPackages are the first parts of the packages in which the official build of Envoy has types.
var officialPackages = []string{"envoy", "google", "xds", "udpa", "opentelemetry", "cel", "grpc", "validate", "skywalking", "zipkin"}

// wholePackages are the packages all of whose messages edsctl links, so that a name absent from them does not exist.
var wholePackages = []string{"envoy.config.endpoint.v3", "envoy.config.cluster.v3", "envoy.config.core.v3", "envoy.service.discovery.v3"}

// envoyTypes are the names of Envoy's messages, those of contrib too and of Envoy 1.36 to 1.40, a line each, without those
// inside other messages and those of the v2 API. It begins with an empty line. A test keeps it up to date.
//
//go:embed envoy_types.txt
var envoyTypes string

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
	case first == "envoy" && !strings.Contains(envoyTypes, "\n"+outermost(name)+"\n"):
		return fmt.Sprintf("type %q is none that Envoy has", name)
	}
	return ""
}

// nearestType is the name of Envoy's that may have been meant; empty when none is near.
func nearestType(name string) string {
	const slips = 3
	best, bound := "", slips+1
	for candidate := range strings.SplitSeq(strings.Trim(envoyTypes, "\n"), "\n") {
		if d := len(candidate) - len(name); d > slips || d < -slips {
			continue
		}
		if d := diag.Distance(name, candidate); d < bound {
			best, bound = candidate, d
		}
	}
	return best
}

// outermost is the name of the message at the top of a file that is or holds the one of this name.
func outermost(name string) string {
	pkg := packageOf(name)
	message, _, _ := strings.Cut(strings.TrimPrefix(name[len(pkg):], "."), ".")
	return pkg + "." + message
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
