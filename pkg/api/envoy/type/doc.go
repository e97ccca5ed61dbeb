// Package typev2 has the value types of the v2 API.
package typev2
