package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/simulate"
)

// whatIfOptions are the flags that change what is simulated.
type whatIfOptions struct {
	policy                                  string
	setHealth, setWeight, fail, unreachable []simulate.Change
	panicThreshold                          float64
	overprovisioningFactor                  uint32
	localityWeighted, asDocumented, force   bool
	nodeLocality, localCluster              string
	metadataMatch, runtime                  []keyValue
	resolve                                 []keyValue
}

// keyValue is one KEY=VALUE.
type keyValue struct{ key, value string }

func (o *whatIfOptions) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	enumVar(cmd, &o.policy, "lb-policy", "", simulate.Policies(), "load balancing policy instead of the cluster's")
	listVar(flags, &o.setHealth, "set-health", "SELECTOR=STATUS", "what if endpoints had this health_status (repeatable)", simulate.ParseSetHealth)
	listVar(flags, &o.setWeight, "set-weight", "SELECTOR=WEIGHT", "what if endpoints had this load_balancing_weight (repeatable)", simulate.ParseSetWeight)
	listVar(flags, &o.fail, "fail", "SELECTOR[=N|P%]", "what if endpoints, or N or P % of them, were unhealthy (repeatable)", simulate.ParseFail)
	listVar(flags, &o.unreachable, "unreachable", "SELECTOR", "endpoints that gRPC cannot connect to (repeatable)", simulate.ParseUnreachable)
	flags.Float64Var(&o.panicThreshold, "panic-threshold", 50, "healthy_panic_threshold in percent instead of the cluster's; 0 turns panic off")
	flags.Uint32Var(&o.overprovisioningFactor, "overprovisioning-factor", 140, "overprovisioning_factor in percent instead of the assignment's")
	flags.BoolVar(&o.localityWeighted, "locality-weighted", false, "whether Envoy uses locality weights, whatever the cluster says")
	flags.StringVar(&o.nodeLocality, "node-locality", "", "locality of the proxy as REGION/ZONE/SUB_ZONE, for zone-aware routing")
	flags.StringVar(&o.localCluster, "local-cluster", "", "file with the assignment of the proxy's own cluster, for zone-aware routing")
	listVar(flags, &o.metadataMatch, "metadata-match", "KEY=VALUE", "metadata_match of the route under envoy.lb, for subsets (repeatable)", parseMatch)
	listVar(flags, &o.runtime, "runtime", "KEY=VALUE", "runtime key of Envoy (repeatable)", parseKeyValue)
	listVar(flags, &o.resolve, "resolve", "HOST=IP[,IP]", "addresses of a host name in a DNS cluster (repeatable)", parseResolve)
	hasCommas(flags, "set-health", "set-weight", "fail", "unreachable", "resolve")
	flags.BoolVar(&o.asDocumented, "as-documented", false, "follow the API's documentation where Envoy never built it")
	flags.BoolVar(&o.force, "force", false, "compute shares also for an assignment that the client rejects")
}

func parseKeyValue(s string) (keyValue, error) {
	key, value, err := splitPair(s, "KEY=VALUE")
	return keyValue{key, value}, err
}

// parseMatch takes a list or an object for JSON.
func parseMatch(s string) (keyValue, error) {
	match, err := parseKeyValue(s)
	if err == nil && isJSON(match.value) && !json.Valid([]byte(match.value)) {
		return keyValue{}, fmt.Errorf("%s is no JSON (text that begins like a list or an object needs quotes: %s)", match.value, strconv.Quote(match.value))
	}
	return match, err
}

// isJSON tells whether a value of metadata is written as a list or an object.
func isJSON(s string) bool { return strings.HasPrefix(s, "[") || strings.HasPrefix(s, "{") }

func parseResolve(s string) (keyValue, error) {
	host, addresses, err := splitPair(s, "HOST=IP[,IP]")
	if err != nil {
		return keyValue{}, err
	}
	for _, address := range strings.Split(addresses, ",") {
		if _, err := netip.ParseAddr(address); err == nil {
			continue
		}
		if _, err := netip.ParseAddrPort(address); err != nil {
			return keyValue{}, fmt.Errorf("%q is not an IP address", address)
		}
	}
	return keyValue{host, addresses}, nil
}

// changesAnything tells whether the options differ from what is in the files, so that there is a before and an after.
func changesAnything(o *simulate.Options) bool {
	return len(o.Changes) > 0 || o.Policy != "" || o.PanicThreshold != nil || o.OverprovisioningFactor != nil || o.LocalityWeighted != nil
}

// simulation turns the flags into options, but for the verdicts, which depend on the file.
func (o *simulateOptions) simulation(cmd *cobra.Command, env *Env) (*simulate.Options, error) {
	out := &simulate.Options{
		Policy: o.policy, AsDocumented: o.asDocumented, Force: o.force, Getenv: env.clientGetenv(),
		HashKeys: o.hashKeys, Requests: o.requests, Seed: o.seed, RPS: o.rps, Explain: o.explain,
		Runtime: map[string]string{}, Resolve: map[string][]string{},
	}
	for _, changes := range [][]simulate.Change{o.setHealth, o.setWeight, o.fail, o.unreachable} {
		out.Changes = append(out.Changes, changes...)
	}
	flags := cmd.Flags()
	if flags.Changed("panic-threshold") {
		if !(o.panicThreshold >= 0 && o.panicThreshold <= 100) {
			return nil, usagef("--panic-threshold: value %q: must be from 0 to 100", strconv.FormatFloat(o.panicThreshold, 'g', -1, 64))
		}
		out.PanicThreshold = &o.panicThreshold
	}
	if flags.Changed("overprovisioning-factor") {
		out.OverprovisioningFactor = &o.overprovisioningFactor
	}
	if flags.Changed("locality-weighted") {
		out.LocalityWeighted = &o.localityWeighted
	}
	if o.nodeLocality != "" {
		out.NodeLocality = parseLocality(o.nodeLocality)
	}
	for _, r := range o.runtime {
		out.Runtime[r.key] = r.value
	}
	for _, r := range o.resolve {
		out.Resolve[r.key] = append(out.Resolve[r.key], strings.Split(r.value, ",")...)
	}
	if o.hashKeysFile != "" {
		keys, err := readHashKeys(env, o.hashKeysFile)
		if err != nil {
			return nil, err
		}
		out.HashKeys = append(out.HashKeys, keys...)
	}
	return out, o.readLocalCluster(cmd.Context(), env, out)
}

// parseLocality reads REGION/ZONE/SUB_ZONE; what is left off is empty.
func parseLocality(s string) *corev3.Locality {
	parts := append(strings.SplitN(s, "/", 3), "", "")
	return &corev3.Locality{Region: parts[0], Zone: parts[1], SubZone: strings.TrimSuffix(parts[2], "/")}
}

// matchFor are the criteria of --metadata-match for an assignment. A value is text where an endpoint has that text under
// the key, else what it looks like: a number, true or false, a list or an object in JSON, or text. Quotes make it text.
func (o *whatIfOptions) matchFor(cla *endpointv3.ClusterLoadAssignment) map[string]any {
	if len(o.metadataMatch) == 0 {
		return nil
	}
	out := map[string]any{}
	for _, m := range o.metadataMatch {
		out[m.key] = metadataValue(m.value)
		if hasLabel(cla, m.key, m.value) {
			out[m.key] = m.value
		}
	}
	return out
}

func hasLabel(cla *endpointv3.ClusterLoadAssignment, key, text string) bool {
	for _, group := range cla.GetEndpoints() {
		for _, e := range group.GetLbEndpoints() {
			value, ok := e.GetMetadata().GetFilterMetadata()["envoy.lb"].GetFields()[key].GetKind().(*structpb.Value_StringValue)
			if ok && value.StringValue == text {
				return true
			}
		}
	}
	return false
}

func metadataValue(s string) any {
	if unquoted, err := strconv.Unquote(s); err == nil {
		return unquoted
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
		return f
	}
	if s == "true" || s == "false" {
		return s == "true"
	}
	var value any
	if isJSON(s) && json.Unmarshal([]byte(s), &value) == nil {
		return value
	}
	return s
}

// readHashKeys reads one key a line; "-" is standard input.
func readHashKeys(env *Env, file string) ([]string, error) {
	in := env.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("--hash-keys: %s: %w", file, bareError(err))
		}
		defer f.Close()
		in = f
	}
	var keys []string
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		keys = append(keys, scan.Text())
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("--hash-keys: %s: %w", file, err)
	}
	return keys, nil
}

// dnsHosts are the host names of a DNS cluster; nil for others.
func dnsHosts(r *eds.Resource) []string {
	if r.Cluster == nil {
		return nil
	}
	if t := eds.ClusterType(r.Cluster.Message); t != eds.TypeStrictDNS && t != eds.TypeLogicalDNS {
		return nil
	}
	var hosts []string
	for _, group := range r.Assignment.GetEndpoints() {
		for _, e := range group.GetLbEndpoints() {
			hosts = append(hosts, e.GetEndpoint().GetAddress().GetSocketAddress().GetAddress())
		}
	}
	return hosts
}

// unknownHosts is the error for a host name of --resolve that no DNS cluster has, also the local one of zone-aware routing.
func (o *whatIfOptions) unknownHosts(in []simulated) error {
	if len(o.resolve) == 0 {
		return nil
	}
	var hosts []string
	for _, r := range in {
		hosts = append(hosts, dnsHosts(r.Resource)...)
		if b := r.Surroundings(); b != nil && b.Assignments[b.LocalClusterName] != nil {
			hosts = append(hosts, dnsHosts(b.Assignments[b.LocalClusterName])...)
		}
	}
	for _, r := range o.resolve {
		if !slices.Contains(hosts, r.key) {
			return withHint(usagef("--resolve: no endpoint of a DNS cluster has the host name %q", r.key), didYouMean(r.key, hosts, "")...)
		}
	}
	return nil
}

// readLocalCluster reads the assignment of --local-cluster.
func (o *simulateOptions) readLocalCluster(ctx context.Context, env *Env, out *simulate.Options) error {
	if o.localCluster == "" {
		return nil
	}
	resources, err := loadFile(ctx, env, o, o.localCluster)
	if err != nil {
		return fmt.Errorf("--local-cluster: %w", err)
	}
	if len(resources) != 1 {
		return fmt.Errorf("--local-cluster: %s holds %s, not one", o.localCluster, counted(len(resources), "assignment"))
	}
	out.LocalCluster = resources[0].Assignment
	return nil
}

// withoutWhatIfs are the options for the state before.
func withoutWhatIfs(o *simulate.Options) *simulate.Options {
	before := *o
	before.Changes, before.Policy, before.PanicThreshold, before.OverprovisioningFactor, before.LocalityWeighted = nil, "", nil, nil, nil
	return &before
}
