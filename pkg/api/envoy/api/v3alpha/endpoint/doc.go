// Package endpointv3alpha has the parts of an assignment of the v3alpha API.
package endpointv3alpha
