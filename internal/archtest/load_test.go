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

// loadedModule is the Go module with all its packages, parsed and type-checked, to which the rules are
// applied.
type loadedModule struct {
	root    string // the module's folder
	fset    *token.FileSet
	exports map[string]string // import path -> file of export data
	pkgs    []*pkg
	broken  []string // what does not compile
}

// pkg is one folder of the module with its Go files, including test files.
type pkg struct {
	path  string // below the module, "" for its root: "store", "engine/pebble"
	files []*parsedGoFile
	info  *types.Info // of the files that this platform builds, tests excepted
}

// parsedGoFile is one Go file. It may be excluded from builds on this platform.
type parsedGoFile struct {
	name  string // below the module, with slashes
	ast   *ast.File
	test  bool
	typed bool // covered by pkg.info
}

// violation is one place in the code that breaks a rule.
type violation struct {
	pos token.Pos
	msg string
}

// listedPackage is the description of a package in the JSON output of "go list".
type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Module                  *struct{ Main bool }
	Error                   *struct{ Err string }
}

// load reads, parses and type-checks all packages of the module.
func load(t *testing.T) *loadedModule {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	h := &loadedModule{root: root, fset: token.NewFileSet(), exports: map[string]string{}}
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

// golist runs "go list" with args in the folder root, and returns the decoded JSON values that it prints.
// env is added to the environment of the command.
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

// parse parses every Go file of the module into h.pkgs, including files for other platforms. built has the
// paths of the files that are built on this platform.
func (h *loadedModule) parse(built map[string]bool) error {
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
		byDir[dir].files = append(byDir[dir].files, &parsedGoFile{
			name: h.rel(path), ast: f, test: strings.HasSuffix(path, "_test.go"), typed: built[path],
		})
		return nil
	})
}

// enter returns fs.SkipDir for folders that are not part of the module, such as testdata and other
// modules, and nil otherwise.
func (h *loadedModule) enter(path string) error {
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

// rel returns path relative to the module's folder, with slashes; "" is the module's folder itself.
func (h *loadedModule) rel(path string) string {
	rel, err := filepath.Rel(h.root, path)
	if err != nil || rel == "." {
		return ""
	}
	return filepath.ToSlash(rel)
}

// check type-checks those files of p that are built on this platform and are not tests. It returns the
// compilation errors.
func (h *loadedModule) check(p *pkg) (broken []string) {
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

func (h *loadedModule) export(path string) (io.ReadCloser, error) {
	f := h.exports[path]
	if f == "" {
		return nil, fmt.Errorf("no export data of %s", path)
	}
	return os.Open(f)
}

// place returns a position as text, like "store/item.go:12".
func (h *loadedModule) place(pos token.Pos) string {
	p := h.fset.Position(pos)
	return fmt.Sprintf("%s:%d", h.rel(p.Filename), p.Line)
}

// importName returns the name by which the file refers to the package with that import path, or "" if it
// does not import it.
func (f *parsedGoFile) importName(path string) string {
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

// object returns the object that the identifier id declares or refers to, or nil.
func (p *pkg) object(id *ast.Ident) types.Object {
	if o := p.info.Defs[id]; o != nil {
		return o
	}
	return p.info.Uses[id]
}
