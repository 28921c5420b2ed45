package archtest

import (
	"go/ast"
	"go/types"
)

// state reports package variables that can change: those that a function assigns to, deletes from or
// clears, and those that contain locks or atomics. A sync.Pool is allowed, since it is only a cache.
func state(_ *loadedModule, p *pkg) (bad []violation) {
	p.inspect(func(n ast.Node) {
		var targets []ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			targets = n.Lhs
		case *ast.IncDecStmt:
			targets = []ast.Expr{n.X}
		case *ast.RangeStmt:
			targets = []ast.Expr{n.Key, n.Value}
		case *ast.CallExpr:
			if (isIdent(n.Fun, "delete") || isIdent(n.Fun, "clear")) && len(n.Args) > 0 {
				targets = n.Args[:1]
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				if o := p.packageVar(id); o != nil && locks(o.Type(), 0) {
					bad = append(bad, violation{id.Pos(), "package variable " + id.Name + " holds a lock or an atomic"})
				}
			}
		}
		for _, e := range targets {
			if o := p.packageVar(p.root(e)); o != nil {
				bad = append(bad, violation{e.Pos(), "package variable " + o.Name() + " is changed"})
			}
		}
	})
	return bad
}

// root returns the variable that an assignment to the expression e changes, such as x for x.y[0], or nil
// if there is none.
func (p *pkg) root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			if id, ok := x.X.(*ast.Ident); ok {
				if _, ok := p.info.Uses[id].(*types.PkgName); ok {
					return x.Sel // another package's variable
				}
			}
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// packageVar returns the package variable that id refers to, or nil if it refers to something else.
func (p *pkg) packageVar(id *ast.Ident) types.Object {
	if id == nil || id.Name == "_" {
		return nil
	}
	v, ok := p.object(id).(*types.Var)
	if !ok || v.Pkg() == nil || v.Parent() != v.Pkg().Scope() {
		return nil
	}
	return v
}

// locks reports whether a value of type t contains a lock or an atomic.
func locks(t types.Type, depth int) bool {
	if depth > 4 {
		return false
	}
	switch t := t.(type) {
	case *types.Named:
		if o := t.Obj(); o.Pkg() != nil && (o.Pkg().Path() == "sync" || o.Pkg().Path() == "sync/atomic") {
			return o.Name() != "Pool"
		}
		return locks(t.Underlying(), depth+1)
	case *types.Pointer:
		return locks(t.Elem(), depth+1)
	case *types.Array:
		return locks(t.Elem(), depth+1)
	case *types.Struct:
		for i := range t.NumFields() {
			if locks(t.Field(i).Type(), depth+1) {
				return true
			}
		}
	}
	return false
}
