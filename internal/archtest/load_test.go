package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/mayflydb/mayfly"

// goModule is the module as the rules see it.
type goModule struct {
	root    string // the module's folder
	fset    *token.FileSet
	exports map[string]string // import path -> file of export data
	pkgs    []*pkg
	broken  []string // what does not compile
}

// pkg is one folder with Go files.
type pkg struct {
	path  string // below the module, "" for its root: "store", "engine/pebble"
	files []*file
	info  *types.Info // of the files that this platform builds, tests excepted
}

// file is one Go file, built on this platform or not.
type file struct {
	name  string // below the module, with slashes
	ast   *ast.File
	test  bool
	typed bool // covered by pkg.info
}

// violation is one broken rule.
type violation struct {
	pos token.Pos
	msg string
}

// listedPackage is what "go list" tells about a package.
type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Module                  *struct{ Main bool }
	Error                   *struct{ Err string }
}

// load reads, parses and type-checks the module.
func load(t *testing.T) *goModule {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	h := &goModule{root: root, fset: token.NewFileSet(), exports: map[string]string{}}
	built := map[string]bool{} // files that this platform builds
	for _, l := range golist[listedPackage](t, root, nil, "-e", "-deps", "-export",
		"-json=ImportPath,Dir,Export,GoFiles,Module,Error", "./...") {
		h.exports[l.ImportPath] = l.Export
		if l.Module == nil || !l.Module.Main {
			continue
		}
		if l.Error != nil {
			h.broken = append(h.broken, l.ImportPath+": "+l.Error.Err)
		}
		for _, f := range l.GoFiles {
			built[filepath.Join(l.Dir, f)] = true
		}
	}
	if err := h.parse(built); err != nil {
		t.Fatal(err)
	}
	for _, p := range h.pkgs {
		h.broken = append(h.broken, h.check(p)...)
	}
	return h
}

// golist runs "go list" with the arguments in a folder, and returns what it prints in JSON. env is added to the
// environment.
func golist[T any](t *testing.T, root string, env []string, args ...string) (all []T) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l T
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
}

// parse fills h.pkgs with every Go file of the module, other platforms' included.
func (h *goModule) parse(built map[string]bool) error {
	byDir := map[string]*pkg{}
	return filepath.WalkDir(h.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return h.enter(path)
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		f, err := parser.ParseFile(h.fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := h.rel(filepath.Dir(path))
		if byDir[dir] == nil {
			byDir[dir] = &pkg{path: dir}
			h.pkgs = append(h.pkgs, byDir[dir])
		}
		byDir[dir].files = append(byDir[dir].files, &file{
			name: h.rel(path), ast: f, test: strings.HasSuffix(path, "_test.go"), typed: built[path],
		})
		return nil
	})
}

// enter refuses the folders that are not part of the module.
func (h *goModule) enter(path string) error {
	name := filepath.Base(path)
	if path == h.root {
		return nil
	}
	if name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

// rel names a path below the module with slashes, "" for the module's root.
func (h *goModule) rel(path string) string {
	rel, err := filepath.Rel(h.root, path)
	if err != nil || rel == "." {
		return ""
	}
	return filepath.ToSlash(rel)
}

// check type-checks the typed files of p and returns what does not compile.
func (h *goModule) check(p *pkg) (broken []string) {
	var files []*ast.File
	for _, f := range p.files {
		if f.typed {
			files = append(files, f.ast)
		}
	}
	p.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	conf := types.Config{
		Importer: importer.ForCompiler(h.fset, "gc", h.export),
		Error:    func(err error) { broken = append(broken, err.Error()) },
	}
	_, _ = conf.Check(path.Join(module, p.path), h.fset, files, p.info) // errors have gone to conf.Error
	return broken
}

func (h *goModule) export(path string) (io.ReadCloser, error) {
	f := h.exports[path]
	if f == "" {
		return nil, fmt.Errorf("no export data of %s", path)
	}
	return os.Open(f)
}

// place prints a position as the compiler does, below the module.
func (h *goModule) place(pos token.Pos) string {
	p := h.fset.Position(pos)
	return fmt.Sprintf("%s:%d", h.rel(p.Filename), p.Line)
}

// importName is the name under which a file knows a package, "" where it does not import it.
func (f *file) importName(path string) string {
	for _, s := range f.ast.Imports {
		if strings.Trim(s.Path.Value, `"`) != path {
			continue
		}
		if s.Name != nil {
			return s.Name.Name
		}
		return path[strings.LastIndex(path, "/")+1:]
	}
	return ""
}

// inspect calls f for every node of the files that were type-checked.
func (p *pkg) inspect(f func(ast.Node)) {
	for _, file := range p.files {
		if !file.typed {
			continue
		}
		ast.Inspect(file.ast, func(n ast.Node) bool {
			if n != nil {
				f(n)
			}
			return true
		})
	}
}

// object is what id declares or means.
func (p *pkg) object(id *ast.Ident) types.Object {
	if o := p.info.Defs[id]; o != nil {
		return o
	}
	return p.info.Uses[id]
}
