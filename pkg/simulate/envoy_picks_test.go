package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	maglevv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/maglev/v3"
	ringhashv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/ring_hash/v3"

	"github.com/edsctl/edsctl/pkg/lb"
	"github.com/edsctl/edsctl/pkg/lb/envoy"
)

// pickScenario is one of envoy-hash-picks/picks.yaml.
type pickScenario struct {
	ID           string
	Discovery    string
	NodeLocality any `yaml:"node_locality"`
	Cluster      any
	Assignment   any
	Before       any
	HashPolicy   []any `yaml:"hash_policy"`
	Route        map[string]any
	Request      struct {
		Headers    [][2]string
		PathSuffix string `yaml:"path_suffix"`
		SourceAddr string `yaml:"source_addr"`
	}
	Keys struct {
		Format      string
		From, Count int
		List        []string
	}
	Mode      string
	Endpoints []string
	Width     int
	Picks     string
	Counts    map[string]float64
	Gauges    map[string]uint64
	Ties      []string
	cluster   *clusterv3.Cluster
}

// picksChecked counts for the golden file.
type picksChecked struct{ scenarios, keys, ties, gauges int }

func (c *picksChecked) String() string {
	return fmt.Sprintf("%d scenarios; %d keys go to the observed endpoint, %d more to one with the same hash key; %d gauges", c.scenarios, c.keys, c.ties, c.gauges)
}

func TestEnvoyPicksVectors(t *testing.T) {
	t.Parallel()
	var file struct{ Scenarios []pickScenario }
	readVectors(t, "envoy-hash-picks/picks.yaml", &file)
	var checked picksChecked
	for i := range file.Scenarios {
		s := &file.Scenarios[i]
		t.Run(s.ID, func(t *testing.T) { s.check(t, newestEnvoy, s.Picks, &checked) })
	}
	checkedGolden(t, "envoy-hash-picks", checked.String())
}

// model is the state of an Envoy that got the scenario's assignment, after the one before it if there is one.
func (s *pickScenario) model(t *testing.T, version int) *envoy.Model {
	t.Helper()
	s.cluster = message(t, s.Cluster, &clusterv3.Cluster{})
	c := envoyContext{version: version, cluster: s.cluster, static: s.Discovery == "STATIC", keepCopies: s.Discovery != "EDS"}
	if s.NodeLocality != nil {
		c.nodeLocality = message(t, s.NodeLocality, &corev3.Locality{})
	}
	if m, ok := s.Route["metadata_match"]; ok {
		c.match = message(t, m, &corev3.Metadata{}).GetFilterMetadata()["envoy.lb"].AsMap()
	}
	in := envoyInput(message(t, s.Assignment, &endpointv3.ClusterLoadAssignment{}), c)
	if s.Before != nil {
		before := envoyInput(message(t, s.Before, &endpointv3.ClusterLoadAssignment{}), c)
		in = envoy.Update(before, in, envoy.Checking{
			Active: len(s.cluster.GetHealthChecks()) > 0, IgnoreOnRemoval: s.cluster.GetIgnoreHealthOnHostRemoval(),
		})
	}
	m, err := envoy.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (s *pickScenario) check(t *testing.T, version int, picks string, checked *picksChecked) {
	t.Helper()
	m := s.model(t, version)
	result := m.Compute()
	checked.scenarios++
	checked.gauges += s.checkGauges(t, m, result)
	if s.Mode == "random" {
		s.checkRandom(t, m, result, checked)
		return
	}
	policies := s.policies(t)
	active := []uint32(nil)
	if s.Mode == "held" {
		active = make([]uint32, len(result.Endpoints))
	}
	keys := s.keys()
	if len(picks) != len(keys)*s.Width {
		t.Fatalf("%d picks of width %d for %d keys", len(picks), s.Width, len(keys))
	}
	wrong, panics := 0, uint64(0)
	for i, key := range keys {
		hash, ok := envoy.RequestHash(policies, s.request(t, key))
		if !ok {
			t.Fatalf("key %q has no hash", key)
		}
		if level, _ := result.Loads.ChoosePriority(hash); result.Loads.Panic[level] {
			panics++
		}
		got := s.pick(m, hash, active)
		address := "-"
		if got >= 0 {
			address = result.Endpoints[got].Address
			if active != nil {
				active[got]++
			}
		}
		want := "-"
		if text := picks[i*s.Width : (i+1)*s.Width]; text[0] != '-' {
			n, err := strconv.ParseInt(text, 36, 32)
			if err != nil {
				t.Fatal(err)
			}
			want = s.Endpoints[n]
		}
		switch {
		case address == want:
			checked.keys++
		case s.tied(address) && s.tied(want):
			checked.ties++
		default:
			if wrong++; wrong <= 3 {
				t.Errorf("key %q goes to %s, want %s", key, address, want)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d keys are wrong", wrong, len(keys))
	}
	if want, ok := s.Gauges["lb_healthy_panic"]; ok && panics != want {
		t.Errorf("%d picks in panic, want %d", panics, want)
	}
}

func (s *pickScenario) tied(address string) bool {
	for _, tie := range s.Ties {
		if tie == address {
			return true
		}
	}
	return false
}

// pick follows the route's retry policy; the pick is that of the last try.
func (s *pickScenario) pick(m *envoy.Model, hash uint64, active []uint32) int {
	retry, ok := s.Route["retry_policy"].(map[string]any)
	if !ok {
		return m.PickActive(hash, active)
	}
	tries := 1 + retry["num_retries"].(int)
	attempts := 0
	if _, ok := retry["retry_host_predicate"]; ok {
		attempts = retry["host_selection_retry_max_attempts"].(int)
	}
	used, last := map[int]bool{}, -1
	for range tries {
		last = m.PickRetry(hash, uint32(attempts), func(endpoint int) bool { return used[endpoint] })
		used[last] = true
	}
	return last
}

func (s *pickScenario) keys() []string {
	if s.Keys.List != nil {
		return s.Keys.List
	}
	keys := make([]string, s.Keys.Count)
	for i := range keys {
		keys[i] = fmt.Sprintf(s.Keys.Format, s.Keys.From+i)
	}
	return keys
}

// request is what reaches the load balancer: the last address in x-forwarded-for is the client's, as
// use_remote_address is unset.
func (s *pickScenario) request(t *testing.T, key string) envoy.Request {
	t.Helper()
	fill := func(text string) string { return strings.ReplaceAll(text, "{key}", key) }
	r := envoy.Request{
		Path: "/" + fill(s.Request.PathSuffix), Remote: netip.MustParseAddrPort("127.0.0.1:1"), Local: netip.MustParseAddrPort("127.0.0.1:22000"),
	}
	if source := fill(s.Request.SourceAddr); source != "" {
		if !strings.Contains(source, ":") {
			source += ":1"
		}
		r.Remote = netip.MustParseAddrPort(source)
	}
	for _, h := range s.Request.Headers {
		name, value := h[0], fill(h[1])
		r.Headers = append(r.Headers, [2]string{name, value})
		switch name {
		case "x-forwarded-for":
			parts := strings.Split(value, ",")
			r.Remote = netip.AddrPortFrom(netip.MustParseAddr(strings.TrimSpace(parts[len(parts)-1])), 0)
		case "x-filter-state":
			r.FilterState = map[string]uint64{"hashpick.key": lb.Sum64(value)}
		}
	}
	return r
}

// policies are the load balancer's own hash policies, or else those of the route.
func (s *pickScenario) policies(t *testing.T) []envoy.HashPolicy {
	t.Helper()
	var list []*routev3.RouteAction_HashPolicy
	for _, p := range s.cluster.GetLoadBalancingPolicy().GetPolicies() {
		config := p.GetTypedExtensionConfig().GetTypedConfig()
		var ring ringhashv3.RingHash
		var maglev maglevv3.Maglev
		if config.UnmarshalTo(&ring) == nil {
			list = append(list, ring.GetConsistentHashingLbConfig().GetHashPolicy()...)
		} else if config.UnmarshalTo(&maglev) == nil {
			list = append(list, maglev.GetConsistentHashingLbConfig().GetHashPolicy()...)
		}
	}
	if len(list) == 0 {
		for _, p := range s.HashPolicy {
			list = append(list, message(t, p, &routev3.RouteAction_HashPolicy{}))
		}
	}
	var policies []envoy.HashPolicy
	for _, p := range list {
		h := envoy.HashPolicy{
			Terminal: p.GetTerminal(), Header: p.GetHeader().GetHeaderName(), Substitution: p.GetHeader().GetRegexRewrite().GetSubstitution(),
			Cookie: p.GetCookie().GetName(), CookieTTL: p.GetCookie().GetTtl() != nil, SourceIP: p.GetConnectionProperties().GetSourceIp(),
			QueryParameter: p.GetQueryParameter().GetName(), FilterState: p.GetFilterState().GetKey(),
		}
		if regex := p.GetHeader().GetRegexRewrite().GetPattern().GetRegex(); regex != "" {
			h.Regex = regexp.MustCompile(regex)
		}
		policies = append(policies, h)
	}
	return policies
}

// checkGauges compares the gauges of the ring or table that was built last, and of the membership.
func (s *pickScenario) checkGauges(t *testing.T, m *envoy.Model, r *envoy.Result) (checked int) {
	t.Helper()
	got := map[string]uint64{}
	for _, p := range r.Priorities {
		got["membership_total"] += uint64(p.Hosts)
		got["membership_healthy"] += uint64(p.Healthy)
		got["membership_degraded"] += uint64(p.Degraded)
		got["membership_excluded"] += uint64(p.Excluded)
	}
	for _, table := range m.Tables() {
		if table.Endpoints == 0 || s.cluster.GetLbSubsetConfig() != nil {
			continue
		}
		got["ring_hash_lb.size"] = table.Size
		got["ring_hash_lb.min_hashes_per_host"], got["ring_hash_lb.max_hashes_per_host"] = table.Least, table.Most
		got["maglev_lb.min_entries_per_host"], got["maglev_lb.max_entries_per_host"] = table.Least, table.Most
	}
	for name, want := range s.Gauges {
		if s.cluster.GetLbSubsetConfig() != nil && !strings.HasPrefix(name, "membership") {
			continue // that of whichever subset came last
		}
		if name == "lb_healthy_panic" {
			continue // counted with the picks
		}
		checked++
		if got[name] != want {
			t.Errorf("gauge %s is %d, want %d", name, got[name], want)
		}
	}
	return checked
}

// checkRandom compares counts of picks without a hash with the shares, and with a seeded run.
func (s *pickScenario) checkRandom(t *testing.T, m *envoy.Model, r *envoy.Result, checked *picksChecked) {
	t.Helper()
	n := float64(s.Keys.Count)
	sample := m.Run(100_000, rand.New(rand.NewPCG(1, 2)))
	for i, e := range r.Endpoints {
		checked.keys += int(s.Counts[e.Address])
		if limit := 4.5 * math.Sqrt(n*e.Share*(1-e.Share)); math.Abs(s.Counts[e.Address]-n*e.Share) > limit {
			t.Errorf("%s: %v of %v, expected share %v", e.Address, s.Counts[e.Address], n, e.Share)
		}
		got := float64(sample.Endpoints[i]) / float64(sample.Requests)
		if limit := 4.5 * math.Sqrt(e.Share*(1-e.Share)/float64(sample.Requests)); math.Abs(got-e.Share) > limit {
			t.Errorf("%s: seeded share %v, expected %v", e.Address, got, e.Share)
		}
	}
}
