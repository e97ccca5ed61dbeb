package xds

import (
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
)

// Silence says of one name, or of the whole fetch when Name is empty, what was asked, what came and what is the likely
// cause of there being no more.
type Silence struct {
	Name  string
	Asked string
	Came  string
	Cause string
	Try   []Attempt
}

// Attempt is a change of the command that may help: another value of a flag, or no names when Flag is empty.
type Attempt struct{ Flag, Value string }

func (a Attempt) String() string {
	if a.Flag == "" {
		return "without names"
	}
	return "--" + a.Flag + " " + a.Value
}

// The attempts.
var (
	withoutNames = Attempt{}
	byDelta      = Attempt{"transport", string(Delta)}
	byEDS        = Attempt{"service", string(ServiceEDS)}
	otherNode    = Attempt{"node-id", "ID"}
	asSidecar    = Attempt{"as", "istio-sidecar"}
	longer       = Attempt{"timeout", "60s"}
	taken        = Attempt{"ack", "always"}
)

// Server is a kind of control plane, as far as it can be told.
type Server string

// The kinds. UnknownServer shows no sign of what it is.
const (
	UnknownServer  Server = ""
	Istiod         Server = "istiod"
	GoControlPlane Server = "go-control-plane"
	Consul         Server = "consul"
	Kuma           Server = "kuma"
	Contour        Server = "contour"
)

// Kind guesses the kind of the server: from what it calls itself, from the preset that the user chose, then from the
// nonces, which go-control-plane counts from 1 on every stream.
func (t *Tracker) Kind(preset string) Server {
	id := strings.ToLower(t.ControlPlane)
	for _, k := range []Server{Istiod, Consul, Kuma, Contour} {
		if strings.Contains(id, string(k)) {
			return k
		}
	}
	switch {
	case strings.HasPrefix(preset, "istio-"):
		return Istiod
	case preset == "consul" || preset == "kuma" || preset == "contour":
		return Server(preset)
	case preset == "envoy-gateway", t.Nonces > 0 && t.Numbered:
		return GoControlPlane
	}
	return UnknownServer
}

// Explain says why names stayed without an answer. preset is the value of --as.
func (t *Tracker) Explain(o Options, preset string) []Silence {
	o = o.withDefaults()
	kind := t.Kind(preset)
	if t.fixed == nil && !t.hasCDS {
		s := Silence{Asked: "all clusters", Came: t.came("CDS")}
		s.Cause, s.Try = t.noClusters(o, kind)
		return []Silence{s}
	}
	clusters := t.namedOtherwise()
	var out []Silence
	for _, name := range t.Unanswered() {
		s := Silence{Name: name, Asked: t.asked(o) + clusters[name], Came: t.came("EDS")}
		s.Cause, s.Try = t.noAssignment(o, kind, name)
		out = append(out, s)
	}
	return out
}

func (t *Tracker) asked(o Options) string {
	text := fmt.Sprintf("%s over %s", strings.TrimPrefix(AssignmentURL(o.ResourceVersion), typePrefix), o.Transport)
	if len(t.Methods) > 0 {
		text += " (" + strings.TrimPrefix(t.Methods[len(t.Methods)-1], "/") + ")"
	}
	return text
}

// namedOtherwise says, by the names of assignments, which clusters of other names ask for them.
func (t *Tracker) namedOtherwise() map[string]string {
	out := map[string]string{}
	for _, c := range t.Clusters() {
		if c.IsEDS() && c.Service != c.Name {
			out[c.Service] += fmt.Sprintf(", the service_name of cluster %q", c.Name)
		}
	}
	return out
}

func (t *Tracker) came(what string) string {
	n := t.EDSResponses
	if what == "CDS" {
		n = t.CDSResponses
	}
	switch {
	case t.OnlyIgnored():
		return fmt.Sprintf("%s of type %q, which was not asked for", responses(t.Ignored), strings.TrimPrefix(t.IgnoredType, typePrefix))
	case t.Responses == 0:
		return "nothing"
	case n == 0:
		return fmt.Sprintf("%s, none of them for %s", responses(t.Responses), what)
	case t.EmptyEDS && what == "EDS" && n == 1:
		return fmt.Sprintf("an empty response, version %q", t.NodeVersion)
	}
	text := fmt.Sprintf("%s for %s, the last of version %q, without this name", responses(n), what, t.NodeVersion)
	if len(t.Strangers) > 0 {
		text += ", but with " + quoted(t.Strangers)
	}
	return text
}

// OnlyIgnored tells whether responses came, and all of them of a type that was not asked for.
func (t *Tracker) OnlyIgnored() bool { return t.Responses == 0 && t.Ignored > 0 }

// wrongType is the cause when the server answers with another type than want.
func (t *Tracker) wrongType(want string) (string, []Attempt) {
	if t.IgnoredType == "" {
		return fmt.Sprintf("the response has no type_url, where %q is needed: a client ignores it", strings.TrimPrefix(want, typePrefix)), nil
	}
	var try []Attempt
	for _, v := range ResourceVersions {
		if AssignmentURL(v) == t.IgnoredType {
			try = append(try, Attempt{"resource-version", string(v)})
		}
	}
	return fmt.Sprintf("the server answers with another type than %q: a client ignores that", strings.TrimPrefix(want, typePrefix)), try
}

// noReply is the cause when a request was taken and not answered.
const noReply = "the server took the request, and did not answer it in time"

func responses(n int) string {
	if n == 1 {
		return "1 response"
	}
	return fmt.Sprintf("%d responses", n)
}

func quoted(names []string) string {
	const most = 5
	var out []string
	for i, n := range names {
		if i == most {
			out = append(out, fmt.Sprintf("%d more", len(names)-most))
			break
		}
		out = append(out, fmt.Sprintf("%q", n))
	}
	return strings.Join(out, ", ")
}

// noClusters is the cause of silence after asking for all clusters.
func (t *Tracker) noClusters(o Options, kind Server) (string, []Attempt) {
	switch {
	case t.OnlyIgnored():
		return t.wrongType(ClusterURL(o.ResourceVersion))
	case kind == Istiod:
		return istiodCause(o.Node.GetId())
	case t.Responses == 0 && (o.Transport == REST || o.Transport == Unary):
		return noReply, []Attempt{longer}
	case t.Responses == 0:
		return unknownNode(o.Node.GetId()), []Attempt{otherNode}
	}
	return "the server answers, but not for clusters", nil
}

func unknownNode(id string) string {
	if id == "" {
		return "the node has no id: many servers keep a configuration for each id and say nothing to others"
	}
	return fmt.Sprintf("the server has nothing for node id %q: go-control-plane waits in silence for a node that it does not know", id)
}

// noAssignment is the cause of silence about one name.
func (t *Tracker) noAssignment(o Options, kind Server, name string) (string, []Attempt) {
	ads := len(t.Methods) > 0 && strings.Contains(t.Methods[len(t.Methods)-1], "Aggregated")
	switch {
	case t.OnlyIgnored():
		return t.wrongType(AssignmentURL(o.ResourceVersion))
	case t.refusedClusters != nil:
		return "the client refuses the clusters, so it asks for no assignment: " + withoutDump(t.refusedClusters), []Attempt{taken}
	case kind == Istiod && t.Responses == 0:
		return istiodCause(o.Node.GetId())
	case t.Responses == 0 && (o.Transport == REST || o.Transport == Unary):
		return noReply, []Attempt{longer}
	case t.Responses == 0 && t.fixed != nil && o.Transport == SotW && ads:
		return "go-control-plane in ADS mode answers only when every assignment that it has is asked for; or it has nothing for node id " + fmt.Sprintf("%q", o.Node.GetId()),
			[]Attempt{withoutNames, byDelta, otherNode}
	case t.Responses == 0 && t.fixed != nil && o.Transport == SotW: // its cache is the same behind every service
		return unknownNode(o.Node.GetId()) + "; or it is in ADS mode, where it answers only when every assignment that it has is asked for",
			[]Attempt{withoutNames, byDelta, otherNode}
	case t.Responses == 0:
		return unknownNode(o.Node.GetId()), []Attempt{otherNode}
	case t.fixed == nil && t.EDSResponses == 0 && ads && o.Transport == SotW:
		return "the clusters came but no assignment: a server that has just started may not have them yet, and go-control-plane in ADS mode " +
			"stays silent while it has an assignment that no cluster asks for", []Attempt{byDelta, byEDS}
	case t.fixed == nil && t.EDSResponses == 0:
		return "the clusters came but no assignment: the server may not have its endpoints yet", []Attempt{longer}
	case t.EmptyEDS:
		return fmt.Sprintf("the server does not have %q for this node", name), []Attempt{withoutNames}
	}
	return fmt.Sprintf("the server has other assignments for this node, but not %q (the name is the service_name of the cluster, which may differ from its name)", name),
		[]Attempt{withoutNames}
}

// withoutDump is the text of a refusal without the cluster that Envoy prints before it, line by line.
func withoutDump(err error) string {
	text := err.Error()
	return strings.TrimPrefix(text[strings.LastIndex(text, "\n")+1:], ": ")
}

// istiodCause judges the node id as istiod parses it (pilot/pkg/model/context.go).
func istiodCause(id string) (string, []Attempt) {
	parts := strings.Split(id, "~")
	form := "<type>~<ip>~<pod>.<namespace>~<namespace>.svc.<domain>"
	if len(parts) != 4 {
		return fmt.Sprintf("istiod cannot parse node id %q: it must have the form %s", id, form), []Attempt{asSidecar}
	}
	return "istiod answers clusters for every proxy, but EDS only for names that are asked for; is it ready, and does the namespace in the node id match the credentials?",
		[]Attempt{withoutNames}
}

// ExplainClose says what the end of a stream, or the failure to open one, means. hints are what to do about it.
func ExplainClose(err *StreamError, o Options) (cause string, hints []string) {
	o = o.withDefaults()
	text := err.Text
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	// The second is how gRPC ends an attempt that takes too long.
	silent := has(inSilence, "use of closed network connection", "context deadline exceeded", "i/o timeout", "TLS handshake timeout")
	closed := has(inPreface, "connection reset", "broken pipe") || o.Transport == REST && text == "EOF"
	switch {
	case has("looked like an HTTP/1.1 header", "malformed HTTP response", "unexpected HTTP status code", "frame too large") && err.HTTP == 0 && o.Transport != REST:
		return "the server speaks HTTP/1, not gRPC", []string{"ask it with --transport rest, or name the gRPC port"}
	case has(`malformed HTTP response "\x15\x03`, "Client sent an HTTP request to an HTTPS server"): // an alert of TLS, or Go's words for it
		return "the server wants TLS", []string{withTLS(o)}
	case o.Transport == REST && err.HTTP == 0 && has("malformed HTTP response", "readLoopPeekFailLocked", "server closed idle connection"):
		// The greeting of HTTP/2 comes unasked: net/http meets it before or after it has sent its request.
		return "the server does not speak HTTP/1: it may be a gRPC port", []string{"leave out --transport rest"}
	case has("first record does not look like a TLS handshake"):
		return "the server does not speak TLS", []string{"add --plaintext"}
	case has("certificate has expired", "is not yet valid"):
		return "the server's certificate is not valid now", []string{"--insecure asks it all the same"}
	case has("x509: certificate is valid for", "doesn't contain any IP SANs", "certificate is not valid for any names"):
		return "the server's certificate is for another name", []string{"give the name with --servername"}
	case has("signed by unknown authority"):
		return "the server's certificate is signed by an unknown authority", []string{"give the authority's certificate with --cacert"}
	case has("certificate required", "bad certificate", "unknown certificate authority", "unknown certificate"):
		return wantsCertificate("the server wants a client certificate that it knows", o)
	case silent && has(inHandshake, "TLS handshake timeout"):
		return "the server takes connections, but says nothing to the handshake of TLS", []string{"if it has no TLS, add --plaintext"}
	case silent && has(inPreface) && o.Dial.Plaintext:
		return "the server takes connections, but says nothing in HTTP/2", []string{"if it has TLS, leave out --plaintext"}
	case silent && has(inPreface):
		return "the server takes connections, but says nothing in HTTP/2: it may be no gRPC port", nil
	case silent && has(inDial, "Error while dialing", "dial tcp"):
		return "nothing answers at this address: it may be wrong, or a firewall in between", nil
	case silent && err.Code == codes.DeadlineExceeded:
		return noReply, nil
	case closed && o.Dial.Plaintext:
		return "the server closed the connection at once: it may want TLS", []string{withTLS(o)}
	case closed:
		return wantsCertificate("the server closed the connection at once: it may want a client certificate", o)
	case has("connection refused", "no such file or directory"):
		return "nothing listens there", nil
	case has("no such host", "produced zero addresses"):
		return "the host name is not known", nil
	case err.Code == codes.Unimplemented:
		return "the server does not have this service", otherService(err.Method, o)
	case err.Code == codes.Unauthenticated:
		return "the server wants credentials", []string{"give them with --bearer-token-file, -H 'name: value', or --cert and --key"}
	case err.Code == codes.PermissionDenied:
		return "the server refuses these credentials for this node", []string{"check that node id and credentials belong together"}
	case err.Code == codes.ResourceExhausted && has("larger than max"):
		return "the response is larger than the limit", []string{"raise it with --max-msg-size"}
	case err.Code == codes.InvalidArgument && has("service node", "node information"):
		c, _ := istiodCause(o.Node.GetId())
		return c, []string{"use --as istio-sidecar or give --node-id"}
	case err.Code == codes.Unknown && has("not implemented") && o.Transport == SotW:
		return "the server does not implement state of the world", []string{"use --transport delta"}
	case err.Code == codes.OK:
		return "the server closed the stream before everything was answered", nil
	}
	return "", nil
}

// wantsCertificate is the cause when a server wants a client certificate, or another one than it was given.
func wantsCertificate(cause string, o Options) (string, []string) {
	if o.Dial.Cert != "" {
		return "the server does not accept the client certificate: it may be of another authority than the server trusts", nil
	}
	return cause, []string{"give it with --cert and --key"}
}

// withTLS is the hint to use it.
func withTLS(o Options) string {
	if o.Transport == REST {
		return "leave out --plaintext, and write https:// instead of http://"
	}
	return "leave out --plaintext"
}

// otherService proposes what a server that lacks a service may have instead.
func otherService(method string, o Options) []string {
	var out []string
	if o.Service != ServiceAuto {
		other := ServiceADS
		if strings.Contains(method, "Aggregated") {
			other = ServiceEDS
		}
		out = append(out, fmt.Sprintf("try --service %s", other))
	}
	if o.TransportVersion == V3 {
		return append(out, "an old server may speak --transport-version v2 --resource-version v2")
	}
	return append(out, "try --transport-version v3 --resource-version v3")
}
