package plan

import (
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/syntax"
)

// simplifyDistinct is the rule "distinct". It drops DISTINCT if no two rows can be equal: if there is only
// one row, if the rows are groups and contain all of their keys, or if each row contains a different item,
// whole or as its resource id.
func simplifyDistinct(p *Planner) {
	p.Plan.distinct = p.Plan.Top.Distinct
	for _, bl := range p.Subs {
		simplifySubqueries(p.Binder, bl)
	}
	if t := p.Plan.Top; t.Distinct && !t.Grouped && showsItem(p.Binder, t) {
		t.Distinct = false
	}
}

// showsItem reports whether the rows of a SELECT block come from different items and each contains
// something that identifies its item, so that no two rows can be equal.
func showsItem(b *bind.Binder, bl *bind.QueryBlock) bool {
	if len(bl.Steps) != 1 || bl.Steps[0].Kind != bind.StepItem {
		return false
	}
	if bl.Star {
		return true
	}
	exprs := []syntax.Expr{bl.Value}
	for _, item := range bl.Items {
		exprs = append(exprs, item.X)
	}
	for _, e := range exprs {
		if e == nil {
			continue
		}
		if a, names, ok := b.DocumentPath(e); ok && a.Item &&
			(len(names) == 0 || len(names) == 1 && names[0] == "_rid") {
			return true
		}
	}
	return false
}

// simplifySubqueries drops the DISTINCT of a block whose rows are groups and contain all GROUP BY keys, so
// that no two rows are equal. It is called for each subquery.
func simplifySubqueries(b *bind.Binder, bl *bind.QueryBlock) {
	if !bl.Distinct || !bl.Grouped {
		return
	}
	shown := make(map[int]bool)
	exprs := []syntax.Expr{bl.Value}
	for _, item := range bl.Items {
		exprs = append(exprs, item.X)
	}
	for _, e := range exprs {
		if i, ok := b.Keys[e]; ok {
			shown[i] = true
		}
	}
	bl.Distinct = len(shown) < len(bl.GroupBy)
}
