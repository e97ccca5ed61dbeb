package author

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// commented has one element a line in priority 0 and 3, block style in 1, and one line in 2. ONE and so on are endpoints.
const commented = `cluster_name: a
endpoints:
- lb_endpoints: [
    # above one
    ONE, # one
    # above two
    TWO  # two
      # below two
    # end
  ]
- priority: 1
  lb_endpoints:
  # above three
  - THREE # three
    # below three
  # above four
  - endpoint: # in four
      address: {socket_address: {address: 192.0.2.4, port_value: 80}}  # four
    # below four
- priority: 2
  lb_endpoints: [FIVE] # five
- priority: 3
  lb_endpoints: [SIX, # six
                 SEVEN # seven
                ]
`

// TestEditComments shows where the comments of endpoints are after an edit.
func TestEditComments(t *testing.T) {
	t.Parallel()
	names := []string{}
	for i, name := range []string{"ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT"} {
		address := "192.0.2." + string(rune('1'+i))
		names = append(names, name, "{endpoint: {address: {socket_address: {address: "+address+", port_value: 80}}}}")
	}
	written := strings.NewReplacer(names...)
	for i := 0; i < len(names); i += 2 {
		names[i], names[i+1] = names[i+1], names[i]
	}
	short := strings.NewReplacer(names...)
	add := func(s string) Verb {
		e, err := ParseEndpoint(s)
		if err != nil {
			t.Fatal(err)
		}
		return Add([]*EndpointSpec{e})
	}
	move := func(s, to string) Verb {
		place, err := ParsePlace(to)
		if err != nil {
			t.Fatal(err)
		}
		return Move(mustSelect(t, s), place, false)
	}
	const removedTwo = "-     ONE, # one\n-     # above two\n-     TWO  # two\n-       # below two\n+     ONE # one\n"
	for _, tt := range []struct {
		name string
		verb Verb
		want string
	}{
		{"add to lines", add("192.0.2.8:80,priority=0"), "-     TWO  # two\n+     TWO,  # two\n+     EIGHT\n"},
		{"add to a block list", add("192.0.2.8:80,priority=1"), "+   - endpoint:\n+       address: {socket_address: {address: 192.0.2.8, port_value: 80}}\n"},
		{"add to one line", add("192.0.2.8:80,priority=2"), "-   lb_endpoints: [FIVE] # five\n+   lb_endpoints: [FIVE, EIGHT] # five\n"},
		{"add behind a comment", add("192.0.2.8:80,priority=3"), "-                  SEVEN # seven\n+                  SEVEN, # seven\n+                  EIGHT\n"},
		{"remove the last line", Remove(mustSelect(t, "address=192.0.2.2"), false), removedTwo},
		{"remove the first line", Remove(mustSelect(t, "address=192.0.2.1"), false), "-     # above one\n-     ONE, # one\n"},
		{"remove an item", Remove(mustSelect(t, "address=192.0.2.3"), false), "-   # above three\n-   - THREE # three\n-     # below three\n"},
		{"remove all lines", Remove(mustSelect(t, "priority=0"), false), "-     # above one\n-     ONE, # one\n-     # above two\n-     TWO  # two\n-       # below two\n"},
		{"line to block", move("address=192.0.2.2", "priority=1"), removedTwo + "+   # above two\n+   - TWO  # two\n+     # below two\n"},
		{"line to a new place", move("address=192.0.2.2", "priority=4"), removedTwo + "+ - lb_endpoints:\n+   # above two\n+   - TWO  # two\n+     # below two\n+   priority: 4\n"},
		{"line to one line", move("address=192.0.2.2", "priority=2"), "-     ONE, # one\n+     ONE # one\n-     TWO  # two\n+     # two\n-   lb_endpoints: [FIVE] # five\n+   lb_endpoints: [FIVE, TWO] # five\n"},
		{"item to lines", move("address=192.0.2.3", "priority=0"), "-     TWO  # two\n+     TWO,  # two\n+     # above three\n+     THREE # three\n+       # below three\n-   # above three\n-   - THREE # three\n-     # below three\n"},
		{"block item to lines", move("address=192.0.2.4", "priority=0"), "-     TWO  # two\n+     TWO,  # two\n+     # above four\n+     # in four\n+     FOUR  # four\n+       # below four\n-   # above four\n-   - endpoint: # in four\n-       address: {socket_address: {address: 192.0.2.4, port_value: 80}}  # four\n-     # below four\n"},
		{"block item to one line", move("address=192.0.2.4", "priority=2"), "-   - endpoint: # in four\n-       address: {socket_address: {address: 192.0.2.4, port_value: 80}}  # four\n+   # in four\n+   # four\n-   lb_endpoints: [FIVE] # five\n+   lb_endpoints: [FIVE, FOUR] # five\n"},
		{"from the line of the bracket", move("address=192.0.2.6", "priority=2"), "-   lb_endpoints: [FIVE] # five\n+   lb_endpoints: [FIVE, SIX] # five\n-   lb_endpoints: [SIX, # six\n+   lb_endpoints: [ # six\n"},
		{"items to lines", move("priority=1", "priority=0"), "-     TWO  # two\n+     TWO,  # two\n+     # above three\n+     THREE, # three\n+       # below three\n+     # above four\n+     # in four\n+     FOUR  # four\n+       # below four\n-   lb_endpoints:\n-   # above three\n-   - THREE # three\n-     # below three\n-   # above four\n-   - endpoint: # in four\n-       address: {socket_address: {address: 192.0.2.4, port_value: 80}}  # four\n-     # below four\n+   lb_endpoints: []\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, eol := range []string{"\n", "\r\n"} {
				got, err := editText("a.yaml", strings.ReplaceAll(written.Replace(commented), "\n", eol), tt.verb)
				if err != nil {
					t.Fatal(err)
				}
				if eol == "\r\n" && strings.Count(got, "\n") != strings.Count(got, "\r\n") {
					t.Errorf("line ends are mixed: %q", got)
				}
				got = short.Replace(strings.ReplaceAll(got, eol, "\n"))
				if diff := cmp.Diff(tt.want, lineDiff(commented, got)); diff != "" {
					t.Errorf("(-want +got):\n%s\n%s", diff, got)
				}
			}
		})
	}
}

// TestEditCommentsInMappings sets fields of mappings that have one a line.
func TestEditCommentsInMappings(t *testing.T) {
	t.Parallel()
	const src = `cluster_name: a
endpoints: [{lb_endpoints: [
  {
    endpoint: {address: {socket_address: {address: 192.0.2.1, port_value: 80}}}, # one
    # about the weight
    load_balancing_weight: 3 # heavy
  }, # end of one
]}]
`
	for _, tt := range []struct {
		name string
		verb Verb
		want string
	}{
		{"add a key", Drain(mustSelect(t, "all")), "-     load_balancing_weight: 3 # heavy\n+     load_balancing_weight: 3, # heavy\n+     health_status: DRAINING\n"},
		{"remove a key", SetWeight(mustSelect(t, "all"), nil, false), "-     endpoint: {address: {socket_address: {address: 192.0.2.1, port_value: 80}}}, # one\n+     endpoint: {address: {socket_address: {address: 192.0.2.1, port_value: 80}}} # one\n-     load_balancing_weight: 3 # heavy\n"},
	} {
		got, err := editText("a.yaml", src, tt.verb)
		if diff := cmp.Diff(tt.want, lineDiff(src, got)); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}

// TestEditCommentsAboveField takes out fields: comments above them stay.
func TestEditCommentsAboveField(t *testing.T) {
	t.Parallel()
	src := strings.Replace(blockText, "    load_balancing_weight: 3", "    # of the second\n    load_balancing_weight: 3", 1)
	got, err := editText("a.yaml", src, SetWeight(mustSelect(t, "all"), nil, false))
	if diff := cmp.Diff("-     load_balancing_weight: 3 # heavy\n", lineDiff(src, got)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestEditCommentsOfNull gives values to fields that have none: comments stay behind the keys.
func TestEditCommentsOfNull(t *testing.T) {
	t.Parallel()
	const item = "  lb_endpoints:\n  - endpoint:\n      address:\n        socket_address:\n          address: 192.0.2.1\n          port_value: 80\n"
	spec, err := ParseEndpoint("192.0.2.1:80")
	if err != nil {
		t.Fatal(err)
	}
	add := Add([]*EndpointSpec{spec})
	for _, tt := range []struct {
		src, want string
		verb      Verb
	}{
		{"cluster_name: a\nendpoints: # none yet\n# later\n", "cluster_name: a\nendpoints: # none yet\n- " + item[2:] + "# later\n", add},
		{"cluster_name: a\nendpoints: ~   # none yet", "cluster_name: a\nendpoints:   # none yet\n- " + item[2:len(item)-1], add},
		{"cluster_name: a\nendpoints:\n- lb_endpoints: # eps\n", "cluster_name: a\nendpoints:\n- lb_endpoints: # eps\n" + strings.TrimPrefix(item, "  lb_endpoints:\n"), add},
		{"policy: # pol\n\ncluster_name: a\n", "policy: # pol\n  drop_overloads:\n  - category: x\n    drop_percentage:\n      numerator: 5\n      denominator: HUNDRED\n\ncluster_name: a\n", SetDrop(dropOf(t, "x=5"))},
	} {
		for _, eol := range []string{"\n", "\r\n"} {
			got, err := editText("a.yaml", strings.ReplaceAll(tt.src, "\n", eol), tt.verb)
			if diff := cmp.Diff(tt.want, strings.ReplaceAll(got, eol, "\n")); err != nil || diff != "" {
				t.Errorf("%q: %v (-want +got):\n%s", tt.src, err, diff)
			}
		}
	}
}

// TestRemoveAtEnd takes out all items of a text that does not end with a line break.
func TestRemoveAtEnd(t *testing.T) {
	t.Parallel()
	const item = "  - endpoint: {address: {socket_address: {address: 192.0.2.1, port_value: 80}}}"
	const src = "cluster_name: a\nendpoints:\n- lb_endpoints:\n" + item + "\n" + item + "\n    # tail"
	got, err := editText("a.yaml", src, Remove(mustSelect(t, "all"), false))
	if diff := cmp.Diff("cluster_name: a\nendpoints:\n- lb_endpoints: []", got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
