package lint

import (
	"fmt"
	"strconv"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	lbenvoy "github.com/edsctl/edsctl/pkg/lb/envoy"
	"github.com/edsctl/edsctl/pkg/simulate"
)

var hashRules = []string{
	"degraded-unused-by-hash", "policy-constraint-not-enforced", "priority-gap-crash", "ring-hash-key-length", "ring-hash-size-rounded",
	"ring-hash-size-zero", "ring-hash-small-ring",
}

// hashChecks reports what is particular to ring_hash and maglev (envoy-hash-lb.md 15).
func hashChecks(c *Context, report func(diag.Problem)) {
	hash := c.Policy(diag.Envoy).Find("ring_hash", "maglev")
	if hash == nil {
		return
	}
	notEnforced(hash, report)
	if hash.Name == "ring_hash" && hash.Hash.MinimumRingSize != nil && *hash.Hash.MinimumRingSize == 0 {
		report(diag.Problem{Rule: "ring-hash-size-zero", Path: hash.ConfigPath.Field("minimum_ring_size"), Envoy: EnvoySays("no healthy upstream"),
			Message: "minimum_ring_size is 0: the ring is empty and every request fails"})
	}
	if c.Resource.Absent || !c.EndpointsUsed() {
		return
	}
	degradedUnused(c, hash, report)
	gapCrash(c, report)
	if hash.Name == "ring_hash" {
		rings(c, hash, report)
	}
}

// notEnforced reports values in an extension that break its documented constraints: Envoy checks those of the legacy
// fields only.
func notEnforced(p *eds.PolicyConfig, report func(diag.Problem)) {
	if !p.FromExtension {
		return
	}
	say := func(at diag.Path, format string, args ...any) {
		report(diag.Problem{Rule: "policy-constraint-not-enforced", Path: at, Message: fmt.Sprintf(format, args...) + ", which Envoy does not check in an extension"})
	}
	h := p.Hash
	if m := h.MinimumRingSize; m != nil && (*m == 0 || *m > eds.DefaultMaximumRingSize) {
		say(p.ConfigPath.Field("minimum_ring_size"), "minimum_ring_size must be 1 to %d, got %d", eds.DefaultMaximumRingSize, *m)
	}
	if m := h.MaximumRingSize; m != nil && *m > eds.DefaultMaximumRingSize {
		say(p.ConfigPath.Field("maximum_ring_size"), "maximum_ring_size must be at most %d, got %d", eds.DefaultMaximumRingSize, *m)
	}
	if f := h.BalanceFactor; f != nil && *f < 100 {
		say(h.BalanceFactorPath, "hash_balance_factor must be at least 100, got %d", *f)
	}
	if t := h.TableSize; t != nil && *t > eds.MaxTableSize {
		say(p.ConfigPath.Field("table_size"), "table_size must be at most %d, got %d", eds.MaxTableSize, *t)
	}
}

// degradedUnused: hash policies take healthy endpoints only, outside panic (thread_aware_lb_impl.cc).
func degradedUnused(c *Context, p *eds.PolicyConfig, report func(diag.Problem)) {
	for i, group := range c.Resource.Assignment.GetEndpoints() {
		for j, end := range group.GetLbEndpoints() {
			if end.GetHealthStatus() == corev3.HealthStatus_DEGRADED {
				report(diag.Problem{Rule: "degraded-unused-by-hash", Path: endpointPath(i, j).Field("health_status"),
					Message: fmt.Sprintf("%s does not use DEGRADED endpoints outside panic: a priority that has nothing else cannot serve its load", p.Name)})
				return
			}
		}
	}
}

func endpointPath(group, index int) diag.Path {
	return diag.Path{{Name: "endpoints"}, {Index: group}, {Name: "lb_endpoints"}, {Index: index}}
}

// gapCrash: before 1.39 a priority without a host set in between is dereferenced (pull request 45207). A DNS cluster makes
// the host sets as its names are resolved, and lives.
func gapCrash(c *Context, report func(diag.Problem)) {
	if !c.Policy(diag.Envoy).SumsWeights() {
		return // below override_host
	}
	says := EnvoySays("Caught Segmentation fault")
	switch c.ClusterType() {
	case TypeEDS:
	case TypeStatic:
		says.Stage = stageGap
	default:
		return
	}
	used := map[uint32]bool{}
	last, at := uint32(0), 0
	for i, group := range c.Resource.Assignment.GetEndpoints() {
		used[group.GetPriority()] = true
		if group.GetPriority() > last {
			last, at = group.GetPriority(), i
		}
	}
	for p := range last {
		if !used[p] {
			report(diag.Problem{Rule: "priority-gap-crash", Path: groupPath(at).Field("priority"), Envoy: says,
				Message: fmt.Sprintf("priority %d is missing below priority %d: with a hash policy Envoy before 1.39 dies of it", p, last)})
			return
		}
	}
}

// rings looks at the rings that Envoy would build.
func rings(c *Context, p *eds.PolicyConfig, report func(diag.Problem)) {
	minimum, maximum := p.Hash.RingSizes()
	if minimum > maximum || minimum == 0 {
		return // refused or empty
	}
	written := p.Hash.MinimumRingSize != nil || p.Hash.MaximumRingSize != nil
	long := longestKey(c, p.Hash.UseHostname) >= keyBuffer-maxIndexDigits
	if !written && !long {
		return // nothing to say about a ring of the default size: do not build it
	}
	subset := c.Policy(diag.Envoy).Find("subset")
	if subset != nil && (!long || subset.Child.Has("subset")) {
		return // the sizes of subsets' rings depend on the request
	}
	model, err := simulate.EnvoyModel(c.placed(), c.EnvoyVersion)
	if err != nil {
		return // a ring that is too large to look at
	}
	if long {
		keyLengths(c, model, report)
	}
	if !written || subset != nil {
		return
	}
	for _, table := range model.Tables() {
		if keys := model.RingKeys(table.Priority); len(keys) > 0 {
			ringSize(p, table, keys, model.RingShares(table.Priority), report)
		}
	}
}

// placed is the resource in its cluster and bootstrap.
func (c *Context) placed() *eds.Resource {
	r := *c.Resource
	r.Cluster, r.Bootstrap, r.Source = c.Cluster, c.Bootstrap, c.Source
	return &r
}

// ringsInLocalities tells whether each locality has rings or tables of its own (lb/envoy, Model.Rings).
func (c *Context) ringsInLocalities() bool {
	aware := c.Policy(diag.Envoy).Find("load_aware_locality")
	return aware != nil && aware.Has("subset")
}

// keyLengths looks for the first ring with a key that ends the process.
func keyLengths(c *Context, model *lbenvoy.Model, report func(diag.Problem)) {
	all, err := model.Rings(c.ringsInLocalities())
	if err != nil {
		return // a ring that is too large to look at
	}
	for _, keys := range all {
		if keyLength(c, keys, report) {
			return
		}
	}
}

// longestKey is the length of the longest text that an endpoint is hashed by, addresses aside.
func longestKey(c *Context, hostname bool) int {
	longest := 0
	for _, group := range c.Resource.Assignment.GetEndpoints() {
		for _, end := range group.GetLbEndpoints() {
			key := end.GetMetadata().GetFilterMetadata()["envoy.lb"].GetFields()["hash_key"].GetStringValue()
			if key == "" && hostname {
				key = end.GetEndpoint().GetHostname()
			}
			if pipe := end.GetEndpoint().GetAddress().GetPipe(); key == "" && pipe != nil {
				key = pipe.GetPath()
			}
			longest = max(longest, len(key))
		}
	}
	return longest
}

// keyBuffer is the size of the buffer in which ring_hash_lb.cc writes a key, "_" and the index of an entry.
const keyBuffer = 196

// maxIndexDigits bounds the digits of an index: a ring has at most 8388608 entries.
const maxIndexDigits = 8

// keyLength follows the buffer: when writing an index makes it grow, a pointer into it is stale. With a single digit the
// process survives; it grows safely while the key itself is copied.
func keyLength(c *Context, keys []lbenvoy.RingKey, report func(diag.Problem)) bool {
	capacity := keyBuffer
	grow := func(n int) {
		if n > capacity {
			capacity = max(2*capacity, n)
		}
	}
	for _, k := range keys {
		grow(len(k.Key))
		grow(len(k.Key) + 1)
		digits := len(strconv.Itoa(max(k.Entries-1, 0)))
		if k.Entries > 0 && digits > 1 && len(k.Key)+1+digits > capacity {
			i, j := placeOf(c, k.Endpoint)
			report(diag.Problem{Rule: "ring-hash-key-length", Path: endpointPath(i, j), Envoy: EnvoySays("Caught Aborted"),
				Message: fmt.Sprintf("the hash key of this endpoint has %d bytes: with an index of %d digits it overruns a buffer of Envoy, which dies of it", len(k.Key), digits)})
			return true
		}
	}
	return false
}

// placeOf is the position of the n-th endpoint of the assignment.
func placeOf(c *Context, n int) (group, index int) {
	for i, g := range c.Resource.Assignment.GetEndpoints() {
		if n < len(g.GetLbEndpoints()) {
			return i, n
		}
		n -= len(g.GetLbEndpoints())
	}
	return 0, 0
}

// ringSize compares a ring with what was configured.
func ringSize(p *eds.PolicyConfig, table lbenvoy.TableStats, keys []lbenvoy.RingKey, shares []float64, report func(diag.Problem)) {
	minimum, _ := p.Hash.RingSizes()
	field := "minimum_ring_size"
	if p.Hash.MinimumRingSize == nil {
		field = "maximum_ring_size"
	}
	at := p.ConfigPath.Field(field)
	if table.Entries < eds.DefaultMinimumRingSize {
		largest := 0
		for i := range shares {
			if shares[i]-keys[i].Weight > shares[largest]-keys[largest].Weight {
				largest = i
			}
		}
		report(diag.Problem{Rule: "ring-hash-small-ring", Path: at, Message: fmt.Sprintf(
			"the ring of priority %d has %d entries, %d to %d an endpoint: one gets %.1f %% of the requests instead of %.1f %%",
			table.Priority, table.Entries, table.Least, table.Most, 100*shares[largest], 100*keys[largest].Weight)})
	}
	if p.Hash.MinimumRingSize == nil {
		return
	}
	const grpcCap = 4096
	rounded, capped := uint64(table.Entries) != minimum, minimum > grpcCap
	if !rounded && !capped {
		return
	}
	problem := diag.Problem{Rule: "ring-hash-size-rounded", Path: at,
		Message: fmt.Sprintf("the ring of priority %d has %d entries, not the %d of minimum_ring_size", table.Priority, table.Entries, minimum)}
	if !rounded {
		problem.Envoy.Effect = new(diag.None)
		problem.Message = fmt.Sprintf("gRPC lowers minimum_ring_size from %d to %d", minimum, grpcCap)
	}
	report(problem)
}
