// Package api holds the .proto files of the v3alpha API and, in its subfolders, the Go code that `make generate` makes
// of them. The v2 and v3 APIs come from go-control-plane.
package api
