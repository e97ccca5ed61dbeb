package eds

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/diag"
)

// loadAssignmentNumber is that of load_assignment in a Cluster of every API version.
const loadAssignmentNumber = 33

// addCluster adds the resources of a Cluster in binary.
func (r *reader) addCluster(b []byte, p placement) {
	c, assignment := r.wireCluster(b, p)
	if c == nil {
		return
	}
	r.wireClusterResources(c, assignment, p)
}

// wireCluster decodes a Cluster; the bytes of its load_assignment are returned, nil when there is none. A Cluster that
// cannot be read is nil, and has its entry.
func (r *reader) wireCluster(b []byte, p placement) (c *Cluster, assignment []byte) {
	c = &Cluster{File: r.name, Index: p.index, Message: newCluster(), text: p.text}
	own, assignment := splitAssignment(b)
	if err := proto.Unmarshal(own, c.Message); err != nil {
		res := r.newResource(p.shape)
		res.Cluster, res.Response, res.Absent, res.text = c, p.response, true, p.text
		res.Problems = append(p.problems, r.clusterNotUnpackable(plainError(err), GRPCError(err)))
		r.add(res)
		return nil, nil
	}
	c.Problems = r.wireProblems(c.Message.ProtoReflect(), nil, p.parents)
	if p.version != V3 { // fields of the older API, which Envoy refuses as a whole
		c.Problems = slices.DeleteFunc(c.Problems, func(p diag.Problem) bool { return p.Rule == "unknown-field" })
	}
	c.Problems = staged(c.Problems, p)
	return c, assignment
}

// staged makes unknown fields in a bootstrap, all of which Envoy looks for before anything else, come first.
func staged(problems []diag.Problem, p placement) []diag.Problem {
	if p.bootstrap != nil {
		for i := range problems {
			if refusesBootstrap(problems[i]) {
				problems[i].Envoy.Stage = "00d-unknown"
			}
		}
	}
	return problems
}

// splitAssignment takes the load_assignment out of the bytes of a Cluster.
func splitAssignment(b []byte) (own, assignment []byte) {
	for rest := b; len(rest) > 0; {
		number, kind, n := protowire.ConsumeField(rest)
		if n < 0 {
			return b, nil // whoever decodes it says so
		}
		if number != loadAssignmentNumber || kind != protowire.BytesType {
			own = append(own, rest[:n]...)
			rest = rest[n:]
			continue
		}
		_, _, tag := protowire.ConsumeTag(rest)
		value, _ := protowire.ConsumeBytes(rest[tag:])
		if assignment == nil {
			assignment = []byte{}
		}
		assignment = append(assignment, value...)
		rest = rest[n:]
	}
	return own, assignment
}

// clusterNotUnpackable is the problem of bytes that are no Cluster.
func (r *reader) clusterNotUnpackable(why, grpc string) diag.Problem {
	p := r.notUnpackable(why)
	p.Envoy.Message = clusterText(unpackText)
	p.GRPC = diag.Override{Message: grpcUnmarshalling + grpc, Stage: "00-0-unpack"} // before anything of the cluster
	return p
}

// clusterText is a text about an assignment for a cluster.
func clusterText(text string) string {
	return strings.Replace(text, "endpoint.v3.ClusterLoadAssignment", "cluster.v3.Cluster", 1)
}

// wireClusterResources adds the resources of a cluster that was decoded.
func (r *reader) wireClusterResources(c *Cluster, assignment []byte, p placement) {
	p.cluster = c
	if assignment == nil {
		r.clusterAlone(c, p)
		return
	}
	if p.text != nil {
		p.text = p.text.content().field("load_assignment")
	}
	p.parents = append(p.parents[:len(p.parents):len(p.parents)], clusterMessage)
	res := r.addBytes(assignment, p)
	res.Problems = staged(res.Problems, p)
	if res.Absent {
		last := len(res.Problems) - 1
		res.Problems[last] = r.clusterNotUnpackable(res.Problems[last].Message, strings.TrimPrefix(res.Problems[last].GRPC.Message, grpcUnmarshalling))
		res.Name = edsName(c.Message)
		return
	}
	c.Message.LoadAssignment = res.Assignment
	if res.Name == "" {
		res.Name = c.Message.GetName()
	}
}
