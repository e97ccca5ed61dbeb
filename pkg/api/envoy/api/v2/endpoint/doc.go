// Package endpointv2 has the parts of an assignment of the v2 API.
package endpointv2
