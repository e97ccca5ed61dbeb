package xds

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/edsctl/edsctl/pkg/eds"
)

// watchREST polls over HTTP as Envoy's HttpSubscriptionImpl does: the request as JSON with the names of the proto
// fields, 304 when nothing changed.
func watchREST(ctx context.Context, o Options, names []string, fn func(*Event) error) error {
	client, base, err := o.Dial.httpClient()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	p := newPoller(o, names, fn)
	prefix := base + "/" + namesOf(o.TransportVersion).rest
	p.edsPath, p.cdsPath = prefix+"/discovery:endpoints", prefix+"/discovery:clusters"
	p.ask = func(ctx context.Context, url string, req *discoveryv3.DiscoveryRequest) (*discoveryv3.DiscoveryResponse, error) {
		return o.Dial.post(ctx, client, url, req)
	}
	return p.run(ctx)
}

// httpClient returns a client for the target, and the scheme and host of its URLs.
func (d *Dial) httpClient() (*http.Client, string, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: false, TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}}
	base := "http://" + d.Target
	if path, ok := strings.CutPrefix(d.Target, "unix:"); ok {
		base = "http://localhost"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimPrefix(path, "//"))
		}
	}
	if !d.Plaintext {
		cfg, err := d.tlsConfig()
		if err != nil {
			return nil, "", err
		}
		transport.TLSClientConfig = cfg
		base = "https" + strings.TrimPrefix(base, "http")
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return client, base, nil
}

// requestJSON is the body of a poll: compact, since protojson's spaces vary from build to build.
func requestJSON(req *discoveryv3.DiscoveryRequest) ([]byte, error) {
	data, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("write the request as JSON: %w", err)
	}
	var out bytes.Buffer
	if err := json.Compact(&out, data); err != nil {
		return nil, fmt.Errorf("write the request as JSON: %w", err)
	}
	return out.Bytes(), nil
}

// addHeaders adds what every request of this control plane carries.
func (d *Dial) addHeaders(h http.Header) error {
	md, err := d.headers()
	if err != nil {
		return err
	}
	for name, values := range md {
		for _, v := range values {
			h.Add(name, v)
		}
	}
	return nil
}

// post makes one poll. It returns nil without an error when nothing changed.
func (d *Dial) post(ctx context.Context, client *http.Client, url string, req *discoveryv3.DiscoveryRequest) (*discoveryv3.DiscoveryResponse, error) {
	body, err := requestJSON(req)
	if err != nil {
		return nil, err
	}
	hr, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask %q: %w", url, err)
	}
	if err := d.addHeaders(hr.Header); err != nil {
		return nil, err
	}
	hr.Header.Set("Content-Type", "application/json")
	hr.Header.Set("User-Agent", d.UserAgent)
	if d.Authority != "" {
		hr.Host = d.Authority
	}
	resp, err := client.Do(hr)
	if err != nil {
		return nil, httpError(url, err)
	}
	defer resp.Body.Close()
	limit := d.maxMsgSize()
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return nil, httpError(url, err)
	case int64(len(data)) > limit:
		return nil, &StreamError{Method: url, Code: codes.ResourceExhausted, Text: fmt.Sprintf("the response is larger than %d bytes", limit)}
	case resp.StatusCode == http.StatusNotModified:
		return nil, nil
	case resp.StatusCode != http.StatusOK:
		return nil, &StreamError{Method: url, Code: codes.Unknown, HTTP: resp.StatusCode, Text: d.statusText(resp, data)}
	}
	return d.secrets.parseBody(url, data)
}

// parseREST reads the body of a good answer: names of fields in both spellings, unknown fields left out. Assignments
// are decoded once more as Envoy reads JSON, since Go's reader refuses or drops some of what Envoy takes (enum names in
// any case, for one).
func parseREST(url string, data []byte) (*discoveryv3.DiscoveryResponse, error) {
	out := &discoveryv3.DiscoveryResponse{}
	err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, out)
	as := asEnvoyReads(data)
	if err == nil {
		for i, any := range out.Resources {
			if as[i] != nil && !isWrapper(any.GetTypeUrl()) {
				out.Resources[i] = as[i]
			}
		}
		return out, nil
	}
	if len(as) > 0 {
		return headOf(data, as), nil
	}
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ")
	return nil, &StreamError{Method: url, Code: codes.Internal, Text: "the answer is no DiscoveryResponse in JSON: " + strings.TrimPrefix(text, "proto: ")}
}

// asEnvoyReads decodes the assignments of a response by their index; those that Envoy cannot read are left out.
func asEnvoyReads(data []byte) map[int]*anypb.Any {
	out := map[int]*anypb.Any{}
	loaded := eds.NewLoader(eds.Options{Format: eds.JSON, Shape: eds.ShapeResponse, Source: eds.FromREST}).Load("response", data, true)
	for _, r := range loaded.Resources {
		if r.Absent || r.Unreadable || r.Response == nil || r.Original == nil {
			continue
		}
		if any, err := anypb.New(r.Original); err == nil {
			out[r.Response.Index] = any
		}
	}
	return out
}

// headOf is a response whose JSON Go's reader refuses: the fields around the resources as far as they can be read.
func headOf(data []byte, resources map[int]*anypb.Any) *discoveryv3.DiscoveryResponse {
	var head struct {
		Version  string `json:"version_info"`
		Version2 string `json:"versionInfo"`
		TypeURL  string `json:"type_url"`
		TypeURL2 string `json:"typeUrl"`
	}
	_ = json.Unmarshal(data, &head)
	out := &discoveryv3.DiscoveryResponse{VersionInfo: cmp.Or(head.Version, head.Version2), TypeUrl: cmp.Or(head.TypeURL, head.TypeURL2)}
	for _, i := range slices.Sorted(maps.Keys(resources)) {
		out.Resources = append(out.Resources, resources[i])
	}
	return out
}

// statusText is what a server says beside an HTTP status, in one short line.
func (d *Dial) statusText(resp *http.Response, body []byte) string {
	if loc := resp.Header.Get("Location"); loc != "" && resp.StatusCode/100 == 3 {
		return fmt.Sprintf("it redirects to %q, which is not followed", loc)
	}
	text := strings.Join(strings.Fields(d.secrets.hide(string(body))), " ") // before it is cut off, maybe in a secret
	if text == "" {
		return http.StatusText(resp.StatusCode)
	}
	if len(text) > 200 {
		text = text[:200] + "..."
	}
	return text
}

// httpError takes the URL out of net/http's errors: they repeat it.
func httpError(target string, err error) error {
	code := codes.Unavailable
	if errors.Is(err, context.DeadlineExceeded) {
		code = codes.DeadlineExceeded
	}
	text := err.Error()
	if inner := errors.Unwrap(err); inner != nil {
		text = inner.Error()
	}
	return &StreamError{Method: target, Code: code, Text: text}
}
