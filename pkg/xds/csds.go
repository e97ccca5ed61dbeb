package xds

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/edsctl/edsctl/pkg/eds"
)

// csdsMethod is the unary call of the client status service.
const csdsMethod = "/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus"

// ClientConfig is what one xDS client holds.
type ClientConfig struct {
	Node      *corev3.Node
	Scope     string // the channel's target
	Resources []ClientResource
}

// ClientResource is one resource of a client.
type ClientResource struct {
	TypeURL     string
	Name        string
	Version     string // of the newest accepted one
	Status      string // "ACKED", as in ClientResourceStatus
	LastUpdated time.Time
	// Error is why the newest version was refused, with FailedVersion; empty: it was not.
	Error, FailedVersion string
	Resource             *eds.Resource // an assignment; nil for others and when the client has none
}

// clientStatuses are the names of ClientResourceStatus by number.
var clientStatuses = [...]string{"UNKNOWN", "REQUESTED", "DOES_NOT_EXIST", "ACKED", "NACKED", "RECEIVED_ERROR", "TIMEOUT"}

// ReadCSDS asks a gRPC client for the state of its xDS resources: all clients in that process, all their types.
func ReadCSDS(ctx context.Context, d Dial) ([]ClientConfig, error) {
	conn, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	d.secrets = newSecrets(&d)
	ctx, err = d.withHeaders(ctx)
	if err != nil {
		return nil, err
	}
	// The messages of this service link those of Envoy's whole admin API. What is needed of them is read by hand from the
	// fields that an empty message does not know.
	raw := &emptypb.Empty{}
	if err := conn.Invoke(ctx, csdsMethod, &emptypb.Empty{}, raw); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, d.secrets.hideError(streamError(csdsMethod, err))
	}
	out, err := parseCSDS(raw.ProtoReflect().GetUnknown())
	for _, c := range out {
		for i := range c.Resources {
			c.Resources[i].Error = d.secrets.hide(c.Resources[i].Error)
		}
	}
	return out, err
}

// eachField calls fn with the fields of a message that hold bytes, and with the numbers of the others.
func eachField(b []byte, fn func(num protowire.Number, value []byte, varint uint64) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var value []byte
		var varint uint64
		switch typ {
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			varint, n = protowire.ConsumeVarint(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if err := fn(num, value, varint); err != nil {
			return err
		}
	}
	return nil
}

// parseCSDS reads a ClientStatusResponse: config = 1.
func parseCSDS(b []byte) ([]ClientConfig, error) {
	var out []ClientConfig
	err := eachField(b, func(num protowire.Number, value []byte, _ uint64) error {
		if num != 1 {
			return nil
		}
		c, err := parseClientConfig(value)
		out = append(out, c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the client status: %w", err)
	}
	return out, nil
}

// parseClientConfig reads ClientConfig: node = 1, xds_config = 2 (before 2022), generic_xds_configs = 3,
// client_scope = 4.
func parseClientConfig(b []byte) (ClientConfig, error) {
	c := ClientConfig{Node: &corev3.Node{}}
	err := eachField(b, func(num protowire.Number, value []byte, _ uint64) error {
		switch num {
		case 1:
			return proto.UnmarshalOptions{Merge: true}.Unmarshal(value, c.Node)
		case 2:
			return c.parseOld(value)
		case 3:
			r, err := parseGeneric(value)
			c.Resources = append(c.Resources, r)
			return err
		case 4:
			c.Scope = string(value)
		}
		return nil
	})
	slices.SortStableFunc(c.Resources, func(a, b ClientResource) int { // clients keep them in maps
		return cmp.Or(cmp.Compare(a.TypeURL, b.TypeURL), cmp.Compare(a.Name, b.Name))
	})
	return c, err
}

// parseGeneric reads GenericXdsConfig: type_url = 1, name = 2, version_info = 3, xds_config = 4, last_updated = 5,
// client_status = 7, error_state = 8.
func parseGeneric(b []byte) (ClientResource, error) {
	r := ClientResource{Status: clientStatuses[0]}
	err := eachField(b, func(num protowire.Number, value []byte, varint uint64) error {
		switch num {
		case 1:
			r.TypeURL = string(value)
		case 2:
			r.Name = string(value)
		case 3:
			r.Version = string(value)
		case 4:
			return r.decode(value)
		case 5:
			return r.updated(value)
		case 7:
			r.status(varint)
		case 8:
			return r.failure(value)
		}
		return nil
	})
	return r, err
}

// parseOld reads PerXdsConfig as far as it is about endpoints: endpoint_config = 6, an EndpointsConfigDump with
// dynamic_endpoint_configs = 3.
func (c *ClientConfig) parseOld(b []byte) error {
	return eachField(b, func(num protowire.Number, dump []byte, _ uint64) error {
		if num != 6 {
			return nil
		}
		return eachField(dump, func(num protowire.Number, value []byte, _ uint64) error {
			if num != 3 {
				return nil
			}
			r, err := parseDynamicEndpoint(value)
			c.Resources = append(c.Resources, r)
			return err
		})
	})
}

// parseDynamicEndpoint reads DynamicEndpointConfig: version_info = 1, endpoint_config = 2, last_updated = 3,
// error_state = 4, client_status = 5.
func parseDynamicEndpoint(b []byte) (ClientResource, error) {
	r := ClientResource{TypeURL: AssignmentURL(V3), Status: clientStatuses[0]}
	err := eachField(b, func(num protowire.Number, value []byte, varint uint64) error {
		switch num {
		case 1:
			r.Version = string(value)
		case 2:
			return r.decode(value)
		case 3:
			return r.updated(value)
		case 4:
			return r.failure(value)
		case 5:
			r.status(varint)
		}
		return nil
	})
	if r.Name == "" && r.Resource != nil {
		r.Name = r.Resource.Name
	}
	return r, err
}

func (r *ClientResource) status(n uint64) {
	if n < uint64(len(clientStatuses)) {
		r.Status = clientStatuses[n]
	}
}

func (r *ClientResource) updated(b []byte) error {
	var t timestamppb.Timestamp
	err := proto.Unmarshal(b, &t)
	r.LastUpdated = t.AsTime()
	return err
}

// failure reads UpdateFailureState: details = 3, version_info = 4.
func (r *ClientResource) failure(b []byte) error {
	return eachField(b, func(num protowire.Number, value []byte, _ uint64) error {
		switch num {
		case 3:
			r.Error = string(value)
		case 4:
			r.FailedVersion = string(value)
		}
		return nil
	})
}

// decode reads the resource itself when it is an assignment.
func (r *ClientResource) decode(b []byte) error {
	var any anypb.Any
	if err := proto.Unmarshal(b, &any); err != nil {
		return err
	}
	if any.GetTypeUrl() != AssignmentURL(V3) {
		return nil
	}
	cla := &endpointv3.ClusterLoadAssignment{}
	if err := proto.Unmarshal(any.GetValue(), cla); err != nil {
		return err
	}
	r.Resource = &eds.Resource{
		Name: cla.GetClusterName(), APIVersion: eds.V3, Shape: eds.ShapeAny, Source: eds.FromSotW, Origin: eds.OriginCDS, Assignment: cla, Original: cla,
	}
	return nil
}
