package envoy

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// findSubset collects the hosts of the subset of these criteria; ok is false when there is none.
func (m *Model) findSubset(match map[string]any) (attempt, bool) {
	s := m.in.Policy.Subset
	want := make([]string, 0, len(match))
	for _, key := range slices.Sorted(maps.Keys(match)) {
		want = append(want, pair(key, match[key]))
	}
	// The first selector that creates a subset decides whether it has one host.
	single, created, of := false, false, 0
	in, held := make([]bool, len(m.hosts)), m.held()
	first := make(map[uint32]int32)
	for i := range m.hosts {
		h := &m.hosts[i]
		if !held[i] || h.Metadata == nil {
			continue
		}
		for _, sel := range s.Selectors {
			if !slices.ContainsFunc(extract(sel.Keys, h.Metadata, s.ListAsAny), func(kvs []string) bool { return slices.Equal(kvs, want) }) {
				continue
			}
			if !created {
				single, created = sel.SingleHostPerSubset, true
			}
			if !in[i] {
				in[i] = true
				of++
			}
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
		return attempt{single: first[lowest], of: of, kind: "subset", match: match, hosts: 1}, true
	}
	return m.filtered(in, "subset", match), true
}

// held marks the hosts of the levels: all that count, or those that a subset around this one leaves.
func (m *Model) held() []bool {
	held := make([]bool, len(m.hosts))
	for i := range m.full {
		for _, h := range m.full[i].hosts {
			held[h] = true
		}
	}
	return held
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
		lv.hasLocal, lv.unweighted = old.hasLocal, old.unweighted || !s.LocalityWeightAware
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
