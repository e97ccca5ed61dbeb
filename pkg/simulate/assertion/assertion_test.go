package assertion

import (
	"strings"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/simulate"
)

func result(t *testing.T) *simulate.Result {
	t.Helper()
	cla := &endpointv3.ClusterLoadAssignment{}
	err := protojson.Unmarshal([]byte(`{"cluster_name": "c", "endpoints": [
		{"locality": {"zone": "a"}, "load_balancing_weight": 3, "lb_endpoints": [{"endpoint": {"address": {"socket_address": {"address": "192.0.2.1", "port_value": 80}}}}]},
		{"locality": {"zone": "b"}, "load_balancing_weight": 1, "lb_endpoints": [{"endpoint": {"address": {"socket_address": {"address": "192.0.2.2", "port_value": 80}}}}]}]}`), cla)
	if err != nil {
		t.Fatal(err)
	}
	r, err := simulate.FromResource(&eds.Resource{Name: "c", Source: eds.FromSotW, Assignment: cla}, diag.GRPC, &simulate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEvaluate(t *testing.T) {
	tests := []struct {
		text   string
		holds  bool
		values string // joined by "; "
	}{
		{text: `share("zone=a") <= 0.8`, holds: true},
		{text: `share("zone=a") <= 0.5`, values: `share("zone=a") = 0.75`},
		{text: `share("all") == 1`, holds: true},
		{text: `share("zone=a") >= 1`, values: `share("zone=a") = 0.75`},
		{text: `dropped == 0.0 && unavailable == 0`, holds: true},
		{text: `endpoints.all(e, e.share < 0.8)`, holds: true},
		{text: `endpoints.all(e, e.share < 0.2)`, values: `endpoints = a list of 2; e = 192.0.2.1:80; e.share = 0.75`},
		{text: `endpoints.size() == 3`, values: `endpoints = a list of 2; endpoints.size() = 2`},
		{text: `zone_aware.mode == "direct"`, values: `zone_aware.mode = "off"`},
		{text: `priorities[0].share >= 1`, holds: true},
		{text: `name == "c" && client == "grpc" && verdict == "accept"`, holds: true},
		{text: `subset == null && keys == null`, holds: true},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			compiled, err := Compile([]string{tt.text})
			if err != nil {
				t.Fatal(err)
			}
			out, err := Evaluate(compiled, result(t))
			if err != nil {
				t.Fatal(err)
			}
			if out[0].Holds != tt.holds || strings.Join(out[0].Values, "; ") != tt.values {
				t.Errorf("holds %v with %q, want %v with %q", out[0].Holds, out[0].Values, tt.holds, tt.values)
			}
		})
	}
}

func TestCompileErrors(t *testing.T) {
	for text, want := range map[string]string{
		`share(`:          "Syntax error",
		`nothing == 1`:    "undeclared reference to 'nothing'",
		`1 + 1`:           "is a int, not true or false",
		`share(1) == 1.0`: "found no matching overload",
	} {
		if _, err := Compile([]string{text}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestEvaluateErrors(t *testing.T) {
	for text, want := range map[string]string{
		`share("zone=x") > 0.0`: `no endpoint has zone "x"; there is "a", "b"`,
		`share("zon=a") > 0.0`:  `did you mean "zone"?`,
		`zone_aware.mod == ""`:  "no such key",
		`share("all") * 2 > 1`:  "2.0 goes with them",
	} {
		compiled, err := Compile([]string{text})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Evaluate(compiled, result(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, text := range []string{`share("zone=a") <= 0.5`, "endpoints.all(e, e.share < 0.2)", "dropped == 0.0", "(", "1", "endpoints[0].locality == drops"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		compiled, err := Compile([]string{text})
		if err != nil {
			return
		}
		_, _ = Evaluate(compiled, result(t))
	})
}
