package validate

import (
	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lint"
)

// byFlag changes the effect of what is unknown or deprecated by --unknown-fields, which stands for Envoy's flags
// (envoy-eds-rules.md 0.3 and 11). The static visitor is that of the bootstrap and of binary payloads of clusters in it.
func byFlag(c *lint.Context, rule string, effect diag.Effect) diag.Effect {
	static := effect == diag.Reject
	switch {
	case isUnknown(rule):
	case rule == "deprecated-field" || rule == "load-balancer-endpoints-ignored":
		// --ignore-unknown-dynamic-fields switches off the dynamic visitor; the static one goes on warning.
		if c.UnknownFields == "ignore" && (c.Origin == eds.OriginCDS || c.Source == eds.FromCDS) && c.Source != eds.FromBootstrap {
			return diag.None
		}
		if failsOnDeprecated(c) {
			return diag.Reject
		}
		return effect
	default:
		return effect
	}
	switch {
	case c.UnknownFields == "warn" && static: // --allow-unknown-static-fields
		return diag.Warn
	case c.UnknownFields == "strict" && !static: // --reject-unknown-dynamic-fields
		return diag.Reject
	case c.UnknownFields == "ignore" && !static: // --ignore-unknown-dynamic-fields
		return diag.None
	}
	return effect
}

// failsOnDeprecated tells whether the runtime of the bootstrap refuses deprecated fields. It does so for what comes by
// xDS; the bootstrap itself is read before there is a runtime.
func failsOnDeprecated(c *lint.Context) bool {
	if c.Bootstrap == nil || c.Source == eds.FromBootstrap {
		return false
	}
	on, _ := eds.RuntimeFlag(c.Bootstrap.Runtime()["envoy.features.fail_on_any_deprecated_feature"])
	return on
}

// isUnknown tells whether a rule is about a field or a value that Envoy does not know.
func isUnknown(rule string) bool {
	switch rule {
	case "unknown-field", "disable-overprovisioning-removed", "enum-name-unknown", "merge-key":
		return true
	}
	return false
}
