package diff

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/simulate"
)

// located is an endpoint with its place.
type located struct {
	address      string
	place        place
	group, index int
	*endpointv3.LbEndpoint
	match int32 // index on the other side; -1 for none
}

func (e *located) path() string {
	return "endpoints[" + strconv.Itoa(e.group) + "].lb_endpoints[" + strconv.Itoa(e.index) + "]"
}

func (e *located) change(kind Kind) Change {
	c := e.place.change(kind)
	c.Address = e.address
	return c
}

func locate(cla *endpointv3.ClusterLoadAssignment) []located {
	total := 0
	for _, g := range cla.GetEndpoints() {
		total += len(g.GetLbEndpoints())
	}
	out := make([]located, 0, total)
	for i, g := range cla.GetEndpoints() {
		p := placeOf(g)
		for j, e := range g.GetLbEndpoints() {
			out = append(out, located{address: addressOf(e), place: p, group: i, index: j, LbEndpoint: e, match: -1})
		}
	}
	return out
}

// addressOf is the text by which an endpoint is told from others.
func addressOf(e *endpointv3.LbEndpoint) string {
	if name := e.GetEndpointName(); name != "" {
		return name
	}
	return simulate.EnvoyAddress(e.GetEndpoint().GetAddress())
}

// endpoints matches endpoints by address and compares them.
func (c *comparison) endpoints(before, after *endpointv3.ClusterLoadAssignment) {
	c.was, c.now = locate(before), locate(after)
	c.match()
	for i := range c.was {
		if c.was[i].match < 0 {
			change := c.was[i].change(Removed)
			change.OldPath = c.was[i].path()
			c.add(change)
		}
	}
	for i := range c.now {
		if c.now[i].match < 0 {
			change := c.now[i].change(Added)
			change.NewPath = c.now[i].path()
			c.add(change)
			continue
		}
		c.endpoint(&c.was[c.now[i].match], &c.now[i])
	}
}

// match finds the endpoint of the other side: what both sides begin and end with in the same order, then by address.
// Copies of an address are matched by place first, then in their order.
func (c *comparison) match() {
	start, end := 0, 0
	for start < min(len(c.was), len(c.now)) && c.was[start].sameAs(&c.now[start]) {
		c.pair(start, start)
		start++
	}
	for end < min(len(c.was), len(c.now))-start && c.was[len(c.was)-1-end].sameAs(&c.now[len(c.now)-1-end]) {
		c.pair(len(c.was)-1-end, len(c.now)-1-end)
		end++
	}
	was, now := c.was[start:len(c.was)-end], c.now[start:len(c.now)-end]
	if len(was) == 0 || len(now) == 0 {
		return
	}
	first := make(map[string]int32, len(was)) // 1 + index of the first copy of an address
	next := make([]int32, len(was))           // likewise of the next copy
	for i := len(was) - 1; i >= 0; i-- {
		next[i], first[was[i].address] = first[was[i].address], int32(i)+1
	}
	for _, samePlace := range []bool{true, false} {
		for i := range now {
			if now[i].match >= 0 {
				continue
			}
			for j := first[now[i].address]; j > 0; j = next[j-1] {
				if at := int(j - 1); was[at].match < 0 && (!samePlace || was[at].place == now[i].place) {
					c.pair(start+at, start+i)
					break
				}
			}
		}
	}
}

func (c *comparison) pair(was, now int) {
	c.was[was].match, c.now[now].match = int32(now), int32(was)
}

// sameAs tells whether two endpoints have the same address and place.
func (e *located) sameAs(o *located) bool { return e.address == o.address && e.place == o.place }

// endpoint compares an endpoint that is on both sides.
func (c *comparison) endpoint(was, now *located) {
	if was.place == now.place && was.LbEndpoint == now.LbEndpoint {
		return
	}
	report := func(kind Kind, field, old, new string) {
		change := now.change(kind)
		change.Field, change.Old, change.New, change.OldPath, change.NewPath = field, old, new, was.path(), now.path()
		c.add(change)
	}
	if was.place != now.place {
		report(Moved, "", was.place.String(), now.place.String())
	}
	if o, n := weightText(was.LbEndpoint), weightText(now.LbEndpoint); o != n && !(c.dumped && cmp.Or(o, "1") == cmp.Or(n, "1")) {
		report(Weight, "", o, n)
	}
	if o, n := was.GetHealthStatus(), now.GetHealthStatus(); o != n && !(c.dumped && c.shown(o) == c.shown(n)) {
		report(Health, "", o.String(), n.String())
	}
	if !eds.SameMetadata(was.GetMetadata(), now.GetMetadata()) && !(c.dumped && proto.Size(was.GetMetadata()) == 0 && proto.Size(now.GetMetadata()) == 0) {
		report(Metadata, "", metadataText(was.GetMetadata()), metadataText(now.GetMetadata()))
	}
	if o, n := c.hostname(was), c.hostname(now); o != n {
		report(Hostname, "", o, n)
	}
	if was.GetEndpoint() == nil && now.GetEndpoint() == nil {
		return
	}
	if !sameAdditional(was.GetEndpoint().GetAdditionalAddresses(), now.GetEndpoint().GetAdditionalAddresses()) {
		report(Endpoint, "additional_addresses", additionalText(was.GetEndpoint()), additionalText(now.GetEndpoint()))
	}
	if o, n := was.GetEndpoint().GetHealthCheckConfig(), now.GetEndpoint().GetHealthCheckConfig(); !isEmpty(o) && !isEmpty(n) && !proto.Equal(o, n) || isEmpty(o) != isEmpty(n) {
		report(Endpoint, "health_check_config", "", "")
	}
	if o, n := protocol(was.LbEndpoint), protocol(now.LbEndpoint); o != n {
		report(Endpoint, "protocol", o, n)
	}
}

// hostname of an endpoint. In DNS clusters a running Envoy shows the name, or the IP address, that was resolved.
func (c *comparison) hostname(e *located) string {
	name := e.GetEndpoint().GetHostname()
	if c.dumped && name == e.GetEndpoint().GetAddress().GetSocketAddress().GetAddress() {
		return ""
	}
	return name
}

// shown is the health that a running Envoy shows for a status.
func (c *comparison) shown(status corev3.HealthStatus) corev3.HealthStatus {
	switch {
	case status == corev3.HealthStatus_UNKNOWN:
		return corev3.HealthStatus_HEALTHY
	case status == corev3.HealthStatus_TIMEOUT, status == corev3.HealthStatus_DRAINING && c.coarse:
		return corev3.HealthStatus_UNHEALTHY
	}
	return status
}

func isEmpty(config *endpointv3.Endpoint_HealthCheckConfig) bool { return proto.Size(config) == 0 }

// weightText is the weight as written; empty when it is unset, which counts as 1.
func weightText(e *endpointv3.LbEndpoint) string {
	if w := e.GetLoadBalancingWeight(); w != nil {
		return strconv.FormatUint(uint64(w.GetValue()), 10)
	}
	return ""
}

func protocol(e *endpointv3.LbEndpoint) string {
	if s := e.GetEndpoint().GetAddress().GetSocketAddress(); s != nil && s.GetProtocol() != corev3.SocketAddress_TCP {
		return s.GetProtocol().String()
	}
	return ""
}

func metadataText(m *corev3.Metadata) string {
	if m == nil {
		return ""
	}
	return jsonText(m)
}

// jsonText is a message on one line; compact, since protojson's spaces vary from build to build.
func jsonText(m proto.Message) string {
	if !m.ProtoReflect().IsValid() {
		return ""
	}
	text, err := jsonOf(m)
	if err != nil {
		return "(cannot be shown: " + err.Error() + ")"
	}
	return text
}

func jsonOf(m proto.Message) (string, error) {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = json.Compact(&out, text)
	return out.String(), err
}

func sameAdditional(a, b []*endpointv3.Endpoint_AdditionalAddress) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !proto.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func additionalText(e *endpointv3.Endpoint) string {
	text := ""
	for i, a := range e.GetAdditionalAddresses() {
		if i > 0 {
			text += ", "
		}
		text += simulate.EnvoyAddress(a.GetAddress())
	}
	return text
}
