package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The accepted numbers of places that exceed a size limit at present. They may only be lowered.
const (
	storeCycle = 39   // files of package store in its largest cycle
	wideLines  = 1581 // lines of more than maxColumns in the module
	longFiles  = 19   // files of more than maxLines
	longFuncs  = 3    // functions of more than maxFunc lines, tests excepted: a table of cases is long by nature
)

const (
	maxColumns = 110
	maxLines   = 400
	maxFunc    = 60
	tabWidth   = 4
)

// cycleLimits limits, for some packages, the number of files in the largest cycle of references: a set of
// files each of which refers, directly or indirectly, to declarations in each other one.
var cycleLimits = map[string]int{
	"store":                     storeCycle,
	"internal/laboratory":       0,
	"internal/laboratory/route": 0,
}

// cycle fails the test if the largest cycle of files of a package exceeds its number in cycleLimits.
func (h *loadedModule) cycle(t *testing.T) {
	measured := 0
	for _, p := range h.pkgs {
		limit, ok := cycleLimits[p.path]
		if !ok {
			continue
		}
		measured++
		uses := h.uses(p)
		if len(uses) < 2 || !slices.ContainsFunc(slices.Collect(maps.Values(uses)),
			func(to []string) bool { return len(to) > 0 }) {
			t.Errorf("no file of package %s needs another: the measure has gone blind", p.path)
		}
		cycle := largestCycle(uses)
		t.Logf("the largest cycle of package %s has %d files", p.path, len(cycle))
		if len(cycle) > limit {
			t.Errorf("more than %d in package %s: %v", limit, p.path, cycle)
		}
	}
	if measured != len(cycleLimits) {
		t.Errorf("%d packages measured of %d", measured, len(cycleLimits))
	}
}

func TestLargestCycle(t *testing.T) {
	uses := map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
	if got := largestCycle(uses); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Error(got)
	}
}

// TestSizeRulesReportExcess checks that a function and a line that are slightly too long are reported.
func TestSizeRulesReportExcess(t *testing.T) {
	h := &loadedModule{root: "/m", fset: token.NewFileSet()}
	src := "package a\nfunc fits() {" + strings.Repeat("\n", maxFunc-1) + "}\n" +
		"func long() {" + strings.Repeat("\n", maxFunc) + "}\n"
	f, err := parser.ParseFile(h.fset, "/m/a/x.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := h.longFuncs(&parsedGoFile{name: "a/x.go", ast: f}); !slices.Equal(got, []string{"a/x.go:62"}) {
		t.Error(got)
	}
	if got := width("\té" + strings.Repeat("x", 106)); got != 111 {
		t.Error(got)
	}
}

// uses returns, for each file of a package that is not a test, the other files of the package that declare
// what the file refers to.
func (h *loadedModule) uses(p *pkg) map[string][]string {
	uses := map[string][]string{}
	for _, f := range p.files {
		if !f.typed {
			continue
		}
		uses[f.name] = nil
		ast.Inspect(f.ast, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			o := p.info.Uses[id]
			if o == nil || o.Pkg() == nil || o.Pkg().Path() != module+"/"+p.path || local(o) {
				return true
			}
			at := h.rel(h.fset.Position(o.Pos()).Filename)
			if at != f.name && !slices.Contains(uses[f.name], at) {
				uses[f.name] = append(uses[f.name], at)
			}
			return true
		})
	}
	return uses
}

// local reports whether an object is declared inside of a function.
func local(o types.Object) bool {
	v, ok := o.(*types.Var)
	return ok && !v.IsField() && o.Parent() != o.Pkg().Scope()
}

// largestCycle returns the sorted names of the largest strongly connected component of the graph uses, in
// which each name refers to others.
func largestCycle(uses map[string][]string) (largest []string) {
	reach := map[string]map[string]bool{}
	for from := range uses {
		reach[from] = map[string]bool{}
		for todo := []string{from}; len(todo) > 0; {
			next := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for _, to := range uses[next] {
				if !reach[from][to] {
					reach[from][to] = true
					todo = append(todo, to)
				}
			}
		}
	}
	for from := range reach {
		var cycle []string
		for to := range reach[from] {
			if reach[to][from] {
				cycle = append(cycle, to)
			}
		}
		slices.Sort(cycle)
		if len(cycle) > len(largest) || len(cycle) == len(largest) && slices.Compare(cycle, largest) < 0 {
			largest = cycle
		}
	}
	return largest
}

// sizes counts the lines, files and functions of the module that are too long, and fails the test if there
// are more than accepted.
func (h *loadedModule) sizes(t *testing.T) {
	var wide, long, funcs []string
	for _, p := range h.pkgs {
		for _, f := range p.files {
			text, err := os.ReadFile(filepath.Join(h.root, filepath.FromSlash(f.name)))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(string(text), "\n") > maxLines {
				long = append(long, f.name)
			}
			for line := range strings.Lines(string(text)) {
				if width(strings.TrimRight(line, "\r\n")) > maxColumns {
					wide = append(wide, f.name)
				}
			}
			if !f.test {
				funcs = append(funcs, h.longFuncs(f)...)
			}
		}
	}
	for _, c := range []struct {
		what  string
		found []string
		limit int
	}{{"wide lines", wide, wideLines}, {"long files", long, longFiles}, {"long functions", funcs, longFuncs}} {
		t.Logf("%d %s, %d allowed", len(c.found), c.what, c.limit)
		if len(c.found) > c.limit {
			t.Errorf("%d %s, %d are allowed: %v", len(c.found), c.what, c.limit, slices.Compact(c.found))
		}
	}
}

// longFuncs returns the names of the functions of a file that have more than maxFunc lines.
func (h *loadedModule) longFuncs(f *parsedGoFile) (long []string) {
	for _, d := range f.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && h.fset.Position(fn.End()).Line-h.fset.Position(fn.Pos()).Line+1 > maxFunc {
			long = append(long, h.place(fn.Pos()))
		}
	}
	return long
}

// width returns the number of columns that a line takes, with tabs of tabWidth columns.
func width(line string) int {
	return utf8.RuneCountInString(line) + strings.Count(line, "\t")*(tabWidth-1)
}
