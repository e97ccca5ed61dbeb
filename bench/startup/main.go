// Command startup links what any program of this kind has to link, and does nothing with it: what `edsctl version` is
// measured against.
package main

import (
	"fmt"
	"os"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/spf13/cobra"
	"google.golang.org/grpc"
)

func main() {
	cmd := &cobra.Command{Use: "startup", Run: func(cmd *cobra.Command, _ []string) {
		fmt.Fprintln(cmd.OutOrStdout(), grpc.Version, (&endpointv3.ClusterLoadAssignment{}).ProtoReflect().Descriptor().FullName())
	}}
	if cmd.Execute() != nil {
		os.Exit(1)
	}
}
