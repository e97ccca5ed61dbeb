package lint

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// loadBalancing is the key of the filter metadata that load balancers read.
const loadBalancing = "envoy.lb"

func (w *walk) metadata(meta *corev3.Metadata) {
	fields := meta.GetFilterMetadata()[loadBalancing].GetFields()
	if v, ok := fields["canary"]; ok && !isBool(v) {
		w.report(diag.Problem{
			Rule: "canary", Path: w.metadataPath("canary"), Message: fmt.Sprintf("canary is %s, but counts only as a boolean", valueKind(v)),
		})
	}
	if v, ok := fields["hash_key"]; ok && v.GetStringValue() == "" {
		w.report(diag.Problem{
			Rule: "hash-key-not-string", Path: w.metadataPath("hash_key"),
			Message: fmt.Sprintf("hash_key is %s, but counts only as a string that is not empty", valueKind(v)),
		})
	}
}

func (w *walk) metadataPath(key string) diag.Path {
	return w.at("metadata.filter_metadata").Key(loadBalancing).Key(key)
}

func isBool(v *structpb.Value) bool {
	_, ok := v.GetKind().(*structpb.Value_BoolValue)
	return ok
}

func valueKind(v *structpb.Value) string {
	switch v.GetKind().(type) {
	case *structpb.Value_NumberValue:
		return "a number"
	case *structpb.Value_StringValue:
		if v.GetStringValue() == "" {
			return "an empty string"
		}
		return "a string"
	case *structpb.Value_BoolValue:
		return "a boolean"
	case *structpb.Value_StructValue:
		return "an object"
	case *structpb.Value_ListValue:
		return "a list"
	}
	return "null"
}

// hashKeys finds endpoints of one priority that a hash policy cannot tell apart.
type hashKeys struct {
	on         bool // the policy hashes endpoints, or there is no cluster that would say so
	byHostname bool // the hostname is the key where there is no hash_key
	first      map[hashKey]place
}

type hashKey struct {
	priority uint32
	key      string
}

func (h *hashKeys) init(c *Context) {
	hash := c.Policy(diag.Envoy).Find("ring_hash", "maglev")
	h.on = c.Cluster == nil || hash != nil
	h.byHostname = hash != nil && hash.Hash != nil && hash.Hash.UseHostname
}

// add reports an endpoint whose hash_key another one of its priority has.
func (h *hashKeys) add(w *walk) {
	if !h.on || (w.end.GetMetadata() == nil && !h.byHostname) {
		return
	}
	key := w.end.GetMetadata().GetFilterMetadata()[loadBalancing].GetFields()["hash_key"].GetStringValue()
	field, path := "hash_key", w.metadataPath
	if key == "" {
		if !h.byHostname || w.c.ClusterType() == eds.TypeStrictDNS && w.end.GetEndpoint().GetHostname() == "" {
			return // a DNS cluster takes the name that it resolves where there is no hostname
		}
		key, field = w.end.GetEndpoint().GetHostname(), "hostname"
		path = func(string) diag.Path { return w.at("endpoint.hostname") }
	}
	at := hashKey{w.c.Resource.Assignment.GetEndpoints()[w.group].GetPriority(), key}
	if first, found := h.first[at]; found {
		w.report(diag.Problem{
			Rule: "hash-key-duplicate", Path: path("hash_key"), Message: fmt.Sprintf("%s %q is already the hash key of %s", field, key, first),
		})
		return
	}
	if h.first == nil {
		h.first = map[hashKey]place{}
	}
	h.first[at] = place{int32(w.group), int32(w.index)}
}
