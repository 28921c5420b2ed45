package syntax

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// TestRandomTrees checks that parsing the text that Print writes for a random tree gives the same tree.
func TestRandomTrees(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := treeGenerator{rt}
		q := g.query(4)
		text := Print(q)
		again, err := Parse(text)
		if err != nil {
			rt.Fatalf("%s\n%v", text, err)
		}
		if want, got := tree(q), tree(again); got != want {
			rt.Fatalf("%s\nthe tree was\n%s\nand is\n%s", text, want, got)
		}
		if got := Print(again); got != text {
			rt.Fatalf("printed as\n%s\nand then as\n%s", text, got)
		}
	})
}

// treeGenerator builds trees of the form in which Parse returns them.
type treeGenerator struct{ t *rapid.T }

func (g treeGenerator) bool() bool      { return rapid.Bool().Draw(g.t, "bool") }
func (g treeGenerator) below(n int) int { return rapid.IntRange(0, n-1).Draw(g.t, "n") }

func (g treeGenerator) name() string {
	return rapid.SampledFrom([]string{"a", "c", "rank", "Root", "_x9", "NaN", "documentdb", "lefty",
		"all"}).Draw(g.t, "name")
}

func (g treeGenerator) text() string {
	return rapid.SampledFrom([]string{"", "a", "order", "a b", `"`, `\`, "'", "é😀", "\x00\n", "--",
		"*/"}).Draw(g.t, "text")
}

func (g treeGenerator) query(depth int) *QueryTree {
	q := &QueryTree{Select: g.selectClause(depth)}
	for range g.below(3) {
		q.From = append(q.From, g.source(depth))
	}
	if g.bool() {
		q.Where = g.expr(depth - 1)
	}
	if g.bool() {
		q.GroupBy = g.exprs(depth, 1)
	}
	switch g.below(3) {
	case 0:
		q.OrderBy = &OrderBy{Rank: g.call(depth)}
	case 1:
		q.OrderBy = &OrderBy{Items: []*SortItem{{X: g.expr(depth - 1), Desc: g.bool()},
			{X: g.expr(depth - 1), Desc: g.bool()}}}
	}
	if g.bool() {
		q.Offset, q.Limit = g.count(), g.count()
	}
	return q
}

func (g treeGenerator) selectClause(depth int) *SelectClause {
	s := &SelectClause{Distinct: g.bool()}
	if g.bool() {
		s.Top = g.count()
	}
	switch g.below(3) {
	case 0:
		s.Star = &Star{}
	case 1:
		s.Value = g.expr(depth - 1)
	default:
		for range 1 + g.below(2) {
			item := &SelectItem{X: g.expr(depth - 1), HasAlias: g.bool()}
			if item.HasAlias {
				item.Alias = rapid.SampledFrom([]string{g.name(), g.text()}).Draw(g.t, "alias")
			}
			s.Items = append(s.Items, item)
		}
	}
	return s
}

func (g treeGenerator) count() *RowCountOperand {
	if g.bool() {
		return &RowCountOperand{Param: "@" + g.name()}
	}
	return &RowCountOperand{Value: jsondoc.NumberValue(float64(g.below(1 << 40)))}
}

func (g treeGenerator) source(depth int) *FromSource {
	s := &FromSource{}
	if depth > 0 && g.bool() {
		s.Sub = g.query(depth - 2)
	} else {
		s.Path = &Ident{Name: g.name()}
		for range g.below(3) {
			switch g.below(3) {
			case 0:
				s.Path = &MemberExpr{X: s.Path, Name: g.name()}
			case 1:
				s.Path = &IndexExpr{X: s.Path, I: &Literal{Value: jsondoc.StringValue(g.text())}}
			default:
				s.Path = &IndexExpr{X: s.Path,
					I: &Literal{Value: jsondoc.NumberValue(float64(g.below(1000)))}}
			}
		}
	}
	if s.In = g.bool(); s.In || g.bool() {
		s.Alias = g.name()
	}
	return s
}

func (g treeGenerator) exprs(depth, least int) (list []Expr) {
	for range least + g.below(3) {
		list = append(list, g.expr(depth-1))
	}
	return list
}

func (g treeGenerator) call(depth int) *Call {
	if g.bool() {
		return &Call{Name: g.name(), UDF: true, Args: g.exprs(depth, 0)}
	}
	return &Call{Name: rapid.SampledFrom([]string{"LEFT", "right", "abs", "RANK"}).Draw(g.t, "call"),
		Args: g.exprs(depth, 0)}
}

func (g treeGenerator) leaf() Expr {
	switch g.below(6) {
	case 0:
		return &Ident{Name: g.name()}
	case 1:
		return &Parameter{Name: "@" + g.name()}
	case 2:
		return &RewrittenQueryPlaceholder{Name: rapid.SampledFrom([]string{OrderByFilter,
			"documentdb-x-0"}).Draw(g.t,
			"placeholder")}
	case 3:
		return &Literal{Value: jsondoc.StringValue(g.text())}
	case 4:
		return &Literal{Value: jsondoc.NumberValue(rapid.Float64Min(0).Draw(g.t, "number"))}
	}
	constants := []jsondoc.Value{{}, jsondoc.NullValue(), jsondoc.BoolValue(true), jsondoc.BoolValue(false)}
	return &Literal{Value: rapid.SampledFrom(constants).Draw(g.t, "constant")}
}

func (g treeGenerator) expr(depth int) Expr {
	if depth <= 0 {
		return g.leaf()
	}
	x := func() Expr { return g.expr(depth - 1) }
	switch g.below(16) {
	case 0:
		return &MemberExpr{X: x(), Name: g.name()}
	case 1:
		return &IndexExpr{X: x(), I: x()}
	case 2, 3:
		return &Unary{Op: UnaryOperator(g.below(int(BitNot) + 1)), X: x()}
	case 4, 5:
		return &Binary{Op: BinaryOperator(g.below(int(Mod) + 1)), X: x(), Y: x()}
	case 6, 7:
		l := &Logical{Op: LogicalOp(g.below(2)), Terms: g.exprs(depth, 2)}
		if first, ok := l.Terms[0].(*Logical); ok && first.Op == l.Op {
			l.Terms[0] = &Unary{Op: Not, X: first}
		}
		return l
	case 8:
		return &Coalesce{X: x(), Y: x()}
	case 9:
		return &Conditional{If: x(), Then: x(), Else: x()}
	case 10:
		return &Between{Not: g.bool(), X: x(), Low: x(), High: x()}
	case 11:
		return &InExpr{Not: g.bool(), X: x(), List: g.exprs(depth, 1)}
	case 12:
		like := &Like{Not: g.bool(), X: x(), Pattern: x()}
		if g.bool() {
			like.Escape = &Literal{Value: jsondoc.StringValue(g.text())}
		}
		return like
	case 13:
		return g.call(depth)
	case 14:
		if g.bool() {
			return &ArrayLiteral{Elems: g.exprs(depth, 0)}
		}
		o := &ObjectLiteral{}
		for range g.below(3) {
			o.Keys, o.Values = append(o.Keys, g.text()), append(o.Values, x())
		}
		return o
	}
	return &Subquery{Kind: SubqueryKind(g.below(int(Array) + 1)), Query: g.query(depth - 2)}
}
