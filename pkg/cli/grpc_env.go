package cli

import "os"

// withGRPCBootstrap is an environment in which GRPC_XDS_BOOTSTRAP_CONFIG has the text of the bootstrap that gRPC would read:
// the file named by GRPC_XDS_BOOTSTRAP wins.
func withGRPCBootstrap(getenv func(string) string) func(string) string {
	return func(name string) string {
		if name != "GRPC_XDS_BOOTSTRAP_CONFIG" {
			return getenv(name)
		}
		file := getenv("GRPC_XDS_BOOTSTRAP")
		if file == "" {
			return getenv(name)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return "" // no bootstrap is known
		}
		return string(text)
	}
}
