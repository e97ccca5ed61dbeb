// Command baseline does the least that can be done with a file or a stream: parse it with a library and look at nothing.
// edsctl is measured against it.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	endpointservice "github.com/envoyproxy/go-control-plane/envoy/service/endpoint/v3"
	"go.yaml.in/yaml/v4"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: baseline yaml|yaml-twice|json|files PATH | stream ADDRESS NAME...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "baseline:", err)
		os.Exit(1)
	}
}

func run(mode, path string, names []string) error {
	switch mode {
	case "files":
		return parseAll(path)
	case "stream":
		return stream(path, names)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if mode == "json" {
		return protojson.Unmarshal(data, &endpointv3.ClusterLoadAssignment{})
	}
	if mode == "yaml-twice" { // the least that an edit needs: what it edits, and what it writes
		if err := parse(data); err != nil {
			return err
		}
	}
	return parse(data)
}

func parse(data []byte) error { return yaml.Unmarshal(data, &yaml.Node{}) }

// parseAll reads and parses the files of a folder with as many workers as edsctl has.
func parseAll(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	names := make(chan string)
	errs := make(chan error, len(entries))
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for name := range names {
				data, err := os.ReadFile(name)
				if err == nil {
					err = parse(data)
				}
				if err != nil {
					errs <- err
				}
			}
		})
	}
	for _, e := range entries {
		names <- filepath.Join(dir, e.Name())
	}
	close(names)
	workers.Wait()
	close(errs)
	return <-errs
}

// stream asks a management server for assignments and unmarshals and checks those of its first response.
func stream(addr string, names []string) error {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30)))
	if err != nil {
		return err
	}
	defer conn.Close()
	st, err := endpointservice.NewEndpointDiscoveryServiceClient(conn).StreamEndpoints(context.Background())
	if err != nil {
		return err
	}
	if err := st.Send(&discoveryv3.DiscoveryRequest{TypeUrl: "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment", ResourceNames: names}); err != nil {
		return err
	}
	resp, err := st.Recv()
	if err != nil {
		return err
	}
	for _, any := range resp.GetResources() {
		m := &endpointv3.ClusterLoadAssignment{}
		if err := any.UnmarshalTo(m); err != nil {
			return err
		}
		if err := m.ValidateAll(); err != nil {
			return err
		}
	}
	return nil
}
