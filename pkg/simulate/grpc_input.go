package simulate

import (
	"net"
	"strconv"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lb/grpc"
)

// grpcEnv is what gRPC's environment variables change (grpc-eds.md 2.5).
type grpcEnv struct {
	dualstack  bool
	hashKeys   bool
	rawWeights bool
	ringCap    uint64
}

// readGRPCEnv reads the variables as envconfig does: true by default unless "false", false by default unless "true".
func readGRPCEnv(getenv func(string) string) grpcEnv {
	env := grpcEnv{dualstack: true, hashKeys: true}
	if getenv == nil {
		return env
	}
	is := func(name, value string) bool { return strings.EqualFold(getenv(name), value) }
	env.dualstack = !is("GRPC_EXPERIMENTAL_XDS_DUALSTACK_ENDPOINTS", "false")
	env.hashKeys = !is("GRPC_XDS_ENDPOINT_HASH_KEY_BACKWARD_COMPAT", "true")
	env.rawWeights = is("GRPC_EXPERIMENTAL_PF_WEIGHTED_SHUFFLING", "false")
	if n, err := strconv.ParseUint(getenv("GRPC_RING_HASH_CAP"), 10, 64); err == nil && n > 0 {
		env.ringCap = min(n, grpc.RingSizeUpperBound)
	}
	return env
}

// grpcAssignment is what gRPC keeps of an assignment (unmarshal_eds.go). Localities and endpoints keep their places, so
// that a Ref of the result leads back.
func grpcAssignment(cla *endpointv3.ClusterLoadAssignment, env grpcEnv, reachable func(group *endpointv3.LocalityLbEndpoints, endpoint *endpointv3.LbEndpoint, address *corev3.Address) bool) *grpc.Assignment {
	a := &grpc.Assignment{Localities: make([]grpc.Locality, len(cla.GetEndpoints()))}
	for i, group := range cla.GetEndpoints() {
		l := &a.Localities[i]
		l.Region, l.Zone, l.SubZone = group.GetLocality().GetRegion(), group.GetLocality().GetZone(), group.GetLocality().GetSubZone()
		l.Priority, l.Weight = group.GetPriority(), group.GetLoadBalancingWeight().GetValue()
		l.Endpoints = make([]grpc.Endpoint, len(group.GetLbEndpoints()))
		addresses := make([]grpc.Address, 0, len(l.Endpoints)) // one array for all endpoints without additional addresses
		for j, e := range group.GetLbEndpoints() {
			out := &l.Endpoints[j]
			out.Weight = e.GetLoadBalancingWeight().GetValue()
			out.Usable = e.GetHealthStatus() == corev3.HealthStatus_HEALTHY || e.GetHealthStatus() == corev3.HealthStatus_UNKNOWN
			if env.hashKeys {
				out.HashKey = hashKey(e.GetMetadata())
			}
			start := len(addresses)
			addresses = append(addresses, grpcAddress(e.GetEndpoint().GetAddress(), reachable(group, e, e.GetEndpoint().GetAddress())))
			if env.dualstack {
				for _, more := range e.GetEndpoint().GetAdditionalAddresses() {
					addresses = append(addresses, grpcAddress(more.GetAddress(), reachable(group, e, more.GetAddress())))
				}
			}
			out.Addresses = addresses[start:len(addresses):len(addresses)]
		}
	}
	for _, d := range cla.GetPolicy().GetDropOverloads() {
		a.Drops = append(a.Drops, grpc.Drop{
			Category:    d.GetCategory(),
			Numerator:   d.GetDropPercentage().GetNumerator(),
			Denominator: denominator(d.GetDropPercentage().GetDenominator().Number()),
		})
	}
	return a
}

// denominator of a FractionalPercent by its enum number; 0 for one that does not exist.
func denominator[N ~int32](n N) uint32 {
	if n < 0 || n > 2 {
		return 0
	}
	return [...]uint32{100, 10_000, 1_000_000}[n]
}

// hashKey is metadata envoy.lb hash_key when it is a string (A76).
func hashKey(m *corev3.Metadata) string {
	if v, ok := m.GetFilterMetadata()["envoy.lb"].GetFields()["hash_key"].GetKind().(*structpb.Value_StringValue); ok {
		return v.StringValue
	}
	return ""
}

// grpcAddress writes an address as gRPC does: everything but a socket address is ":0". What cannot be dialled is not
// reachable whatever the user says: port 0, a port above 65535, no host, a name under .invalid (RFC 6761).
func grpcAddress(a *corev3.Address, reachable bool) grpc.Address {
	s := a.GetSocketAddress()
	port := s.GetPortValue()
	text := net.JoinHostPort(s.GetAddress(), strconv.FormatUint(uint64(port), 10))
	dialled := s.GetAddress() != "" && port > 0 && port <= 65535 && !strings.HasSuffix(s.GetAddress(), ".invalid")
	return grpc.Address{Text: text, Reachable: reachable && dialled}
}

// logicalDNSAssignment is what gRPC makes of the load_assignment of a LOGICAL_DNS cluster: one endpoint of weight 1,
// whatever else is written (grpc-eds.md 4.4).
func logicalDNSAssignment(a *grpc.Assignment) *grpc.Assignment {
	out := &grpc.Assignment{Localities: make([]grpc.Locality, len(a.Localities))}
	for i := range a.Localities {
		l := a.Localities[i]
		l.Priority, l.Weight = 0, 1
		l.Endpoints = append([]grpc.Endpoint(nil), l.Endpoints...)
		for j := range l.Endpoints {
			e := &l.Endpoints[j]
			e.Usable, e.Weight, e.HashKey, e.Addresses = true, 1, "", e.Addresses[:1]
		}
		out.Localities[i] = l
	}
	return out
}

// grpcPolicy is the policy that grpc-go runs for a cluster; nil stands for a cluster with defaults.
func grpcPolicy(cluster *clusterv3.Cluster, env grpcEnv) grpc.Policy {
	p := grpc.Policy{Kind: grpc.RoundRobin, WrrLocality: 1, RawWeights: env.rawWeights, RingSizeCap: env.ringCap}
	if cluster == nil {
		return p
	}
	p.MaxRequests = maxRequests(cluster)
	p.WrrLocality = 0
	config := eds.GRPCPolicy(cluster)
	c := &config
	for ; c != nil && c.Name == "wrr_locality"; c = c.Child {
		p.WrrLocality++
	}
	if c == nil {
		return p // nothing supported inside: the Cluster is refused
	}
	switch c.Name {
	case "least_request":
		p.Kind = grpc.LeastRequest
		if c.ChoiceCount != nil {
			p.ChoiceCount = *c.ChoiceCount
		}
	case "pick_first":
		p.Kind, p.Shuffle = grpc.PickFirst, c.Shuffle
	case "client_side_weighted_round_robin":
		p.Kind = grpc.ClientSideWRR
	case "ring_hash":
		p.Kind = grpc.RingHash
		if c.Hash != nil {
			p.MinRingSize, p.MaxRingSize = c.Hash.MinimumRingSize, c.Hash.MaximumRingSize
		}
	}
	return p
}

// maxRequests of the first DEFAULT threshold (unmarshal_cds.go, circuitBreakersFromCluster); nil when absent.
func maxRequests(cluster *clusterv3.Cluster) *uint32 {
	for _, t := range cluster.GetCircuitBreakers().GetThresholds() {
		if t.GetPriority() != corev3.RoutingPriority_DEFAULT {
			continue
		}
		if t.GetMaxRequests() == nil {
			return nil
		}
		return new(t.GetMaxRequests().GetValue())
	}
	return nil
}
