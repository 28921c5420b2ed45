package archtest

import (
	"go/ast"
	"go/types"
	"regexp"
	"strings"
)

// timers are the functions of package time that read the clock or wait for it.
var timers = map[string]bool{"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "Tick": true,
	"NewTimer": true, "NewTicker": true, "AfterFunc": true}

// clock reports uses of the time package's clock outside ttl/clock.go.
func clock(_ *loadedModule, p *pkg) (bad []violation) {
	for _, f := range p.files {
		name := f.importName("time")
		if name == "" || f.name == "ttl/clock.go" {
			continue
		}
		if name == "." {
			bad = append(bad, violation{f.ast.Package, "dot import of time hides its clock"})
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && timers[sel.Sel.Name] && isIdent(sel.X, name) {
				bad = append(bad, violation{sel.Pos(), "time." + sel.Sel.Name + ": take the injected clock"})
			}
			return true
		})
	}
	return bad
}

// initFuncs returns a violation for each init function of a package: the project has none.
func initFuncs(_ *loadedModule, p *pkg) (bad []violation) {
	for _, f := range p.files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				bad = append(bad, violation{fn.Pos(), "init function: say it in a declaration or in the constructor"})
			}
		}
	}
	return bad
}

// views reports code of the store that takes a snapshot of an engine outside of
// store/internal/work/scan_limiter.go. The snapshots taken there end their scans when the context of the
// caller ends.
func views(_ *loadedModule, p *pkg) (bad []violation) {
	if p.path != "store" {
		return nil
	}
	for _, f := range p.files {
		if !f.typed {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "View" {
				return true
			}
			m, ok := p.info.Selections[sel]
			if ok && m.Obj().Pkg() != nil && strings.HasSuffix(m.Obj().Pkg().Path(), "/engine") {
				bad = append(bad, violation{sel.Pos(), "Engine.View: take DB.view or viewUnder, which watch its walks"})
			}
			return true
		})
	}
	return bad
}

// writers matches the paths of the files that may write keys in transactions of an engine.
var writers = regexp.MustCompile(`^((store|queue|store/internal/(split|resource|transaction|upgrade))/(tx|catalog)[^/]*|internal/host/catalog[^/]*|store/internal/record/[^/]*)\.go$`)

// keys reports code that writes keys in a transaction of an engine outside of the files matched by
// writers. Engines and packages that exist only for tests are exempt.
func keys(_ *loadedModule, p *pkg) (bad []violation) {
	if p.path == "engine" || strings.HasPrefix(p.path, "engine/") || strings.HasPrefix(p.path, "internal/") && p.path != "internal/host" ||
		p.path == "store/internal/viewtest" {
		return nil
	}
	for _, f := range p.files {
		if !f.typed || writers.MatchString(f.name) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Set" && sel.Sel.Name != "Delete" && sel.Sel.Name != "DeleteRange" {
				return true
			}
			if writesKeys(p.info, sel) {
				what := "Txn." + sel.Sel.Name + ": only tx*.go and catalog*.go write keys"
				bad = append(bad, violation{sel.Pos(), what})
			}
			return true
		})
	}
	return bad
}

// writesKeys reports whether a selector calls a method of an engine's transaction that writes keys, on the
// transaction itself or on a type that embeds it.
func writesKeys(info *types.Info, sel *ast.SelectorExpr) bool {
	m, ok := info.Selections[sel]
	if !ok || m.Kind() == types.FieldVal {
		return false
	}
	recv := m.Obj().(*types.Func).Signature().Recv().Type()
	if p, ok := recv.(*types.Pointer); ok {
		recv = p.Elem()
	}
	named, ok := recv.(*types.Named)
	return ok && named.Obj().Name() == "Txn" && fromEngine(named.Obj())
}

func fromEngine(o types.Object) bool { return o.Pkg() != nil && o.Pkg().Path() == module+"/engine" }

// comments reports packages without doc.go and exported identifiers without a comment.
func comments(_ *loadedModule, p *pkg) (bad []violation) {
	documented, product := false, false
	for _, f := range p.files {
		if f.test {
			continue
		}
		product = true
		documented = documented || strings.HasSuffix("/"+f.name, "/doc.go") && f.ast.Doc != nil
		for _, d := range f.ast.Decls {
			bad = append(bad, undocumented(d)...)
		}
	}
	if product && !documented {
		bad = append(bad, violation{p.files[0].ast.Package, "package " + p.path + " has no doc.go with a package comment"})
	}
	return bad
}

// wellKnown are methods that need no comment, because the standard library defines their meaning.
var wellKnown = map[string]bool{"Error": true, "Unwrap": true}

func undocumented(d ast.Decl) (bad []violation) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d)) && !wellKnown[d.Name.Name]) {
			bad = append(bad, violation{d.Pos(), d.Name.Name + " has no comment"})
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
					bad = append(bad, violation{s.Pos(), s.Name.Name + " has no comment"})
				}
			case *ast.ValueSpec: // the comment of a group speaks for its members
				if s.Names[0].IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
					bad = append(bad, violation{s.Pos(), s.Names[0].Name + " has no comment"})
				}
			}
		}
	}
	return bad
}

// receiver returns the name of the type to which a method belongs.
func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}
