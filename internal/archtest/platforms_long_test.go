//go:build long

package archtest

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPlatforms type-checks the module and its tests for each platform of a release. It checks source
// instead of compiling, which would take minutes, since a compiler also compiles all dependencies.
func TestPlatforms(t *testing.T) {
	for _, platform := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64",
		"windows/amd64", "windows/arm64"} {
		t.Run(strings.ReplaceAll(platform, "/", "-"), func(t *testing.T) {
			t.Parallel()
			system, arch, _ := strings.Cut(platform, "/")
			c := &platformTypeChecker{t: t, fset: token.NewFileSet(), sizes: types.SizesFor("gc", arch),
				checked: map[string]*types.Package{"unsafe": types.Unsafe}}
			list := listFor(t, system, arch)
			for _, p := range list {
				if strings.HasSuffix(p.ImportPath, " ["+p.ForTest+".test]") {
					c.tested = append(c.tested, p.ForTest)
				}
			}
			for _, p := range list {
				c.check(p)
			}
		})
	}
}

// listedPackageVariant is the description of a package, or of its variant that includes test files, in the
// JSON output of "go list -test".
type listedPackageVariant struct {
	ImportPath, Name, Dir, ForTest string
	GoFiles                        []string
	ImportMap                      map[string]string
	Module                         *struct {
		Main      bool
		GoVersion string
	}
}

// listFor returns the packages of the module and its tests for a platform, with all their dependencies.
// Each package comes after those that it imports.
func listFor(t *testing.T, system, arch string) (list []*listedPackageVariant) {
	t.Helper()
	root := filepath.Join("..", "..")
	env := []string{"GOOS=" + system, "GOARCH=" + arch, "CGO_ENABLED=0"}
	list = golist[*listedPackageVariant](t, root, env, "-deps", "-test",
		"-json=ImportPath,Name,Dir,ForTest,GoFiles,ImportMap,Module", "./...")
	return slices.DeleteFunc(list, func(p *listedPackageVariant) bool {
		return strings.HasSuffix(p.ImportPath, ".test") // a main function that go test generates
	})
}

// platformTypeChecker type-checks packages for one platform.
type platformTypeChecker struct {
	t       *testing.T
	fset    *token.FileSet
	sizes   types.Sizes
	checked map[string]*types.Package
	tested  []string // import paths of packages that have a variant with their tests
}

// check type-checks a package whose imports have been checked already. It checks function bodies only in
// packages of this module, and only once each: in the variant of the package that includes its tests, if
// there is one.
func (c *platformTypeChecker) check(p *listedPackageVariant) {
	if p.ImportPath == "unsafe" {
		return
	}
	own := p.Module != nil && p.Module.Main
	path, _, _ := strings.Cut(p.ImportPath, " ")
	conf := types.Config{Importer: platformImporter{c, p.ImportMap}, Sizes: c.sizes, FakeImportC: true,
		IgnoreFuncBodies: !own || p.ForTest == "" && slices.Contains(c.tested, path) ||
			p.ForTest != "" && strings.TrimSuffix(path, "_test") != p.ForTest}
	if p.Module != nil && p.Module.GoVersion != "" {
		conf.GoVersion = "go" + p.Module.GoVersion
	}
	conf.Error = func(err error) {
		if own {
			c.t.Error(err)
		}
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		f, err := parser.ParseFile(c.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			c.t.Error(err)
			continue
		}
		files = append(files, f)
	}
	c.checked[p.ImportPath], _ = conf.Check(path, c.fset, files, nil) // errors go to conf.Error
}

// platformImporter resolves the import paths in one package when the module is type-checked for another
// platform.
type platformImporter struct {
	c  *platformTypeChecker
	by map[string]string // the paths that stand for others: variants for a test, vendored packages
}

// Import implements types.Importer.
func (i platformImporter) Import(path string) (*types.Package, error) {
	if to, ok := i.by[path]; ok {
		path = to
	}
	if p := i.c.checked[path]; p != nil {
		return p, nil
	}
	return nil, errors.New("not listed: " + path)
}
