package archtest

import (
	"go/ast"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// wires keeps the operations of Cosmos DB apart from HTTP: it reports imports of HTTP in package
// internal/cosmos, and calls in package httpapi that access databases, containers and other resources of
// the store directly.
func wires(h *loadedModule, p *pkg) (bad []violation) {
	switch p.path {
	case "internal/cosmos":
		return h.protocols(p)
	case "httpapi":
		return resourceCalls(p)
	}
	return nil
}

// protocols reports imports of p by which it depends on HTTP, directly or through other packages of the
// module.
func (h *loadedModule) protocols(p *pkg) (bad []violation) {
	for _, f := range p.files {
		if f.test {
			continue
		}
		for _, s := range f.ast.Imports {
			path, err := strconv.Unquote(s.Path.Value)
			if err != nil {
				continue
			}
			if path == "net/url" || h.reaches(path, map[string]bool{}) {
				bad = append(bad, violation{s.Pos(), p.path + " leads to a protocol by " + path})
			}
		}
	}
	return bad
}

// reaches reports whether the import of the package path leads to net/http or an HTTP library, directly or
// through packages of the module. Packages in seen are skipped.
func (h *loadedModule) reaches(path string, seen map[string]bool) bool {
	if path == "net/http" || strings.HasPrefix(path, "github.com/labstack/") {
		return true
	}
	own, ok := strings.CutPrefix(path, module+"/")
	if !ok || seen[own] {
		return false
	}
	seen[own] = true
	for _, p := range h.pkgs {
		if p.path != own {
			continue
		}
		for _, f := range p.files {
			for _, s := range f.ast.Imports {
				if next, err := strconv.Unquote(s.Path.Value); err == nil && !f.test && h.reaches(next, seen) {
					return true
				}
			}
		}
	}
	return false
}

// resourceTypes are the types of the store whose methods access databases, containers and the resources in
// them.
var resourceTypes = map[string]bool{"Database": true, "Container": true, "ChildResources": true}

// ownSurface lists the files of httpapi that serve Mayfly's own API instead of operations of Cosmos DB.
// They may call the store directly.
var ownSurface = []string{"clock.go", "events.go", "explain.go", "import.go", "laboratory.go",
	"laboratory_reports.go", "lease.go",
	"reaper.go", "settings.go", "snapshot.go", "split.go"}

// resourceCalls reports calls of methods of the resourceTypes of the store.
func resourceCalls(p *pkg) (bad []violation) {
	for _, f := range p.files {
		if !f.typed || slices.Contains(ownSurface, strings.TrimPrefix(f.name, "httpapi/")) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if m, ok := p.info.Selections[sel]; ok && m.Kind() != types.FieldVal && ofResource(m.Obj().(*types.Func)) {
				bad = append(bad, violation{sel.Pos(), sel.Sel.Name + ": operations on resources are package cosmos's"})
			}
			return true
		})
	}
	return bad
}

// ofResource reports whether a method is one of the store's types Database, Container and ChildResources,
// through which databases, containers and the resources in them are accessed.
func ofResource(f *types.Func) bool {
	recv := f.Signature().Recv().Type()
	if p, ok := recv.(*types.Pointer); ok {
		recv = p.Elem()
	}
	named, ok := recv.(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return false
	}
	path := named.Obj().Pkg().Path()
	return (path == module+"/store" || path == module+"/store/internal/resource") &&
		resourceTypes[named.Obj().Name()]
}
