package query

import "github.com/mayflydb/mayfly/query/syntax"

// pushFilters is the rule "push-filter": it moves every condition to the first source behind which all names
// that it uses are bound, so that a row that cannot live is not multiplied by the sources after it.
func pushFilters(p *planner) {
	for _, bl := range p.subs {
		for _, e := range bl.where {
			if level := p.level(bl, e); level < 0 {
				bl.first = append(bl.first, e)
			} else {
				bl.steps[level].filter = append(bl.steps[level].filter, e)
			}
		}
	}
}

// level returns the last step of the block that an expression refers to, or -1. Subqueries count.
func (p *planner) level(bl *block, e syntax.Expr) int {
	level := -1
	syntax.Walk(e, func(n syntax.Node) bool {
		if id, ok := n.(*syntax.Ident); ok {
			if a := p.idents[id]; a != nil && a.block == bl {
				level = max(level, a.level)
			}
		}
		return true
	})
	return level
}
