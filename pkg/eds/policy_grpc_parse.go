package eds

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
)

// The parsers of grpc-go's policies (ParseConfig of each), with its own types: encoding/json puts the names of types and
// fields into its errors, and those into the refusal of the cluster.

// grpcParseError is why a parser refuses a configuration: what it says, the rule, and the place in the configuration.
type grpcParseError struct {
	text, rule string
	at         diag.Path
}

func (e *grpcParseError) Error() string { return e.text }

// grpcBalancer is BalancerConfig of internal/serviceconfig: a list of which the first known policy counts.
type grpcBalancer struct{}

type intermediateBalancerConfig []map[string]json.RawMessage

// UnmarshalJSON checks the list as grpc-go does.
func (*grpcBalancer) UnmarshalJSON(b []byte) error {
	var list intermediateBalancerConfig
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	unsupported := func(at diag.Path, format string, args ...any) error {
		return &grpcParseError{rule: "grpc-lb-policy-unsupported", at: at, text: "invalid loadBalancingConfig: " + fmt.Sprintf(format, args...)}
	}
	var names []string
	for i, entry := range list {
		if len(entry) != 1 {
			return unsupported(diag.Path{}.Index(i), "entry %v does not contain exactly 1 policy/config pair: %q", i, entry)
		}
		for name, config := range entry {
			names = append(names, name)
			if grpcCustom[name] == "" {
				continue
			}
			err := parseGRPC(name, config)
			if err == nil {
				return nil
			}
			err.text = fmt.Sprintf("error parsing loadBalancingConfig for policy %q: %s", name, err.text)
			err.at = diag.Path{}.Index(i).Field(name).Join(err.at)
			return err
		}
	}
	return unsupported(nil, "no supported policies found in %v", names)
}

// parseGRPCList reads what the converters have made of load_balancing_policy; the place is that in the first policy.
func parseGRPCList(config []byte) *grpcParseError {
	err := grpcUnmarshal(config, &grpcBalancer{}, "serviceconfig")
	if err != nil && len(err.at) >= 2 {
		err.at = err.at[2:]
	}
	return err
}

// grpcUnmarshal reads a configuration into a type of the given package of grpc-go.
func grpcUnmarshal(text []byte, v any, pkg string) *grpcParseError {
	err := json.Unmarshal(text, v)
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*grpcParseError](err); ok {
		return e
	}
	e := &grpcParseError{rule: "cluster-constraint", text: err.Error()}
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		here := "eds."
		for _, name := range []string{"intermediateBalancerConfig", "LoadBalancingConfig"} {
			e.text = strings.ReplaceAll(e.text, here+name, "serviceconfig."+name)
		}
		e.text = strings.ReplaceAll(e.text, here, pkg+".")
		if field, _, _ := strings.Cut(t.Field, "."); field != "" {
			e.at = diag.Path{}.Field(field)
		}
	}
	return e
}

// grpcRefused is the refusal of a value that could be read.
func grpcRefused(field, format string, args ...any) *grpcParseError {
	return &grpcParseError{rule: "cluster-constraint", at: diag.Path{}.Field(field), text: fmt.Sprintf(format, args...)}
}

// in adds what a policy says around the text of an error.
func (e *grpcParseError) in(format string, args ...any) *grpcParseError {
	if e != nil {
		e.text = fmt.Sprintf(format, append(args, e.text)...)
	}
	return e
}

// below puts an error of a list of policies at the field that has it.
func (e *grpcParseError) below(field string) *grpcParseError {
	if e != nil && (len(e.at) == 0 || e.at[0].Name == "") {
		e.at = diag.Path{}.Field(field).Join(e.at)
	}
	return e
}

// inside is the same for a policy that edsctl does not look into otherwise: nothing there is a setting that a rule knows.
func (e *grpcParseError) inside(field string) *grpcParseError {
	if e != nil && (len(e.at) == 0 || e.at[0].Name == "") {
		e.at = diag.Path{}.Field(field)
	}
	if e != nil && e.rule != "grpc-lb-policy-unsupported" {
		e.rule = "cluster-constraint"
	}
	return e
}

// parseGRPC is why the parser of a policy refuses a configuration; nil when it takes it, or has no parser.
func parseGRPC(name string, text []byte) *grpcParseError {
	switch name {
	case "pick_first":
		return grpcUnmarshal(text, &pfConfig{}, "pickfirst").in("pickfirst: unable to unmarshal LB policy config: %s, error: %s", text)
	case "ring_hash_experimental":
		return parseRingHash(text)
	case "least_request_experimental":
		return parseLeastRequest(text)
	case "weighted_round_robin":
		return parseWeightedRoundRobin(text)
	case "xds_wrr_locality_experimental":
		return parseWRRLocality(text)
	case "weighted_target_experimental":
		return parseWeightedTarget(text).inside("targets")
	case "priority_experimental":
		return parsePriority(text).inside("children")
	case "xds_cluster_manager_experimental":
		return parseClusterManager(text).inside("children")
	case "xds_cluster_impl_experimental":
		return parseClusterImpl(text).inside("childPolicy")
	case "cds_experimental":
		return parseCDS(text)
	case "outlier_detection_experimental":
		return parseOutlierDetection(text).inside("childPolicy")
	}
	return nil // round_robin
}

type pfConfig struct {
	ShuffleAddressList bool `json:"shuffleAddressList"`
}

type (
	grpcLeastRequest = struct {
		ChoiceCount uint32 `json:"choiceCount,omitempty"`
	}
	grpcRingHash = struct {
		MinRingSize       uint64 `json:"minRingSize,omitempty"`
		MaxRingSize       uint64 `json:"maxRingSize,omitempty"`
		RequestHashHeader string `json:"requestHashHeader,omitempty"`
	}
)

func parseLeastRequest(text []byte) *grpcParseError {
	type LBConfig grpcLeastRequest
	c := LBConfig{ChoiceCount: 2}
	if err := grpcUnmarshal(text, &c, "leastrequest"); err != nil {
		return err.in("least-request: unable to unmarshal LBConfig: %s")
	}
	if c.ChoiceCount < 2 {
		return grpcRefused("choiceCount", "least-request: lbConfig.choiceCount: %d, must be >= 2", c.ChoiceCount)
	}
	return nil
}

func parseRingHash(text []byte) *grpcParseError {
	type LBConfig grpcRingHash
	var c LBConfig
	if err := grpcUnmarshal(text, &c, "ringhash"); err != nil {
		return err
	}
	h := HashConfig{MinimumRingSize: &c.MinRingSize, MaximumRingSize: &c.MaxRingSize}
	if field, reason := grpcRingSizes(&h); reason != "" {
		e := grpcRefused(map[string]string{"minimum_ring_size": "minRingSize", "maximum_ring_size": "maxRingSize"}[field], "%s", reason)
		e.rule = "ring-hash-size-bounds"
		return e
	}
	if reason := grpcHashHeader(strings.ToLower(c.RequestHashHeader)); reason != "" {
		return grpcRefused("requestHashHeader", "invalid requestHashHeader %q: %s", strings.ToLower(c.RequestHashHeader), reason)
	}
	return nil
}

// grpcHashHeader is why a name is none of a header that can be hashed (internal/metadata, ValidateKey); empty when it is.
func grpcHashHeader(name string) string {
	if name == "" {
		return ""
	}
	if name[0] != ':' {
		for _, c := range []byte(name) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != '_' {
				return fmt.Sprintf("header key %q contains illegal characters not in [0-9a-z-_.]", name)
			}
		}
	}
	if strings.HasSuffix(name, "-bin") {
		return `key must not end with "-bin"`
	}
	return ""
}

type wrrLBConfig struct {
	EnableOOBLoadReport     bool         `json:"enableOobLoadReport,omitempty"`
	OOBReportingPeriod      grpcDuration `json:"oobReportingPeriod,omitempty"`
	BlackoutPeriod          grpcDuration `json:"blackoutPeriod,omitempty"`
	WeightExpirationPeriod  grpcDuration `json:"weightExpirationPeriod,omitempty"`
	WeightUpdatePeriod      grpcDuration `json:"weightUpdatePeriod,omitempty"`
	ErrorUtilizationPenalty float64      `json:"errorUtilizationPenalty,omitempty"`
}

func parseWeightedRoundRobin(text []byte) *grpcParseError {
	type lbConfig wrrLBConfig
	var c lbConfig
	if err := grpcUnmarshal(text, &c, "weightedroundrobin"); err != nil {
		return err.in("wrr: unable to unmarshal LB policy config: %s, error: %s", text)
	}
	if c.ErrorUtilizationPenalty < 0 {
		return grpcRefused("errorUtilizationPenalty", "wrr: errorUtilizationPenalty must be non-negative")
	}
	return nil
}

func parseWRRLocality(text []byte) *grpcParseError {
	type LBConfig struct {
		ChildPolicy *grpcBalancer `json:"childPolicy,omitempty"`
	}
	var c *LBConfig
	if err := grpcUnmarshal(text, &c, "wrrlocality"); err != nil {
		return err.below("childPolicy").in("xds_wrr_locality: invalid LBConfig: %s, error: %s", text)
	}
	if c == nil || c.ChildPolicy == nil {
		e := grpcRefused("childPolicy", "xds_wrr_locality: invalid LBConfig: child policy field must be set")
		e.rule = "grpc-lb-policy-unsupported"
		return e
	}
	return nil
}

func parseWeightedTarget(text []byte) *grpcParseError {
	type Target struct {
		Weight      uint32        `json:"weight,omitempty"`
		ChildPolicy *grpcBalancer `json:"childPolicy,omitempty"`
	}
	type LBConfig struct {
		Targets map[string]Target `json:"targets,omitempty"`
	}
	return grpcUnmarshal(text, &LBConfig{}, "weightedtarget")
}

func parsePriority(text []byte) *grpcParseError {
	type Child struct {
		Config                     *grpcBalancer `json:"config,omitempty"`
		IgnoreReresolutionRequests bool          `json:"ignoreReresolutionRequests,omitempty"`
	}
	type LBConfig struct {
		Children   map[string]*Child `json:"children,omitempty"`
		Priorities []string          `json:"priorities,omitempty"`
	}
	var c LBConfig
	if err := grpcUnmarshal(text, &c, "priority"); err != nil {
		return err
	}
	children := "map[]"
	if len(c.Children) > 0 {
		children = "map[<dump>]" // addresses
	}
	for _, name := range c.Priorities {
		if _, ok := c.Children[name]; !ok {
			return grpcRefused("priorities", "LB policy name %q found in Priorities field (%v) is not found in Children field (%s)", name, c.Priorities, children)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Children)) { // grpc-go takes them in any order
		if !slices.Contains(c.Priorities, name) {
			return grpcRefused("children", "LB policy name %q found in Children field (%s) is not found in Priorities field (%v)", name, children, c.Priorities)
		}
	}
	return nil
}

// LoadBalancingConfig is that of the package serviceconfig, embedded without a tag: a key of JSON may name it.
type LoadBalancingConfig interface{ isLoadBalancingConfig() }

func parseClusterManager(text []byte) *grpcParseError {
	type childConfig struct{ ChildPolicy *grpcBalancer }
	type lbConfig struct {
		LoadBalancingConfig
		Children map[string]childConfig
	}
	return grpcUnmarshal(text, &lbConfig{}, "clustermanager")
}

func parseClusterImpl(text []byte) *grpcParseError {
	type LBConfig struct {
		Cluster     string        `json:"cluster,omitempty"`
		ChildPolicy *grpcBalancer `json:"childPolicy,omitempty"`
	}
	return grpcUnmarshal(text, &LBConfig{}, "clusterimpl")
}

func parseCDS(text []byte) *grpcParseError {
	type lbConfig struct {
		LoadBalancingConfig
		ClusterName string `json:"cluster"`
		IsDynamic   bool   `json:"isDynamic"`
	}
	return grpcUnmarshal(text, &lbConfig{}, "cdsbalancer").in("xds: unable to unmarshal lbconfig: %s, error: %s", text)
}
