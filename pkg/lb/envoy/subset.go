package envoy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
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
	kind   string
	match  map[string]any
	hosts  int
}

// attempts resolves the subset load balancer (subset_lb.cc): which hosts a request with the given criteria uses, in the
// order in which they are tried.
func (m *Model) attempts() ([]attempt, string) {
	s := m.in.Policy.Subset
	match := m.in.Match
	if s == nil {
		return []attempt{{levels: m.full, single: -1}}, ""
	}
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

// iterate is one round of the lookup (chooseHostIteration): the subset of exactly these keys and values if it has a host;
// else the fallback of the selector with these keys; else the cluster's.
func (m *Model) iterate(match map[string]any) ([]attempt, string) {
	s := m.in.Policy.Subset
	used := match
	if s.AllowRedundantKeys {
		used = withoutRedundant(s.Selectors, match)
	}
	if len(used) > 0 {
		if found, ok := m.findSubset(used); ok {
			return []attempt{found}, fmt.Sprintf("%d hosts match %s", found.hosts, describe(used))
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
	}
	return next, reason
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

// findSubset collects the hosts of the subset of these criteria; ok is false when there is none.
func (m *Model) findSubset(match map[string]any) (attempt, bool) {
	s := m.in.Policy.Subset
	want := make([]string, 0, len(match))
	for _, key := range slices.Sorted(maps.Keys(match)) {
		want = append(want, pair(key, match[key]))
	}
	// The first selector that creates a subset decides whether it has one host.
	single, created := false, false
	in := make([]bool, len(m.hosts))
	first := make(map[uint32]int32)
	for i := range m.hosts {
		h := &m.hosts[i]
		if h.duplicate || h.Metadata == nil {
			continue
		}
		for _, sel := range s.Selectors {
			if !slices.ContainsFunc(extract(sel.Keys, h.Metadata, s.ListAsAny), func(kvs []string) bool { return slices.Equal(kvs, want) }) {
				continue
			}
			if !created {
				single, created = sel.SingleHostPerSubset, true
			}
			in[i] = true
			if _, ok := first[h.priority]; !ok {
				first[h.priority] = int32(i)
			}
		}
	}
	if !created {
		return attempt{}, false
	}
	if single {
		lowest := slices.Min(slices.Collect(maps.Keys(first)))
		return attempt{single: first[lowest], kind: "subset", match: match, hosts: 1}, true
	}
	return m.filtered(in, "subset", match), true
}

// extract is the subsets that a host belongs to under a selector: the pairs of its keys in order, several when a list
// counts as any of its values (extractSubsetMetadata). A key whose list is empty vanishes if it comes first.
func extract(keys []string, metadata map[string]any, listAsAny bool) [][]string {
	var all [][]string
	for _, key := range sortedKeys(keys) {
		value, ok := metadata[key]
		if !ok {
			return nil
		}
		values := []any{value}
		items, isList := value.([]any)
		if isList && listAsAny {
			values = items
		}
		if len(all) == 0 {
			for _, v := range values {
				all = append(all, []string{pair(key, v)})
			}
			continue
		}
		var longer [][]string
		for _, kvs := range all {
			for _, v := range values {
				longer = append(longer, append(slices.Clone(kvs), pair(key, v)))
			}
		}
		all = longer
	}
	return all
}

// pair is a text that is equal exactly when key and value are.
func pair(key string, value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		// NaN and infinities, which JSON has no form for.
		text = fmt.Append(nil, value)
	}
	return key + "=" + string(text)
}

func (m *Model) anyEndpoint() attempt {
	n := 0
	for i := range m.full {
		n += len(m.full[i].hosts)
	}
	in := make([]bool, len(m.hosts))
	for i := range in {
		in[i] = true
	}
	return m.filtered(in, "fallback any endpoint", nil)
}

func (m *Model) defaultSubset() attempt {
	s := m.in.Policy.Subset
	in := make([]bool, len(m.hosts))
	for i := range m.hosts {
		in[i] = matches(s.DefaultSubset, m.hosts[i].Metadata, s.ListAsAny)
	}
	return m.filtered(in, "fallback default subset", s.DefaultSubset)
}

// matches reports whether metadata has all labels (Config::Metadata::metadataLabelMatch).
func matches(labels, metadata map[string]any, listAsAny bool) bool {
	for key, want := range labels {
		value, ok := metadata[key]
		if !ok {
			return false
		}
		if items, isList := value.([]any); isList && listAsAny {
			if !slices.ContainsFunc(items, func(v any) bool { return pair(key, v) == pair(key, want) }) {
				return false
			}
		} else if pair(key, value) != pair(key, want) {
			return false
		}
	}
	return true
}

// filtered is the levels with only some hosts. Localities keep their places; their weights stay only if the subsets are
// aware of them, and are then scaled by the part of the hosts that is left.
func (m *Model) filtered(in []bool, kind string, match map[string]any) attempt {
	s := m.in.Policy.Subset
	a := attempt{levels: make([]level, len(m.full)), single: -1, kind: kind, match: match}
	for p := range m.full {
		old, lv := &m.full[p], &a.levels[p]
		lv.hasLocal, lv.unweighted = old.hasLocal, !s.LocalityWeightAware
		lv.localities = make([]locality, len(old.localities))
		places := make(map[int32]int, len(old.hosts))
		for i := range old.localities {
			lv.localities[i].name = old.localities[i].name
			for _, h := range old.localities[i].hosts {
				places[h] = i
			}
		}
		for _, h := range old.hosts {
			if in[h] {
				lv.add(places[h], h, &m.hosts[h])
				a.hosts++
			}
		}
		for i := range lv.localities {
			lv.localities[i].weight = subsetWeight(s, &old.localities[i], len(lv.localities[i].hosts))
		}
	}
	return a
}

// subsetWeight is round(weight * hosts in the subset / hosts in the locality) in 32-bit floats, or the weight itself
// (HostSubsetImpl::determineLocalityWeights).
func subsetWeight(s *Subset, old *locality, left int) uint32 {
	switch {
	case !s.LocalityWeightAware:
		return 0
	case !s.ScaleLocalityWeight:
		return old.weight
	}
	scaled := float32(uint64(old.weight)*uint64(left)) / float32(len(old.hosts))
	return uint32(math.Round(float64(scaled)))
}

// describe prints criteria as "a=1, b=x".
func describe(match map[string]any) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(match)) {
		parts = append(parts, fmt.Sprintf("%s=%v", key, match[key]))
	}
	return strings.Join(parts, ", ")
}
