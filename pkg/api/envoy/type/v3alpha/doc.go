// Package typev3alpha has the value types of the v3alpha API.
package typev3alpha
