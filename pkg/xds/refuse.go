package xds

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/diag"
)

// refuse is what a client says of a response as a whole, before it looks into the resources: the stages 02 to 04 of
// envoy-eds-rules.md 0.1. The texts are the clients' own. nil: the response is sound.
func (s *session) refuse(r *response) error {
	if s.client == diag.GRPC {
		return refuseGRPC(r)
	}
	if r.delta {
		return s.refuseDelta(r)
	}
	return refuseSotW(r)
}

// refuseSotW follows GrpcMuxImpl::onDiscoveryResponse: resource by resource, whoever asked for it.
func refuseSotW(r *response) error {
	for i := range r.items {
		item := &r.items[i]
		if item.Any == nil {
			continue
		}
		isOther := item.Any.GetTypeUrl() != r.typeURL
		if isOther && !item.Wrapped {
			text := fmt.Sprintf("%s does not match the message-wide type URL %s in DiscoveryResponse %s", item.Any.GetTypeUrl(), r.typeURL, debugText(r.message))
			return &DecodeError{i, text}
		}
		if isOther || item.Err != nil {
			return &DecodeError{i, unpackText(item, r.typeURL)}
		}
	}
	return nil
}

// refuseDelta follows DeltaSubscriptionState::handleGoodResponse; bodies are decoded only for names that are watched.
func (s *session) refuseDelta(r *response) error {
	seen := map[string]bool{}
	for i := range r.items {
		item := &r.items[i]
		if seen[item.Name] {
			return fmt.Errorf("duplicate name %s found among added/updated resources", item.Name)
		}
		seen[item.Name] = true
		if item.Heartbeat {
			continue
		}
		if url := item.Any.GetTypeUrl(); url != r.typeURL {
			return fmt.Errorf("type URL %s embedded in an individual Any does not match the message-wide type URL %s in DeltaDiscoveryResponse %s", url, r.typeURL, debugText(r.message))
		}
	}
	for _, name := range r.removed {
		if seen[name] {
			return fmt.Errorf("duplicate name %s found in the union of added+removed resources", name)
		}
		seen[name] = true
	}
	for i := range r.items {
		if r.items[i].Asked && r.items[i].Err != nil {
			return &DecodeError{i, unpackText(&r.items[i], r.typeURL)}
		}
	}
	return nil
}

func unpackText(item *Resource, typeURL string) string {
	return fmt.Sprintf("Unable to unpack as %s: %s", strings.TrimPrefix(typeURL, typePrefix), debugText(item.Any))
}

// DecodeError is what Envoy refuses a response for when it decodes the resource with an index.
type DecodeError struct {
	Index int
	Text  string
}

func (e *DecodeError) Error() string { return e.Text }

// earlier is what Envoy meets first: what it refuses of the response as a whole, unless that is about a resource that comes
// after the one that the callback refuses.
func earlier(refused, nack error) error {
	var whole, one *DecodeError
	if refused == nil || errors.As(refused, &whole) && errors.As(nack, &one) && one.Index < whole.Index {
		return nack
	}
	return refused
}

// refuseGRPC follows grpc-go's DecodeResourceTypeAndName and its collection of errors (grpc-eds.md 1).
func refuseGRPC(r *response) error {
	var errs []string
	for i := range r.items {
		item := &r.items[i]
		switch {
		case item.Any == nil:
			errs = append(errs, `unexpected resource type: "" `)
		case item.Any.GetTypeUrl() != r.typeURL:
			errs = append(errs, fmt.Sprintf("unexpected resource type: %q ", item.Any.GetTypeUrl()))
		case item.Err != nil:
			errs = append(errs, "failed to unmarshal resource: proto: cannot parse invalid wire-format data")
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return RefusalGRPC(errs, nil)
}

// maxSizeGRPC is the largest message that grpc-go's xDS client takes: it leaves gRPC's default as it is
// (internal/xds/clients/grpctransport).
const maxSizeGRPC = 4 << 20

// tooLargeGRPC is grpc-go's error about a message that is too large. It ends the stream, asks anew and meets it again.
func tooLargeGRPC(r *response) error {
	if size := proto.Size(r.message); size > maxSizeGRPC {
		return fmt.Errorf("rpc error: code = ResourceExhausted desc = grpc: received message larger than max (%d vs. %d)", size, maxSizeGRPC)
	}
	return nil
}

// RefusalGRPC joins what grpc-go finds in a response as it does (combineErrors in internal/xds): errors of which it does
// not know the resource, and those of resources with a name.
func RefusalGRPC(topLevel []string, named []NamedRefusal) error {
	if len(topLevel)+len(named) == 0 {
		return nil
	}
	text := `error parsing "EndpointsResource" response: `
	if len(topLevel) > 0 {
		text += "top level errors: " + strings.Join(topLevel, ";\n")
	}
	for i, n := range named {
		if i > 0 {
			text += ";\n"
		}
		text += fmt.Sprintf("resource %q: %s", n.Name, n.Text)
	}
	return errors.New(text)
}

// NamedRefusal is why grpc-go refuses one resource.
type NamedRefusal struct{ Name, Text string }

// refuseNames is stage 09 for what the wrapper says: an assignment must have the name that its watch expects. It comes
// after the constraints, which the callback checks.
func (s *session) refuseNames(r *response) error {
	if s.client == diag.GRPC || r.typeURL != s.edsURL {
		return nil
	}
	for i := range r.items {
		item := &r.items[i]
		if !item.Asked || item.Passed || item.Heartbeat && s.isHeartbeat(item) || item.Err != nil {
			continue
		}
		inner := ""
		if item.Assignment != nil {
			inner = item.Assignment.Assignment.GetClusterName()
		}
		if inner != item.Name {
			return fmt.Errorf("Unexpected EDS cluster (expecting %s): %s", item.Name, inner)
		}
	}
	return nil
}

// refuseClusters is what Envoy says of the clusters of a CDS response that it does not take (cds_api_helper.cc).
func refuseClusters(clusters []Cluster) error {
	var texts []string
	for _, c := range clusters {
		if c.Err != nil {
			texts = append(texts, c.Name+": "+c.Err.Error())
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return errors.New("Error adding/updating cluster(s) " + strings.Join(texts, ", "))
}
