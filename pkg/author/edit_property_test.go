package author

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/edsctl/edsctl/pkg/document"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/selector"
)

// exchange is an edit with the one that takes it back.
type exchange struct {
	name      string
	there     Verb
	back      Verb
	within    document.Node // what alone may change; invalid: not looked at
	lossyBack bool          // what comes back may be written otherwise
}

// canonical tells whether a field is absent, or written as an edit would write it.
func canonical(message document.Node, field string) bool {
	p, ok := pairOf(message, field, camelCase(field))
	if !ok {
		return true
	}
	text := p.val.Text()
	if p.val.Kind() != document.Scalar || isBlockScalar(p.val) || p.val.Tag() != "" || p.val.Anchor() != "" {
		return false
	}
	if n, err := strconv.ParseUint(text, 10, 32); err == nil {
		return strconv.FormatUint(n, 10) == text && n > 0
	}
	if field == "health_status" && text != strings.ToUpper(text) || text == "UNKNOWN" {
		return false
	}
	start, end := p.val.Offsets()
	written := string(p.val.Document().Source()[start:end])
	return p.val.Style() == document.Plain && isPlain(text) || written == quoted(text)
}

// exchanges of one assignment: edits of its first, middle and last endpoint, and of the whole.
func exchanges(t *testing.T, r *eds.Resource) []exchange {
	cla := r.Assignment
	all := mustSelect(t, "all")
	spec, err := ParseEndpoint("192.0.2.254:4321,priority=97,zone=nowhere")
	if err != nil {
		t.Fatal(err)
	}
	out := []exchange{
		{name: "rename", there: Rename("renamed"), back: Rename(cla.GetClusterName()), lossyBack: !canonical(r.Node, "cluster_name") || cla.GetClusterName() == ""},
		{name: "add a locality", there: Add([]*EndpointSpec{spec}), back: Remove(mustSelect(t, "address=192.0.2.254"), true), lossyBack: len(cla.GetEndpoints()) == 0},
		{name: "drop", there: SetDrop(dropOf(t, "extra=7")), back: SetDrop(dropOf(t, "extra=none")), lossyBack: emptyPolicy(r)},
	}
	if cla.GetPolicy().GetOverprovisioningFactor() == nil {
		out = append(out, exchange{name: "policy", there: SetPolicy(policyOf(t, "overprovisioning_factor=150")), back: SetPolicy(policyOf(t, "overprovisioning_factor=none")), lossyBack: emptyPolicy(r)})
	}
	refs, err := all.Select(cla)
	if err != nil {
		return out
	}
	if weightsFit(cla) {
		out = append(out, exchange{name: "scale", there: ScaleWeights(all, big.NewRat(2, 1), false), back: ScaleWeights(all, big.NewRat(1, 2), false), lossyBack: !weightsCanonical(r, refs)})
	}
	seen := map[selector.Ref]bool{}
	for _, ref := range []selector.Ref{refs[0], refs[len(refs)/2], refs[len(refs)-1]} {
		if !seen[ref] {
			seen[ref] = true
			out = append(out, endpointExchanges(t, r, ref)...)
		}
	}
	return out
}

func emptyPolicy(r *eds.Resource) bool {
	p, ok := pairOf(r.Node, "policy")
	return ok && (isNull(p.val) || !p.val.First().IsValid() || func() bool {
		d, ok := pairOf(p.val, "drop_overloads", "dropOverloads")
		return ok && !d.val.First().IsValid()
	}())
}

func dropOf(t *testing.T, s string) []DropSetting {
	d, err := ParseDrop(s)
	if err != nil {
		t.Fatal(err)
	}
	return []DropSetting{d}
}

func policyOf(t *testing.T, s string) []PolicySetting {
	p, err := ParsePolicySetting(s)
	if err != nil {
		t.Fatal(err)
	}
	return []PolicySetting{p}
}

func weightsFit(cla *endpointv3.ClusterLoadAssignment) bool {
	for _, g := range cla.GetEndpoints() {
		for _, e := range g.GetLbEndpoints() {
			if w := e.GetLoadBalancingWeight(); w == nil || w.GetValue() == 0 || w.GetValue() > 1<<30 {
				return false
			}
		}
	}
	return true
}

func weightsCanonical(r *eds.Resource, refs []selector.Ref) bool {
	for _, ref := range refs {
		if !canonical(r.Lookup(endpointPath(ref)), "load_balancing_weight") {
			return false
		}
	}
	return true
}

// endpointExchanges edits one endpoint, which no selector can name as surely as its place does.
func endpointExchanges(t *testing.T, r *eds.Resource, ref selector.Ref) []exchange {
	group := r.Assignment.GetEndpoints()[ref.Group]
	e := group.GetLbEndpoints()[ref.Index]
	n := r.Lookup(endpointPath(ref))
	var weight *uint32
	if w := e.GetLoadBalancingWeight(); w != nil {
		weight = uint32p(w.GetValue())
	}
	var health *corev3.HealthStatus
	if e.GetHealthStatus() != 0 {
		health = e.GetHealthStatus().Enum()
	}
	degraded := corev3.HealthStatus_TIMEOUT
	address := "address=" + addressOf(e)
	s, err := selector.Parse(address)
	if err != nil {
		return nil
	}
	if found, err := s.Select(r.Assignment); err != nil || len(found) != 1 {
		return nil
	}
	_, written := pairOf(n, "health_status", "healthStatus")
	unread := written && health == nil // a name that is no status
	out := []exchange{
		{name: "weight", there: SetWeight(s, uint32p(77), false), back: SetWeight(s, weight, false), within: n, lossyBack: !canonical(n, "load_balancing_weight")},
		{name: "health", there: SetHealth(s, &degraded), back: SetHealth(s, health), within: n, lossyBack: !canonical(n, "health_status") || unread},
		{name: "remove", there: Remove(s, false), within: n},
	}
	if len(group.GetLbEndpoints()) == 1 { // the whole list goes
		out[2].within = r.Lookup(listPath(ref.Group))
	}
	if health == nil {
		out = append(out, exchange{name: "drain", there: Drain(s), back: Undrain(s), within: n, lossyBack: !canonical(n, "health_status") || unread})
	}
	last := len(group.GetLbEndpoints()) - 1
	if ref.Index == last && last > 0 && group.GetPriority() != 97 {
		there, _ := ParsePlace("priority=97")
		back, _ := ParsePlace("priority=" + strconv.Itoa(int(group.GetPriority())))
		unique := 0
		for _, g := range r.Assignment.GetEndpoints() {
			if spotOf(g) == spotOf(group) {
				unique++
			}
		}
		if unique == 1 {
			out = append(out, exchange{name: "move", there: Move(s, there, true), back: Move(s, back, true), lossyBack: blankAbove(n)})
		}
	}
	return out
}

// blankAbove tells whether the line above a node is blank.
func blankAbove(n document.Node) bool {
	start, _ := n.OuterOffsets()
	src := n.Document().Outer()
	line := lineStart(src, start)
	return line == 0 || blank(src[lineStart(src, line-1):line]) || blank(src[lineStart(src, max(line-2, 0)):line])
}

// TestEditProperties makes edits of all assignments of the corpus: no byte outside of the lines of what is edited
// changes, and the inverse edit gives the file as it was.
func TestEditProperties(t *testing.T) {
	t.Parallel()
	made, refused, back := 0, map[string]int{}, 0
	for i, original := range append(corpus(t), generated()...) {
		all := variants(original)
		for k, f := range all {
			if k > 0 && k != 1+i%2 { // one of the variants of each file
				continue
			}
			load := loadText(f.fileName())
			file := load([]byte(f.data))
			seen := map[string]int{}
			for _, r := range assignments(file) {
				seen[r.Name]++
			}
			for _, r := range assignments(file) {
				if seen[r.Name] > 1 {
					continue
				}
				pick := func(o *eds.Resource) bool { return editable(o) && (o.Name == r.Name || o.Name == "renamed") }
				for _, x := range exchanges(t, r) {
					edited, err := Edit([]byte(f.data), file, load, pick, x.there)
					if err != nil {
						refused[reason(err)]++
						if errors.Is(err, errNotExact) {
							t.Logf("%s: %s of %s: %v", f.name, x.name, r.Name, err)
						}
						continue
					}
					made++
					outside(t, f, r, x, string(edited.Data))
					if x.back.Steps == nil {
						continue
					}
					again, err := Edit(edited.Data, edited.File, load, pick, x.back)
					if err != nil {
						t.Errorf("%s: %s of %s, back: %v", f.name, x.name, r.Name, err)
						continue
					}
					if back++; string(again.Data) != f.data && !x.lossyBack {
						t.Errorf("%s: %s of %s and back:\n%s", f.name, x.name, r.Name, lineDiff(f.data, string(again.Data)))
					}
				}
			}
		}
	}
	t.Logf("%d edits, %d taken back, refused: %v", made, back, refused)
	inexact := 0
	for _, n := range refused {
		inexact += n
	}
	if inexact*1000 > made {
		t.Errorf("%d edits refused, %d made", inexact, made)
	}
}

// reason is the kind of an error, for counting.
func reason(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, "line "); i >= 0 {
		_, text, _ = strings.Cut(text[i:], ": ")
	}
	return text
}

// outside checks that what an edit may change is all that it changed.
func outside(t *testing.T, f text, r *eds.Resource, x exchange, after string) {
	t.Helper()
	if x.name == "rename" && r.Response != nil && r.Response.Wrapped {
		return // the wrapper is renamed too
	}
	n := x.within
	if !n.IsValid() {
		n = r.Node
	}
	src := []byte(f.data)
	start, end := n.OuterOffsets()
	from := lineStart(src, start)
	for from > 0 { // the comments above an item go with it
		above := lineStart(src, max(from-2, 0))
		if !strings.HasPrefix(strings.TrimSpace(f.data[above:from]), "#") || x.name != "remove" {
			break
		}
		from = above
	}
	to := end
	if end == 0 || !isBreak(src[end-1]) {
		to = lineEnd(src, end)
	}
	if x.name == "remove" { // an emptied list is written behind its key
		for range 2 {
			from = lineStart(src, max(from-2, 0))
		}
	}
	if tail := f.data[to:]; !strings.HasPrefix(after, f.data[:from]) || !strings.HasSuffix(after, tail) {
		t.Errorf("%s: %s of %s changes bytes outside:\n%s", f.name, x.name, r.Name, lineDiff(f.data, after))
	}
}
