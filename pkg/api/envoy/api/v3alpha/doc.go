// Package apiv3alpha is version v3alpha of the endpoint discovery API, as the founding document of September to
// December 2019 has it: a subset of v2, with its own type names.
package apiv3alpha
