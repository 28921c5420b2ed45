package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
)

// errorText reports code that decides by the text of an error: it compares the text, switches on it, or
// passes it to a function that searches strings.
func errorText(_ *loadedModule, p *pkg) (bad []violation) {
	texts := map[types.Object]bool{} // variables that hold the text of an error
	isText := func(e ast.Expr) bool {
		e = ast.Unparen(e)
		if id, ok := e.(*ast.Ident); ok {
			return texts[p.info.Uses[id]]
		}
		return p.isErrorCall(e)
	}
	p.inspect(func(n ast.Node) {
		a, ok := n.(*ast.AssignStmt)
		if !ok || len(a.Lhs) != len(a.Rhs) {
			return
		}
		for i, rhs := range a.Rhs {
			if id, ok := a.Lhs[i].(*ast.Ident); ok && p.isErrorCall(ast.Unparen(rhs)) {
				texts[p.object(id)] = true
			}
		}
	})
	delete(texts, nil)
	p.inspect(func(n ast.Node) {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if (n.Op == token.EQL || n.Op == token.NEQ) && (isText(n.X) || isText(n.Y)) {
				bad = append(bad, violation{n.Pos(), "compares the text of an error"})
			}
		case *ast.SwitchStmt:
			if n.Tag != nil && isText(n.Tag) {
				bad = append(bad, violation{n.Pos(), "switches on the text of an error"})
			}
		case *ast.CallExpr:
			for _, arg := range n.Args {
				if isText(arg) && p.searches(n.Fun) {
					bad = append(bad, violation{n.Pos(), "searches the text of an error"})
				}
			}
		}
	})
	return bad
}

// isErrorCall reports whether e is x.Error() on an error.
func (p *pkg) isErrorCall(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 0 {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Error" {
		return false
	}
	t := p.info.Types[sel.X].Type
	errorType := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	return t != nil && (types.Implements(t, errorType) || types.Implements(types.NewPointer(t), errorType))
}

// searches reports whether fun is a function of a package that searches strings, such as strings.
func (p *pkg) searches(fun ast.Expr) bool {
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	o := p.info.Uses[sel.Sel]
	if o == nil || o.Pkg() == nil {
		return false
	}
	switch o.Pkg().Path() {
	case "strings":
		switch o.Name() {
		case "Contains", "ContainsAny", "HasPrefix", "HasSuffix", "Index", "LastIndex", "EqualFold", "Cut", "CutPrefix", "CutSuffix", "Compare", "Count":
			return true
		}
	case "regexp", "slices", "path":
		return true
	}
	return false
}
