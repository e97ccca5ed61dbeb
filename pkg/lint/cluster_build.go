package lint

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// clusterBuildRules are the rules about a cluster that a client refuses while it makes it. One function produces them,
// because their order is that of the clients, and differs between these.
var clusterBuildRules = []string{
	"cluster-name-duplicate", "cluster-type-no-load-assignment", "cluster-type-unknown", "eds-ads-not-configured", "eds-cluster-without-config",
	"eds-source-cluster-unknown", "grpc-cluster-type-unsupported", "grpc-eds-config-source", "grpc-lb-policy-unsupported",
	"grpc-ring-hash-function", "grpc-xdstp-service-name", "hash-policy-empty", "lb-policy-cluster-provided", "lb-policy-config-missing",
	"lb-policy-conflict", "lb-policy-unknown", "leds-static-cluster", "local-cluster-unknown", "logical-dns-cardinality",
	"maglev-table-size-not-prime", "maglev-table-size-one", "node-id-missing", "resolver-in-dns", "ring-hash-size-bounds",
	"transport-api-version-v2", "use-hostname-for-hashing-type", "wrr-locality-child",
}

// The places in the order of Envoy. The registry has the first for all of these rules; they are finer here because the
// load balancer is built after the hosts, and the subscription after the drop_overloads.
const (
	stageTwice     = "10-0-twice"       // cds_api_helper.cc, onConfigUpdate, before a cluster is made
	stageHostname  = "10-a-hostname"    // cluster_factory_impl.cc, ClusterFactoryImplBase::create
	stageResolvers = "10-a-resolvers"   // the same, selectDnsResolver
	stageConfig    = "10-a-z-config"    // cluster_factory_impl.h, ConfigurableClusterFactoryBase::createClusterImpl
	stageSocket    = "10-b-a-socket"    // upstream_impl.cc, ClusterInfoImpl and what is read for it, in this order
	stageProtocols = "10-b-b-protocols" // the same
	stageHTTP      = "10-b-c-http"      // the same
	stageBreakers  = "10-b-d-breakers"  // the same
	stageBind      = "10-b-e-bind"      // the same
	stageRefresh   = "10-b-f-refresh"   // upstream_impl.h, prepareDnsRefreshStrategy, in the constructors of DNS clusters
	stageThrown    = "10-c-thrown"      // ClusterInfoImpl, exceptions; they matter for the DNS types only
	stageRequests  = "10-ca-requests"   // ClusterInfoImpl
	stageType      = "10-cluster"       // cluster_factory_impl.cc, the type's factory, then upstream_impl.cc, ClusterInfoImpl
	stageFilters   = "10-d-filters"     // the same, the filters of the network
	stageSource    = "11-source"        // after 11-policy: the subscription of an EDS cluster (eds.cc, the constructor)
	stageChecks    = "12-x-checks"      // after 12-host: ClusterFactoryImplBase::create, when the cluster is made
	stageOutlier   = "12-y-outlier"     // the same
	stageDuplicate = "13-duplicate"     // after 13-cluster: cluster_manager_impl.cc, loadCluster
	stageProvided  = "13-f-provided"    // cluster_manager_impl.cc, loadCluster, before the load balancers
	stageGap       = "13-g-gap"         // the same, the host sets of a load balancer
	stageBalancer  = "13-load-balancer" // the same, thread-aware load balancers
	stageLocal     = "13-local-cluster" // the same, init, when all clusters are there
	stageWorker    = "13-worker"        // the same, when a cluster is ready and the workers make their load balancers
	stageApply     = "14-apply"
)

// The places in the order of grpc-go within 00-cluster (unmarshal_cds.go; grpc-eds.md 4.1).
const (
	grpcStageName      = "00-a-name"
	grpcStagePolicy    = "00-b-policy"    // lb_policy
	grpcStageMatches   = "00-b-transport" // transport_socket_matches, transport_socket
	grpcStageOutlier   = "00-b-u-outlier" // outlier_detection
	grpcStageExtension = "00-c-extension" // load_balancing_policy
	grpcStageLRS       = "00-c-lrs"
	grpcStageType      = "00-c-type"
	grpcStageSecurity  = "00-d-security" // certificate providers, when the rest is read (cluster_resource_type.go)
)

// clusterBuild reports what makes Envoy or gRPC refuse the cluster around the assignment.
func clusterBuild(c *Context, report func(diag.Problem)) {
	known := c.Cluster != nil && c.Cluster.Message != nil
	if !known && !c.InLoadAssignment() {
		return // some EDS cluster, of which nothing is known
	}
	b := newBuild(c)
	b.byType()
	if c.Cluster != nil {
		b.byInfo()
		b.byPolicy()
		b.bySource()
		b.byHealthChecks()
		b.refuse(stageOutlier, outlierDetector(b.m.GetOutlierDetection()))
		b.byManager()
		b.byGRPC()
	}
	for _, p := range b.problems {
		report(p)
	}
}

func newBuild(c *Context) *build {
	m := &clusterv3.Cluster{Name: c.ClusterName()}
	if c.Cluster != nil && c.Cluster.Message != nil {
		m = c.Cluster.Message
	}
	b := &build{c: c, m: m, kind: c.ClusterType(), index: map[string]int{}}
	b.assignment = b.loadAssignment()
	b.policies = [len(diag.Clients)]eds.PolicyConfig{diag.Envoy: eds.EnvoyPolicy(b.m, c.EnvoyVersion), diag.GRPC: eds.GRPCPolicy(b.m)}
	if c.Cluster != nil && c.Cluster.Message != nil {
		b.policies[diag.GRPC] = c.Cluster.GRPCPolicy()
	}
	return b
}

// loadAssignment of the cluster around the resource; nil when there is none.
func (b *build) loadAssignment() *endpointv3.ClusterLoadAssignment {
	if b.c.InLoadAssignment() && !b.c.Resource.Absent {
		return b.c.Resource.Assignment
	}
	return b.m.GetLoadAssignment()
}

// build collects what both clients say about one cluster.
type build struct {
	c          *Context
	m          *clusterv3.Cluster
	kind       string                            // of the cluster
	assignment *endpointv3.ClusterLoadAssignment // its load_assignment; nil when absent
	policies   [len(diag.Clients)]eds.PolicyConfig

	problems []diag.Problem
	index    map[string]int // by rule and path
}

// problem is that of a rule at a path: one for both clients.
func (b *build) problem(rule string, at diag.Path, message string) *diag.Problem {
	key := rule + " " + at.String()
	i, ok := b.index[key]
	if !ok {
		i = len(b.problems)
		b.index[key] = i
		none := diag.None
		b.problems = append(b.problems, diag.Problem{Rule: rule, Path: at, Message: message,
			Envoy: diag.Override{Effect: &none}, GRPC: diag.Override{Effect: &none}})
	}
	return &b.problems[i]
}

// envoy records that Envoy refuses the cluster, with its text.
func (b *build) envoy(stage, rule string, at diag.Path, message, says string) {
	b.envoyEffect(diag.Reject, stage, rule, at, message, says)
}

// envoyEffect records what Envoy does, with its text.
func (b *build) envoyEffect(effect diag.Effect, stage, rule string, at diag.Path, message, says string) {
	p := b.problem(rule, at, message)
	if *p.Envoy.Effect == diag.None {
		p.Envoy = diag.Override{Effect: &effect, Message: says, Stage: stage}
	}
}

// grpc records what gRPC does, with its text.
func (b *build) grpc(effect diag.Effect, stage, rule string, at diag.Path, message, says string) {
	p := b.problem(rule, at, message)
	if *p.GRPC.Effect == diag.None {
		p.GRPC = diag.Override{Effect: &effect, Message: says, Stage: stage}
	}
}

// inCluster is a path into the cluster around the resource.
func inCluster(field string) diag.Path { return diag.Path{}.Field("cluster").Field(field) }

// inLoadAssignment is a path into the cluster's load_assignment: into the resource itself where that is it.
func (b *build) inLoadAssignment(field string) diag.Path {
	if b.c.InLoadAssignment() {
		if field == "" {
			return diag.Path{}
		}
		return diag.Path{}.Field(field)
	}
	if field == "" {
		return inCluster("load_assignment")
	}
	return inCluster("load_assignment").Field(field)
}
