package plan

import (
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// prune is the rule "prune": it drops conditions that always hold, and records conditions that never do. A
// condition holds only if it is true, so in WHERE undefined and null count as false.
func prune(p *Planner) {
	for _, bl := range p.Subs {
		var left []syntax.Expr
		for _, e := range bl.Where {
			l, ok := e.(*syntax.Literal)
			if !ok || !lang.IsTrue(l.Value) {
				left = append(left, e)
			}
			if ok && !lang.IsTrue(l.Value) {
				left = []syntax.Expr{&syntax.Literal{TextSpan: l.TextSpan, Value: jsondoc.BoolValue(false)}}
				p.Plan.Never = p.Plan.Never || bl == p.Plan.Top
				break
			}
		}
		bl.Where = left
	}
}
