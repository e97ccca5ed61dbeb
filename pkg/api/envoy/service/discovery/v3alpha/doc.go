// Package discoveryv3alpha is the aggregated discovery service of the v3alpha API.
package discoveryv3alpha
