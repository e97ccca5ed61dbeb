package assertion

import (
	"fmt"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
	"cel.dev/cel-go/parser"
)

// maxValueLength bounds how much of a value is shown.
const maxValueLength = 120

// explain lists the parts of an expression that have a value worth showing: fields and calls, each text once, the inner
// ones first. Literals and operators are left out. Inside all() and the like the values are those of the element at which
// the evaluation ended, which for all() is the first that does not fulfil the condition.
func explain(checked *ast.AST, state interpreter.EvalState) []string {
	x := &explainer{checked: checked, state: state, seen: map[string]bool{}, variables: map[string][]any{}}
	x.visit(checked.Expr())
	return x.out
}

type explainer struct {
	checked   *ast.AST
	state     interpreter.EvalState
	seen      map[string]bool
	variables map[string][]any // of the macros around, with what they run over
	out       []string
}

func (x *explainer) visit(e ast.Expr) {
	switch e.Kind() {
	case ast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() {
			x.visit(call.Target())
		}
		for _, arg := range call.Args() {
			x.visit(arg)
		}
		if !isOperator(call.FunctionName()) {
			x.add(e)
		}
	case ast.SelectKind:
		// Of a.b.c the whole is enough.
		switch operand := e.AsSelect().Operand(); operand.Kind() {
		case ast.CallKind:
			x.visit(operand)
		case ast.IdentKind:
			x.element(operand.AsIdent(), e)
		}
		x.add(e)
	case ast.IdentKind:
		if !isOperator(e.AsIdent()) {
			x.add(e)
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		x.visit(c.IterRange())
		if elements, ok := x.state.Value(c.IterRange().ID()); ok {
			x.variables[c.IterVar()], _ = elements.Value().([]any)
		}
		x.visit(c.LoopStep())
	}
}

// element says which element of a list with addresses a variable was: the first whose field has the value of e.
func (x *explainer) element(variable string, e ast.Expr) {
	value, ok := x.state.Value(e.ID())
	if !ok || x.seen[variable] {
		return
	}
	switch value.Value().(type) {
	case string, float64, bool:
	default:
		return // lists and objects cannot be compared
	}
	for _, candidate := range x.variables[variable] {
		fields, _ := candidate.(map[string]any)
		if address, ok := fields["address"].(string); ok && fields[e.AsSelect().FieldName()] == value.Value() {
			x.seen[variable] = true
			x.out = append(x.out, variable+" = "+address)
			return
		}
	}
}

// add writes a part with its value.
func (x *explainer) add(e ast.Expr) {
	value, ok := x.state.Value(e.ID())
	if !ok {
		return
	}
	text, err := parser.Unparse(e, x.checked.SourceInfo())
	if err != nil || x.seen[text] {
		return
	}
	x.seen[text] = true
	x.out = append(x.out, text+" = "+show(value))
}

// isOperator tells the names that CEL gives to operators and to the innards of macros.
func isOperator(name string) bool {
	return strings.HasPrefix(name, "_") || strings.HasPrefix(name, "!") || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "@")
}

// show writes a value in one line.
func show(v ref.Val) string {
	var text string
	switch x := v.Value().(type) {
	case float64:
		text = strconv.FormatFloat(x, 'g', 10, 64)
	case string:
		text = strconv.Quote(x)
	case []any:
		text = fmt.Sprintf("a list of %d", len(x))
	case map[string]any:
		text = fmt.Sprintf("an object with %d fields", len(x))
	default:
		text = fmt.Sprint(x)
	}
	if len(text) > maxValueLength {
		text = text[:maxValueLength] + "..."
	}
	return text
}
