package lint

import (
	"fmt"
	"strconv"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"github.com/edsctl/edsctl/pkg/diag"
)

var dropRules = []string{"drop-overload-all", "drop-overload-over-100", "drop-overload-percentage-missing", "drop-overloads-multiple"}

// dropChecks reports drop_overloads that Envoy refuses (upstream_impl.cc, parseDropOverloadConfig) or that do not drop
// what they seem to.
func dropChecks(c *Context, report func(diag.Problem)) {
	drops := c.Resource.Assignment.GetPolicy().GetDropOverloads()
	if len(drops) == 0 {
		return
	}
	root := diag.Path{}.Field("policy.drop_overloads")
	if len(drops) > 1 {
		report(diag.Problem{
			Rule: "drop-overloads-multiple", Path: root.Index(1),
			Message: fmt.Sprintf("Envoy takes one drop_overloads category, here are %d", len(drops)),
			Envoy:   EnvoySays(fmt.Sprintf("Cluster drop_overloads config has %d categories. Envoy only support one.", len(drops))),
		})
	}
	all := false
	for i, d := range drops {
		dropRatio(d, root.Index(i), report)
		r, ok := ratio(d.GetDropPercentage())
		all = all || (ok && r >= 1)
	}
	if all {
		report(diag.Problem{Rule: "drop-overload-all", Path: root, Message: "all requests are dropped"})
	}
}

func dropRatio(d *endpointv3.ClusterLoadAssignment_Policy_DropOverload, path diag.Path, report func(diag.Problem)) {
	p := d.GetDropPercentage()
	if p.GetNumerator() == 0 {
		report(diag.Problem{
			Rule: "drop-overload-percentage-missing", Path: path, Message: fmt.Sprintf("category %q drops nothing: its drop_percentage is absent or 0", d.GetCategory()),
		})
		return
	}
	r, ok := ratio(p)
	if !ok || r <= 1 {
		return
	}
	report(diag.Problem{
		Rule: "drop-overload-over-100", Path: path.Field("drop_percentage"),
		Message: fmt.Sprintf("category %q drops %d of %d, more than 100 %%", d.GetCategory(), p.GetNumerator(), denominators[p.GetDenominator()]),
		Envoy: EnvoySays(fmt.Sprintf("Cluster drop_overloads config is invalid. drop_ratio=%s(Numerator %d / Denominator %d). The valid range is 0~1.",
			floatText(r), p.GetNumerator(), denominators[p.GetDenominator()])),
	})
}

var denominators = map[typev3.FractionalPercent_DenominatorType]uint32{
	typev3.FractionalPercent_HUNDRED: 100, typev3.FractionalPercent_TEN_THOUSAND: 10000, typev3.FractionalPercent_MILLION: 1000000,
}

// ratio is the dropped part as Envoy computes it, in single precision; false for a denominator that does not exist.
func ratio(p *typev3.FractionalPercent) (float32, bool) {
	d, ok := denominators[p.GetDenominator()]
	if !ok {
		return 0, false
	}
	return float32(p.GetNumerator()) / float32(d), true
}

// floatText prints a float as Envoy's fmt does: the shortest text that reads back, with an exponent from seven digits on.
// Worked example: 1.01, 4294.9673, 4.294967e+07.
func floatText(f float32) string {
	if f >= 1e7 {
		return strconv.FormatFloat(float64(f), 'e', -1, 32)
	}
	return strconv.FormatFloat(float64(f), 'f', -1, 32)
}
