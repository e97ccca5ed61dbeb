package envoy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fallbackListKey is the criterion that holds the list of metadata fallbacks (FALLBACK_LIST).
const fallbackListKey = "fallback_list"

// attempt is one set of hosts that a request is balanced over; the next is used when it gives no host.
type attempt struct {
	levels []level
	// single is the only host of a single_host_per_subset subset, whatever its health; -1 otherwise.
	single int32
	of     int // hosts that match, of which a single one is used
	kind   string
	match  map[string]any
	hosts  int
	// criteria are what is left of the request's for a subset inside this one (LoadBalancerContextWrapper).
	criteria map[string]any
}

// attempts resolves the subset load balancer (subset_lb.cc): which hosts a request with the given criteria uses, in the
// order in which they are tried. A subset inside another one does the same with each set of hosts that it is given.
func (m *Model) attempts() ([]attempt, string) {
	if m.in.Policy.Subset == nil {
		return []attempt{{levels: m.full, single: -1, criteria: m.in.Match}}, ""
	}
	outer, reason := m.lookup()
	if m.in.Policy.Subset.Inner == nil {
		return outer, reason
	}
	var all []attempt
	for _, a := range outer {
		if a.single >= 0 {
			all = append(all, a)
			continue
		}
		next, why := m.within(a).attempts()
		all = append(all, next...)
		reason += "; of these: " + why
	}
	return all, reason
}

// within is the model of the subset inside, which has the hosts of an attempt only.
func (m *Model) within(a attempt) *Model {
	in := *m.in
	in.Policy.Subset, in.Match = in.Policy.Subset.Inner, a.criteria
	return &Model{in: &in, hosts: m.hosts, full: a.levels}
}

// lookup is the attempts of one subset load balancer.
func (m *Model) lookup() ([]attempt, string) {
	s, match := m.in.Policy.Subset, m.in.Match
	fallbacks, has := match[fallbackListKey]
	if !s.MetadataFallbackList || !has {
		return m.iterate(match)
	}
	rest := maps.Clone(match)
	delete(rest, fallbackListKey)
	entries, _ := fallbacks.([]any)
	if len(entries) == 0 {
		return m.iterate(rest)
	}
	var all []attempt
	var reasons []string
	for _, entry := range entries {
		merged := maps.Clone(rest)
		if override, ok := entry.(map[string]any); ok {
			maps.Copy(merged, override)
		}
		next, reason := m.iterate(merged)
		all = append(all, next...)
		reasons = append(reasons, reason)
	}
	return all, strings.Join(reasons, "; then ")
}

// iterate is one round of the lookup (chooseHostIteration), whose attempts leave the criteria that it used.
func (m *Model) iterate(match map[string]any) ([]attempt, string) {
	used := match
	if s := m.in.Policy.Subset; s.AllowRedundantKeys {
		used = withoutRedundant(s.Selectors, match)
	}
	attempts, reason := m.find(used)
	for i := range attempts {
		if attempts[i].criteria == nil { // else a round inside this one has used fewer
			attempts[i].criteria = used
		}
	}
	return attempts, reason
}

// find is the subset of exactly these keys and values if it has a host; else the fallback of the selector with these keys;
// else the cluster's.
func (m *Model) find(used map[string]any) ([]attempt, string) {
	s := m.in.Policy.Subset
	if len(used) > 0 {
		if found, ok := m.findSubset(used); ok {
			return []attempt{found}, found.matching() + " " + describe(used)
		}
		if sel := selectorOf(s.Selectors, used); sel != nil && sel.Fallback != NotDefined {
			reason := fmt.Sprintf("no host matches %s, the selector falls back to %s", describe(used), sel.Fallback)
			switch sel.Fallback {
			case AnyEndpoint:
				return []attempt{m.anyEndpoint()}, reason
			case DefaultSubset:
				return []attempt{m.defaultSubset()}, reason
			case KeysSubset:
				fewer := map[string]any{}
				for _, key := range sel.FallbackKeys {
					if v, ok := used[key]; ok {
						fewer[key] = v
					}
				}
				if len(fewer) < len(used) { // Envoy refuses a configuration that would not end
					next, why := m.iterate(fewer)
					return next, reason + ": " + why
				}
			}
			return nil, reason
		}
	}
	reason := "no host matches " + describe(used)
	if len(used) == 0 {
		reason = "no match criteria"
	}
	reason += ", the cluster falls back to " + string(cmp.Or(s.Fallback, NoFallback))
	var next []attempt
	switch s.Fallback {
	case AnyEndpoint:
		next = []attempt{m.anyEndpoint()}
	case DefaultSubset:
		next = []attempt{m.defaultSubset()}
	default:
		return nil, reason
	}
	if s.PanicModeAny {
		any := m.anyEndpoint()
		any.kind = "panic mode any"
		next = append(next, any)
		reason += "; what finds no endpoint there goes to any (panic_mode_any)"
	}
	return next, reason
}

// matching says how many hosts of a subset there are.
func (a *attempt) matching() string {
	switch {
	case a.single >= 0:
		return fmt.Sprintf("the first (single_host_per_subset) of %d that match", a.of)
	case a.hosts == 1:
		return "1 host matches"
	}
	return fmt.Sprintf("%d hosts match", a.hosts)
}

// sorted is the subset as Envoy keeps it: with allow_redundant_keys its selectors are sorted by number of keys, most
// first, equal ones in order (measured on 1.40), for every use of them; else they stay as they are.
func (s *Subset) sorted() *Subset {
	if s == nil {
		return nil
	}
	out := *s
	out.Inner = s.Inner.sorted()
	if !s.AllowRedundantKeys {
		return &out
	}
	out.Selectors = slices.SortedStableFunc(slices.Values(s.Selectors), func(a, b Selector) int {
		return cmp.Compare(len(sortedKeys(b.Keys)), len(sortedKeys(a.Keys)))
	})
	return &out
}

// withoutRedundant is the criteria of the first selector whose keys are all there, or the criteria as they are.
func withoutRedundant(selectors []Selector, match map[string]any) map[string]any {
	for _, sel := range selectors {
		part := map[string]any{}
		for _, key := range sel.Keys {
			if v, ok := match[key]; ok {
				part[key] = v
			}
		}
		if keys := sortedKeys(sel.Keys); len(keys) > 0 && len(part) == len(keys) {
			return part
		}
	}
	return match
}

// selectorOf is the selector whose fallback applies to the keys of the criteria. An earlier selector that begins with
// the same sorted keys and has more of them hides it: its path was created first, without a fallback.
func selectorOf(selectors []Selector, match map[string]any) *Selector {
	want := slices.Sorted(maps.Keys(match))
	for i := range selectors {
		keys := sortedKeys(selectors[i].Keys)
		if len(keys) < len(want) || !slices.Equal(keys[:len(want)], want) {
			continue
		}
		if len(keys) == len(want) {
			return &selectors[i]
		}
		return nil
	}
	return nil
}

func sortedKeys(keys []string) []string { return slices.Compact(slices.Sorted(slices.Values(keys))) }
