package script

import (
	"reflect"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// Some instructions of the interpreter can grow or run without bound by themselves: an addition of texts, a
// template, and the spreading of a list. rewrite puts a call around each that could, of a function that the
// sandbox has put into the world under a name that no script can write.
const (
	boundedName = "\x00bounded" // of a text that was added up: passes it on unless it is too long
	fewName     = "\x00few"     // of what is spread into arguments: an array of not too many
	fitsName    = "\x00fits"    // of what is spread into an object: passes it on unless it is too long
)

// rewrite changes a part of a tree in place. It must not be deeper than inspect allows.
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
			if f := v.Type().Field(i); f.IsExported() && f.Name != again {
				rewrite(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			rewrite(v.Index(i))
		}
	}
}

// bound returns an expression with bounds around what it does by itself. What is in it has them.
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

// boundTemplate makes an addition of a template, of as many texts as it has expressions.
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

// short reports whether an expression is no text, or one that the script holds in its own.
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

// call is a call of a function that the world has under that name.
func call(name unistring.String, of ast.Expression) ast.Expression {
	at := of.Idx0()
	return &ast.CallExpression{
		Callee: &ast.Identifier{Name: name,
			Idx: at}, LeftParenthesis: at, RightParenthesis: at, ArgumentList: []ast.Expression{of},
	}
}
