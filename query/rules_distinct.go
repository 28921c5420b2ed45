package query

import "github.com/mayflydb/mayfly/query/syntax"

// simplifyDistinct is the rule "distinct": it drops DISTINCT where no two rows can be equal: where there is one row, and
// where the rows are groups and show all keys of theirs.
func simplifyDistinct(p *planner) {
	for _, bl := range p.subs {
		p.simplify(bl)
	}
}

// simplify drops the DISTINCT of one block.
func (b *binder) simplify(bl *block) {
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
