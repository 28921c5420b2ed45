package syntax

import (
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// nestLimit is the maximum number of open parentheses up to which Print writes a chain as Cosmos DB does, ((a
// OR b) OR c). More deeply nested chains are written as (a OR b OR c), so that the parser can read the output
// in spite of its limit of recursion.
const nestLimit = 500

// Print prints a query in the canonical form, which is that of Cosmos DB's query plans: each clause and each
// JOIN on a line of its own, AS before every alias, strings in double quotes, every binary operation in
// parentheses, subqueries indented. Parse returns the same query for this text, and Print the same text for
// that query. Spans and the spelling of numbers and strings are not preserved.
func Print(q *QueryTree) string {
	p := printer{}
	p.query(q)
	return string(p.buf)
}

// PrintExpr returns an expression as text, in the canonical form in which Print writes queries.
func PrintExpr(e Expr) string {
	p := printer{}
	p.expr(e)
	return string(p.buf)
}

// printer writes the text of a query.
type printer struct {
	buf    []byte
	indent int // in levels of four spaces
	open   int // open parentheses of chains around the current expression
}

func (p *printer) print(text ...string) {
	for _, s := range text {
		p.buf = append(p.buf, s...)
	}
}

// line begins a new line. Its indentation is limited, since it would otherwise be most of the output for a
// deeply nested query.
func (p *printer) line() {
	p.print("\n", strings.Repeat("    ", min(p.indent, 16)))
}

// list calls print for each element and separates the results by commas.
func list[T any](p *printer, elems []T, print func(T)) {
	for i, e := range elems {
		if i > 0 {
			p.print(", ")
		}
		print(e)
	}
}

func (p *printer) query(q *QueryTree) {
	if q.Select != nil {
		p.selectClause(q.Select)
	}
	for i, s := range q.From {
		if i > 0 || q.Select != nil {
			p.line()
		}
		if i == 0 {
			p.print("FROM ")
		} else {
			p.print("JOIN ")
		}
		p.source(s)
	}
	if q.Where != nil {
		p.line()
		p.print("WHERE ")
		p.expr(q.Where)
	}
	if q.GroupBy != nil {
		p.line()
		p.print("GROUP BY ")
		list(p, q.GroupBy, p.expr)
	}
	if q.OrderBy != nil {
		p.line()
		p.orderBy(q.OrderBy)
	}
	if q.Offset != nil {
		p.line()
		p.print("OFFSET ")
		p.count(q.Offset)
		p.print(" LIMIT ")
		p.count(q.Limit)
	}
}

func (p *printer) selectClause(s *SelectClause) {
	p.print("SELECT ")
	if s.Distinct {
		p.print("DISTINCT ")
	}
	if s.Top != nil {
		p.print("TOP ")
		p.count(s.Top)
		p.print(" ")
	}
	switch {
	case s.Star != nil:
		p.print("*")
	case s.Value != nil:
		p.print("VALUE ")
		p.expr(s.Value)
	default:
		list(p, s.Items, p.selectItem)
	}
}

func (p *printer) selectItem(item *SelectItem) {
	p.expr(item.X)
	if !item.HasAlias {
		return
	}
	p.print(" AS ")
	if isName(item.Alias) {
		p.print(item.Alias)
	} else {
		p.buf = jsondoc.AppendString(p.buf, item.Alias)
	}
}

func (p *printer) count(c *RowCountOperand) {
	if c.Param != "" {
		p.print(c.Param)
	} else {
		p.buf = appendNumber(p.buf, c.Value)
	}
}

func (p *printer) source(s *FromSource) {
	if s.In {
		p.print(s.Alias, " IN ")
	}
	if s.Sub != nil {
		p.subquery(s.Sub)
	} else {
		p.expr(s.Path)
	}
	if s.Alias != "" && !s.In {
		p.print(" AS ", s.Alias)
	}
}

func (p *printer) orderBy(o *OrderBy) {
	p.print("ORDER BY ")
	if o.Rank != nil {
		p.print("RANK ")
		p.expr(o.Rank)
		return
	}
	list(p, o.Items, func(item *SortItem) {
		p.expr(item.X)
		_, call := item.X.(*Call)
		switch {
		case item.Desc:
			p.print(" DESC")
		case item.Asc && call: // elsewhere ASC is the default
			p.print(" ASC")
		}
	})
}

func (p *printer) subquery(q *QueryTree) {
	p.print("(")
	p.indent++
	p.line()
	p.query(q)
	p.indent--
	p.line()
	p.print(")")
}

func (p *printer) expr(e Expr) {
	switch e := e.(type) {
	case *Literal:
		if e.Name != "" {
			p.print(e.Name)
			return
		}
		p.value(e.Value)
	case *Parameter:
		p.print(e.Name)
	case *Ident:
		p.print(e.Name)
	case *MemberExpr:
		p.base(e.X)
		p.print(".", e.Name)
	case *IndexExpr:
		p.base(e.X)
		p.print("[")
		p.expr(e.I)
		p.print("]")
	case *Unary:
		p.unary(e)
	case *Binary:
		p.infix(e.X, e.Op.String(), e.Y)
	case *Logical:
		p.logical(e)
	case *Coalesce:
		p.infix(e.X, "??", e.Y)
	case *Conditional:
		p.print("(")
		p.expr(e.If)
		p.print(" ? ")
		p.expr(e.Then)
		p.print(" : ")
		p.expr(e.Else)
		p.print(")")
	case *Between, *InExpr, *Like:
		p.print("(")
		p.predicate(e)
		p.print(")")
	case *Call:
		if e.UDF {
			p.print("udf.")
		}
		p.print(e.Name, "(")
		list(p, e.Args, p.expr)
		p.print(")")
	case *ArrayLiteral:
		p.print("[")
		list(p, e.Elems, p.expr)
		p.print("]")
	case *ObjectLiteral:
		p.object(e)
	case *Subquery:
		p.print([...]string{Scalar: "", Exists: "EXISTS", Array: "ARRAY"}[e.Kind])
		p.subquery(e.Query)
	case *RewrittenQueryPlaceholder:
		p.placeholder(e)
	}
}

// base prints the operand of .name or [i].
func (p *printer) base(x Expr) {
	literal, isLiteral := x.(*Literal)
	_, isUnary := x.(*Unary)
	if isUnary || isLiteral && literal.Value.Kind() == jsondoc.Number {
		p.print("(")
		p.expr(x)
		p.print(")")
		return
	}
	p.expr(x)
}

func (p *printer) unary(u *Unary) {
	p.print(u.Op.String())
	at := len(p.buf)
	if u.Op == Not {
		p.print(" ")
	}
	p.expr(u.X)
	if u.Op == Neg && p.buf[at] == '-' { // two minus signs would be the beginning of a comment
		p.buf = append(p.buf[:at], append([]byte(" "), p.buf[at:]...)...)
	}
}

func (p *printer) infix(x Expr, op string, y Expr) {
	p.print("(")
	p.expr(x)
	p.print(" ", op, " ")
	p.expr(y)
	p.print(")")
}

// logical prints a chain as ((a OR b) OR c), the form of Cosmos DB, or as (a OR b OR c) if that would be too
// deep.
func (p *printer) logical(l *Logical) {
	op := l.Op.String()
	pairs := len(l.Terms) - 1
	flat := p.open+pairs > nestLimit
	if flat {
		pairs = 1
	}
	p.open += pairs
	p.print(strings.Repeat("(", pairs))
	for i, t := range l.Terms {
		if i > 0 {
			p.print(" ", op, " ")
		}
		p.expr(t)
		if i > 0 && !flat {
			p.print(")")
		}
	}
	if flat {
		p.print(")")
	}
	p.open -= pairs
}

// predicate prints a Between, an InExpr or a Like.
func (p *printer) predicate(e Expr) {
	not := func(not bool, op string) {
		if not {
			p.print(" NOT")
		}
		p.print(" ", op, " ")
	}
	switch e := e.(type) {
	case *Between:
		p.expr(e.X)
		not(e.Not, "BETWEEN")
		p.expr(e.Low)
		p.print(" AND ")
		p.expr(e.High)
	case *InExpr:
		p.expr(e.X)
		not(e.Not, "IN")
		p.print("(")
		list(p, e.List, p.expr)
		p.print(")")
	case *Like:
		p.expr(e.X)
		not(e.Not, "LIKE")
		p.expr(e.Pattern)
		if e.Escape != nil {
			p.print(" ESCAPE ")
			p.expr(e.Escape)
		}
	}
}

func (p *printer) object(o *ObjectLiteral) {
	p.print("{")
	for i, key := range o.Keys {
		if i > 0 {
			p.print(", ")
		}
		p.buf = jsondoc.AppendString(p.buf, key)
		p.print(": ")
		p.expr(o.Values[i])
	}
	p.print("}")
}

// placeholder prints a placeholder of a rewritten query as {name}. The placeholder of the filter that resumes
// an ORDER BY is printed in parentheses, because clients replace it by an expression with OR.
func (p *printer) placeholder(h *RewrittenQueryPlaceholder) {
	if h.Name == OrderByFilter {
		p.print("({", h.Name, "})")
	} else {
		p.print("{", h.Name, "}")
	}
}
