package script

import (
	"reflect"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// Some single instructions can allocate or run without limit: string additions, templates, and spreading a
// list. rewrite wraps each such instruction in a call of a function of the sandbox. A script cannot contain
// the names of these functions.
const (
	boundedName = "\x00bounded" // applied to a sum of strings: returns the sum unless it is too long
	fewName     = "\x00few"     // applied to spread arguments: returns an array unless there are too many
	// fitsName is the name of the function that the rewritten script calls with each value that it spreads
	// into an object. The function returns the value, or throws an error if the value is too large.
	fitsName = "\x00fits"
)

// rewrite changes a part of the syntax tree of a script in place: it wraps expressions that could allocate
// or run without limit in calls of functions of the sandbox, which check their size. inspect must have
// checked the depth of the tree.
func rewrite(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		rewrite(v.Elem())
		if e, ok := v.Interface().(ast.Expression); ok && v.CanSet() {
			if bounded := bound(e); bounded != e {
				v.Set(reflect.ValueOf(bounded))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() && v.Type().Elem().PkgPath() == astPath {
			rewrite(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != duplicateField {
				rewrite(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			rewrite(v.Index(i))
		}
	}
}

// bound returns the expression, wrapped in a call of a sandbox function if it could allocate or run without
// limit. Its operands must have been rewritten before.
func bound(e ast.Expression) ast.Expression {
	switch e := e.(type) {
	case *ast.BinaryExpression:
		if e.Operator == token.PLUS && !short(e.Left) && !short(e.Right) {
			return call(boundedName, e)
		}
	case *ast.AssignExpression:
		if e.Operator == token.PLUS && !short(e.Right) {
			return call(boundedName, e)
		}
	case *ast.TemplateLiteral:
		if e.Tag == nil && len(e.Expressions) > 1 {
			return boundTemplate(e)
		}
	case *ast.CallExpression:
		boundSpread(e.ArgumentList)
	case *ast.NewExpression:
		boundSpread(e.ArgumentList)
	case *ast.ObjectLiteral:
		for _, p := range e.Value {
			if s, ok := p.(*ast.SpreadElement); ok {
				s.Expression = call(fitsName, s.Expression)
			}
		}
	}
	return e
}

// boundTemplate converts a template literal to a sum of template literals with one expression each.
func boundTemplate(t *ast.TemplateLiteral) ast.Expression {
	part := func(from int, elements ...*ast.TemplateElement) *ast.TemplateLiteral {
		return &ast.TemplateLiteral{OpenQuote: t.OpenQuote, CloseQuote: t.CloseQuote, Elements: elements,
			Expressions: t.Expressions[from : from+1]}
	}
	var sum ast.Expression = part(0, t.Elements[0], t.Elements[1])
	for i := 1; i < len(t.Expressions); i++ {
		none := &ast.TemplateElement{Idx: t.Elements[i].Idx, Valid: true}
		sum = call(boundedName, &ast.BinaryExpression{Operator: token.PLUS, Left: sum,
			Right: part(i, none, t.Elements[i+1])})
	}
	return sum
}

func boundSpread(args []ast.Expression) {
	for _, a := range args {
		if s, ok := a.(*ast.SpreadElement); ok {
			s.Expression = call(fewName, s.Expression)
		}
	}
}

// short reports whether the value of an expression cannot be a long string: it is a string literal or not a
// string.
func short(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.StringLiteral, *ast.NumberLiteral, *ast.BooleanLiteral, *ast.NullLiteral, *ast.UnaryExpression:
		return true
	case *ast.BinaryExpression:
		return e.Operator != token.PLUS && e.Operator != token.LOGICAL_AND &&
			e.Operator != token.LOGICAL_OR && e.Operator != token.COALESCE
	}
	return false
}

// call returns the expression name(of), a call of a global function.
func call(name unistring.String, of ast.Expression) ast.Expression {
	at := of.Idx0()
	return &ast.CallExpression{
		Callee: &ast.Identifier{Name: name,
			Idx: at}, LeftParenthesis: at, RightParenthesis: at, ArgumentList: []ast.Expression{of},
	}
}
