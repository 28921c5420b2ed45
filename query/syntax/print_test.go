package syntax

import (
	"math"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// TestPrintUnparsedNodes checks the text that PrintExpr writes for nodes that Parse never builds but a
// rewrite may, such as a Literal with a negative number or an array.
func TestPrintUnparsedNodes(t *testing.T) {
	c := &Ident{Name: "c"}
	and := func(x, y Expr) Expr { return &Logical{Op: And, Terms: []Expr{x, y}} }
	literal := func(json string) Expr { return &Literal{Value: jsondoc.Of([]byte(json))} }
	for _, test := range []struct {
		e    Expr
		want string
	}{
		{and(and(c, &RewrittenQueryPlaceholder{Name: OrderByFilter}), c),
			"((c AND ({" + OrderByFilter + "})) AND c)"},
		{&Unary{Op: Neg, X: literal("-5")}, "- -5"},
		{&MemberExpr{X: literal("-5"), Name: "a"}, "(-5).a"},
		{literal("-1.50"), "-1.5"},
		{literal(`[1, {"a" : [true, null], "b":{}}, "\u0041", 1e2]`),
			`[1, {"a": [true, null], "b": {}}, "A", 100]`},
		{&Literal{}, "undefined"},
		{&Literal{Value: jsondoc.NumberValue(math.NaN())}, "NaN"},
		{&Literal{Value: jsondoc.NumberValue(math.Inf(1))}, "Infinity"},
		{&Unary{Op: Neg, X: &Literal{Value: jsondoc.NumberValue(math.Inf(-1))}}, "- -Infinity"},
	} {
		if got := PrintExpr(test.e); got != test.want {
			t.Errorf("printed %s, want %s", got, test.want)
		}
		again, err := Parse("SELECT VALUE " + test.want)
		if err != nil {
			t.Errorf("%s: %v", test.want, err)
		} else if got := PrintExpr(again.Select.Value); got != test.want {
			t.Errorf("%s is printed as %s the second time", test.want, got)
		}
	}
}
