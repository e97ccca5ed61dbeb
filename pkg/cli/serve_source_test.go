package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/xds/serve"
)

// TestServeSource changes files between readings. What is served and what is told is compared.
func TestServeSource(t *testing.T) {
	const already = "kept back b in h/c.yaml (not served): the name is served from h/b.yaml already"
	type step struct {
		files  string   // NAME=CONTENT, -NAME to remove, or OLD>NEW to rename; contents are those of fileOf
		set    error    // of the server
		serves string   // name@last number of the address
		log    []string // lines
	}
	tests := []struct {
		name  string
		args  []string
		stdin string
		force bool
		steps []step
	}{
		{name: "two clusters of one name", args: []string{"h"}, steps: []step{
			{files: "h/a.yaml=a@1 h/b.yaml=b@1", serves: "a@1 b@1"},
			{files: "h/cl.yaml=other@1/b h/a.yaml=a@2", serves: "a@2 b@1", log: []string{"updated a", `kept back other in h/cl.yaml (not served): the cluster "b" is served with b in h/b.yaml already`}},
			{files: "h/a.yaml=a@3", serves: "a@3 b@1", log: []string{"updated a"}},
			{files: "-h/b.yaml", serves: "a@3 other@1", log: []string{"added other", "removed b", "no longer kept back other in h/cl.yaml"}},
		}},
		{name: "two clusters of one name at the start", args: []string{"h"}, force: true, steps: []step{
			{files: "h/a.yaml=other@1/b h/b.yaml=b@1", serves: "other@1", log: []string{`kept back b in h/b.yaml (not served): the cluster "b" is served with other in h/a.yaml already`}},
		}},
		{name: "a cluster takes the name of another", args: []string{"h"}, steps: []step{
			{files: "h/a.yaml=a@1 h/b.yaml=b@1/c", serves: "a@1 b@1"},
			{files: "h/b.yaml=b@2/a", serves: "a@1 b@1", log: []string{`kept back b in h/b.yaml (the last good version is served): the cluster "a" is served with a in h/a.yaml already`}},
		}},
		{name: "two assignments of one name", args: []string{"h"}, steps: []step{
			{files: "h/b.yaml=b@1 h/c.yaml=b@2", serves: "b@1", log: []string{already}},
			{files: "h/b.yaml=b@3", serves: "b@3", log: []string{"updated b"}},
			{files: "h/b.yaml=bad-b", serves: "b@2", log: []string{"updated b", "no longer kept back b in h/c.yaml", "kept back b in h/b.yaml (not served): envoy reject: [endpoint-not-ip]"}},
			{files: "h/b.yaml=b@3", serves: "b@3", log: []string{"updated b", "no longer kept back b in h/b.yaml", already}},
		}},
		{name: "refused", args: []string{"h"}, steps: []step{
			{files: "h/a.yaml=a@1 h/b.yaml=bad-b", serves: "a@1", log: []string{"kept back b (not served): envoy reject: [endpoint-not-ip]"}},
			{files: "h/a.yaml=bad-a", serves: "a@1", log: []string{"kept back a (the last good version is served): envoy reject: [endpoint-not-ip]"}},
			{files: "h/c.yaml=a@2", serves: "a@2", log: []string{"updated a", "kept back a in h/a.yaml (not served): envoy reject: [endpoint-not-ip]"}},
		}},
		{name: "nothing is left in a file of a directory", args: []string{"q"}, steps: []step{
			{files: "q/a.yaml=a@1 q/b.yaml=b@1 q/other.yaml={", serves: "a@1 b@1"},
			{files: "q/a.yaml=foo:1", serves: "a@1 b@1", log: []string{"kept back q/a.yaml (the last good version is served): envoy not_applicable: there is no assignment"}},
			{files: "q/a.yaml=", serves: "a@1 b@1", log: []string{"kept back q/a.yaml (the last good version is served): envoy reject: [yaml-document]"}},
			{files: "q/a.yaml={", serves: "a@1 b@1", log: []string{"kept back q/a.yaml (the last good version is served): envoy reject: [syntax]"}},
			{files: "q/a.yaml={", serves: "a@1 b@1"},
			{files: "q/a.yaml=a@2", serves: "a@2 b@1", log: []string{"updated a", "no longer kept back q/a.yaml"}},
			{files: "q/a.yaml={", serves: "a@2 b@1", log: []string{"kept back q/a.yaml (the last good version is served): envoy reject: [syntax]"}},
			{files: "-q/a.yaml", serves: "b@1", log: []string{"removed a", "no longer kept back q/a.yaml"}},
		}},
		{name: "moved out of a file", args: []string{"q"}, steps: []step{
			{files: "q/a.yaml=a@1 q/b.yaml=b@1", serves: "a@1 b@1"},
			{files: "q/a.yaml= q/b.yaml=b@1+a@2", serves: "a@2 b@1", log: []string{"updated a", "kept back q/a.yaml (not served): envoy reject: [yaml-document]"}},
		}},
		{name: "a part of a file", args: []string{"q"}, steps: []step{
			{files: "q/a.yaml=a@1+b@1+c@1", serves: "a@1 b@1 c@1"},
			{files: "q/a.yaml=a@2+odd-b", serves: "a@2 b@1", log: []string{"updated a", "removed c", "kept back b (the last good version is served): envoy reject: [value-type]"}},
			{files: "q/a.yaml=a@3+{", serves: "a@3 b@1", log: []string{"updated a", "kept back a part of q/a.yaml (the last good version is served): envoy reject: [syntax]"}},
			{files: "q/a.yaml=a@3+b@1", serves: "a@3 b@1", log: []string{"no longer kept back q/a.yaml"}},
			{files: "q/b.yaml=x@1+{", serves: "a@3 b@1 x@1", log: []string{"added x", "kept back a part of q/b.yaml (not served): envoy reject: [syntax]"}},
			{files: "q/b.yaml=bad-x+{", serves: "a@3 b@1 x@1", log: []string{
				"kept back q/b.yaml (not served): envoy reject: [syntax]", "kept back x (the last good version is served): envoy reject: [endpoint-not-ip]",
			}},
		}},
		{name: "kept back and good again", args: []string{"q"}, steps: []step{
			{files: "q/a.yaml=a@1 q/b.yaml=b@1", serves: "a@1 b@1"},
			{files: "q/a.yaml=bad-a q/b.yaml={", serves: "a@1 b@1", log: []string{
				"kept back a (the last good version is served): envoy reject: [endpoint-not-ip]", "kept back q/b.yaml (the last good version is served): envoy reject: [syntax]",
			}},
			{files: "q/c.yaml=bad-c", serves: "a@1 b@1", log: []string{"kept back c (not served): envoy reject: [endpoint-not-ip]"}},
			{files: "q/a.yaml=a@1 q/b.yaml=b@1", serves: "a@1 b@1", log: []string{"no longer kept back a, q/b.yaml"}},
			{files: "-q/c.yaml", serves: "a@1 b@1", log: []string{"no longer kept back c"}},
		}},
		{name: "the last file of a directory goes", args: []string{"d"}, steps: []step{
			{files: "d/a.yaml=a@1 d/b.yaml=b@1 d/x.yaml=foo:1", serves: "a@1 b@1"},
			{files: "d/b.yaml=bad-b", serves: "a@1 b@1", log: []string{"kept back b (the last good version is served): envoy reject: [endpoint-not-ip]"}},
			{files: "-d/a.yaml", serves: "b@1", log: []string{"removed a"}},
			{files: "-d/b.yaml", serves: "b@1", log: []string{`problem: no assignment found in "d"; what was served before goes on being served`}},
			{serves: "b@1"},
			{files: "d/y.yaml=cluster_name:[", serves: "b@1", log: []string{"kept back d/y.yaml (not served): envoy reject: [syntax]"}},
			{files: "-d/y.yaml", serves: "b@1"},
			{files: "d/b.yaml=b@1", serves: "b@1", log: []string{"no longer kept back b, d/y.yaml", `problem over: no assignment found in "d"`}},
			{files: "d>dd", serves: "b@1", log: []string{"problem: d: no such file or directory; what was served before goes on being served"}},
			{files: "dd>d", serves: "b@1", log: []string{"problem over: d: no such file or directory"}},
			{files: "-d/b.yaml d/c.yaml=c@1", serves: "c@1", log: []string{"added c", "removed b"}},
		}},
		{name: "the last file of all below a directory goes", args: []string{"d/**"}, steps: []step{
			{files: "d/e/a.yaml=a@1", serves: "a@1"},
			{files: "-d/e/a.yaml", serves: "a@1", log: []string{`problem: no assignment found in "d/**"; what was served before goes on being served`}},
			{files: "d/e/a.yaml=a@2", serves: "a@2", log: []string{"updated a", `problem over: no assignment found in "d/**"`}},
		}},
		{name: "EDS files of a bootstrap", args: []string{"boot.yaml"}, steps: []step{
			{files: "boot.yaml=boot-a,b eds/a.yaml=eds-a@1 eds/b.yaml=eds-b@1", serves: "a@1 b@1"},
			{files: "eds>eds2", serves: "a@1 b@1", log: []string{
				`kept back eds/a.yaml (the last good version is served): the EDS file of the cluster "a" in boot.yaml was not found`,
				`kept back eds/b.yaml (the last good version is served): the EDS file of the cluster "b" in boot.yaml was not found`,
			}},
			{files: "eds2>eds", serves: "a@1 b@1", log: []string{"no longer kept back eds/a.yaml, eds/b.yaml"}},
			{files: "eds/a.yaml=garbage", serves: "a@1 b@1", log: []string{"kept back eds/a.yaml (the last good version is served): envoy reject: [yaml-document]"}},
			{files: "eds/a.yaml=resources:[]", serves: "a@1 b@1", log: []string{"kept back eds/a.yaml (the last good version is served): envoy ignore: the response holds no assignment: the cluster keeps its endpoints [eds-empty-update]"}},
			{files: "eds/b.yaml=eds-b@2", serves: "a@1 b@2", log: []string{"updated b"}},
			{files: "-eds/a.yaml eds/a.yaml/x=", serves: "a@1 b@2", log: []string{
				`kept back eds/a.yaml (the last good version is served): the EDS file of the cluster "a" in boot.yaml cannot be read: not a regular file`,
			}},
			{files: "-eds/a.yaml/x -eds/a.yaml eds/a.yaml=eds-a@1", serves: "a@1 b@2", log: []string{"no longer kept back eds/a.yaml"}},
			{files: "boot.yaml={", serves: "a@1 b@2", log: []string{"kept back boot.yaml (the last good version is served): envoy reject: [syntax]"}},
			{files: "boot.yaml=boot-b", serves: "b@2", log: []string{"removed a", "no longer kept back boot.yaml"}},
		}},
		{name: "an EDS file that is not there at the start", args: []string{"boot.yaml", "c.yaml"}, steps: []step{
			{files: "boot.yaml=boot-a c.yaml=c@1", serves: "c@1", log: []string{`kept back eds/a.yaml (not served): the EDS file of the cluster "a" in boot.yaml was not found`}},
			{files: "eds/a.yaml=eds-a@1", serves: "a@1 c@1", log: []string{"added a", "no longer kept back eds/a.yaml"}},
		}},
		{name: "named files", args: []string{"a.yaml", "b.yaml"}, steps: []step{
			{files: "a.yaml=a@1 b.yaml=b@1", serves: "a@1 b@1"},
			{files: "a.yaml=", serves: "a@1 b@1", log: []string{"kept back a.yaml (the last good version is served): envoy reject: [yaml-document]"}},
			{files: "-a.yaml", serves: "b@1", log: []string{"removed a", "no longer kept back a.yaml", "problem: a.yaml: no such file or directory"}},
			{files: "b.yaml=b@2", serves: "b@2", log: []string{"updated b"}},
			{files: "-b.yaml", serves: "b@2", log: []string{"problem: a.yaml: no such file or directory; b.yaml: no such file or directory; what was served before goes on being served"}},
			{serves: "b@2"},
			{files: "a.yaml=a@1 b.yaml=b@2", serves: "a@1 b@2", log: []string{"added a", "problem over: a.yaml: no such file or directory; b.yaml: no such file or directory"}},
			{files: "-a.yaml", serves: "b@2", log: []string{"removed a", "problem: a.yaml: no such file or directory"}},
		}},
		{name: "standard input is read once", args: []string{"-", "b.yaml"}, stdin: "a@1", steps: []step{
			{files: "b.yaml=b@1", serves: "a@1 b@1"},
			{files: "b.yaml=b@2", serves: "a@1 b@2", log: []string{"updated b"}},
		}},
		{name: "what the server does not take is not told", args: []string{"h"}, steps: []step{
			{files: "h/a.yaml=a@1", serves: "a@1"},
			{files: "h/b.yaml=b@1", set: errors.New("full"), serves: "a@1", log: []string{"problem: full; what was served before goes on being served"}},
			{set: errors.New("full"), serves: "a@1"},
			{serves: "a@1 b@1", log: []string{"added b", "problem over: full"}},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			o := &serveOptions{force: tt.force}
			o.inputOptions.bind(&cobra.Command{})
			o.profile.bind(&cobra.Command{}, "client", "envoy-version")
			env := &Env{Stdin: strings.NewReader(fileOf(tt.stdin)), Getenv: func(string) string { return "" }}
			serves := ""
			var fail error
			s := newServeSource(env, o, tt.args, func(list []serve.Assignment) error {
				if fail == nil {
					serves = shown(list)
				}
				return fail
			})
			for i, st := range tt.steps {
				for _, change := range strings.Fields(st.files) {
					apply(t, change)
				}
				fail = st.set
				var state render.ServeState
				var err error
				if i == 0 {
					state, err = s.load(t.Context())
					state.Added = nil // the count of what is served is told
				} else {
					state = s.reload(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
				if serves != st.serves || len(state.Served) != len(strings.Fields(serves)) {
					t.Errorf("step %d: serves %q (and tells %d), want %q", i, serves, len(state.Served), st.serves)
				}
				if diff := cmp.Diff(st.log, told(t, &state)); diff != "" {
					t.Errorf("step %d: log (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

// apply makes the change that a step describes.
func apply(t *testing.T, change string) {
	t.Helper()
	if name, ok := strings.CutPrefix(change, "-"); ok {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		return
	}
	if from, to, ok := strings.Cut(change, ">"); ok {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
		return
	}
	name, content, _ := strings.Cut(change, "=")
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(fileOf(content)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// fileOf writes a file out: documents with + between, each NAME@N for an assignment with one address, with /CLUSTER in a
// cluster, bad-NAME with a host name, odd-NAME with a number that is none, eds-NAME@N as an EDS file, boot-NAME,NAME for a
// bootstrap with clusters that take theirs from eds/NAME.yaml, or as it is.
func fileOf(content string) string {
	var docs []string
	for doc := range strings.SplitSeq(content, "+") {
		name, rest, good := strings.Cut(doc, "@")
		number, cluster, _ := strings.Cut(rest, "/")
		address, port := "192.0.2."+number, "80"
		if bad, ok := strings.CutPrefix(doc, "bad-"); ok {
			name, address, good = bad, "host.example", true
		}
		if odd, ok := strings.CutPrefix(doc, "odd-"); ok {
			name, address, port, good = odd, "192.0.2.1", "[]", true
		}
		if clusters, ok := strings.CutPrefix(doc, "boot-"); ok {
			text := "static_resources:\n  clusters:\n"
			for c := range strings.SplitSeq(clusters, ",") {
				text += fmt.Sprintf("  - name: %s\n    type: EDS\n    eds_cluster_config: {eds_config: {path_config_source: {path: eds/%s.yaml}}}\n", c, c)
			}
			docs = append(docs, text)
			continue
		}
		if !good {
			docs = append(docs, strings.ReplaceAll(doc, ":", ": ")+"\n")
			continue
		}
		endpoints := fmt.Sprintf("endpoints: [{locality: {zone: z}, load_balancing_weight: 1, lb_endpoints: [{endpoint: "+
			"{address: {socket_address: {address: %s, port_value: %s}}}}]}]\n", address, port)
		text := "cluster_name: " + name + "\n" + endpoints
		if cluster != "" {
			text = "name: " + cluster + "\ntype: STATIC\nload_assignment:\n  cluster_name: " + name + "\n  " + endpoints
		}
		if eds, ok := strings.CutPrefix(text, "cluster_name: eds-"); ok {
			text = "resources:\n- \"@type\": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment\n  cluster_name: " + strings.ReplaceAll(eds, "\nend", "\n  end")
		}
		docs = append(docs, text)
	}
	return strings.Join(docs, "---\n")
}

// shown names what is served with the last number of its address.
func shown(list []serve.Assignment) string {
	var out []string
	for _, a := range list {
		address := a.Message.GetEndpoints()[0].GetLbEndpoints()[0].GetEndpoint().GetAddress().GetSocketAddress().GetAddress()
		out = append(out, a.Message.GetClusterName()+"@"+address[strings.LastIndex(address, ".")+1:])
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// told is the log of a change. Of a finding only its rule is left: the texts are those of validate.
func told(t *testing.T, s *render.ServeState) []string {
	t.Helper()
	var b bytes.Buffer
	if err := render.ServeChange(&b, "text", s, render.Options{}); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSuffix(line, "\n")
		if before, after, ok := strings.Cut(line, " reject: "); ok {
			line = before + " reject: " + after[strings.LastIndex(after, "["):]
		}
		lines = append(lines, line)
	}
	return lines
}
