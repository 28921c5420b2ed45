package bind

import (
	"errors"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"github.com/mayflydb/mayfly/query/syntax"
)

// bound parses and binds a query, without replacing constant expressions by their values.
func bound(text string, params ...Parameter) (*ResolvedQuery, error) {
	return Text(text, params, &ContainerInfo{}, func(_ *Binder, e syntax.Expr) syntax.Expr { return e })
}

func TestItemRoute(t *testing.T) {
	for text, want := range map[string]struct {
		route       string
		entered, ok bool
	}{
		"c.a FROM c":                            {"/a", false, true},
		`c.a["b"] FROM c`:                       {"/a/b", false, true},
		"x.b FROM c.a x":                        {"/a/b", false, true},
		"t.k FROM c JOIN t IN c.tags":           {"/tags/[]/k", true, true},
		"c FROM c":                              {"", false, false}, // the item itself
		"c.a[0] FROM c":                         {"", false, false}, // one element
		"c.a + 1 FROM c":                        {"", false, false},
		"s.a FROM c JOIN (SELECT c.a FROM c) s": {"", false, false}, // a row that was made
	} {
		q, err := bound("SELECT VALUE " + text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		route, entered, ok := q.ItemRoute(q.Top.Value)
		if got := route.String(); ok != want.ok || ok && (got != want.route || entered != want.entered) {
			t.Errorf("%s: %q, entered %t, %t", text, got, entered, ok)
		}
	}
}

// TestFixed checks in which queries ResolvedQuery.Fixed is set: those where the binder has used the value of
// a parameter, so that a plan is valid for this value only.
func TestFixed(t *testing.T) {
	for text, want := range map[string]bool{
		"SELECT * FROM c WHERE c.a = @n":       false,
		"SELECT TOP @n * FROM c":               true,
		"SELECT * FROM c OFFSET @n LIMIT 1":    true,
		"SELECT * FROM c WHERE c.list[@n] = 1": true,
	} {
		q, err := bound(text, Parameter{Name: "@n", Value: jsondoc.NumberValue(2)})
		if err != nil || q.Fixed != want {
			t.Errorf("%s: fixed is not %t, %v", text, want, err)
		}
	}
}

func TestErrorsInTextOrder(t *testing.T) {
	_, err := bound("SELECT TOP 1.5 x.a, nofunc(1) FROM c WHERE y")
	var first *queryerror.Error
	if !errors.As(err, &first) {
		t.Fatal(err)
	}
	at := first.Start
	if len(first.More) != 3 {
		t.Errorf("%d errors: %v", 1+len(first.More), err)
	}
	for _, e := range first.More {
		if e.Start <= at {
			t.Errorf("%v stands before %v", e, first)
		}
		at = e.Start
	}
	if _, err := bound("SELECT 1", Parameter{Name: "@a"}, Parameter{Name: "@a"}); !errors.As(err, &first) {
		t.Errorf("two parameters of one name: %v", err)
	}
}

// TestWrittenQueryCopy checks that changes of a query's blocks, as planning makes them, do not affect the
// copy that ResolvedQuery.Written returned before.
func TestWrittenQueryCopy(t *testing.T) {
	q, err := bound("SELECT c.a, MAX(c.b) FROM c GROUP BY c.a ORDER BY c.a")
	if err != nil {
		t.Fatal(err)
	}
	w := q.Written()
	q.Top.Items[0].Name, q.Top.Order[0].Desc, q.Top.Top = "other", true, 1
	q.Top.Aggs[0].Name = "MIN"
	if w.Top.Items[0].Name != "a" || w.Top.Order[0].Desc || w.Top.Top != -1 || w.Top.Aggs[0].Name != "MAX" {
		t.Errorf("%+v", w.Top)
	}
}
