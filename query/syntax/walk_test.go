package syntax

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

func TestPathOf(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"c", "c"},
		{"c.a.b", "c a b"},
		{`c["a"]['b c'].d`, "c a b c d"},
		{"(c.a)[0].b[12]", "c a [0] b [12]"},
		{`c[""]`, "c "},
		{"c[1e1][0x10][2.0]", "c [10] [16] [2]"},
		{"c[2147483647]", "c [2147483647]"},
		{"c[2147483648]", "none"},
		{"c[1e300]", "none"},
		{"c[1.5]", "none"},
		{"c[-1]", "none"},
		{"c[@p]", "none"},
		{"c[c.a]", "none"},
		{"c[null]", "none"},
		{"@p.a", "none"},
		{"f().a", "none"},
		{"{a: 1}.a", "none"},
		{"1", "none"},
		{"NOT c.a", "none"},
	} {
		q, err := Parse("SELECT VALUE " + test.text)
		if err != nil {
			t.Fatal(err)
		}
		got := "none"
		if root, steps, ok := PathOf(q.Select.Value); ok {
			got = root.Name
			for _, s := range steps {
				if s.IsIndex {
					got += fmt.Sprintf(" [%d]", s.Index)
				} else {
					got += " " + s.Name
				}
			}
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.text, got, test.want)
		}
	}
	if _, _, ok := PathOf(nil); ok {
		t.Error("no expression has a path")
	}
}

// TestPathOfNegative checks that PathOf does not accept a negative index, which a node that was not parsed
// can have.
func TestPathOfNegative(t *testing.T) {
	e := &IndexExpr{X: &Ident{Name: "c"}, I: &Literal{Value: jsondoc.NumberValue(-1)}}
	if _, _, ok := PathOf(e); ok {
		t.Error("c[-1] has a path")
	}
}

// TestWalkOrder checks that Walk visits parents before their children, and children in the order of the
// text.
func TestWalkOrder(t *testing.T) {
	for _, c := range queryCases(t) {
		q, err := Parse(c.Query)
		if err != nil {
			continue // TestCases reports which ones may fail
		}
		var open []TextSpan
		last := TextSpan{}
		Walk(q, func(n Node) bool {
			s := n.Extent()
			for len(open) > 0 && open[len(open)-1].End <= s.Start {
				open = open[:len(open)-1]
			}
			if s.Start < last.Start || s.Start >= s.End || len(open) > 0 && s.End > open[len(open)-1].End {
				t.Errorf("%s: %s\n%T at %v after %v in %v", c.ID, c.Query, n, s, last, open)
			}
			open = append(open, s)
			last = s
			return true
		})
	}
}

func TestWalkPrunes(t *testing.T) {
	q, err := Parse("SELECT a.b, (SELECT c), [d, (SELECT e)]")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	Walk(q, func(n Node) bool {
		if id, ok := n.(*Ident); ok {
			names = append(names, id.Name)
		}
		_, sub := n.(*Subquery)
		return !sub
	})
	if got := strings.Join(names, " "); got != "a d" {
		t.Errorf("walked over %s, want a d", got)
	}
}
