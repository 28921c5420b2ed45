package query

import (
	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// prune is the rule of that name: it drops conditions that always hold, and notes where one never does. A
// condition holds only where it is true, so in WHERE undefined and null are as good as false.
func prune(p *planner) {
	for _, bl := range p.subs {
		var left []syntax.Expr
		for _, e := range bl.where {
			l, ok := e.(*syntax.Literal)
			if !ok || !lang.IsTrue(l.Value) {
				left = append(left, e)
			}
			if ok && !lang.IsTrue(l.Value) {
				left = []syntax.Expr{&syntax.Literal{Span: l.Span, Value: doc.BoolValue(false)}}
				p.plan.never = p.plan.never || bl == p.plan.top
				break
			}
		}
		bl.where = left
	}
}
