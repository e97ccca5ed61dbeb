package author

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func formatText(name, src string) (string, error) {
	load := loadText(name)
	out, err := Format([]byte(src), load([]byte(src)), load)
	return string(out), err
}

func TestFormat(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, file, src, want string }{
		{"order and indentation", "a.yaml", `# top
policy:
    overprovisioning_factor:   140   # factor
# where they are
endpoints:
    -   priority: 1

        # the endpoints


        lb_endpoints:
            # one
            - endpoint: { address:   { socket_address: { port_value: 80, address: 192.0.2.1 } } }   # first
              # below one
            - load_balancing_weight: 2
              endpoint:
                  address:
                      socket_address:
                          port_value: 80
                          address: 192.0.2.2
        locality: {zone: a}
cluster_name: a
# end
`, `# top
cluster_name: a
# where they are
endpoints:
- locality: {zone: a}

  # the endpoints

  lb_endpoints:
  # one
  - endpoint: {address: {socket_address: {address: 192.0.2.1, port_value: 80}}} # first
    # below one
  - endpoint:
      address:
        socket_address:
          address: 192.0.2.2
          port_value: 80
    load_balancing_weight: 2
  priority: 1
policy:
  overprovisioning_factor: 140 # factor
# end
`},
		{"long flow", "a.yaml", "cluster_name: a\nendpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 192.0.2.1, port_value: 80}}}}, {endpoint: {address: {socket_address: {address: 192.0.2.2, port_value: 80}}}}]}]\n", `cluster_name: a
endpoints:
- lb_endpoints:
  - {endpoint: {address: {socket_address: {address: 192.0.2.1, port_value: 80}}}}
  - {endpoint: {address: {socket_address: {address: 192.0.2.2, port_value: 80}}}}
`},
		{"a block scalar at the end", "a.yaml", "endpoints: []\ncluster_name:\n |\n backend\n# end\n", "cluster_name: |\n backend\nendpoints: []\n# end\n"},
		{"only the assignment of a bootstrap", "a.yaml", `static_resources:
    clusters:
      - load_assignment:
            endpoints: []
            cluster_name:   a
        name:     a
`, `static_resources:
    clusters:
      - load_assignment:
            cluster_name: a
            endpoints: []
        name:     a
`},
		{"JSON", "a.json", `{"endpoints":[],"cluster_name" : "a",
"policy":{"overprovisioning_factor":140}}`, `{
  "cluster_name": "a",
  "endpoints": [],
  "policy": {"overprovisioning_factor": 140}
}`},
		{"JSON lines", "a.jsonl", "{\"endpoints\":[],\"cluster_name\":\"a\"}\n{\"cluster_name\":\"b\"}\n", "{\"cluster_name\": \"a\", \"endpoints\": []}\n{\"cluster_name\": \"b\"}\n"},
		{"an anchor keeps its place", "a.yaml", "policy: {overprovisioning_factor: &f 140}\nendpoints: [{lb_endpoints: [], load_balancing_weight: *f}]\ncluster_name: a\n", "policy: {overprovisioning_factor: &f 140}\nendpoints: [{lb_endpoints: [], load_balancing_weight: *f}]\ncluster_name: a\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := formatText(tt.file, tt.src)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestFormatCorpus: format is idempotent, loses no comment, and keeps what Envoy reads (which Format itself checks).
func TestFormatCorpus(t *testing.T) {
	t.Parallel()
	formatted, refused := 0, 0
	for _, original := range corpus(t) {
		for _, f := range variants(original) {
			once, err := formatText(f.fileName(), f.data)
			if err != nil {
				refused++
				t.Logf("%s: %v", f.name, err)
				continue
			}
			formatted++
			twice, err := formatText(f.fileName(), once)
			if err != nil {
				t.Errorf("%s: again: %v", f.name, err)
			} else if twice != once {
				t.Errorf("%s is not idempotent:\n%s", f.name, lineDiff(once, twice))
			}
			if diff := cmp.Diff(commentsOf(f.data), commentsOf(once)); diff != "" {
				t.Errorf("%s: comments (-before +after):\n%s", f.name, diff)
			}
		}
	}
	t.Logf("%d texts formatted, %d refused", formatted, refused)
	if refused*10 > formatted {
		t.Errorf("%d texts are refused, %d formatted", refused, formatted)
	}
}

// commentsOf lists what looks like a comment, sorted.
func commentsOf(src string) []string {
	var out []string
	for _, line := range strings.Split(src, "\n") {
		if i := strings.Index(line, "#"); i == 0 || i > 0 && line[i-1] == ' ' {
			out = append(out, strings.TrimSpace(line[i:]))
		}
	}
	slices.Sort(out)
	return out
}
