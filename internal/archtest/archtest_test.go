package archtest

import (
	"fmt"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rules lists all rules that check one package at a time, with their names.
var rules = []struct {
	name  string
	check func(*loadedModule, *pkg) []violation
}{
	{"arrows", arrows},
	{"clock", clock},
	{"error text", errorText},
	{"init", initFuncs},
	{"state", state},
	{"keys", keys},
	{"views", views},
	{"comments", comments},
	{"wires", wires},
}

// TestModuleRules checks the module against all rules, and checks that each rule reports code that breaks it.
// It loads the module only once for both.
func TestModuleRules(t *testing.T) {
	h := load(t)
	t.Run("Rules", h.keepsRules)
	t.Run("RulesFire", h.rulesFire)
}

// keepsRules fails the test for each place in the module that breaks a rule, and for code that does not
// compile.
func (h *loadedModule) keepsRules(t *testing.T) {
	for _, b := range h.broken {
		t.Errorf("does not compile: %s", b)
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, p := range h.pkgs {
				for _, v := range r.check(h, p) {
					t.Errorf("%s: %s", h.place(v.pos), v.msg)
				}
			}
		})
	}
	t.Run("cycle", h.cycle)
	t.Run("sizes", h.sizes)
}

// rulesFire applies each rule to example code that breaks it, and fails the test unless the rule reports
// exactly the lines marked with "// bad".
func (h *loadedModule) rulesFire(t *testing.T) {
	for _, c := range breaches {
		t.Run(c.rule+" in "+c.file, func(t *testing.T) {
			p := h.snippet(t, c.file, c.src)
			var want, got []string
			for i, line := range strings.Split(c.src, "\n") {
				if strings.Contains(line, "// bad") {
					want = append(want, fmt.Sprint(i+1))
				}
			}
			for _, r := range rules {
				if r.name != c.rule {
					continue
				}
				for _, v := range r.check(h, p) {
					got = append(got, fmt.Sprint(h.fset.Position(v.pos).Line))
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if len(want) == 0 || !slices.Equal(slices.Compact(got), want) {
				t.Errorf("rule %s found lines %v, want %v", c.rule, got, want)
			}
		})
	}
}

// snippet returns a type-checked package that consists of one file with the path name and the source src.
func (h *loadedModule) snippet(t *testing.T, name, src string) *pkg {
	t.Helper()
	f, err := parser.ParseFile(h.fset, filepath.Join(h.root, name), src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	test := strings.HasSuffix(name, "_test.go")
	p := &pkg{path: filepath.ToSlash(filepath.Dir(name)),
		files: []*parsedGoFile{{name: name, ast: f, test: test, typed: !test}}}
	if broken := h.check(p); len(broken) > 0 {
		t.Fatal(broken)
	}
	return p
}

var breaches = []struct{ rule, file, src string }{
	{"arrows", "ttl/x.go", `package ttl
import _ "time"
import _ "github.com/mayflydb/mayfly/engine" // bad
import _ "github.com/tidwall/gjson" // bad
`},
	{"arrows", "ttl/x_test.go", `package ttl
import _ "pgregory.net/rapid"
import _ "github.com/mayflydb/mayfly/internal/datatest"
import _ "github.com/mayflydb/mayfly/store" // bad
`},
	{"arrows", "store/x.go", `package store
import _ "github.com/mayflydb/mayfly/internal/jsondoc"
import _ "github.com/mayflydb/mayfly/engine"
import _ "github.com/mayflydb/mayfly/engine/pebble" // bad
import _ "github.com/mayflydb/mayfly/internal/datatest" // bad
import _ "pgregory.net/rapid" // bad
`},
	{"arrows", "attic/x.go", `package attic // bad
`},
	{"clock", "store/x_test.go", `package store
import wall "time"
var a = wall.Second
var now = wall.Now // bad
func f() { wall.Sleep(a) } // bad
func g() { <-wall.After(a) } // bad
`},
	{"error text", "store/x.go", `package store
import ("errors"; "strings")
func a(err error) bool { return err.Error() == "x" } // bad
func b(err error) bool { return strings.Contains(err.Error(), "x") } // bad
func c(err error) bool {
	text := err.Error()
	return strings.HasPrefix(text, "x") // bad
}
func d(err error) int {
	switch (err.Error()) { // bad
	case "x": return 1
	}
	return 0
}
func e(err error) (string, bool) { return err.Error(), errors.Is(err, nil) }
func f(s string) bool { return strings.Contains(s, "x") && s == "y" }
`},
	{"init", "store/x.go", `package store
func init() {} // bad
type t struct{}
func (t) init() {}
`},
	{"state", "store/x.go", `package store
import ("os"; "sync"; "sync/atomic")
var table = map[string]int{"a": 1}
var count int
var mu sync.Mutex // bad
var n struct{ hits atomic.Int64 } // bad
var buffers = sync.Pool{}
func a() { table["b"] = 2 } // bad
func b() { count++ } // bad
func c() { delete(table, "a") } // bad
func d() { os.Args = nil } // bad
func e() int { table := map[string]int{}; table["x"]++; count := 1; count++; return count }
func f() int { return table["a"] }
`},
	{"views", "store/x.go", `package store
import "context"
import "github.com/mayflydb/mayfly/engine"
func walk(ctx context.Context, e engine.Engine) error {
	return e.View(ctx, nil) // bad
}
`},
	{"keys", "store/x.go", `package store
import "github.com/mayflydb/mayfly/engine"
type w struct { txn engine.Txn }
func a(tx engine.Txn) { tx.Set(nil, nil) } // bad
func b(x w) { x.txn.Delete(nil) } // bad
type tx struct { engine.Txn; n int }
func (t *tx) d() { t.Set(nil, nil) } // bad
func (t *tx) e() { t.Txn.DeleteRange(engine.Range{}) } // bad
func f(t *tx) { h := t.Delete; h(nil) } // bad
func c(r engine.Reader) ([]byte, error) { return r.Get(nil) }
`},
	{"wires", "internal/cosmos/x.go", `package cosmos
import _ "github.com/mayflydb/mayfly/store"
import _ "net/http" // bad
import _ "net/url" // bad
import _ "github.com/labstack/echo/v4" // bad
import _ "github.com/mayflydb/mayfly/httpapi" // bad
`},
	{"wires", "httpapi/x.go", `package httpapi
import "github.com/mayflydb/mayfly/store"
func a(c *store.Container) store.ContainerInfo { return c.Info() } // bad
func b(d *store.Database) *store.Container { f := d.Container; c, _ := f("c"); return c } // bad
func c(r store.ChildResources) []store.UserOrScriptResource { return r.List() } // bad
func d(db *store.DB) *store.MemoryBudget { return db.Memory() }
`},
	{"comments", "store/x.go", `package store // bad
func Bare() {} // bad
// Said has one.
func Said() {}
type Thing struct{} // bad
func (Thing) Do() {} // bad
type hidden struct{}
func (hidden) Do() {}
// Group.
const ( A = 1; B = 2 )
`},
}

// TestModulePosition checks that place returns a position as the path of the file below the module, a colon,
// and the line.
func TestModulePosition(t *testing.T) {
	h := &loadedModule{root: string(filepath.Separator) + "m", fset: token.NewFileSet()}
	f := h.fset.AddFile(filepath.Join(h.root, "a", "b.go"), -1, 10)
	f.SetLines([]int{0, 5})
	if got := h.place(f.Pos(6)); got != "a/b.go:2" {
		t.Error(got)
	}
}
