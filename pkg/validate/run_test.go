package validate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

// endpoint is an endpoint in flow YAML with extra fields.
func endpoint(address, fields string) string {
	return "{endpoint: {address: {socket_address: {address: " + address + ", port_value: 80}}}" + fields + "}"
}

func judgeText(t *testing.T, text string, o validate.Options) validate.Report {
	t.Helper()
	loader := eds.NewLoader(eds.Options{Source: o.Source, Origin: o.Origin, EnvoyVersion: o.EnvoyVersion})
	return validate.Run(loader.Load("a.yaml", []byte(text), true).Resources, o)
}

func TestSeverity(t *testing.T) {
	gap := "cluster_name: c\nendpoints:\n" +
		"- {locality: {zone: a}, load_balancing_weight: 1, lb_endpoints: [" + endpoint("192.0.2.1", "") + "]}\n" +
		"- {priority: 2, locality: {zone: a}, load_balancing_weight: 1, lb_endpoints: [" + endpoint("192.0.2.2", "") + "]}\n"
	noLocality := "cluster_name: c\nendpoints:\n- lb_endpoints: [" + endpoint("192.0.2.1", "") + "]\n"
	unknown := "cluster_name: c\nendpointz: []\n"
	portZero := strings.Replace(noLocality, "port_value: 80", "port_value: 0", 1)
	envoy, grpc := []diag.Client{diag.Envoy}, []diag.Client{diag.GRPC}
	tests := []struct {
		name, text, rule string
		o                validate.Options
		want             string // severity; empty: not reported
	}{
		{"an advice for Envoy that gRPC rejects", gap, "priority-gap", validate.Options{}, "warning"},
		{"the same for gRPC", gap, "priority-gap", validate.Options{Clients: grpc}, "error"},
		{"the same for both", gap, "priority-gap", validate.Options{Clients: diag.Clients[:]}, "error"},
		{"only a client that is not selected differs", noLocality, "locality-missing", validate.Options{Clients: envoy}, "info"},
		{"that client selected", noLocality, "locality-missing", validate.Options{Clients: grpc}, "error"},
		{"gRPC alone, where gRPC does not read", noLocality, "locality-missing", validate.Options{Source: eds.FromBootstrap}, ""},
		{"an error although Envoy warns", unknown, "unknown-field", validate.Options{}, "error"},
		{"switched off by Envoy's flag", unknown, "unknown-field", validate.Options{UnknownFields: "ignore"}, "info"},
		{"an advice, whichever client", portZero, "port-zero", validate.Options{Clients: grpc}, "warning"},
		{"set by hand", portZero, "port-zero", validate.Options{RuleLevels: map[string]diag.Severity{"port-zero": diag.Error}}, "error"},
		{"off", portZero, "port-zero", validate.Options{RuleLevels: map[string]diag.Severity{"port-zero": diag.Off}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			for _, f := range judgeText(t, tt.text, tt.o).Findings {
				if f.Rule == tt.rule {
					got = f.Severity.String()
				}
			}
			if got != tt.want {
				t.Errorf("severity of %s is %q, want %q", tt.rule, got, tt.want)
			}
		})
	}
}

func TestVerdictOrder(t *testing.T) {
	tests := []struct {
		name, text  string
		o           validate.Options
		envoy, grpc string // rule of the verdict, empty for accept
	}{
		{
			"constraints in the order of declaration, oneofs last",
			"endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {}}}, load_balancing_weight: 0}]}]",
			validate.Options{}, "cla-cluster-name-empty", "cla-cluster-name-empty",
		},
		{
			"constraints before addresses",
			"cluster_name: c\nendpoints: [{lb_endpoints: [" + endpoint("web.example", "") + "]}, {priority: 129}]",
			validate.Options{}, "locality-priority-too-large", "locality-missing",
		},
		{
			"addresses in document order, the health check address before what is wrong with the host",
			"cluster_name: c\nendpoints: [{lb_endpoints: [{endpoint: {address: {pipe: {path: /a}}, health_check_config: {port_value: 1, address: {socket_address: {address: x.y, port_value: 2}}}}}]}]",
			validate.Options{}, "health-check-address-malformed", "locality-missing",
		},
		{
			"gRPC locality by locality: a weight in the first before a missing locality in the second",
			"cluster_name: c\nendpoints: [{locality: {}, load_balancing_weight: 1, lb_endpoints: [" + endpoint("192.0.2.1", "") + "," + endpoint("192.0.2.1", "") + "]}, {load_balancing_weight: 1}]",
			validate.Options{}, "", "duplicate-endpoint",
		},
		{
			"a rule that is off still counts",
			"cluster_name: c\nendpoints: [{lb_endpoints: [" + endpoint("web.example", "") + "]}]",
			validate.Options{RuleLevels: map[string]diag.Severity{"endpoint-not-ip": diag.Off}}, "endpoint-not-ip", "locality-missing",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := judgeText(t, tt.text, tt.o).Resources[0].Verdicts
			got := []string{v[diag.Envoy].Rule, v[diag.GRPC].Rule}
			if diff := cmp.Diff([]string{tt.envoy, tt.grpc}, got); diff != "" {
				t.Errorf("rules of the verdicts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWorkers proves that the report does not depend on how many resources are judged at a time.
func TestWorkers(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "- cluster_name: c%d\n  endpoints: [{lb_endpoints: [%s]}]\n", i, endpoint("web.example", ""))
	}
	one := judgeText(t, b.String(), validate.Options{Workers: 1})
	if many := judgeText(t, b.String(), validate.Options{Workers: 8}); !cmp.Equal(one, many) {
		t.Error(cmp.Diff(one, many))
	}
	if len(one.Resources) != 200 {
		t.Fatalf("%d resources", len(one.Resources))
	}
}

// TestShared proves that what several resources say about the bootstrap around them is reported once.
func TestShared(t *testing.T) {
	const text = `
static_resources:
  clusters:
  - {name: a, connect_timeout: 1s, type: EDS, eds_cluster_config: {eds_config: {path_config_source: {path: nope.yaml}}}}
  - {name: b, connect_timeout: 1s, type: EDS, eds_cluster_config: {eds_config: {path_config_source: {path: nope.yaml}}}}
`
	count := map[string]int{}
	report := judgeText(t, text, validate.Options{})
	for _, f := range report.Findings {
		count[f.Rule]++
	}
	if count["node-id-missing"] != 1 {
		t.Errorf("node-id-missing is reported %d times", count["node-id-missing"])
	}
	for _, r := range report.Resources {
		if r.Verdicts[diag.Envoy].Rule != "node-id-missing" {
			t.Errorf("verdict of %s is %v", r.Name, r.Verdicts[diag.Envoy])
		}
	}
}

func TestFingerprint(t *testing.T) {
	text := "cluster_name: c\nendpoints: [{priority: 129}]\n"
	before := judgeText(t, text, validate.Options{}).Findings
	after := judgeText(t, "# a comment\n"+text, validate.Options{}).Findings
	if before[0].Span == after[0].Span {
		t.Fatal("the finding did not move")
	}
	seen := map[string]string{}
	for i := range before {
		if before[i].Fingerprint != after[i].Fingerprint {
			t.Errorf("the fingerprint of %s follows its line", before[i].Rule)
		}
		if other := seen[before[i].Fingerprint]; other != "" {
			t.Errorf("%s and %s have one fingerprint", other, before[i].Rule)
		}
		seen[before[i].Fingerprint] = before[i].Rule
	}
}

// TestTemplates: the finding about a template takes the place of all others of its file, not of other files.
func TestTemplates(t *testing.T) {
	t.Parallel()
	loader := eds.NewLoader(eds.Options{})
	var resources []*eds.Resource
	for _, f := range []struct{ name, text string }{
		{"a.yaml", "cluster_name: c\nendpoints: [{priority: \"{{ p }}\", load_balancing_weight: 0}]"},
		{"b.yaml", "cluster_name: c\nendpoints: [{locality: {}, load_balancing_weight: 0}]"},
	} {
		resources = append(resources, loader.Load(f.name, []byte(f.text), true).Resources...)
	}
	report := validate.Run(resources, validate.Options{})
	got := map[string][]string{}
	for _, f := range report.Findings {
		if f.Severity == diag.Error {
			got[f.File] = append(got[f.File], f.Rule)
		}
	}
	want := map[string][]string{"a.yaml": {"template-unrendered"}, "b.yaml": {"locality-weight-zero"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if v := report.Resources[0].Verdicts[diag.Envoy]; v.Kind != diag.Rejected || v.Rule != "template-unrendered" {
		t.Errorf("verdict %v", v)
	}
}

// TestHighestPriority: a priority of four billion is refused, and nothing counts up to it.
func TestHighestPriority(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"LOGICAL_DNS", "STRICT_DNS", "STATIC", "EDS"} {
		for _, policy := range []string{"ROUND_ROBIN", "RING_HASH", "MAGLEV"} {
			report := judgeText(t, "name: c\ntype: "+kind+"\nlb_policy: "+policy+"\nconnect_timeout: 1s\nload_assignment:\n  cluster_name: c\n  endpoints:\n"+
				"  - {priority: 4294967295, lb_endpoints: []}\n  - lb_endpoints: ["+endpoint("192.0.2.1", "")+"]\n", validate.Options{})
			if got := report.Resources[0].Verdicts[diag.Envoy]; got.Kind != diag.Rejected || got.Rule != "locality-priority-too-large" {
				t.Errorf("%s, %s: verdict %v of %s", kind, policy, got.Kind, got.Rule)
			}
		}
	}
}

// TestNotAsked: what nobody asked for is looked into in state of the world, and not in delta (ads/unwatched-bad-constraint
// of Envoy's verdicts).
func TestNotAsked(t *testing.T) {
	t.Parallel()
	const text = `resources:
- {name: b, resource: {"@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment, cluster_name: b, endpoints: [{priority: 129}]}}
`
	for source, want := range map[eds.Source]diag.Verdict{
		eds.FromDelta: {Kind: diag.Ignored, Rule: "resource-name-not-watched"},
		eds.FromSotW:  {Kind: diag.Rejected, Rule: "locality-priority-too-large"},
	} {
		loaded := eds.NewLoader(eds.Options{Shape: eds.ShapeDeltaResponse}).Load("delta.yaml", []byte(text), true)
		got := validate.Run(loaded.Resources, validate.Options{Source: source, ExpectName: "a"}).Resources[0].Verdicts[diag.Envoy]
		if got.Kind != want.Kind || got.Rule != want.Rule {
			t.Errorf("%s: %s by %s, want %s by %s", source, got.Kind, got.Rule, want.Kind, want.Rule)
		}
	}
}

// TestOtherTypeOnStream: every resource of a stream's response must be of one type.
func TestOtherTypeOnStream(t *testing.T) {
	t.Parallel()
	const text = `resources:
- {"@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment, cluster_name: a}
- {"@type": type.googleapis.com/envoy.config.core.v3.Node, id: b}
`
	for _, source := range []eds.Source{eds.FromSotW, eds.FromDelta} {
		loaded := eds.NewLoader(eds.Options{Source: source}).Load("response.yaml", []byte(text), true)
		report := validate.Run(loaded.Resources, validate.Options{Source: source})
		if len(report.Resources) != 2 {
			t.Fatalf("%s: %d resources, want 2", source, len(report.Resources))
		}
		for _, client := range diag.Clients {
			if got := report.Resources[1].Verdicts[client]; got.Kind != diag.Rejected || got.Rule != "any-type-mismatch" {
				t.Errorf("%s: %s: %s by %s", source, client, got.Kind, got.Rule)
			}
		}
		if got := report.Resources[0].Verdicts[diag.Envoy].Kind; got != diag.Accept {
			t.Errorf("%s: the assignment: %s", source, got)
		}
	}
}
