package validate_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"sigs.k8s.io/yaml"

	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/validate"
)

const assignmentURL = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

// vectorCase is an entry as it reached Envoy by one source.
type vectorCase struct {
	name    string
	data    []byte
	loader  eds.Options
	options validate.Options
	item    int            // of a list: the one that is meant; -1: all
	extra   *eds.Bootstrap // around an assignment that comes by EDS, when the entry says more about it
}

func (in *vectorCase) load() []*eds.Resource {
	resources := eds.NewLoader(in.loader).Load(in.name, in.data, true).Resources
	if in.item >= 0 && in.item < len(resources) {
		resources = resources[in.item : in.item+1]
	}
	if in.extra != nil {
		for _, r := range resources {
			r.Bootstrap = in.extra
		}
	}
	return resources
}

// vectorInput builds the case of an entry for one source; reason says why it is not run.
func vectorInput(e *vectorEntry, o *vectorObservation, source string) (in *vectorCase, reason string) {
	if len(e.Then) > 0 {
		return nil, "several updates"
	}
	if e.Clusters != nil || source == "ads" || source == "dads" {
		return nil, "several clusters on one stream"
	}
	in = &vectorCase{name: "FILE.yaml", item: -1}
	if e.Ext != nil {
		in.name = "FILE" + *e.Ext
	}
	in.setSource(source)
	in.flags(e.Args)
	in.options.ExpectName = expectName(e, o)
	switch {
	case e.Input != nil:
		in.data = []byte(*e.Input)
	case e.Hex != "":
		data, err := hex.DecodeString(e.Hex)
		if err != nil {
			return nil, "no hex"
		}
		in.data = data
	case e.File != "":
		if reason := in.readFile(e.File); reason != "" {
			return nil, reason
		}
	case e.Response != nil:
		data, err := responseBytes(e.Response, source, e.EDSName, false)
		if err != nil {
			return nil, err.Error()
		}
		in.data, in.loader.Format, in.loader.Shape = data, eds.Binary, eds.ShapeResponse
		if strings.HasPrefix(source, "delta") {
			in.loader.Shape = eds.ShapeDeltaResponse
		}
	default:
		return nil, "no input"
	}
	return in, in.shape(e, o, source)
}

// setSource translates the name of a source.
func (in *vectorCase) setSource(source string) {
	name, origin, _ := strings.Cut(source, "@")
	in.loader.Source = map[string]eds.Source{
		"bootstrap": eds.FromBootstrap, "start": eds.FromBootstrap, "cds": eds.FromCDS, "file": eds.FromFile, "grpc": eds.FromSotW, "delta": eds.FromDelta, "rest": eds.FromREST,
	}[name]
	in.loader.Origin = eds.OriginBootstrap
	if origin == "cds" {
		in.loader.Origin = eds.OriginCDS
	}
	in.options.Source, in.options.Origin = in.loader.Source, in.loader.Origin
}

func (in *vectorCase) flags(args []string) {
	for _, a := range args {
		switch a {
		case "--reject-unknown-dynamic-fields":
			in.options.UnknownFields = "strict"
		case "--ignore-unknown-dynamic-fields":
			in.options.UnknownFields = "ignore"
		case "--allow-unknown-static-fields":
			in.options.UnknownFields = "warn"
		}
	}
}

func expectName(e *vectorEntry, o *vectorObservation) string {
	if o.EDSName != "" {
		return o.EDSName
	}
	return e.EDSName
}

// readFile reads a file of the cases or the real files; "#n" is the n-th item of its list.
func (in *vectorCase) readFile(name string) string {
	name, item, isItem := strings.Cut(name, "#")
	if isItem {
		in.item, _ = strconv.Atoi(item)
	}
	path := filepath.Join("..", "..", "testdata", "cases", filepath.Base(name))
	if strings.Contains(name, "realworld") {
		path = filepath.Join(sharedDir(), "realworld", filepath.Base(name))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "the file is not at hand"
	}
	in.data, in.name = data, "FILE"+filepath.Ext(name)
	return ""
}

// sharedDir is the folder of what is not copied into the project.
func sharedDir() string {
	if dir := os.Getenv("EDSCTL_SHARED"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "..", "shared")
}

// shape puts what the source adds around the input; a reason says why it cannot.
func (in *vectorCase) shape(e *vectorEntry, o *vectorObservation, source string) string {
	found := eds.ShapeAssignment
	if e.File != "" {
		resources := eds.NewLoader(eds.Options{}).Load(in.name, in.data, true).Resources
		if found = resources[0].Shape; found == eds.ShapeCluster && len(resources) > 1 {
			found = "" // clusters inside something else
		}
	}
	bare := e.Shape == "" && (found == eds.ShapeAssignment || found == eds.ShapeList) && e.Response == nil && e.Hex == ""
	switch {
	case bare:
		in.loader.Shape = eds.ShapeAssignment
		if in.item >= 0 {
			in.loader.Shape = eds.ShapeList
		}
	case e.Shape == "cluster", found == eds.ShapeCluster && in.loader.Source != eds.FromFile:
		in.loader.Shape = eds.ShapeCluster
		if e.Bootstrap != nil {
			in.data, in.loader.Shape = vectorBootstrap(e, string(in.data)), eds.ShapeBootstrap
		}
	case e.Response != nil:
	case source == "cds":
		in.loader.Shape = eds.ShapeCDS
	case in.loader.Source == eds.FromBootstrap:
		in.loader.Shape = eds.ShapeBootstrap
	default:
		in.loader.Shape = eds.ShapeResponse
	}
	if !bare {
		return ""
	}
	if strings.HasPrefix(source, "grpc") || strings.HasPrefix(source, "delta") {
		if in.item >= 0 {
			return "" // a list has no binary form
		}
		data, err := binaryAssignment(string(in.data))
		if err != nil {
			return "Go cannot encode it"
		}
		in.data, in.loader.Format = data, eds.Binary
		if strings.HasPrefix(source, "delta") && in.options.ExpectName != "" {
			in.delta()
		}
	}
	return in.around(e, o)
}

// delta puts a binary assignment into a response that has it under the name that was asked for.
func (in *vectorCase) delta() {
	item := &discoveryv3.Resource{Name: in.options.ExpectName, Version: "1", Resource: &anypb.Any{TypeUrl: assignmentURL, Value: in.data}}
	in.data, _ = proto.Marshal(&discoveryv3.DeltaDiscoveryResponse{SystemVersionInfo: "1", TypeUrl: assignmentURL, Resources: []*discoveryv3.Resource{item}})
	in.loader.Shape = eds.ShapeDeltaResponse
}

// around is the cluster and the bootstrap around a bare assignment.
func (in *vectorCase) around(e *vectorEntry, o *vectorObservation) string {
	if o.Cluster == "" {
		return ""
	}
	if strings.HasPrefix(o.Cluster, "EDS") && (e.Bootstrap != nil || o.LocalCluster) {
		text := "name: c\ntype: EDS\nconnect_timeout: 1s\neds_cluster_config: {eds_config: {path_config_source: {path: x}}}\n"
		if o.LocalCluster {
			e = &vectorEntry{Bootstrap: map[string]any{"cluster_manager": map[string]any{"local_cluster_name": "c"}}}
		}
		loaded := eds.NewLoader(eds.Options{}).Load("b.yaml", vectorBootstrap(e, text), true).Resources
		in.extra, in.options.Cluster = loaded[0].Bootstrap, loaded[0].Cluster
		return ""
	}
	name := in.options.ExpectName
	if name == "" {
		name = eds.NewLoader(in.loader).Load(in.name, in.data, true).Resources[0].Name
	}
	c, err := vectorCluster(o, name)
	if err != nil {
		return err.Error()
	}
	if o.Cluster != "EDS" {
		in.options.Cluster = &eds.Cluster{Message: c}
	}
	if o.LocalCluster {
		c.Name = "c"
		in.extra = &eds.Bootstrap{NodeID: "node-1", NodeCluster: "node-cluster", LocalClusterName: "c", Clusters: []*eds.Cluster{in.options.Cluster}}
	}
	return ""
}

// vectorBootstrap puts a cluster into a bootstrap with the extra fields of the entry.
func vectorBootstrap(e *vectorEntry, cluster string) []byte {
	var b strings.Builder
	b.WriteString("node: {id: node-1, cluster: node-cluster}\n")
	fields, _ := e.Bootstrap.(map[string]any)
	for key, value := range fields {
		data, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		b.WriteString(key + ": " + string(data) + "\n")
	}
	b.WriteString("static_resources:\n  clusters:\n  -\n")
	for line := range strings.Lines(cluster) {
		b.WriteString("    " + line)
	}
	return []byte(b.String())
}

// vectorCluster is the cluster around a bare assignment: "STRICT_DNS" or "STATIC RING_HASH", and other fields.
func vectorCluster(o *vectorObservation, edsName string) (*clusterv3.Cluster, error) {
	fields := map[string]any{"name": "v", "connect_timeout": "1s"}
	kind, policy, _ := strings.Cut(o.Cluster, " ")
	fields["type"] = kind
	if policy != "" {
		fields["lb_policy"] = policy
	}
	if kind == "EDS" {
		fields["eds_cluster_config"] = map[string]any{"service_name": edsName, "eds_config": map[string]any{"ads": map[string]any{}}}
	}
	for k, v := range o.ClusterFields {
		fields[k] = v
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	m := &clusterv3.Cluster{}
	return m, protojson.Unmarshal(data, m)
}

// binaryAssignment encodes a bare assignment as the recording did: strictly, with sigs.k8s.io/yaml and protojson.
func binaryAssignment(text string) ([]byte, error) {
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return nil, err
	}
	m := &endpointv3.ClusterLoadAssignment{}
	if err := protojson.Unmarshal(data, m); err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// responseBytes builds the response that the management server sent.
func responseBytes(r *vectorResponse, source, edsName string, located bool) ([]byte, error) {
	url := r.TypeURL
	if url == "" {
		url = assignmentURL
	}
	delta := &discoveryv3.DeltaDiscoveryResponse{SystemVersionInfo: "1", TypeUrl: url}
	sotw := &discoveryv3.DiscoveryResponse{VersionInfo: "1", TypeUrl: url}
	for _, res := range r.Resources {
		var value []byte
		if res.Text != "" {
			data, err := binaryAssignment(res.Text)
			if err != nil {
				return nil, err
			}
			value = data
		}
		extra, err := hex.DecodeString(res.Hex)
		if err != nil {
			return nil, err
		}
		item := &anypb.Any{TypeUrl: assignmentURL, Value: append(value, extra...)}
		if located {
			item.Value = locate(item.Value)
		}
		if res.TypeURL != "" {
			item.TypeUrl = res.TypeURL
		}
		name := res.Name
		if name == "" {
			name = edsName
		}
		wrapper := &discoveryv3.Resource{Name: name, Version: "1", Resource: item}
		if res.NoBody {
			wrapper.Resource = nil
		}
		delta.Resources = append(delta.Resources, wrapper)
		if res.Wrap {
			wrapper.Name = res.Name
			if item, err = anypb.New(wrapper); err != nil {
				return nil, err
			}
		}
		sotw.Resources = append(sotw.Resources, item)
	}
	if strings.HasPrefix(source, "delta") {
		return proto.Marshal(delta)
	}
	return proto.Marshal(sotw)
}

// locate gives each locality without name and weight one of each, as the recording of variants did.
func locate(value []byte) []byte {
	a := &endpointv3.ClusterLoadAssignment{}
	if proto.Unmarshal(value, a) != nil {
		return value
	}
	for i, g := range a.GetEndpoints() {
		if g.Locality == nil {
			g.Locality = &corev3.Locality{Zone: "l" + strconv.Itoa(i)}
		}
		if g.LoadBalancingWeight == nil {
			g.LoadBalancingWeight = wrapperspb.UInt32(1)
		}
	}
	if a.ClusterName == "" {
		a.ClusterName = "c"
	}
	out, _ := proto.Marshal(a)
	return out
}
