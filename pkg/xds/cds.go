package xds

import (
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
)

// edsExtension is the cluster type extension that means EDS (xds-protocol.md 9).
const edsExtension = "envoy.cluster.eds"

// Cluster is one cluster of a CDS response, and what it means for endpoints.
type Cluster struct {
	Name    string
	Message *clusterv3.Cluster // nil when it could not be decoded
	Service string             // EDS: the name that is asked for; empty: not followed
	Why     string             // why it is not followed, or where its endpoints come from when that is not this server
	Err     error              // why Envoy refuses the cluster
}

// IsEDS tells whether the cluster's endpoints come from EDS.
func (c *Cluster) IsEDS() bool { return c.Service != "" }

// wanted tells whether the cluster's assignment is asked for.
func (c *Cluster) wanted() bool { return c.IsEDS() && c.Err == nil }

// readCluster judges one cluster of a CDS response.
func readCluster(item Resource) Cluster {
	c := Cluster{Name: item.Name}
	if item.Any == nil {
		c.Why = "it has no body"
		return c
	}
	m := &clusterv3.Cluster{}
	if err := proto.Unmarshal(item.Any.GetValue(), m); err != nil {
		c.Why, c.Err = "it cannot be decoded", fmt.Errorf("unable to unpack: %w", err)
		return c
	}
	c.Message, c.Name = m, m.GetName()
	if ext := m.GetClusterType(); ext != nil && ext.GetName() != edsExtension {
		switch ext.GetName() {
		case "envoy.clusters.aggregate":
			c.Why = "it is an aggregate of other clusters"
		default:
			c.Why = fmt.Sprintf("its type is the extension %q", ext.GetName())
		}
		return c
	} else if ext == nil && m.GetType() != clusterv3.Cluster_EDS {
		c.Why = fmt.Sprintf("its type is %s, its endpoints are in the cluster itself", m.GetType())
		if m.GetType() == clusterv3.Cluster_ORIGINAL_DST {
			c.Why = "its type is ORIGINAL_DST, it has no endpoints"
		}
		return c
	}
	readEDS(&c)
	return c
}

func readEDS(c *Cluster) {
	source := c.Message.GetEdsClusterConfig()
	if source.GetEdsConfig() == nil {
		c.Why, c.Err = "it is an EDS cluster without eds_config", fmt.Errorf("cannot create an EDS cluster without an EDS config")
		return
	}
	service := source.GetServiceName()
	if service == "" {
		service = c.Name
	}
	switch spec := source.GetEdsConfig().GetConfigSourceSpecifier().(type) {
	case *corev3.ConfigSource_Ads:
		c.Service = service
	case *corev3.ConfigSource_Self:
		c.Service = service
		c.Err = fmt.Errorf("Missing config source specifier in envoy::config::core::v3::ConfigSource")
	case *corev3.ConfigSource_ApiConfigSource:
		c.Service = service
		c.Why = "its endpoints come from " + apiSource(spec.ApiConfigSource) + ", asked here all the same"
	case *corev3.ConfigSource_Path:
		c.Why = fmt.Sprintf("its endpoints come from the file %q", spec.Path)
	case *corev3.ConfigSource_PathConfigSource:
		c.Why = fmt.Sprintf("its endpoints come from the file %q", spec.PathConfigSource.GetPath())
	default:
		c.Why = "its eds_config names no source"
		c.Err = fmt.Errorf("Missing config source specifier in envoy::config::core::v3::ConfigSource")
	}
	if c.Service != "" && isXDSTP(c.Service) {
		c.Why, c.Service = fmt.Sprintf("its service_name %q is an xdstp name, which is not followed", c.Service), ""
	}
}

// apiSource names the management server of a config source of its own.
func apiSource(s *corev3.ApiConfigSource) string {
	for _, g := range s.GetGrpcServices() {
		if name := g.GetEnvoyGrpc().GetClusterName(); name != "" {
			return fmt.Sprintf("a management server of their own (cluster %q)", name)
		}
		if uri := g.GetGoogleGrpc().GetTargetUri(); uri != "" {
			return fmt.Sprintf("a management server of their own (%q)", uri)
		}
	}
	for _, name := range s.GetClusterNames() {
		return fmt.Sprintf("a management server of their own (cluster %q)", name)
	}
	return "a management server of their own"
}

func isXDSTP(name string) bool { return len(name) >= 6 && name[:6] == "xdstp:" }
