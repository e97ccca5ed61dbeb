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
	client, base, err := o.Dial.httpClient(ctx)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	p := newPoller(o, names, fn)
	prefix := base + "/" + namesOf(o.TransportVersion).rest
	p.edsPath, p.cdsPath = prefix+"/discovery:endpoints", prefix+"/discovery:clusters"
	loader := newLoader(o, eds.FromREST, p.follow, eds.JSON, eds.ShapeResponse)
	p.ask = func(ctx context.Context, url string, req *discoveryv3.DiscoveryRequest) (*response, error) {
		as := loader
		if url == p.cdsPath {
			as = nil
		}
		answer, err := o.Dial.post(ctx, client, url, req, as)
		if answer == nil {
			return nil, err
		}
		return answer.response(), nil
	}
	return p.run(ctx)
}

// httpClient returns a client for the target, and the scheme and host of its URLs.
func (d *Dial) httpClient(ctx context.Context) (*http.Client, string, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: false, TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}}
	base := "http://" + d.Target
	if path, ok := strings.CutPrefix(d.Target, "unix:"); ok {
		base = "http://localhost"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimPrefix(path, "//"))
		}
	}
	if !d.Plaintext {
		cfg, err := d.tlsConfig(ctx)
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
func (d *Dial) addHeaders(ctx context.Context, h http.Header) error {
	md, err := d.headers(ctx)
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

// post makes one poll. It returns nil without an error when nothing changed. The loader is for the assignments in the answer.
func (d *Dial) post(ctx context.Context, client *http.Client, url string, req *discoveryv3.DiscoveryRequest, loader *eds.Loader) (*body, error) {
	asked, err := requestJSON(req)
	if err != nil {
		return nil, err
	}
	var at progress
	hr, err := http.NewRequestWithContext(at.traced(ctx), http.MethodPost, url, bytes.NewReader(asked))
	if err != nil {
		return nil, fmt.Errorf("ask %q: %w", url, err)
	}
	if err := d.addHeaders(ctx, hr.Header); err != nil {
		return nil, err
	}
	hr.Header.Set("Content-Type", "application/json")
	hr.Header.Set("User-Agent", d.UserAgent)
	if d.Authority != "" {
		hr.Host = d.Authority
	}
	resp, err := client.Do(hr)
	if err != nil {
		if failed := at.unready(url); failed != nil && errors.Is(err, context.DeadlineExceeded) {
			return nil, failed
		}
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
	return d.secrets.parseBody(url, data, loader)
}

// body is the answer to a poll: the response as far as it could be read, and its assignments as Envoy reads their text, by
// index, for what is wrong with that.
type body struct {
	*discoveryv3.DiscoveryResponse
	loaded map[int]*eds.Resource
}

func (b *body) response() *response {
	r := fromSotW(b.DiscoveryResponse)
	r.loaded = b.loaded
	for i, res := range b.loaded {
		if item := &r.items[i]; item.Name == "" && !res.Absent {
			item.Name = res.Name // of a body without "@type" there is no message
		}
	}
	return r
}

// parseREST reads the body of a good answer: names of fields in both spellings, unknown fields left out. Assignments
// are read once more as Envoy reads JSON, since Go's reader refuses or drops some of what Envoy takes (enum names in any
// case, for one), and since what it leaves out is to be reported. A nil loader is for bodies without assignments.
func parseREST(url string, data []byte, loader *eds.Loader) (*body, error) {
	out := &discoveryv3.DiscoveryResponse{}
	err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, out)
	loaded, readable := asEnvoyReads(data, loader)
	switch {
	case err == nil:
	case readable:
		out = headOf(data, loaded)
	default:
		text := strings.ReplaceAll(err.Error(), "\u00a0", " ")
		return nil, &StreamError{Method: url, Code: codes.Internal, Text: "the answer is no DiscoveryResponse in JSON: " + strings.TrimPrefix(text, "proto: ")}
	}
	for i, res := range loaded {
		if i >= len(out.Resources) {
			delete(loaded, i)
			continue
		}
		if res.Absent || res.Unreadable || isWrapper(out.Resources[i].GetTypeUrl()) {
			continue
		}
		if any, err := anypb.New(res.Original); err == nil {
			out.Resources[i] = any
		}
	}
	return &body{out, loaded}, nil
}

// asEnvoyReads reads the resources of a response by their index. readable: Envoy can read one of them at least.
func asEnvoyReads(data []byte, loader *eds.Loader) (out map[int]*eds.Resource, readable bool) {
	out = map[int]*eds.Resource{}
	if loader == nil {
		return out, false
	}
	for _, r := range loader.Load("response", data, true).Resources {
		if r.Response == nil || r.Original == nil && !r.Absent {
			continue
		}
		out[r.Response.Index] = r
		readable = readable || !r.Absent && !r.Unreadable
	}
	return out, readable
}

// headOf is a response whose JSON Go's reader refuses: the fields around the resources as far as they can be read, and of
// the resources their types.
func headOf(data []byte, resources map[int]*eds.Resource) *discoveryv3.DiscoveryResponse {
	var head struct {
		Version  string `json:"version_info"`
		Version2 string `json:"versionInfo"`
		TypeURL  string `json:"type_url"`
		TypeURL2 string `json:"typeUrl"`
	}
	_ = json.Unmarshal(data, &head)
	out := &discoveryv3.DiscoveryResponse{VersionInfo: cmp.Or(head.Version, head.Version2), TypeUrl: cmp.Or(head.TypeURL, head.TypeURL2)}
	for i := range slices.Max(slices.Collect(maps.Keys(resources))) + 1 {
		any := &anypb.Any{}
		if r := resources[i]; r != nil {
			any.TypeUrl = r.Response.AnyURL
		}
		out.Resources = append(out.Resources, any)
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
		text = strings.ToValidUTF8(text[:200], "") + "..."
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
