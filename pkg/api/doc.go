// Package api holds the .proto files of the v2 and v3alpha APIs and, in its subfolders, the Go code that `make generate`
// makes of them. The v3 API comes from go-control-plane. Its v2 is not used: the package of the assignment there links
// that of every other v2 resource, which costs each start of a program half a millisecond.
package api
