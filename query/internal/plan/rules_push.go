package plan

import (
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/syntax"
)

// pushFilters is the rule "push-filter": it moves each condition to the first source after which all names
// in the condition are bound. So a row that does not match is dropped before later sources multiply it.
func pushFilters(p *Planner) {
	for _, bl := range p.Subs {
		for _, e := range bl.Where {
			if level := p.level(bl, e); level < 0 {
				bl.First = append(bl.First, e)
			} else {
				bl.Steps[level].Filter = append(bl.Steps[level].Filter, e)
			}
		}
	}
}

// level returns the index of the last source in the FROM of a SELECT whose name an expression uses,
// directly or in subqueries, or -1 if it uses none.
func (p *Planner) level(bl *bind.QueryBlock, e syntax.Expr) int {
	level := -1
	syntax.Walk(e, func(n syntax.Node) bool {
		if id, ok := n.(*syntax.Ident); ok {
			if a := p.Idents[id]; a != nil && a.Block == bl {
				level = max(level, a.Level)
			}
		}
		return true
	})
	return level
}
