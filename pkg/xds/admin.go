package xds

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/edsctl/edsctl/pkg/eds"
)

// Admin is what a running Envoy has applied: its config dump with EDS, merged with the state of its hosts.
type Admin struct {
	Assignments []AdminAssignment // in the order of the dump
	Warming     []string          // clusters that wait for their first assignment, in neither endpoint
}

// AdminAssignment is one assignment as Envoy has it. Health, in the resource, is what Envoy routes by: EDS's word with
// the verdicts of health checks and outlier detection in it.
type AdminAssignment struct {
	Resource *eds.Resource
	Cluster  string            // name of the cluster
	Hosts    map[string]string // by address: what else is known of the host, such as "failed_active_hc"; empty ones left out
}

// IsEDS tells whether the cluster takes its endpoints from EDS, as far as the dump tells.
func (a *AdminAssignment) IsEDS() bool {
	return a.Resource.Cluster == nil || eds.ClusterType(a.Resource.Cluster.Message) == eds.TypeEDS
}

// adminClusters is /clusters?format=json as far as it is used (xds-protocol.md 11.2).
type adminClusters struct {
	Statuses []adminCluster `json:"cluster_statuses"`
}

type adminCluster struct {
	Name    string      `json:"name"`
	Service string      `json:"eds_service_name"`
	Hosts   []adminHost `json:"host_statuses"`
}

type adminHost struct {
	Address struct {
		Socket struct {
			Address string `json:"address"`
			Port    uint32 `json:"port_value"`
		} `json:"socket_address"`
		Pipe struct {
			Path string `json:"path"`
		} `json:"pipe"`
	} `json:"address"`
	Health struct {
		EDS             string `json:"eds_health_status"`
		FailedActive    bool   `json:"failed_active_health_check"`
		FailedOutlier   bool   `json:"failed_outlier_check"`
		DegradedActive  bool   `json:"failed_active_degraded_check"`
		PendingRemoval  bool   `json:"pending_dynamic_removal"`
		PendingActive   bool   `json:"pending_active_hc"`
		Excluded        bool   `json:"excluded_via_immediate_hc_fail"`
		ActiveTimeout   bool   `json:"active_hc_timeout"`
		DegradedOutlier bool   `json:"failed_degraded_outlier_detection"`
	} `json:"health_status"`
}

func (h *adminHost) key() string {
	if h.Address.Pipe.Path != "" {
		return h.Address.Pipe.Path
	}
	return net.JoinHostPort(h.Address.Socket.Address, strconv.Itoa(int(h.Address.Socket.Port)))
}

// state says what EDS did not say of a host.
func (h *adminHost) state() string {
	var out []string
	for _, flag := range []struct {
		set  bool
		name string
	}{
		{h.Health.FailedActive, "failed_active_hc"}, {h.Health.FailedOutlier, "failed_outlier_check"}, {h.Health.DegradedActive, "degraded_active_hc"},
		{h.Health.PendingRemoval, "pending_dynamic_removal"}, {h.Health.PendingActive, "pending_active_hc"},
		{h.Health.Excluded, "excluded_via_immediate_hc_fail"}, {h.Health.ActiveTimeout, "active_hc_timeout"},
		{h.Health.DegradedOutlier, "degraded_outlier_detection"},
	} {
		if flag.set {
			out = append(out, flag.name)
		}
	}
	return strings.Join(out, ",")
}

// ReadAdmin asks a running Envoy for what it has applied. With names, only the assignments of that name (the cluster's
// service_name or name) are returned.
func ReadAdmin(ctx context.Context, d Dial, names []string) (*Admin, error) {
	client, base, err := d.httpClient(ctx)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	d.secrets = newSecrets(&d)
	dump, err := d.get(ctx, client, base+"/config_dump?include_eds")
	if err != nil {
		return nil, d.secrets.hideError(err)
	}
	status, err := d.get(ctx, client, base+"/clusters?format=json")
	if err != nil {
		return nil, d.secrets.hideError(err)
	}
	return mergeAdmin(dump, status, names)
}

func (d *Dial) get(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("ask %q: %w", url, err)
	}
	if err := d.addHeaders(ctx, req.Header); err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, httpError(url, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, d.maxMsgSize()+1))
	switch {
	case err != nil:
		return nil, httpError(url, err)
	case int64(len(data)) > d.maxMsgSize():
		return nil, fmt.Errorf("the answer of %q is larger than %d bytes", url, d.maxMsgSize())
	case resp.StatusCode != http.StatusOK:
		return nil, &StreamError{Method: url, Code: codes.Unknown, HTTP: resp.StatusCode, Text: d.statusText(resp, data)}
	}
	return data, nil
}

// mergeAdmin puts the two answers together (xds-protocol.md 11.1 and 11.2).
func mergeAdmin(dump, status []byte, names []string) (*Admin, error) {
	var clusters adminClusters
	if err := json.Unmarshal(status, &clusters); err != nil {
		return nil, fmt.Errorf("/clusters is no JSON of Envoy: %w", err)
	}
	var shape struct {
		Configs []struct {
			Type    string `json:"@type"`
			Warming []struct {
				Cluster struct {
					Name string `json:"name"`
				} `json:"cluster"`
			} `json:"dynamic_warming_clusters"`
		} `json:"configs"`
	}
	if err := json.Unmarshal(dump, &shape); err != nil || shape.Configs == nil {
		return nil, errors.Join(errors.New("/config_dump is no config dump of Envoy"), err)
	}
	out := &Admin{}
	for _, c := range shape.Configs {
		for _, w := range c.Warming {
			out.Warming = append(out.Warming, w.Cluster.Name)
		}
	}
	slices.Sort(out.Warming)
	unused := clusters.byService()
	loaded := eds.NewLoader(eds.Options{Format: eds.JSON, Shape: eds.ShapeConfigDump}).Load("config_dump", dump, true)
	for _, r := range loaded.Resources {
		if r.Absent || !isEndpointsDump(r) {
			continue
		}
		a := AdminAssignment{Resource: r, Cluster: r.Name, Hosts: map[string]string{}}
		if same := unused[r.Name]; len(same) > 0 {
			a.merge(same[0])
			unused[r.Name] = same[1:]
		}
		if len(names) == 0 || slices.Contains(names, r.Name) || slices.Contains(names, a.Cluster) {
			out.Assignments = append(out.Assignments, a)
		}
	}
	return out, nil
}

// isEndpointsDump tells an assignment of the endpoints dump from the load_assignment of a cluster in the same file.
func isEndpointsDump(r *eds.Resource) bool {
	return r.Cluster == nil || r.Cluster.Message.GetLoadAssignment() == nil
}

// byService are the clusters by the names of their assignments, in order.
func (c *adminClusters) byService() map[string][]*adminCluster {
	out := make(map[string][]*adminCluster, len(c.Statuses))
	for i := range c.Statuses {
		s := &c.Statuses[i]
		name := cmp.Or(s.Service, s.Name)
		out[name] = append(out[name], s)
	}
	return out
}

// merge takes over what /clusters knows better: DRAINING, hosts that are only kept until their checks fail, and flags.
func (a *AdminAssignment) merge(c *adminCluster) {
	a.Cluster = c.Name
	hosts := map[string]*adminHost{}
	for i := range c.Hosts {
		hosts[c.Hosts[i].key()] = &c.Hosts[i]
	}
	message := proto.Clone(a.Resource.Assignment).(*endpointv3.ClusterLoadAssignment)
	for _, group := range message.GetEndpoints() {
		group.LbEndpoints = slices.DeleteFunc(group.LbEndpoints, func(ep *endpointv3.LbEndpoint) bool {
			host := hosts[addressKey(ep.GetEndpoint().GetAddress())]
			return host != nil && a.mergeHost(ep, host)
		})
	}
	merged := *a.Resource
	merged.Assignment, merged.Original, merged.CoarseHealth = message, message, false
	a.Resource = &merged
}

// mergeHost tells whether the host has left the assignment and lives on only because of its health checks.
func (a *AdminAssignment) mergeHost(ep *endpointv3.LbEndpoint, host *adminHost) bool {
	key := addressKey(ep.GetEndpoint().GetAddress())
	if state := host.state(); state != "" {
		a.Hosts[key] = state
	}
	if host.Health.EDS == corev3.HealthStatus_DRAINING.String() {
		ep.HealthStatus = corev3.HealthStatus_DRAINING
	}
	return host.Health.PendingRemoval
}

// addressKey is an address in the form in which /clusters has it.
func addressKey(a *corev3.Address) string {
	if p := a.GetPipe(); p != nil {
		return p.GetPath()
	}
	return net.JoinHostPort(a.GetSocketAddress().GetAddress(), strconv.Itoa(int(a.GetSocketAddress().GetPortValue())))
}
