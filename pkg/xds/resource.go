package xds

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unicode/utf8"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// response is a response of either variant, taken apart but not judged.
type response struct {
	message      proto.Message
	delta        bool
	typeURL      string
	version      string
	nonce        string
	controlPlane string
	items        []Resource
	removed      []string
	errors       []NamedError
	loaded       map[int]*eds.Resource // of text: its assignments as they were read, by index
}

func fromSotW(m *discoveryv3.DiscoveryResponse) *response {
	r := &response{
		message: m, typeURL: m.GetTypeUrl(), version: m.GetVersionInfo(), nonce: m.GetNonce(),
		controlPlane: m.GetControlPlane().GetIdentifier(), errors: namedErrors(m.GetResourceErrors()),
	}
	r.items = make([]Resource, len(m.GetResources()))
	for i, any := range m.GetResources() {
		r.items[i] = fromAny(any, m.GetVersionInfo())
	}
	return r
}

func fromDelta(m *discoveryv3.DeltaDiscoveryResponse) *response {
	r := &response{
		message: m, delta: true, typeURL: m.GetTypeUrl(), version: m.GetSystemVersionInfo(), nonce: m.GetNonce(),
		controlPlane: m.GetControlPlane().GetIdentifier(), errors: namedErrors(m.GetResourceErrors()),
		removed: append([]string(nil), m.GetRemovedResources()...),
	}
	for _, n := range m.GetRemovedResourceNames() {
		r.removed = append(r.removed, n.GetName())
	}
	r.items = make([]Resource, len(m.GetResources()))
	for i, w := range m.GetResources() {
		r.items[i] = fromWrapper(w)
	}
	return r
}

func namedErrors(list []*discoveryv3.ResourceError) []NamedError {
	var out []NamedError
	for _, e := range list {
		out = append(out, NamedError{
			Name: e.GetResourceName().GetName(), Code: codes.Code(e.GetErrorDetail().GetCode()), Message: e.GetErrorDetail().GetMessage(),
		})
	}
	return out
}

// fromAny reads one resource of a state-of-the-world response: plain, or in a Resource wrapper.
func fromAny(any *anypb.Any, version string) Resource {
	if !isWrapper(any.GetTypeUrl()) {
		return Resource{Name: firstString(any.GetValue()), Version: version, Any: any}
	}
	var w discoveryv3.Resource
	if err := proto.Unmarshal(any.GetValue(), &w); err != nil {
		return Resource{Any: any, Wrapped: true, Err: fmt.Errorf("unpack the wrapper: %w", err)}
	}
	out := fromWrapper(&w)
	out.Version = version // the wrapper's own is never used in this variant
	return out
}

func fromWrapper(w *discoveryv3.Resource) Resource {
	name := w.GetName()
	if name == "" {
		name = w.GetResourceName().GetName()
	}
	return Resource{
		Name: name, Version: w.GetVersion(), Any: w.GetResource(), Wrapped: true, TTL: w.GetTtl().AsDuration(),
		Heartbeat: w.GetResource() == nil,
	}
}

// firstString is the value of field 1 of a message when that is a string: cluster_name of an assignment, name of a
// cluster. The last occurrence counts, as in protobuf. It avoids decoding what nobody asked for.
func firstString(b []byte) string {
	out := ""
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return out
		}
		b = b[n:]
		if num == 1 && typ == protowire.BytesType {
			v, n := protowire.ConsumeBytes(b)
			if n < 0 || !utf8.Valid(v) {
				return out
			}
			out = string(v)
			b = b[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return out
		}
		b = b[n:]
	}
	return out
}

// decode fills Assignment or Err of every resource that has a body of a known type.
func (r *response) decode(loader *eds.Loader) {
	shape := eds.ShapeResponse
	if r.delta {
		shape = eds.ShapeDeltaResponse
	}
	names := make([]string, len(r.items))
	for i := range r.items {
		names[i] = r.items[i].Name
	}
	all := eds.NewResponse(r.typeURL, names, r.removed)
	inParallel(len(r.items), func(i int) {
		item := &r.items[i]
		around := new(*all)
		around.Index, around.AnyURL = i, item.Any.GetTypeUrl()
		around.Wrapped, around.WrapName, around.Version = item.Wrapped, item.Name, item.Version
		v, known := eds.VersionOfURL(item.Any.GetTypeUrl())
		var res *eds.Resource
		switch {
		case r.loaded[i] != nil:
			res = r.loaded[i]
			known = known || !res.Absent
		case item.Err != nil: // the wrapper around it is none
			res = loader.Wire(noMessage, eds.V3, shape, around)
		case known:
			res = loader.Wire(item.Any.GetValue(), v, shape, around)
		default:
			res = loader.WireWithout(item.Any, shape, around)
		}
		if !res.Absent {
			item.Assignment = res
			return
		}
		res.Name = item.Name
		item.Broken = res
		if item.Err != nil || !known {
			return
		}
		item.Err = errors.New("the bytes are no assignment")
		if len(res.Problems) > 0 {
			item.Err = errors.New(res.Problems[len(res.Problems)-1].Message)
		}
	})
}

// noMessage are bytes that no message has.
var noMessage = []byte{0xff}

// parallelFrom is the number of resources from which decoding on several processors pays.
const parallelFrom = 64

// inParallel calls f for 0 to n-1, on all processors when there are many.
func inParallel(n int, f func(int)) {
	if n < parallelFrom {
		for i := range n {
			f(i)
		}
		return
	}
	workers := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	wg.Wait()
}

// surround gives the assignments the clusters that ask for them.
func (r *response) surround(w *warming) {
	for i := range r.items {
		item := &r.items[i]
		if item.Assignment == nil {
			continue
		}
		if c := w.cluster(item.Name); c != nil {
			item.Assignment.Cluster = &eds.Cluster{Message: c}
		}
	}
}

// markPassed marks the copies of a name that the client does not keep: Envoy keeps the first of a response, grpc-go the
// last.
func markPassed(items []Resource, client diag.Client) {
	kept := make(map[string]int, len(items))
	for i := range items {
		old, again := kept[items[i].Name]
		switch {
		case !again:
			kept[items[i].Name] = i
		case client == diag.GRPC:
			items[old].Passed = true
			kept[items[i].Name] = i
		default:
			items[i].Passed = true
		}
	}
}
