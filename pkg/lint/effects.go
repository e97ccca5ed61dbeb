package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
)

// Expression is a cell of the columns envoy and grpc: "reject(file,rest) warn". The first clause that fits gives the
// effect, a clause without qualifiers is the rest, and when nothing fits the effect is None.
type Expression []Clause

// Clause is one effect with the qualifiers under which it applies; any of them is enough.
type Clause struct {
	Effect     diag.Effect
	Qualifiers []string
}

func parseExpression(text string) (Expression, error) {
	var e Expression
	for _, word := range strings.Fields(text) {
		name, rest, qualified := strings.Cut(word, "(")
		effect, err := diag.ParseEffect(name)
		if err != nil {
			return nil, err
		}
		clause := Clause{Effect: effect}
		if qualified {
			list, ok := strings.CutSuffix(rest, ")")
			if !ok {
				return nil, fmt.Errorf("effect %q has no closing parenthesis", word)
			}
			clause.Qualifiers = strings.Split(list, ",")
		}
		e = append(e, clause)
	}
	return e, nil
}

// Effect that applies under the given facts.
func (e Expression) Effect(f *Facts) diag.Effect {
	for _, c := range e {
		if len(c.Qualifiers) == 0 || slices.ContainsFunc(c.Qualifiers, f.fits) {
			return c.Effect
		}
	}
	return diag.None
}

// Strongest effect of the expression, whatever the facts.
func (e Expression) Strongest() diag.Effect {
	strongest := diag.None
	for _, c := range e {
		strongest = max(strongest, c.Effect)
	}
	return strongest
}

// Facts are what qualifiers ask about (envoy-eds-rules.md 0.5).
type Facts struct {
	Words        []string            // source, source@origin, pb@origin, cluster type, policies, locality_weighted, load_balancing_policy
	EnvoyVersion int                 // minor version: 40 is 1.40
	Getenv       func(string) string // gRPC's environment variables; may be nil
}

// fits tells whether one qualifier holds.
func (f *Facts) fits(q string) bool {
	switch {
	case strings.HasPrefix(q, "GRPC_"):
		// Variables that are off by default are switched on by "true" in any case (grpc-eds.md 2.5).
		return f.Getenv != nil && strings.EqualFold(f.Getenv(q), "true")
	case strings.HasPrefix(q, "<1."):
		return f.EnvoyVersion < minor(q[len("<"):])
	case strings.HasPrefix(q, ">=1."):
		return f.EnvoyVersion >= minor(q[len(">="):])
	}
	return slices.Contains(f.Words, q)
}

// minor is the second number of a version like "1.38" or "1.32.3".
func minor(version string) int {
	_, rest, _ := strings.Cut(version, ".")
	rest, _, _ = strings.Cut(rest, ".")
	n, err := strconv.Atoi(rest)
	if err != nil {
		panic("version " + version + ": " + err.Error()) // only versions of rules.tsv come here, a test reads them all
	}
	return n
}

// Effect of the rule on a client: that of the registry, and None for an Envoy from before the rule's version.
func (r *Rule) Effect(client diag.Client, f *Facts) diag.Effect {
	if client == diag.Envoy && r.Since != "" && f.EnvoyVersion < minor(r.Since) {
		return diag.None
	}
	return r.Effects[client].Effect(f)
}
