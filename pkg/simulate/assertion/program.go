package assertion

import (
	"errors"
	"fmt"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/containers"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/stdlib"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/interpreter"
	"cel.dev/cel-go/parser"
)

// environment is CEL's standard library with the fields of a result and share. It is put together from cel-go's parser,
// checker and interpreter: its package cel brings descriptors and configuration files along, which every start of a
// program that links it would pay for.
type environment struct {
	parser     *parser.Parser
	checker    *checker.Env
	registry   *types.Registry
	dispatcher interpreter.Dispatcher
}

// newEnvironment declares the fields of a result as dynamic values, and the function share.
func newEnvironment(share functions.UnaryOp) (*environment, error) {
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	// Dynamic like the fields, so that it can be compared with whole numbers, too.
	shareDecl, err := decls.NewFunction(shareFunction,
		decls.Overload("share_string", []*types.Type{types.StringType}, types.DynType, decls.UnaryBinding(share)))
	if err != nil {
		return nil, err
	}
	declared := append(stdlib.Functions(), shareDecl)
	e := &environment{registry: registry, dispatcher: interpreter.NewDispatcher()}
	if e.parser, err = parser.NewParser(parser.Macros(parser.AllMacros...)); err != nil {
		return nil, err
	}
	e.checker, err = checker.NewEnv(containers.DefaultContainer, registry, checker.CrossTypeNumericComparisons(true), checker.Catalog(catalog))
	if err != nil {
		return nil, err
	}
	variables := stdlib.Types()
	for _, name := range fieldNames() {
		variables = append(variables, decls.NewVariable(name, types.DynType))
	}
	if err := errors.Join(e.checker.AddIdents(variables...), e.checker.AddFunctions(declared...)); err != nil {
		return nil, err
	}
	for _, f := range declared {
		bindings, err := f.Bindings()
		if err != nil {
			return nil, err
		}
		if err := e.dispatcher.Add(bindings...); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// catalog are the names that the checker suggests for one that is unknown.
func catalog() *env.Catalog {
	c := env.NewCatalog()
	c.Add(&env.CatalogSymbol{Name: shareFunction, Kind: env.FunctionKind})
	for _, name := range fieldNames() {
		c.Add(&env.CatalogSymbol{Name: name, Kind: env.VariableKind})
	}
	return c
}

// compile parses and checks an expression.
func (e *environment) compile(text string) (*ast.AST, error) {
	source := common.NewTextSource(text)
	parsed, issues := e.parser.Parse(source)
	if len(issues.GetErrors()) > 0 {
		return nil, problems(issues)
	}
	checked, issues := checker.Check(parsed, source, e.checker)
	if len(issues.GetErrors()) > 0 {
		return nil, problems(issues)
	}
	return checked, nil
}

// problems puts what is wrong with an expression into one line, each with its place.
func problems(issues *common.Errors) error {
	var errs []error
	for _, issue := range issues.GetErrors() {
		errs = append(errs, fmt.Errorf("%d:%d: %s", issue.Location.Line(), issue.Location.Column()+1, issue.Message))
	}
	return oneLine(errors.Join(errs...))
}

// evaluate computes an expression over fields, and returns the values of its parts as well.
func (e *environment) evaluate(checked *ast.AST, fields map[string]any) (value ref.Val, state interpreter.EvalState, err error) {
	attributes := interpreter.NewAttributeFactory(containers.DefaultContainer, e.registry, e.registry)
	plan := interpreter.NewInterpreter(e.dispatcher, containers.DefaultContainer, e.registry, e.registry, attributes)
	program, err := plan.NewInterpretable(checked, interpreter.EvalStateObserver())
	if err != nil {
		return nil, nil, err
	}
	observed, ok := program.(*interpreter.ObservableInterpretable)
	if !ok {
		return nil, nil, errors.New("cannot be observed")
	}
	frame, err := interpreter.NewExecutionFrame(fields)
	if err != nil {
		return nil, nil, err
	}
	defer frame.Close()
	value = observed.ObserveExec(frame, func(o any) {
		if s, ok := o.(interpreter.EvalState); ok {
			state = s
		}
	})
	if failed, ok := value.(*types.Err); ok {
		return nil, nil, failed
	}
	return value, state, nil
}
