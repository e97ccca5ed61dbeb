package xds

import (
	"context"
	"strings"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
)

// watchUnary polls with FetchEndpoints and FetchClusters over gRPC. Servers built on go-control-plane answer them; when
// the version is still the newest they say so with an error.
func watchUnary(ctx context.Context, o Options, names []string, fn func(*Event) error) error {
	conn, err := o.Dial.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	n := namesOf(o.TransportVersion)
	p := newPoller(o, names, fn)
	p.edsPath, p.cdsPath = "/"+n.edsService+"/FetchEndpoints", "/"+n.cdsService+"/FetchClusters"
	p.ask = func(ctx context.Context, method string, req *discoveryv3.DiscoveryRequest) (*response, error) {
		ctx, err := o.Dial.withHeaders(ctx)
		if err != nil {
			return nil, err
		}
		resp := &discoveryv3.DiscoveryResponse{}
		err = conn.Invoke(ctx, method, req, resp)
		if st := status.Convert(err); st.Code() == codes.Unknown && strings.Contains(st.Message(), "version up to date") {
			return nil, nil
		} else if err != nil && st.Code() == codes.DeadlineExceeded && conn.GetState() != connectivity.Ready {
			if unready := o.Dial.progress.unready(method); unready != nil {
				return nil, unready
			}
			return nil, streamError(method, err)
		} else if err != nil {
			return nil, streamError(method, err)
		}
		return fromSotW(resp), nil
	}
	return p.run(ctx)
}
