// Package xds fetches endpoint assignments from live control planes as Envoy and gRPC do: state of the world and delta
// streams, unary calls and REST polls, on the endpoint discovery service or on the aggregated one, in every version of
// the API. It also reads them back out of a running Envoy (admin) or gRPC client (CSDS), and keeps recordings.
//
// The protocol itself is in pure state machines (session.go, sotw.go, delta.go): messages and the clock go in, requests
// come out. The files around them only move bytes. Watch is the one entry: it reports everything that happens as an
// Event, and what the callback returns for a response becomes the NACK's error_detail.
package xds
