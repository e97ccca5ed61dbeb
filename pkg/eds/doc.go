// Package eds finds the assignments in a document or a response, of any shape and API version, each with the cluster
// and the bootstrap around it, decodes them as Envoy reads JSON, YAML and binary protobuf, and upgrades them to v3.
// It reports every problem of the text with its place and judges nothing.
package eds
