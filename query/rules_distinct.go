package query

import "github.com/mayflydb/mayfly/query/syntax"

// simplifyDistinct is the rule "distinct": it drops DISTINCT where no two rows can be equal: where there is
// one row, where the rows are groups and show all keys of theirs, and where each shows the whole of an item
// of its own, or its resource id.
func simplifyDistinct(p *planner) {
	p.plan.distinct = p.plan.top.distinct
	for _, bl := range p.subs {
		simplifySubqueries(p.binder, bl)
	}
	if t := p.plan.top; t.distinct && !t.grouped && showsItem(p.binder, t) {
		t.distinct = false
	}
}

// showsItem tells whether each row of a block is of an item of its own, and shows which.
func showsItem(b *binder, bl *block) bool {
	if len(bl.steps) != 1 || bl.steps[0].kind != stepItem {
		return false
	}
	if bl.star {
		return true
	}
	exprs := []syntax.Expr{bl.value}
	for _, item := range bl.items {
		exprs = append(exprs, item.x)
	}
	for _, e := range exprs {
		if e == nil {
			continue
		}
		if a, names, ok := b.documentPath(e); ok && a.item &&
			(len(names) == 0 || len(names) == 1 && names[0] == "_rid") {
			return true
		}
	}
	return false
}

// simplifySubqueries drops the DISTINCT of one block.
func simplifySubqueries(b *binder, bl *block) {
	if !bl.distinct || !bl.grouped {
		return
	}
	shown := make(map[int]bool)
	exprs := []syntax.Expr{bl.value}
	for _, item := range bl.items {
		exprs = append(exprs, item.x)
	}
	for _, e := range exprs {
		if i, ok := b.keys[e]; ok {
			shown[i] = true
		}
	}
	bl.distinct = len(shown) < len(bl.groupBy)
}
