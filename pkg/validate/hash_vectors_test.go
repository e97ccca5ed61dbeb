package validate_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

// hashRefusal is an entry of hash_cluster_errors, ring_hash_errors or maglev_errors of envoy-hash-vectors.yaml.
type hashRefusal struct {
	Case         string  `json:"case"`
	Form         string  `json:"form"`
	TableSize    *uint64 `json:"table_size"`
	Minimum      *uint64 `json:"minimum_ring_size"`
	Maximum      *uint64 `json:"maximum_ring_size"`
	HashFunction string  `json:"hash_function"`
	Error        string  `json:"error"`
	Crash        string  `json:"crash"`
}

type hashKeyLength struct {
	Length  int     `json:"length"`
	Lengths []int   `json:"lengths"`
	Hosts   int     `json:"hosts"`
	Minimum *uint64 `json:"minimum_ring_size"`
	Maximum *uint64 `json:"maximum_ring_size"`
	Crash   bool    `json:"crash"`
}

const (
	ringExtension   = "load_balancing_policy: {policies: [{typed_extension_config: {name: p, typed_config: {\"@type\": type.googleapis.com/envoy.extensions.load_balancing_policies.ring_hash.v3.RingHash, %s}}}]}"
	maglevExtension = "load_balancing_policy: {policies: [{typed_extension_config: {name: p, typed_config: {\"@type\": type.googleapis.com/envoy.extensions.load_balancing_policies.maglev.v3.Maglev, %s}}}]}"
	oneEndpoint     = "endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 192.0.2.1, port_value: 80}}}}]}]"
)

// clusterCases are the inputs of hash_cluster_errors: lines of the cluster without its name and its assignment, or the
// endpoints of a ring hash cluster.
var clusterCases = map[string][]string{
	"common_lb_config.consistent_hashing_lb_config.hash_balance_factor 99": {"type: STATIC\nlb_policy: RING_HASH\ncommon_lb_config: {consistent_hashing_lb_config: {hash_balance_factor: 99}}"},
	"extension consistent_hashing_lb_config.hash_balance_factor 99":        {"type: STATIC\n" + fmt.Sprintf(ringExtension, "consistent_hashing_lb_config: {hash_balance_factor: 99}")},
	"extension consistent_hashing_lb_config.hash_balance_factor 0":         {"type: STATIC\n" + fmt.Sprintf(ringExtension, "consistent_hashing_lb_config: {hash_balance_factor: 0}")},
	"common_lb_config use_hostname_for_hashing true, type EDS":             {"type: EDS\neds_cluster_config: {eds_config: {path_config_source: {path: /dev/null}}}\nlb_policy: RING_HASH\ncommon_lb_config: {consistent_hashing_lb_config: {use_hostname_for_hashing: true}}"},
	"common_lb_config use_hostname_for_hashing true, type STATIC":          {"type: STATIC\nlb_policy: RING_HASH\ncommon_lb_config: {consistent_hashing_lb_config: {use_hostname_for_hashing: true}}"},
	"common_lb_config use_hostname_for_hashing true, type STATIC, lb_policy ROUND_ROBIN": {
		"type: STATIC\ncommon_lb_config: {consistent_hashing_lb_config: {use_hostname_for_hashing: true}}",
	},
	"common_lb_config use_hostname_for_hashing true, type LOGICAL_DNS": {"type: LOGICAL_DNS\nlb_policy: RING_HASH\ncommon_lb_config: {consistent_hashing_lb_config: {use_hostname_for_hashing: true}}"},
	"common_lb_config use_hostname_for_hashing true, type STRICT_DNS":  {"type: STRICT_DNS\nlb_policy: RING_HASH\ncommon_lb_config: {consistent_hashing_lb_config: {use_hostname_for_hashing: true}}"},
	"extension use_hostname_for_hashing true, type EDS or STATIC": {
		"type: STATIC\n" + fmt.Sprintf(ringExtension, "consistent_hashing_lb_config: {use_hostname_for_hashing: true}"),
		"type: EDS\neds_cluster_config: {eds_config: {path_config_source: {path: /dev/null}}}\n" + fmt.Sprintf(ringExtension, "consistent_hashing_lb_config: {use_hostname_for_hashing: true}"),
	},
	"load_balancing_policy with common_lb_config.locality_weighted_lb_config, zone_aware_lb_config or consistent_hashing_lb_config": {
		"type: STATIC\ncommon_lb_config: {locality_weighted_lb_config: {}}\n" + fmt.Sprintf(ringExtension, ""),
		"type: STATIC\ncommon_lb_config: {zone_aware_lb_config: {}}\n" + fmt.Sprintf(ringExtension, ""),
		"type: STATIC\ncommon_lb_config: {consistent_hashing_lb_config: {}}\n" + fmt.Sprintf(ringExtension, ""),
	},
	"load_balancing_policy with common_lb_config.healthy_panic_threshold":    {"type: STATIC\ncommon_lb_config: {healthy_panic_threshold: {value: 10}}\n" + fmt.Sprintf(ringExtension, "")},
	"load_balancing_policy with lb_subset_config":                            {"type: STATIC\nlb_subset_config: {subset_selectors: [{keys: [a]}]}\n" + fmt.Sprintf(ringExtension, "")},
	"load_balancing_policy with lb_policy RING_HASH and ring_hash_lb_config": {"type: STATIC\nlb_policy: RING_HASH\nring_hash_lb_config: {minimum_ring_size: 8}\n" + fmt.Sprintf(maglevExtension, "")},
	"lb_policy MAGLEV with ring_hash_lb_config":                              {"type: STATIC\nlb_policy: MAGLEV\nring_hash_lb_config: {minimum_ring_size: 8}"},
	"locality load_balancing_weight 0":                                       {"endpoints: [{load_balancing_weight: 0}]"},
	"endpoint load_balancing_weight 0":                                       {"endpoints: [{lb_endpoints: [" + endpoint("192.0.2.1", ", load_balancing_weight: 0") + "]}]"},
	"endpoint weights 4294967295 and 1 in two priorities":                    {"endpoints: [{lb_endpoints: [" + endpoint("192.0.2.1", ", load_balancing_weight: 4294967295") + "]}, {priority: 1, lb_endpoints: [" + endpoint("192.0.2.2", "") + "]}]"},
	"endpoint weights 4294967294 and 1":                                      {"endpoints: [{lb_endpoints: [" + endpoint("192.0.2.1", ", load_balancing_weight: 4294967294") + ", " + endpoint("192.0.2.2", "") + "]}]"},
	"locality weights 4294967295 and 1 in one priority":                      {"endpoints: [{locality: {zone: a}, load_balancing_weight: 4294967295}, {locality: {zone: b}, load_balancing_weight: 1}]"},
	"extension consistent_hashing_lb_config.hash_policy with an empty entry": {"type: STATIC\n" + fmt.Sprintf(ringExtension, "consistent_hashing_lb_config: {hash_policy: [{}]}")},
	"endpoint weights 4294967295 and 1 in one priority (same or different localities)": {
		"endpoints: [{lb_endpoints: [" + endpoint("192.0.2.1", ", load_balancing_weight: 4294967295") + ", " + endpoint("192.0.2.2", "") + "]}]",
		"endpoints: [{locality: {zone: a}, lb_endpoints: [" + endpoint("192.0.2.1", ", load_balancing_weight: 4294967295") + "]}, {lb_endpoints: [" + endpoint("192.0.2.2", "") + "]}]",
	},
}

// TestHashRefusals compares what Envoy refuses of clusters with hash policies, and what ends its process.
func TestHashRefusals(t *testing.T) {
	var f struct {
		Cluster []hashRefusal   `json:"hash_cluster_errors"`
		Ring    []hashRefusal   `json:"ring_hash_errors"`
		Maglev  []hashRefusal   `json:"maglev_errors"`
		Keys    []hashKeyLength `json:"ring_hash_key_length"`
	}
	readYAML(t, filepath.Join(vectors, "..", "envoy-hash-vectors.yaml"), &f)
	checked := 0
	check := func(name, cluster, want, crash string) {
		checked++
		if problem := refusal(hashBootstrap(cluster), want, crash); problem != "" {
			t.Errorf("%s: %s", name, problem)
		}
	}
	for _, e := range f.Cluster {
		if clusterCases[e.Case] == nil {
			t.Errorf("no input for %q", e.Case)
		}
		for _, c := range clusterCases[e.Case] {
			check(e.Case, c, e.Error, e.Crash)
		}
	}
	for _, e := range f.Ring {
		check(fmt.Sprintf("ring %+v", e), ringCluster(&e), e.Error, "")
	}
	for _, e := range f.Maglev {
		fields := fmt.Sprintf("table_size: %d", *e.TableSize)
		for _, form := range []string{"legacy", "extension"} {
			switch {
			case e.Form != "" && e.Form != form:
			case form == "legacy":
				check("maglev "+fields, "type: STATIC\nlb_policy: MAGLEV\nmaglev_lb_config: {"+fields+"}", e.Error, e.Crash)
			default:
				check("maglev extension "+fields, "type: STATIC\n"+fmt.Sprintf(maglevExtension, fields), e.Error, e.Crash)
			}
		}
	}
	for _, e := range f.Keys {
		crash := ""
		if e.Crash {
			crash = "SIGABRT"
		}
		check(fmt.Sprintf("keys %+v", e), keysCluster(&e), "", crash)
	}
	compareGolden(t, filepath.Join(vectors, "..", "checked-hash.golden"), fmt.Sprintf("envoy-hash-vectors.yaml: %d refusals and crashes checked\n", checked))
}

func ringCluster(e *hashRefusal) string {
	var fields []string
	if e.Minimum != nil {
		fields = append(fields, fmt.Sprintf("minimum_ring_size: %d", *e.Minimum))
	}
	if e.Maximum != nil {
		fields = append(fields, fmt.Sprintf("maximum_ring_size: %d", *e.Maximum))
	}
	if e.HashFunction != "" {
		fields = append(fields, "hash_function: "+e.HashFunction)
	}
	if e.Form == "extension" {
		return "type: STATIC\n" + fmt.Sprintf(ringExtension, strings.Join(fields, ", "))
	}
	return "type: STATIC\nlb_policy: RING_HASH\nring_hash_lb_config: {" + strings.Join(fields, ", ") + "}"
}

func keysCluster(e *hashKeyLength) string {
	lengths := e.Lengths
	hosts := e.Hosts
	if hosts == 0 {
		hosts = 3
	}
	for len(lengths) < hosts {
		lengths = append(lengths, e.Length)
	}
	var ends []string
	for i, n := range lengths {
		key := strings.Repeat("k", n-1) + string(rune('a'+i))
		ends = append(ends, endpoint(fmt.Sprintf("192.0.2.%d", i+1), ", metadata: {filter_metadata: {envoy.lb: {hash_key: "+key+"}}}"))
	}
	ring := ringCluster(&hashRefusal{Minimum: e.Minimum, Maximum: e.Maximum})
	return ring + "\nload_assignment: {cluster_name: c, endpoints: [{lb_endpoints: [" + strings.Join(ends, ", ") + "]}]}"
}

// hashBootstrap puts the lines of a cluster, or the endpoints of one with ring hash, into a bootstrap.
func hashBootstrap(cluster string) []byte {
	switch {
	case strings.HasPrefix(cluster, "endpoints:"):
		cluster = "type: STATIC\nlb_policy: RING_HASH\nload_assignment: {cluster_name: c, " + cluster + "}"
	case !strings.Contains(cluster, "load_assignment") && !strings.Contains(cluster, "type: EDS"):
		cluster += "\nload_assignment: {cluster_name: c, " + oneEndpoint + "}"
	}
	return vectorBootstrap(&vectorEntry{}, "name: c\nconnect_timeout: 1s\n"+cluster+"\n")
}

// refusal tells what is wrong about the verdict; want is a part of the message, empty for a cluster that is accepted.
func refusal(bootstrap []byte, want, crash string) string {
	resources := eds.NewLoader(eds.Options{}).Load("b.yaml", bootstrap, true).Resources
	got := validate.Run(resources, validate.Options{}).Resources[0].Verdicts[diag.Envoy]
	kind := diag.Accept
	if want != "" {
		kind = diag.Rejected
	}
	if crash != "" {
		kind = diag.Crashes
	}
	if got.Kind != kind || !strings.Contains(got.Message, want) {
		return fmt.Sprintf("verdict is %s (%s: %s), observed %s: %s", got.Kind, got.Rule, got.Message, kind, want)
	}
	return ""
}
