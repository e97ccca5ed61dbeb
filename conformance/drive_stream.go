package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"
)

// How long a client may take to answer a response. Where silence is the answer, that is what it costs. A cluster is
// always answered, but its table may take a while to build.
const (
	patience        = 400 * time.Millisecond
	clusterPatience = 20 * time.Second
)

// session is an Envoy on streams, started again when it ends.
type session struct {
	ctx       context.Context
	binary    string
	dir       string
	control   *control
	bootstrap func() tree

	envoy   *envoy
	current string // ads: the context of the EDS cluster that was sent
}

func newSession(ctx context.Context, binary, dir string) (*session, error) {
	control, err := startControl()
	return &session{ctx: ctx, binary: binary, dir: dir, control: control}, err
}

func (s *session) close() {
	if s.envoy != nil {
		s.envoy.stop()
	}
	s.control.stop()
}

// ready starts Envoy when there is none.
func (s *session) ready() error {
	if s.envoy != nil && s.envoy.alive() {
		return nil
	}
	var err error
	s.current = "none"
	s.envoy, err = startEnvoy(s.ctx, s.binary, s.dir, s.bootstrap())
	return err
}

// put sends a response on a stream, when the client has asked for a type, and tells what became of it. cluster is whose
// counters say whether it arrived; none: an acknowledged response has arrived.
func (s *session) put(streamName, asked, cluster string, response *discoveryv3.DiscoveryResponse) (observed, error) {
	ctx, cancel := context.WithTimeout(s.ctx, 2*clusterPatience)
	defer cancel()
	st, err := s.control.stream(ctx, streamName)
	if err != nil {
		return observed{}, err
	}
	var before map[string]int
	if cluster != "" {
		if before, err = s.envoy.stats(cluster); err != nil {
			return observed{}, err
		}
	}
	wait := patience
	if asked == clusterURL {
		wait = clusterPatience
	}
	a := st.push(response, asked, wait)
	if a.none {
		// Envoy may be at a table that takes long to build. Its administration answers when that is done.
		if _, err := s.envoy.stats(cluster); err == nil {
			a = st.wait(response.Nonce, patience)
		}
	}
	switch {
	case a.ended || !s.envoy.alive():
		<-s.envoy.exited
		return s.envoy.crash(), nil
	case a.none:
		return observed{verdict: "ignore"}, nil
	case a.nack:
		return observed{verdict: "reject", message: a.message}, nil
	case cluster == "":
		return observed{verdict: "accept"}, nil
	}
	after, err := s.envoy.stats(cluster)
	switch {
	case err != nil && !s.envoy.pause(time.Second):
		return s.envoy.crash(), nil
	case err != nil:
		return observed{}, err
	case after["update_success"] == before["update_success"]:
		return observed{verdict: "ignore"}, nil
	}
	return observed{verdict: "accept"}, nil
}

// driveStreams puts each response to an EDS stream of its cluster, which is in the bootstrap.
func driveStreams(ctx context.Context, binary, dir string, cases []*testCase) error {
	s, err := newSession(ctx, binary, dir)
	if err != nil {
		return err
	}
	defer s.close()
	s.bootstrap = func() tree {
		all := []any{s.control.xds()}
		for _, around := range contexts {
			all = append(all, edsCluster(streamCluster(around), around, tree{"api_config_source": source("eds" + around)}))
		}
		return tree{
			"node": tree{"id": "n", "cluster": "n"}, "static_resources": tree{"clusters": all},
			"cluster_manager": tree{"local_cluster_name": streamCluster("local")},
		}
	}
	for _, c := range cases {
		if err := s.ready(); err != nil {
			return err
		}
		if c.observed, err = s.put("eds"+c.around, assignmentURL, streamCluster(c.around), c.response); err != nil {
			return fmt.Errorf("%s: %w", c.id, err)
		}
	}
	return nil
}

func streamCluster(around string) string {
	if around == "local" {
		return clusterName
	}
	return "stream_" + around
}

// driveADS puts each response to an ADS stream, on which the EDS cluster came before.
func driveADS(ctx context.Context, binary, dir string, cases []*testCase) error {
	s, err := newSession(ctx, binary, dir)
	if err != nil {
		return err
	}
	defer s.close()
	s.bootstrap = s.overADS
	slices.SortStableFunc(cases, func(a, b *testCase) int { return strings.Compare(a.around, b.around) })
	for _, c := range cases {
		if s.envoy != nil && s.current != c.around {
			s.envoy.stop() // beside a cluster that waits for its endpoints no other is acknowledged
		}
		if err := s.ready(); err != nil {
			return err
		}
		if s.current != c.around {
			cluster := &clusterv3.Cluster{}
			if err := decode(edsCluster(streamCluster(c.around), c.around, tree{"ads": tree{}}), cluster); err != nil {
				return err
			}
			packed, err := anypb.New(cluster)
			if err != nil {
				return err
			}
			got, err := s.put("ads", clusterURL, "", &discoveryv3.DiscoveryResponse{TypeUrl: clusterURL, Resources: []*anypb.Any{packed}})
			if err != nil || got.verdict != "accept" {
				return fmt.Errorf("the cluster around %s: %s %s %w", c.id, got.verdict, got.message, err)
			}
			s.current = c.around
		}
		if c.observed, err = s.put("ads", assignmentURL, streamCluster(c.around), c.response); err != nil {
			return fmt.Errorf("%s: %w", c.id, err)
		}
	}
	return nil
}

// driveCDS puts each cluster to an ADS stream, in the place of the one before.
func driveCDS(ctx context.Context, binary, dir string, cases []*testCase) error {
	s, err := newSession(ctx, binary, dir)
	if err != nil {
		return err
	}
	defer s.close()
	s.bootstrap = s.overADS
	for _, c := range cases {
		if err := s.ready(); err != nil {
			return err
		}
		if c.observed, err = s.put("ads", clusterURL, "", c.response); err != nil {
			return fmt.Errorf("%s: %w", c.id, err)
		}
	}
	return nil
}

// overADS is a bootstrap whose clusters come over ADS. Names are resolved by a server that is not there.
func (s *session) overADS() tree {
	return tree{
		"node":             tree{"id": "n", "cluster": "n"},
		"static_resources": tree{"clusters": []any{s.control.xds()}},
		"dynamic_resources": tree{
			"ads_config": source("ads"),
			"cds_config": tree{"resource_api_version": "V3", "ads": tree{}},
		},
		"typed_dns_resolver_config": tree{"name": "envoy.network.dns_resolver.cares", "typed_config": tree{
			"@type":     "type.googleapis.com/envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig",
			"resolvers": []any{loopback(1)},
		}},
	}
}
