package author

import (
	"bytes"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/selector"
)

// loadText reads a file that is called name.
func loadText(name string) Load {
	loader := eds.NewLoader(eds.Options{})
	return func(data []byte) *eds.File { return loader.Load(name, data, true) }
}

func editable(r *eds.Resource) bool { return !r.Absent && !r.Followed && r.Node.IsValid() }

func editText(name, src string, verb Verb) (string, error) {
	load := loadText(name)
	out, err := Edit([]byte(src), load([]byte(src)), load, editable, verb)
	if err != nil {
		return "", err
	}
	return string(out.Data), nil
}

func mustSelect(t testing.TB, text string) selector.Selector {
	t.Helper()
	s, err := selector.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func uint32p(n uint32) *uint32 { return &n }

const blockText = `# the backend
cluster_name: backend   # name
endpoints:
- locality: {region: eu, zone: a}
  lb_endpoints:
  # first
  - endpoint:
      address:
        socket_address:
          address: 192.0.2.1   # one
          port_value: 80
    health_status: HEALTHY
  # second
  - endpoint:
      address:
        socket_address:
          address: 192.0.2.2
          port_value: 80
    load_balancing_weight: 3 # heavy
  load_balancing_weight: 1

- locality: {region: eu, zone: b}
  lb_endpoints:
  - endpoint: {address: {socket_address: {address: 192.0.2.3, port_value: 80}}}
  # end of b
`

// TestEditBlock shows what each verb does to a text, as a list of lines that went and came.
func TestEditBlock(t *testing.T) {
	t.Parallel()
	spec := func(s string) *EndpointSpec {
		e, err := ParseEndpoint(s)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	place := func(s string) Place {
		p, err := ParsePlace(s)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	drop := func(s string) []DropSetting {
		d, err := ParseDrop(s)
		if err != nil {
			t.Fatal(err)
		}
		return []DropSetting{d}
	}
	policy := func(s string) []PolicySetting {
		p, err := ParsePolicySetting(s)
		if err != nil {
			t.Fatal(err)
		}
		return []PolicySetting{p}
	}
	degraded := corev3.HealthStatus_DEGRADED
	for _, tt := range []struct {
		name string
		verb Verb
		want string
	}{
		{"weight", SetWeight(mustSelect(t, "address=192.0.2.2"), uint32p(5), false), "-     load_balancing_weight: 3 # heavy\n+     load_balancing_weight: 5 # heavy\n"},
		{"new weight in flow", SetWeight(mustSelect(t, "address=192.0.2.3"), uint32p(5), false), "+     load_balancing_weight: 5\n"},
		{"weight out", SetWeight(mustSelect(t, "address=192.0.2.2"), nil, false), "-     load_balancing_weight: 3 # heavy\n"},
		{"locality weight", SetWeight(mustSelect(t, "zone=b"), uint32p(2), true), "+   load_balancing_weight: 2\n"},
		{"health", SetHealth(mustSelect(t, "zone=a"), &degraded), "-     health_status: HEALTHY\n+     health_status: DEGRADED\n+     health_status: DEGRADED\n"},
		{"remove", Remove(mustSelect(t, "address=192.0.2.1"), false), "-   # first\n-   - endpoint:\n-       address:\n-         socket_address:\n-           address: 192.0.2.1   # one\n-           port_value: 80\n-     health_status: HEALTHY\n"},
		{"remove all of a locality", Remove(mustSelect(t, "zone=b"), false), "-   lb_endpoints:\n-   - endpoint: {address: {socket_address: {address: 192.0.2.3, port_value: 80}}}\n+   lb_endpoints: []\n"},
		{"remove and prune", Remove(mustSelect(t, "zone=b"), true), "- - locality: {region: eu, zone: b}\n-   lb_endpoints:\n-   - endpoint: {address: {socket_address: {address: 192.0.2.3, port_value: 80}}}\n"},
		{"add", Add([]*EndpointSpec{spec("192.0.2.9:81,zone=b,weight=2,hostname=h.example,metadata.envoy.lb.version=v1")}), "+   - endpoint: {address: {socket_address: {address: 192.0.2.9, port_value: 81}}, hostname: h.example}\n+     metadata:\n+       filter_metadata:\n+         envoy.lb: {version: v1}\n+     load_balancing_weight: 2\n"},
		{"add a locality", Add([]*EndpointSpec{spec("[2001:db8::1]:81,zone=c,priority=1")}), `+ - locality: {zone: c}
+   lb_endpoints:
+   - endpoint: {address: {socket_address: {address: "2001:db8::1", port_value: 81}}}
+   priority: 1
`},
		{"move an endpoint", Move(mustSelect(t, "address=192.0.2.1"), place("zone=b"), false), "-   # first\n-   - endpoint:\n-       address:\n-         socket_address:\n-           address: 192.0.2.1   # one\n-           port_value: 80\n-     health_status: HEALTHY\n+   # first\n+   - endpoint:\n+       address:\n+         socket_address:\n+           address: 192.0.2.1   # one\n+           port_value: 80\n+     health_status: HEALTHY\n"},
		{"move to a new place", Move(mustSelect(t, "address=192.0.2.1"), place("priority=1"), false), "-   # first\n-   - endpoint:\n-       address:\n-         socket_address:\n-           address: 192.0.2.1   # one\n-           port_value: 80\n-     health_status: HEALTHY\n+ - locality: {region: eu, zone: a}\n+   lb_endpoints:\n+   # first\n+   - endpoint:\n+       address:\n+         socket_address:\n+           address: 192.0.2.1   # one\n+           port_value: 80\n+     health_status: HEALTHY\n+   load_balancing_weight: 1\n+   priority: 1\n"},
		{"move a locality", Move(mustSelect(t, "zone=b"), place("priority=1"), false), "+   priority: 1\n"},
		{"drop", SetDrop(drop("throttle=0.5%")), "+ policy:\n+   drop_overloads:\n+   - category: throttle\n+     drop_percentage: {numerator: 50, denominator: TEN_THOUSAND}\n"},
		{"policy", SetPolicy(policy("overprovisioning_factor=120")), "+ policy: {overprovisioning_factor: 120}\n"},
		{"rename", Rename("on"), "- cluster_name: backend   # name\n+ cluster_name: \"on\"   # name\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, eol := range []string{"\n", "\r\n"} {
				got, err := editText("a.yaml", strings.ReplaceAll(blockText, "\n", eol), tt.verb)
				if err != nil {
					t.Fatal(err)
				}
				if eol == "\r\n" && strings.Count(got, "\n") != strings.Count(got, "\r\n") {
					t.Errorf("line ends are mixed: %q", got)
				}
				if diff := cmp.Diff(tt.want, lineDiff(blockText, strings.ReplaceAll(got, eol, "\n"))); diff != "" {
					t.Errorf("%s(-want +got):\n%s\n%s", tt.name, diff, got)
				}
			}
		})
	}
}

// TestEditQuoted edits texts of JSON under the name of a YAML file: the result is that under its own name.
func TestEditQuoted(t *testing.T) {
	t.Parallel()
	texts := []text{{"null.json", `{"cluster_name": "a", "endpoints": null, "policy":null}`}, {"empty.json", `{"cluster_name":"a","endpoints":[{"locality":{},"lb_endpoints":[]}]}`}}
	for _, f := range generated() {
		if strings.HasSuffix(f.name, ".json") {
			texts = append(texts, f)
		}
	}
	add, err := ParseEndpoint("192.0.2.250:80,zone=x,hostname=h,metadata.envoy.lb.version=v1")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range texts {
		load := loadText("a.yaml")
		verbs := []Verb{Add([]*EndpointSpec{add}), SetPolicy(policyOf(t, "endpoint_stale_after=30s"))}
		for _, x := range exchanges(t, load([]byte(f.data)).Resources[0]) {
			verbs = append(verbs, x.there)
		}
		for _, verb := range verbs {
			want, err := editText("a.json", f.data, verb)
			if err != nil {
				t.Fatalf("%s: %v", f.name, err)
			}
			got, err := editText("a.yaml", f.data, verb)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%s: %v (-JSON +YAML):\n%s", f.name, err, diff)
			}
		}
	}
}

// TestEditQuotedKeys adds to mappings whose keys are in quotes, among some whose keys are not.
func TestEditQuotedKeys(t *testing.T) {
	t.Parallel()
	const src = `cluster_name: a
endpoints:
- {"locality":{"zone":"a"},"lb_endpoints":[]}
- 'locality': {'zone': 'b'}
  'lb_endpoints': []
`
	for _, tt := range []struct{ spec, want string }{
		{"192.0.2.1:80,zone=a,health=DRAINING", `+ - {"locality":{"zone":"a"},"lb_endpoints":[{"endpoint":{"address":{"socket_address":{"address":"192.0.2.1","port_value":80}}},"health_status":"DRAINING"}]}` + "\n"},
		{"192.0.2.1:80,zone=b,health=DRAINING", "+   'lb_endpoints':\n+   - 'endpoint':\n+       'address':\n+         'socket_address': {'address':'192.0.2.1','port_value':80}\n+     'health_status': 'DRAINING'\n"},
	} {
		spec, err := ParseEndpoint(tt.spec)
		if err != nil {
			t.Fatal(err)
		}
		got, err := editText("a.yaml", src, Add([]*EndpointSpec{spec}))
		_, added, _ := strings.Cut(lineDiff(src, got), "\n")
		if diff := cmp.Diff(tt.want, added); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.spec, err, diff)
		}
	}
}

// barePairs are lists in flow style that hold mappings without braces, which are one entry each.
func barePairs() []string {
	const endpoint = "endpoint: {address: {socket_address: {address: 192.0.2.1, port_value: 80}}}"
	return []string{
		"cluster_name: a\nendpoints: [lb_endpoints: [" + endpoint + "]]\n",
		"cluster_name: a\nendpoints: [ lb_endpoints: [{" + endpoint + "}] ]\npolicy: {drop_overloads: [category: lb]}\n",
		"cluster_name: a\nendpoints:\n- lb_endpoints: [ # above\n    " + endpoint + " # one\n    ]\n",
		"{cluster_name: a, endpoints: [? lb_endpoints : [" + endpoint + ", load_balancing_weight: 3]]}\n",
	}
}

// TestEditBarePair makes every edit in lists of mappings without braces, which get some when they need them.
func TestEditBarePair(t *testing.T) {
	t.Parallel()
	const src = "cluster_name: a\nendpoints: [lb_endpoints: [endpoint: {address: {socket_address: {address: 192.0.2.1, port_value: 80}}}]]\n"
	drained, err := editText("a.yaml", src, Drain(mustSelect(t, "all")))
	want := "- endpoints: [lb_endpoints: [endpoint: {address: {socket_address: {address: 192.0.2.1, port_value: 80}}}]]\n" +
		"+ endpoints: [lb_endpoints: [{endpoint: {address: {socket_address: {address: 192.0.2.1, port_value: 80}}}, health_status: DRAINING}]]\n"
	if diff := cmp.Diff(want, lineDiff(src, drained)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	var texts []text
	for _, data := range barePairs() {
		texts = append(texts, variants(text{"a.yaml", data})...)
	}
	for _, f := range texts {
		text := f.data
		load := loadText(f.fileName())
		file := load([]byte(text))
		for _, x := range exchanges(t, assignments(file)[0]) {
			edited, err := Edit([]byte(text), file, load, editable, x.there)
			if err == nil && x.back.Steps != nil {
				_, err = Edit(edited.Data, edited.File, load, editable, x.back)
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", x.name, err, text)
			}
		}
		for _, verb := range []Verb{SetWeight(mustSelect(t, "all"), uint32p(5), true), SetDrop(dropOf(t, "lb=5")), SetWeight(mustSelect(t, "all"), nil, false)} {
			if _, err := editText(f.fileName(), text, verb); err != nil {
				t.Errorf("%v\n%s", err, text)
			}
		}
	}
}

// TestRenameWrapped renames a resource together with its wrapper.
func TestRenameWrapped(t *testing.T) {
	t.Parallel()
	const src = `{"resources": [{"name": "a", "version": "1", "resource": {"@type": "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment", "cluster_name": "a"}}]}`
	for _, tt := range []struct{ name, src, want string }{
		{"the same name", src, strings.ReplaceAll(src, `"a"`, `"b"`)},
		{"another name", strings.Replace(src, `"a"`, `"c"`, 1), strings.ReplaceAll(strings.Replace(src, `"a"`, `"c"`, 1), `"a"`, `"b"`)},
	} {
		got, err := editText("a.json", tt.src, Rename("b"))
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}

// lineDiff lists the lines that went and came, by the longest common subsequence.
func lineDiff(a, b string) string {
	x, y := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	common := make([][]int, len(x)+1)
	for i := range common {
		common[i] = make([]int, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				common[i][j] = 1 + common[i+1][j+1]
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out bytes.Buffer
	for i, j := 0, 0; i < len(x) || j < len(y); {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			i, j = i+1, j+1
		case i < len(x) && (j == len(y) || common[i+1][j] >= common[i][j+1]):
			out.WriteString("- " + x[i])
			i++
		default:
			out.WriteString("+ " + y[j])
			j++
		}
	}
	return out.String()
}
