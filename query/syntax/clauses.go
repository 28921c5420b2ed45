package syntax

import "strings"

func (p *parser) query() *QueryTree {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	q := &QueryTree{TextSpan: TextSpan{Start: p.tok.Start}}
	q.Select = p.selectClause()
	if p.accept("FROM") {
		q.From = p.sources()
	}
	if p.accept("WHERE") {
		q.Where = p.expr(lowest)
	}
	if p.accept("GROUP") {
		p.expect("BY")
		q.GroupBy = p.exprs()
	}
	if p.is("ORDER") {
		q.OrderBy = p.orderBy()
	}
	if p.accept("OFFSET") {
		q.Offset = p.count(isInteger)
		p.expect("LIMIT")
		q.Limit = p.count(isInteger)
	}
	q.TextSpan = p.since(q.Start)
	return q
}

func (p *parser) selectClause() *SelectClause {
	start := p.tok.Start
	p.expect("SELECT")
	s := &SelectClause{Distinct: p.accept("DISTINCT")}
	if p.accept("TOP") {
		s.Top = p.count(isNumber)
	}
	switch {
	case p.is("*"):
		s.Star = &Star{p.tok.TextSpan}
		p.next()
	case p.accept("VALUE"):
		s.Value = p.expr(lowest)
	default:
		s.Items = append(s.Items, p.selectItem())
		for p.accept(",") {
			s.Items = append(s.Items, p.selectItem())
		}
	}
	s.TextSpan = p.since(start)
	return s
}

// selectItem parses an expression with or without an alias. AS may be omitted before a name but not before a
// string, since a LIKE with a forgotten ESCAPE would then be an item with an alias.
func (p *parser) selectItem() *SelectItem {
	start := p.tok.Start
	item := &SelectItem{X: p.expr(lowest)}
	as := p.accept("AS")
	switch item.AliasSpan = p.tok.TextSpan; {
	case as && p.tok.kind == quoted:
		item.Alias, item.HasAlias = p.take(quoted).value.Str(), true
	case as || p.tok.kind == word:
		item.Alias, item.HasAlias = p.take(word).text, true
	}
	item.TextSpan = p.since(start)
	return item
}

func isInteger(t token) bool { return t.kind == number && isDigits(t.value.Raw()) }

func isNumber(t token) bool { return t.kind == number }

// count parses the operand of TOP, OFFSET or LIMIT.
func (p *parser) count(isCount func(token) bool) *RowCountOperand {
	c := &RowCountOperand{TextSpan: p.tok.TextSpan}
	switch {
	case p.tok.kind == parameter:
		c.Param = p.tok.text
	case isCount(p.tok):
		c.Value = p.tok.value
	default:
		p.unexpected()
	}
	p.next()
	return c
}

func (p *parser) sources() []*FromSource {
	list := []*FromSource{p.source()}
	for p.accept("JOIN") {
		list = append(list, p.source())
	}
	return list
}

func (p *parser) source() *FromSource {
	start := p.tok.Start
	src := &FromSource{}
	if p.is("(") {
		src.Sub = p.subquery()
		p.alias(src)
	} else if id := p.ident(); p.accept("IN") {
		src.In, src.Alias = true, id.Name
		if p.is("(") {
			src.Sub = p.subquery()
		} else {
			src.Path = p.steps(p.ident())
		}
	} else {
		src.Path = p.steps(id)
		p.alias(src)
	}
	src.TextSpan = p.since(start)
	return src
}

func (p *parser) alias(src *FromSource) {
	if p.accept("AS") || p.tok.kind == word {
		src.Alias = p.take(word).text
	}
}

// steps parses the rest of the path that begins with root.
func (p *parser) steps(root *Ident) Expr {
	var x Expr = root
	for {
		switch {
		case p.accept("."):
			name := p.take(word).text
			x = &MemberExpr{p.since(root.Start), x, name}
		case p.accept("["):
			step := &Literal{TextSpan: p.tok.TextSpan, Value: p.tok.value}
			if p.tok.kind != quoted && !isInteger(p.tok) {
				p.unexpected()
			}
			p.next()
			p.expect("]")
			x = &IndexExpr{p.since(root.Start), x, step}
		default:
			return x
		}
	}
}

// subquery parses a query in parentheses.
func (p *parser) subquery() *QueryTree {
	p.expect("(")
	q := p.query()
	p.expect(")")
	return q
}

func (p *parser) orderBy() *OrderBy {
	start := p.tok.Start
	p.expect("ORDER")
	p.expect("BY")
	o := &OrderBy{}
	if p.atRank() {
		p.next()
		call, ok := p.primary().(*Call)
		if !ok {
			p.unexpected() // there is a token where the parenthesis should be
		}
		o.Rank = call
		o.Directed = p.accept("ASC") || p.accept("DESC")
	} else {
		o.Items = append(o.Items, p.sortItem())
		for p.accept(",") {
			o.Items = append(o.Items, p.sortItem())
		}
	}
	o.TextSpan = p.since(start)
	return o
}

// atRank reports whether the current token is the RANK of ORDER BY RANK f(...). RANK is not a reserved word,
// but where it is a name, no function call can follow it.
func (p *parser) atRank() bool {
	if p.tok.kind != word || !strings.EqualFold(p.tok.text, "RANK") {
		return false
	}
	t := p.ahead()
	return t.kind == word || t.sym == "UDF" || t.sym == "LEFT" || t.sym == "RIGHT"
}

func (p *parser) sortItem() *SortItem {
	start := p.tok.Start
	item := &SortItem{X: p.expr(lowest)}
	if item.Desc = p.accept("DESC"); !item.Desc {
		item.Asc = p.accept("ASC")
	}
	item.TextSpan = p.since(start)
	return item
}
