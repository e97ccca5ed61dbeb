package author

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/edsctl/edsctl/pkg/diag"
)

func policyPath(field string) diag.Path { return diag.Path{{Name: "policy"}, {Name: field}} }

// policy returns a copy of the policy that may be changed.
func (d *draft) policy() *endpointv3.ClusterLoadAssignment_Policy {
	if d.Want.Policy == nil {
		d.Want.Policy = &endpointv3.ClusterLoadAssignment_Policy{}
	} else if d.Want.Policy == d.old.Policy {
		d.Want.Policy = shallow(d.Want.Policy)
	}
	return d.Want.Policy
}

// PolicySetting is one field of the policy with its new value.
type PolicySetting struct {
	field, text string
	value       *literal // nil: taken out
	apply       func(*endpointv3.ClusterLoadAssignment_Policy)
}

// PolicyFields are the fields that SetPolicy takes.
func PolicyFields() []string {
	return []string{"overprovisioning_factor", "endpoint_stale_after", "weighted_priority_health"}
}

// None as a value takes a field out.
const None = "none"

// ParsePolicySetting reads "overprovisioning_factor=140", "endpoint_stale_after=30s", "weighted_priority_health=true";
// the value none takes the field out.
func ParsePolicySetting(text string) (PolicySetting, error) {
	field, value, ok := strings.Cut(text, "=")
	if !ok {
		return PolicySetting{}, fmt.Errorf("%q must have the form FIELD=VALUE, with the fields %s", text, strings.Join(PolicyFields(), ", "))
	}
	s := PolicySetting{field: field, text: value}
	switch field {
	case "overprovisioning_factor":
		return s, s.factor(value)
	case "endpoint_stale_after":
		return s, s.staleAfter(value)
	case "weighted_priority_health":
		return s, s.weighted(value)
	}
	return s, fmt.Errorf("unknown field %q: must be one of %s", field, strings.Join(PolicyFields(), ", "))
}

func (s *PolicySetting) factor(value string) error {
	var w *wrapperspb.UInt32Value
	if value != None {
		n, err := parseUint32(strings.TrimSuffix(value, "%"))
		if err != nil {
			return fmt.Errorf("overprovisioning_factor %q must be a whole number of percent, such as 140", value)
		}
		w, s.value = wrapperspb.UInt32(n), number(n)
	}
	s.apply = func(p *endpointv3.ClusterLoadAssignment_Policy) { p.OverprovisioningFactor = w }
	return nil
}

func (s *PolicySetting) staleAfter(value string) error {
	var stale *durationpb.Duration
	if value != None {
		t, err := time.ParseDuration(value)
		if err != nil {
			return fmt.Errorf("endpoint_stale_after %q must be a duration, such as 30s", value)
		}
		stale = durationpb.New(t)
		s.value = str(durationText(stale))
	}
	s.apply = func(p *endpointv3.ClusterLoadAssignment_Policy) { p.EndpointStaleAfter = stale }
	return nil
}

func (s *PolicySetting) weighted(value string) error {
	switch value {
	case "true", "false":
		s.value = bare(value)
	case None:
	default:
		return fmt.Errorf("weighted_priority_health %q must be true, false or none", value)
	}
	s.apply = func(p *endpointv3.ClusterLoadAssignment_Policy) { p.WeightedPriorityHealth = value == "true" }
	return nil
}

// SetPolicy changes fields of the policy.
func SetPolicy(settings []PolicySetting) Verb {
	var verb Verb
	for _, s := range settings { // one a step: taking out and putting in may meet in one place
		verb.Steps = append(verb.Steps, stepOf(func(d *draft) error {
			s.apply(d.policy())
			if s.value == nil {
				d.changes.collapse(policyPath(s.field))
			} else {
				d.changes.set(policyPath(s.field), s.value)
			}
			if !sameAssignment(d.old, d.Want) {
				d.say("policy.%s: now %s", s.field, s.text)
			}
			return nil
		}))
	}
	return verb
}

// DropSetting is the share of requests that a category drops.
type DropSetting struct {
	Category string
	Percent  *typev3.FractionalPercent // nil: the category is taken out
	text     string
}

// ParseDrop reads "throttle=60", "lb=0.5%", "lb=5/10000", "lb=none".
func ParseDrop(text string) (DropSetting, error) {
	category, value, ok := strings.Cut(text, "=")
	if !ok || category == "" {
		return DropSetting{}, fmt.Errorf("%q must have the form CATEGORY=PERCENT, such as throttle=60", text)
	}
	s := DropSetting{Category: category, text: value}
	if value == None {
		return s, nil
	}
	percent, ok := new(big.Rat).SetString(strings.TrimSuffix(value, "%"))
	if strings.Contains(value, "/") && ok {
		percent.Mul(percent, big.NewRat(100, 1))
	}
	if !ok || percent.Sign() < 0 {
		return s, fmt.Errorf("%q must be a percentage such as 60 or 0.5%%, a fraction such as 5/10000, or none", value)
	}
	for _, d := range []struct {
		denominator typev3.FractionalPercent_DenominatorType
		perPercent  int64 // numerators for one percent
	}{{typev3.FractionalPercent_HUNDRED, 1}, {typev3.FractionalPercent_TEN_THOUSAND, 100}, {typev3.FractionalPercent_MILLION, 10_000}} {
		n := new(big.Rat).Mul(percent, big.NewRat(d.perPercent, 1))
		if n.IsInt() && n.Num().IsUint64() && n.Num().Uint64() <= 1<<32-1 {
			s.Percent = &typev3.FractionalPercent{Numerator: uint32(n.Num().Uint64()), Denominator: d.denominator} //nolint:gosec // bounded
			return s, nil
		}
	}
	return s, fmt.Errorf("%q is finer than a millionth, which the API cannot say", value)
}

// SetDrop changes drop_overloads.
func SetDrop(settings []DropSetting) Verb {
	var verb Verb
	for _, s := range settings {
		verb.Steps = append(verb.Steps, stepOf(func(d *draft) error { return d.drop(s) }))
	}
	return verb
}

func (d *draft) drop(s DropSetting) error {
	drops := d.old.GetPolicy().GetDropOverloads()
	at := -1
	for i, o := range drops {
		if o.GetCategory() == s.Category {
			at = i
		}
	}
	switch {
	case at < 0 && s.Percent == nil:
		var categories []string
		for _, o := range drops {
			categories = append(categories, fmt.Sprintf("%q", o.GetCategory()))
		}
		if len(categories) == 0 {
			return fmt.Errorf("no category %q: nothing is dropped", s.Category)
		}
		return fmt.Errorf("no category %q: there is %s", s.Category, strings.Join(categories, ", "))
	case at < 0:
		d.addDrop(s)
	case s.Percent == nil:
		d.removeDrop(at)
	default:
		d.changeDrop(at, s)
	}
	if !sameAssignment(d.old, d.Want) {
		d.say("policy.drop_overloads: %s now %s", s.Category, s.text)
	}
	return nil
}

func (d *draft) addDrop(s DropSetting) {
	drop := &endpointv3.ClusterLoadAssignment_Policy_DropOverload{Category: s.Category, DropPercentage: s.Percent}
	d.policy().DropOverloads = append(d.policy().DropOverloads, drop)
	percent := &literal{kind: mapLiteral}
	percent.put("numerator", number(s.Percent.GetNumerator()))
	percent.put("denominator", &literal{kind: enumLiteral, text: s.Percent.GetDenominator().String()})
	v := &literal{kind: mapLiteral}
	v.put("category", str(s.Category))
	v.put("drop_percentage", percent)
	l := d.changes.list(policyPath("drop_overloads"))
	l.added = append(l.added, addition{message: drop, text: v})
}

func (d *draft) removeDrop(at int) {
	p := d.policy()
	p.DropOverloads = append(p.DropOverloads[:at:at], p.DropOverloads[at+1:]...)
	if len(p.DropOverloads) == 0 {
		d.changes.collapse(policyPath("drop_overloads"))
		return
	}
	d.changes.list(policyPath("drop_overloads")).removed[at] = true
}

func (d *draft) changeDrop(at int, s DropSetting) {
	old := d.old.GetPolicy().GetDropOverloads()[at].GetDropPercentage()
	drop := shallow(d.policy().DropOverloads[at])
	drop.DropPercentage = s.Percent
	d.policy().DropOverloads[at] = drop
	path := policyPath("drop_overloads").Index(at).Field("drop_percentage")
	if old == nil || old.GetNumerator() != s.Percent.GetNumerator() {
		d.changes.set(path.Field("numerator"), number(s.Percent.GetNumerator()))
	}
	if old.GetDenominator() != s.Percent.GetDenominator() {
		d.changes.set(path.Field("denominator"), &literal{kind: enumLiteral, text: s.Percent.GetDenominator().String()})
	}
}
