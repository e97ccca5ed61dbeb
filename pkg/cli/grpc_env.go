package cli

import (
	"context"
	"sync"

	"github.com/edsctl/edsctl/pkg/input"
)

// clientGetenv is the environment of the clients that are predicted: in it GRPC_XDS_BOOTSTRAP_CONFIG has the text of the
// bootstrap that gRPC would read, where the file named by GRPC_XDS_BOOTSTRAP wins.
func (env *Env) clientGetenv() func(string) string {
	bootstrap := sync.OnceValue(func() string {
		file := env.Getenv("GRPC_XDS_BOOTSTRAP")
		if file == "" {
			return env.Getenv("GRPC_XDS_BOOTSTRAP_CONFIG")
		}
		text, err := input.ReadFile(context.Background(), file, input.DefaultMaxBytes)
		if err != nil {
			return "" // no bootstrap is known
		}
		return string(text)
	})
	return func(name string) string {
		if name == "GRPC_XDS_BOOTSTRAP_CONFIG" {
			return bootstrap()
		}
		return env.Getenv(name)
	}
}
