// Package corev2 has the messages that the v2 API shares: nodes, localities, addresses, metadata.
package corev2
