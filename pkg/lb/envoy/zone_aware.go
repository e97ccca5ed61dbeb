package envoy

// zone is the state of zone-aware routing of priority 0 (ZoneAwareLoadBalancerBase, load_balancer_impl.cc).
type zone struct {
	result ZoneAwareResult
	// hasLocal: locality 0 of priority 0 is the node's own.
	hasLocal bool
	// fail: requests that are routed by zone find no host while the local cluster is in panic (fail_traffic_on_panic).
	fail bool
	// shares of the localities of priority 0 among the requests that are routed by zone.
	shares []float64
	// anyGroup: no locality has capacity left, so that what does not stay goes to any locality, empty ones too.
	anyGroup bool
}

// perTenThousand is Envoy's scale for the percentages of localities.
const perTenThousand = 10_000

// zoneAware decides how priority 0 is routed. Levels are those that are balanced (a subset's, if there is one).
func (m *Model) zoneAware(levels []level, threshold uint64) zone {
	in := m.in
	if in.Local == nil || len(levels) == 0 {
		return zone{result: ZoneAwareResult{Mode: ZoneOff, Reason: "no local cluster"}}
	}
	config := in.Policy.ZoneAware
	lv := &levels[0]
	localHosts := collect(in.Local.Groups, in.Local.KeepCopies)
	var own level
	if all := arrange(in.Local.Groups, localHosts, in.NodeLocality); len(all) > 0 {
		own = all[0]
	}
	z := zone{hasLocal: lv.hasLocal}
	force := config.ForceLocalZoneMinSize
	if in.Runtime.ForceLocalZoneMinSize != nil && *in.Runtime.ForceLocalZoneMinSize > 0 {
		force = in.Runtime.ForceLocalZoneMinSize
	}
	z.result.Mode, z.result.Healthy, z.result.Localities, z.result.LocalLocalities = ZoneNone, len(lv.healthy), len(lv.localities), len(own.localities)
	if z.result.Reason = m.zonePrecondition(lv, &own, force != nil); z.result.Reason != "" {
		return z
	}
	enabled := 100.0
	if config.RoutingEnabled != nil {
		enabled = *config.RoutingEnabled
	}
	z.result.EnabledPercent = runtimePercent(enabled, in.Runtime.ZoneRoutingEnabled)
	z.result.LocalPanic = own.counts(localHosts).inPanic(threshold)
	z.fail = config.FailTrafficOnPanic && z.result.LocalPanic
	z.route(lv, m.percentages(lv, m.hosts), m.localPercentages(lv, &own, localHosts), force)
	return z
}

// zonePrecondition names the first condition that is not met, or is empty.
func (m *Model) zonePrecondition(lv, own *level, forced bool) string {
	least := uint64(DefaultMinClusterSize)
	if size := m.in.Policy.ZoneAware.MinClusterSize; size != nil {
		least = *size
	}
	if size := m.in.Runtime.MinClusterSize; size != nil {
		least = *size
	}
	switch {
	case len(lv.localities) < 2:
		return "one upstream locality"
	case len(own.localities) < 2 && !forced:
		return "one local locality"
	case !own.hasLocal:
		return "no local host in own locality"
	case uint64(len(lv.healthy)) < least:
		return "cluster too small"
	}
	return ""
}

// weigh is a locality's weight for its percentage: healthy hosts, or the sum of their weights.
func (m *Model) weigh(hosts []host, healthy list) uint64 {
	if !m.in.Policy.ZoneAware.ByWeight {
		return uint64(len(healthy))
	}
	sum := uint64(0)
	for _, i := range healthy {
		sum += uint64(hosts[i].weight)
	}
	return sum
}

// percentages of the upstream localities, in 1/10000, truncated.
func (m *Model) percentages(lv *level, hosts []host) []uint64 {
	result := make([]uint64, len(lv.localities))
	total := uint64(0)
	for i := range lv.localities {
		result[i] = m.weigh(hosts, lv.localities[i].healthy)
		total += result[i]
	}
	for i := range result {
		if total > 0 {
			result[i] = perTenThousand * result[i] / total
		}
	}
	return result
}

// localPercentages are those of the local cluster, by upstream locality; a locality that has no healthy upstream host or
// is missing in the local cluster has 0.
func (m *Model) localPercentages(lv, own *level, localHosts []host) []uint64 {
	shares := m.percentages(own, localHosts)
	byName := make(map[Locality]uint64, len(shares))
	for i := range own.localities {
		byName[own.localities[i].name] = shares[i]
	}
	result := make([]uint64, len(lv.localities))
	for i := range lv.localities {
		if len(lv.localities[i].healthy) > 0 {
			result[i] = byName[lv.localities[i].name]
		}
	}
	return result
}

// route chooses between direct and residual routing. Worked example: upstream 25/50/25 against local 40/40/20 in percent:
// of the own zone's requests 2500 * 10000 / 4000 = 6250 of 10000 stay; the others have 0, 1000 and 500 capacity left, so
// that the rest of 0.375 is split 0.25 and 0.125.
func (z *zone) route(lv *level, upstream, local []uint64, force *uint64) {
	z.result.Upstream, z.result.LocalShare = upstream, local
	z.shares = make([]float64, len(lv.localities))
	forced := force != nil && uint64(len(lv.localities[0].healthy)) >= *force
	enough := upstream[0] > 0 && upstream[0] >= local[0]
	if z.hasLocal && (enough || forced) {
		z.result.Mode, z.result.Forced = ZoneDirect, !enough
		z.shares[0] = 1
		return
	}
	z.result.Mode = ZoneResidual
	if z.hasLocal && local[0] > 0 {
		z.result.LocalPercent = upstream[0] * perTenThousand / local[0]
	}
	z.result.ResidualCapacity = make([]uint64, len(upstream))
	left := uint64(0)
	for i := range upstream {
		if (i > 0 || !z.hasLocal) && upstream[i] > local[i] {
			left += upstream[i] - local[i]
		}
		z.result.ResidualCapacity[i] = left
	}
	stay := float64(z.result.LocalPercent) / perTenThousand
	z.shares[0] = stay
	z.anyGroup = left == 0
	previous := uint64(0)
	for i, capacity := range z.result.ResidualCapacity {
		if z.anyGroup {
			z.shares[i] += (1 - stay) / float64(len(upstream))
		} else {
			z.shares[i] += (1 - stay) * float64(capacity-previous) / float64(left)
		}
		previous = capacity
	}
}
