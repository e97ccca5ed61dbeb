package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// testCase is one input on one route: what the client gets, and the file in which edsctl gets it.
type testCase struct {
	id    string
	rule  string // that it is about; empty for a mixture
	near  bool
	route route

	around    string                         // the EDS cluster, for file, stream and ads
	path      string                         // what edsctl reads
	payload   string                         // file: the EDS file that the client reads
	extension string                         // of the payload
	response  *discoveryv3.DiscoveryResponse // stream, ads, cds, grpc: what the client is sent

	predicted prediction
	observed  observed
}

// observed is what a client did.
type observed struct {
	verdict string // accept, reject, ignore, crash
	message string
	warned  bool // bootstrap only: the log has a warning
}

// writeCase writes the files of a case below dir. It returns nil when the input cannot take that route: Go's reader of
// JSON, which makes the binary, is stricter than Envoy's.
func (g *generator) writeCase(dir string, r route, in *input) (*testCase, error) {
	c := &testCase{route: r, around: in.around}
	if r == viaBootstrap {
		return c, c.writeBootstrap(dir, g.chooseForm(in), in)
	}
	if r == viaFile && in.binary == nil {
		err := c.writeFile(dir, g.chooseForm(in), in)
		if in.around == "local" && c.extension != "yaml" {
			return nil, err // there is one local cluster only
		}
		return c, err
	}
	response, ok, err := respond(r, in)
	if err != nil || !ok {
		return nil, err
	}
	c.response = response
	if r == viaFile && in.around == "local" {
		return nil, nil
	}
	if r == viaFile {
		c.payload, c.extension = string(in.binary(response)), in.extension
		return c, c.writeEDS(dir, in)
	}
	var body []byte
	switch r {
	case viaGRPC, viaGRPCCluster:
		body = response.Resources[0].Value
	default:
		if body, err = proto.Marshal(response); err != nil {
			return nil, err
		}
	}
	c.path = filepath.Join(dir, "input.pb")
	return c, os.WriteFile(c.path, body, 0o600)
}

func (g *generator) chooseForm(in *input) form {
	if in.form == anyForm {
		return pick(g, blockYAML, blockYAML, flowYAML, jsonForm)
	}
	return in.form
}

// write prints a tree in a form and edits the text.
func (in *input) write(f form, d tree) (content, extension string) {
	switch f {
	case jsonForm:
		content, extension = renderJSON(d)+"\n", "json"
	case flowYAML:
		content, extension = yamlText(d, 0), "yaml"
	default:
		content, extension = yamlText(d, 30), "yaml"
	}
	if in.text != nil {
		content = in.text(content)
	}
	if in.extension != "" {
		extension = in.extension
	}
	return content, extension
}

// around is the cluster with the assignment in it.
func (in *input) aroundAssignment() tree {
	c := tree{"name": clusterName, "connect_timeout": "1s", "type": "STATIC", "load_assignment": in.assignment}
	if in.cluster != nil {
		in.cluster(c)
	}
	return c
}

func (c *testCase) writeBootstrap(dir string, f form, in *input) error {
	b := tree{"node": tree{"id": "n", "cluster": "n"}, "static_resources": tree{"clusters": []any{in.aroundAssignment()}}}
	if strings.Contains(renderJSON(b), quote(xdsCluster)) {
		appendTo(b["static_resources"].(tree), "clusters", tree{"name": xdsCluster, "type": "STATIC", "connect_timeout": "1s"})
	}
	if in.bootstrap != nil {
		in.bootstrap(b)
	}
	content, extension := in.write(f, b)
	c.path = filepath.Join(dir, "bootstrap."+extension)
	return os.WriteFile(c.path, []byte(content), 0o600)
}

func (c *testCase) writeFile(dir string, f form, in *input) error {
	resource := tree{"@type": assignmentURL}
	for k, v := range in.assignment {
		resource[k] = v
	}
	d := tree{"resources": []any{resource}}
	if in.document != nil {
		in.document(d)
	}
	c.payload, c.extension = in.write(f, d)
	return c.writeEDS(dir, in)
}

// writeEDS writes the EDS file and, for edsctl, the bootstrap that names it.
func (c *testCase) writeEDS(dir string, in *input) error {
	name := "eds." + c.extension
	if err := os.WriteFile(filepath.Join(dir, name), []byte(c.payload), 0o600); err != nil {
		return err
	}
	cluster := edsCluster(clusterName, c.around, tree{"path_config_source": tree{"path": name}})
	b := tree{"node": tree{"id": "n", "cluster": "n"}, "static_resources": tree{"clusters": []any{cluster}}}
	if in.bootstrap != nil {
		in.bootstrap(b)
	}
	c.path = filepath.Join(dir, "bootstrap.yaml")
	return os.WriteFile(c.path, []byte(yamlText(b, 3)), 0o600)
}

// contexts are the EDS clusters that ask for assignments. "local" is the local cluster of its Envoy.
var contexts = []string{"", "RING_HASH", "MAGLEV", "local"}

// edsCluster is an EDS cluster that asks for clusterName.
func edsCluster(name, around string, config tree) tree {
	config["resource_api_version"] = "V3"
	c := tree{"name": name, "connect_timeout": "1s", "type": "EDS", "eds_cluster_config": tree{"service_name": clusterName, "eds_config": config}}
	if around != "" && around != "local" {
		c["lb_policy"] = around
	}
	return c
}

// respond makes the response that a stream sends; false when Go cannot say it.
func respond(r route, in *input) (*discoveryv3.DiscoveryResponse, bool, error) {
	var message proto.Message = &endpointv3.ClusterLoadAssignment{}
	body, url := in.assignment, assignmentURL
	switch r {
	case viaCDS:
		message, body, url = &clusterv3.Cluster{}, in.aroundAssignment(), clusterURL
	case viaGRPCCluster:
		body = edsCluster(clusterName, "", tree{"ads": tree{}})
		delete(body["eds_cluster_config"].(tree), "service_name")
		if in.cluster != nil {
			in.cluster(body)
		}
		message, url = &clusterv3.Cluster{}, clusterURL
	}
	if decode(body, message) != nil {
		return nil, false, nil
	}
	packed, err := anypb.New(message)
	if err != nil {
		return nil, false, fmt.Errorf("pack %s: %w", message.ProtoReflect().Descriptor().FullName(), err)
	}
	response := &discoveryv3.DiscoveryResponse{TypeUrl: url, Resources: []*anypb.Any{packed}}
	if in.response != nil {
		in.response(response)
	}
	return response, true, nil
}
