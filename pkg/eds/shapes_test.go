package eds

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// found is what a test says of a resource: shape, source, name, and whether there is an assignment.
func found(rs []*Resource) []string {
	out := []string{}
	for _, r := range rs {
		s := fmt.Sprintf("%s %s %q", r.Shape, r.Source, r.Name)
		if r.Absent {
			s += " absent"
		}
		if r.Cluster != nil {
			s += " in " + r.Cluster.Message.GetName()
		}
		for _, p := range append(append([]string{}, brief(r.Around)...), brief(r.Problems)...) {
			s += "; " + p
		}
		out = append(out, s)
	}
	return out
}

const claURL = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

// TestShapes finds the assignments in each shape, from the content alone.
func TestShapes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file, text string
		want             []string
	}{
		{"a bare assignment", "a.yaml", "cluster_name: c\nendpoints: []", []string{`assignment file "c"`}},
		{"camel case", "a.json", `{"clusterName": "c"}`, []string{`assignment file "c"`}},
		{"a list", "a.yaml", "- {cluster_name: a}\n- {cluster_name: b}", []string{`assignment file "a"`, `assignment file "b"`}},
		{"several documents", "a.yaml", "cluster_name: a\n---\ncluster_name: b", []string{`assignment file "a"`, `assignment file "b"`}},
		{"JSON lines", "a.jsonl", "{\"cluster_name\": \"a\"}\n{\"cluster_name\": \"b\"}\n", []string{`assignment file "a"`, `assignment file "b"`}},
		{"JSON lines by content", "a.json", "{\"cluster_name\": \"a\"}\n{\"cluster_name\": \"b\"}\n", []string{`assignment file "a"`, `assignment file "b"`}},
		{"an Any", "a.yaml", "\"@type\": " + claURL + "\ncluster_name: c", []string{`any file "c"`}},
		{"a response", "a.yaml", "version_info: \"1\"\nresources:\n- \"@type\": " + claURL + "\n  cluster_name: c", []string{`response file "c"`}},
		{"an empty response", "a.yaml", "resources: []", []string{`response file "" absent`}},
		{"a delta response", "a.yaml", "system_version_info: \"1\"\nresources:\n- name: c\n  resource: {\"@type\": " + claURL + ", cluster_name: c}", []string{`delta-response delta "c"`}},
		{"a name and a resource", "a.yaml", "name: c\nresource: {\"@type\": " + claURL + ", cluster_name: c}", []string{`resource file "c"`}},
		{"an item without a type", "a.yaml", "resources:\n- cluster_name: c", []string{`response file "c"; 2:3 any-type-missing`}},
		{"v2", "a.yaml", "resources:\n- \"@type\": type.googleapis.com/envoy.api.v2.ClusterLoadAssignment\n  cluster_name: c", []string{`response file "c"; 2:12 v2-type`}},
		{"a Cluster", "a.yaml", "name: x\nconnect_timeout: 1s\nload_assignment: {cluster_name: c}", []string{`cluster cds "c" in x`}},
		{"a Cluster without an assignment", "a.yaml", "name: x\ntype: EDS\neds_cluster_config: {service_name: s, eds_config: {ads: {}}}", []string{`cluster cds "s" absent in x`}},
		{"clusters in a response", "a.yaml", "resources:\n- \"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster\n  name: x\n  load_assignment: {cluster_name: c}", []string{`cds cds "c" in x`}},
		{
			"a bootstrap", "a.yaml", "node: {id: i, cluster: k}\nstatic_resources:\n  clusters:\n  - name: x\n    load_assignment: {cluster_name: c}\n  - {name: z, type: ORIGINAL_DST}\n  listeners: [{name: l, unknown: 1}]",
			[]string{`bootstrap bootstrap "c" in x`, `bootstrap bootstrap "z" absent in z`},
		},
		{
			"a later document of a bootstrap", "a.yaml", "static_resources: {clusters: [{name: x, load_assignment: {cluster_name: a}}]}\n---\nstatic_resources: {clusters: [{name: z, load_assignment: {cluster_name: b}}]}",
			[]string{`bootstrap bootstrap "a" in x`, `bootstrap bootstrap "b" in z; 2:1 multi-document`},
		},
		{
			"a config_dump", "a.json", `{"configs": [{"@type": "type.googleapis.com/envoy.admin.v3.ClustersConfigDump", "dynamic_active_clusters": [{"cluster": {"name": "x", "type": "EDS", "eds_cluster_config": {"service_name": "c"}}}]},
				{"@type": "type.googleapis.com/envoy.admin.v3.EndpointsConfigDump", "dynamic_endpoint_configs": [{"endpoint_config": {"@type": "` + claURL + `", "cluster_name": "c"}}]}]}`,
			[]string{`config-dump file "c" in x`},
		},
		{
			"a ConfigMap", "a.yaml", "apiVersion: v1\nkind: ConfigMap\ndata:\n  eds.yaml: |\n    resources:\n    - \"@type\": " + claURL + "\n      cluster_name: c\n      endpoints: [{priority: x}]\n",
			[]string{`response file "c"; 8:30 value-type endpoints[0].priority`},
		},
		{
			"an argument of a container", "a.yaml", "kind: Deployment\napiVersion: apps/v1\nargs:\n- --config-yaml\n- |\n  static_resources: {clusters: [{name: x, load_assignment: {cluster_name: c}}]}\n",
			[]string{`bootstrap bootstrap "c" in x`},
		},
		{
			"an argument on one line", "a.yaml", `args: [--config-yaml, "static_resources: {clusters: [{name: x, load_assignment: {cluster_name: c}}]}"]`,
			[]string{`bootstrap bootstrap "c" in x`},
		},
		{"a text without a file name", "a.yaml", "configs:\n  envoy:\n    content: |\n      resources:\n      - \"@type\": " + claURL + "\n        cluster_name: c\n", []string{`response file "c"`}},
		{"a text whose file name has no YAML extension", "a.yaml", "data:\n  eds.conf: |\n    resources:\n    - \"@type\": " + claURL + "\n      cluster_name: c\n", []string{`response file "c"; 3:5 file-extension-mismatch`}},
		{"a broken text without a file name", "a.yaml", "content: |\n  # eds\n  cluster_name: c\n  endpoints: [{\n", []string{`response file "" absent; 5:1 syntax`}},
		{"a broken text that is a YAML file", "a.yaml", "data:\n  eds.yaml: |\n    $ load_assignment: [{\n", []string{`response file "" absent; 4:1 syntax`}},
		{"a script that writes a file", "a.yaml", "run: |\n  cat > envoy.yaml <<EOF\n  static_resources:\n    clusters: []\n  EOF\n", []string{`bootstrap bootstrap "" absent; 0:0 no-assignment`}},
		{"scripts, sources and prose in a ConfigMap", "a.yaml", "data:\n  x.lua: |\n    local t = {cluster_name = \"a\", [\n  README.md: |\n    # how to\n    - set `load_assignment`: [docs](x)\n       - foo: bar\n  note: \"load_assignment: see [there\"\n", []string{`response file "" absent; 0:0 no-assignment`}},
		{"deep in another tree", "a.yaml", "xds:\n  gateway:\n    dump: [{cluster_name: c, endpoints: []}]", []string{`assignment file "c"`}},
		{"text proto", "a.pb_text", "resources {\n  [" + claURL + "] { cluster_name: \"c\" }\n}", []string{`response file "c"`}},
		{"a bare assignment in text proto", "a.textproto", "cluster_name: \"c\"\nendpoints {\n  priority: 1\n}", []string{`assignment file "c"`}},
		{"YAML in a file that Envoy reads as JSON", "eds.conf", "resources:\n- \"@type\": " + claURL + "\n  cluster_name: c", []string{`response file "c"; 1:1 file-extension-mismatch`}},
		{"YAML in .pb", "eds.pb", "resources:\n- \"@type\": " + claURL + "\n  cluster_name: c", []string{`response file "c"; 1:1 file-eds-pb-garbage`}},
		{"lenient JSON", "a.json", "{'cluster_name': 'c', endpoints: [],}", []string{`assignment file "c"; 1:2 json-lenient; 1:23 json-lenient; 1:37 json-lenient`}},
		{"a template", "a.yaml", "cluster_name: c\nendpoints: [{priority: \"{{ p }}\"}]", []string{`assignment file "c"; 2:25 template-unrendered; 2:24 value-type endpoints[0].priority`}},
		{"nothing", "a.yaml", "hello: world", []string{`response file "" absent; 0:0 no-assignment`}},
		{"an unknown type in a bootstrap", "a.yaml", "static_resources:\n  listeners: [{typed_config: {\"@type\": type.googleapis.com/envoy.config.filter.http.lua.v2.Lua}}]\n  clusters: [{name: x, load_assignment: {cluster_name: c}}]", []string{`bootstrap bootstrap "c" in x; 2:40 any-type-unknown`}},
		{"a misspelt top of a bootstrap", "a.yaml", "static_resources: {clusters: [{name: x, load_assignment: {cluster_name: c}}]}\nadmim: {}", []string{`bootstrap bootstrap "c" in x; 2:1 unknown-field bootstrap.admim`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := NewLoader(Options{}).Load(tt.file, []byte(tt.text), true)
			if diff := cmp.Diff(tt.want, found(f.Resources)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnnamed skips what was found in a directory and is none of edsctl's business.
func TestUnnamed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		skipped    bool
	}{
		{"another kind of YAML", "hello: world", true},
		{"broken YAML without a mark of Envoy", "a: [", true},
		{"broken YAML with one", "cluster_name: [", false},
		{"an assignment", "cluster_name: c", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := NewLoader(Options{}).Load("a.yaml", []byte(tt.text), false)
			if f.Skipped != tt.skipped {
				t.Errorf("skipped: %t, want %t: %v", f.Skipped, tt.skipped, found(f.Resources))
			}
		})
	}
}

// TestBinary recognises messages by their bytes.
func TestBinary(t *testing.T) {
	t.Parallel()
	cla := []byte("\x0a\x01c\x12\x02\x28\x01") // cluster_name: "c", endpoints {priority: 1}
	inAny := &anypb.Any{TypeUrl: claURL, Value: cla}
	marshal := func(m proto.Message) string {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	tests := []struct {
		name, file, bytes string
		want              []string
	}{
		{"an assignment", "a.bin", string(cla), []string{`assignment file "c"`}},
		{"an assignment in .pb", "a.pb", string(cla), []string{`assignment file "c"`}},
		{"a response", "a.pb", marshal(&discoveryv3.DiscoveryResponse{Resources: []*anypb.Any{inAny}}), []string{`response file "c"`}},
		{"a delta response", "a.bin", marshal(&discoveryv3.DeltaDiscoveryResponse{Resources: []*discoveryv3.Resource{{Name: "n", Resource: inAny}}}), []string{`delta-response delta "c"`}},
		{"an Any", "a.bin", marshal(inAny), []string{`any file "c"`}},
		{"a truncated response", "a.pb", marshal(&discoveryv3.DiscoveryResponse{Resources: []*anypb.Any{inAny}})[:78], []string{`response file "" absent; 0:0 resource-not-unpackable`}},
		{"garbage in .pb", "a.pb", "\xff\x00\x01garbage", []string{`response file "" absent; 0:0 file-eds-pb-garbage`}},
		{"an unknown field", "a.bin", string(cla) + "\xc8\x3e\x01", []string{`assignment file "c"; 0:0 unknown-field`}},
		{"disable_overprovisioning of v2", "a.bin", string(cla) + "\x22\x02\x28\x01", []string{`assignment file "c"; 0:0 disable-overprovisioning-removed policy`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := NewLoader(Options{}).Load(tt.file, []byte(tt.bytes), true)
			if diff := cmp.Diff(tt.want, found(f.Resources)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", hex.EncodeToString([]byte(tt.bytes)), diff)
			}
		})
	}
}

// TestFollow reads the EDS file that a bootstrap names, with the cluster as its context.
func TestFollow(t *testing.T) {
	t.Parallel()
	const bootstrap = "node: {id: i, cluster: k}\nstatic_resources:\n  clusters:\n  - name: x\n    type: EDS\n    eds_cluster_config: {service_name: c, eds_config: {path_config_source: {path: /etc/eds.yaml}}}\n"
	files := map[string]string{"/etc/eds.yaml": "resources:\n- \"@type\": " + claURL + "\n  cluster_name: c\n"}
	var asked []string
	read := func(from, path string) (string, []byte, error) {
		asked = append(asked, from+" "+path)
		text, ok := files[path]
		if !ok {
			return "", nil, errors.New("not found")
		}
		return strings.TrimPrefix(path, "/"), []byte(text), nil
	}
	l := NewLoader(Options{ReadFile: read})
	f := l.Load("b.yaml", []byte(bootstrap), true)
	if diff := cmp.Diff([]string{`response file "c" in x`}, found(f.Resources)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"etc/eds.yaml"}, f.Followed); diff != "" {
		t.Errorf("followed (-want +got):\n%s", diff)
	}
	f = l.Load("b.yaml", []byte(strings.ReplaceAll(bootstrap, "eds.yaml", "gone.yaml")), true)
	if diff := cmp.Diff([]string{`bootstrap bootstrap "c" absent in x; 6:83 eds-path-not-found cluster.eds_cluster_config.eds_config.path_config_source.path`}, found(f.Resources)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b.yaml /etc/eds.yaml", "b.yaml /etc/gone.yaml"}, asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}
