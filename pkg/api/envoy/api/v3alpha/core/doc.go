// Package corev3alpha has the messages that the v3alpha API shares: nodes, localities, addresses, metadata.
package corev3alpha
