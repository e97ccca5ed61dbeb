// Package assertion evaluates CEL expressions over simulation results: the fields of the JSON output by their names, and
// share(SELECTOR), the share of the endpoints that a selector picks. The CEL environment is made when the first expression
// is compiled, so that a program that only links this package pays nothing.
package assertion

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/edsctl/edsctl/pkg/selector"
	"github.com/edsctl/edsctl/pkg/simulate"
)

// shareFunction is the name of the function that adds up the shares of a selection.
const shareFunction = "share"

// Assertion is a compiled expression.
type Assertion struct {
	text string
	ast  *ast.AST
}

// Compile parses and checks expressions. An error names the expression and what is wrong in it.
func Compile(texts []string) ([]*Assertion, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	env, err := newEnvironment(func(ref.Val) ref.Val { return types.NewErr("share cannot be used here") })
	if err != nil {
		return nil, err
	}
	var out []*Assertion
	for _, text := range texts {
		checked, err := env.compile(text)
		if err != nil {
			return nil, fmt.Errorf("assertion %q: %w", text, err)
		}
		if t := checked.GetType(checked.Expr().ID()); !t.IsExactType(types.BoolType) && !t.IsExactType(types.DynType) {
			return nil, fmt.Errorf("assertion %q: is a %s, not true or false", text, t)
		}
		out = append(out, &Assertion{text: text, ast: checked})
	}
	return out, nil
}

// String is the expression as written.
func (a *Assertion) String() string { return a.text }

// fieldNames are the fields of a result.
func fieldNames() []string {
	return []string{"name", "file", "line", "client", "cluster", "api_version", "policy", "verdict", "message", "method", "notes",
		"dropped", "drops", "unavailable", "panic", "zone_aware", "subset", "priorities", "endpoints", "keys", "rps", "sample", "steps"}
}

// Outcome is what an assertion came to.
type Outcome struct {
	Assertion *Assertion
	Holds     bool
	// Values are the parts of a false assertion with their values, the inner ones first: share("zone=a") = 0.7.
	Values []string
}

// Evaluate applies assertions to a result. Errors: an expression cannot be computed, for instance because a selector
// matches nothing.
func Evaluate(assertions []*Assertion, r *simulate.Result) ([]Outcome, error) {
	if len(assertions) == 0 {
		return nil, nil
	}
	env, err := newEnvironment(func(arg ref.Val) ref.Val { return share(r, arg) })
	if err != nil {
		return nil, err
	}
	fields, err := fieldsOf(r)
	if err != nil {
		return nil, err
	}
	var out []Outcome
	for _, a := range assertions {
		outcome, err := a.evaluate(env, fields)
		if err != nil {
			return nil, fmt.Errorf("assertion %q: %w", a.text, oneLine(err))
		}
		out = append(out, outcome)
	}
	return out, nil
}

func (a *Assertion) evaluate(env *environment, fields map[string]any) (Outcome, error) {
	value, state, err := env.evaluate(a.ast, fields)
	switch {
	case err != nil && strings.Contains(err.Error(), "no such overload"):
		return Outcome{}, fmt.Errorf("%w (shares are decimal numbers: 2.0 goes with them, 2 does not)", err)
	case err != nil:
		return Outcome{}, err
	}
	holds, ok := value.Value().(bool)
	if !ok {
		return Outcome{}, fmt.Errorf("is %v, not true or false", value.Value())
	}
	out := Outcome{Assertion: a, Holds: holds}
	if !holds {
		out.Values = explain(a.ast, state)
	}
	return out, nil
}

func share(r *simulate.Result, arg ref.Val) ref.Val {
	text, ok := arg.Value().(string)
	if !ok {
		return types.MaybeNoSuchOverloadErr(arg)
	}
	s, err := selector.Parse(text)
	if err != nil {
		return types.WrapErr(err)
	}
	sum, err := r.Share(s)
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Double(sum)
}

// fieldsOf is a result as the JSON output has it. Fields that are left out there are null, so that an expression can ask
// for them.
func fieldsOf(r *simulate.Result) (map[string]any, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	for _, name := range fieldNames() {
		if _, ok := fields[name]; !ok {
			fields[name] = nil
		}
	}
	return fields, nil
}

// oneLine puts the lines of an error into one.
func oneLine(err error) error {
	if lines := strings.Split(err.Error(), "\n"); len(lines) > 1 {
		return errors.New(strings.Join(lines, "; "))
	}
	return err
}
