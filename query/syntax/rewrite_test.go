package syntax

import "testing"

// TestRewriteQuery replaces a name at every place where an expression can stand, and checks the result and
// that the original query is unchanged.
func TestRewriteQuery(t *testing.T) {
	q, err := Parse(`SELECT x, {a: x, b: [x, -x]}.a, f(x ? x : x ?? 1) AS f, x.y[x.z]
		FROM c JOIN d IN x.list JOIN (SELECT VALUE x) e
		WHERE x = 1 AND NOT x AND (x BETWEEN x AND x) AND x IN (x, 2) AND x LIKE x ESCAPE "x"
			AND EXISTS(SELECT VALUE ARRAY(SELECT VALUE x) FROM z IN x WHERE x)
		GROUP BY x, x.k ORDER BY x DESC, g(x) ASC`)
	if err != nil {
		t.Fatal(err)
	}
	before := Print(q)
	made := RewriteQuery(q, func(e Expr) Expr {
		if id, ok := e.(*Ident); ok && id.Name == "x" {
			return &MemberExpr{X: &Ident{Name: "c"}, Name: "x"} // what was put in is not looked at again
		}
		return e
	})
	want := `SELECT c.x, {"a": c.x, "b": [c.x, -c.x]}.a, f((c.x ? c.x : (c.x ?? 1))) AS f, c.x.y[c.x.z]
FROM c
JOIN d IN c.x.list
JOIN (
    SELECT VALUE c.x
) AS e
WHERE ((((((c.x = 1) AND NOT c.x) AND (c.x BETWEEN c.x AND c.x)) AND (c.x IN (c.x, 2))) AND (c.x LIKE c.x ESCAPE "x")) AND EXISTS(
    SELECT VALUE ARRAY(
        SELECT VALUE c.x
    )
    FROM z IN c.x
    WHERE c.x
))
GROUP BY c.x, c.x.k
ORDER BY c.x DESC, g(c.x) ASC`
	if got := Print(made); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Print(q); got != before {
		t.Errorf("the query became\n%s\nand was\n%s", got, before)
	}
	rank, err := Parse("SELECT 1 FROM c ORDER BY RANK f(x)")
	if err != nil {
		t.Fatal(err)
	}
	made = RewriteQuery(rank, func(e Expr) Expr {
		if _, ok := e.(*Ident); ok {
			return &Ident{Name: "y"}
		}
		return e
	})
	if got, want := Print(made), "SELECT 1\nFROM y\nORDER BY RANK f(y)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRewriteExprSharesUnchangedNodes checks that the result of RewriteExpr contains the original nodes
// wherever nothing below them was replaced.
func TestRewriteExprSharesUnchangedNodes(t *testing.T) {
	q, err := Parse("SELECT VALUE [c.a, c.b + 1] FROM c")
	if err != nil {
		t.Fatal(err)
	}
	e := q.Select.Value.(*ArrayLiteral)
	if same := RewriteExpr(e, func(e Expr) Expr { return e }); same != Expr(e) {
		t.Errorf("%s was copied although nothing was replaced", PrintExpr(e))
	}
	made := RewriteExpr(e, func(e Expr) Expr {
		if m, ok := e.(*MemberExpr); ok && m.Name == "b" {
			return &Ident{Name: "x"}
		}
		return e
	}).(*ArrayLiteral)
	if made == e || made.Elems[0] != e.Elems[0] || made.Elems[1] == e.Elems[1] {
		t.Errorf("%s of %s", PrintExpr(made), PrintExpr(e))
	}
	if got := PrintExpr(made); got != "[c.a, (x + 1)]" {
		t.Errorf("got %s", got)
	}
	if RewriteExpr(nil, func(e Expr) Expr { return e }) != nil {
		t.Error("nothing became something")
	}
}
