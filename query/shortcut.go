package query

import (
	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query/syntax"
)

// shortcut is what the aggregates of a query can be made of without reading all documents.
type shortcut uint8

const (
	noShortcut shortcut = iota
	countOnly           // all are COUNT of something that every item has: the number of documents
	endsOnly            // all are MIN or MAX of one indexed path: the first and the last document by it
)

// findShortcut is the rule "shortcut": it tells whether the aggregates need all documents.
func findShortcut(p *planner) { p.plan.shortcut = p.shortcut() }

func (p *planner) shortcut() shortcut {
	t := p.plan.top
	if !t.grouped || len(t.groupBy) > 0 || len(t.where) > 0 || len(t.steps) != 1 ||
		t.steps[0].kind != stepItem || len(t.aggs) == 0 {
		return noShortcut
	}
	counts, ends := true, true
	for _, a := range t.aggs {
		counts = counts && a.name == "COUNT" && p.everywhere(a.arg)
		ends = ends && (a.name == "MIN" || a.name == "MAX") &&
			syntax.PrintExpr(a.arg) == syntax.PrintExpr(t.aggs[0].arg)
	}
	switch {
	case counts:
		return countOnly
	case ends && p.chooseEnds(t.aggs[0].arg):
		return endsOnly
	}
	return noShortcut
}

// everywhere tells of an expression that it is defined for every item.
func (p *planner) everywhere(e syntax.Expr) bool {
	if l, ok := e.(*syntax.Literal); ok {
		return l.Value.Kind() != doc.Undefined
	}
	id, ok := e.(*syntax.Ident)
	return ok && p.idents[id] != nil && p.idents[id].item
}

// ends is the walk through the values of one path.
type ends struct {
	key   *orderKey
	walk  *walk
	value valuer // compiled
}

func (p *planner) chooseEnds(e syntax.Expr) bool {
	route, entered, ok := p.itemRoute(e)
	if !ok || entered || !p.info.Index.RangeIndexed(route) {
		return false
	}
	key := &orderKey{x: e, route: route}
	w := p.pathWalk(key, nil)
	w.undefined = false
	p.plan.ends = &ends{key: key, walk: w}
	p.plan.use.Single = append(p.plan.use.Single, route.String()+"/?")
	return true
}

// takeShortcut feeds the aggregates without reading all documents. It is false where a source cannot.
func (x *execution) takeShortcut(g *grouper) (bool, error) {
	switch x.plan.shortcut {
	case countOnly:
		return x.takeCounts(g), nil
	case endsOnly:
		return true, x.takeEnds(g)
	}
	return false, nil
}

func (x *execution) takeCounts(g *grouper) bool {
	total := int64(0)
	for _, src := range x.sources {
		c, ok := src.(Counter)
		if !ok {
			return false
		}
		n, ok := c.Count()
		if !ok {
			return false
		}
		total += n
	}
	for i := range g.groups[0].state {
		g.groups[0].state[i] = &counter{n: total}
	}
	return true
}

// takeEnds adds the first and the last value of each source. An array or an object, which spoils both MIN and
// MAX, is the last wherever there is one.
func (x *execution) takeEnds(g *grouper) error {
	for _, desc := range []bool{false, true} {
		key, w := *x.plan.ends.key, *x.plan.ends.walk
		key.desc, w.reverse = desc, desc
		y := &execution{plan: &Plan{top: &block{order: []*orderKey{&key}, limit: 1}, rows: &rowset{},
			info: x.plan.info,
			order: &ordering{walk: &w,
				keys: []valuer{x.plan.ends.value}}}, sources: x.sources, opts: x.opts, run: x.run, f: x.f}
		y.done.limit = 1
		for i, src := range x.sources {
			end := y.newWalk(src, i, &w)
			ok, err := end.next()
			if ok && err == nil {
				x.f.enter(end.doc)
				g.add()
			}
			if e := end.close(); err == nil {
				err = e
			}
			if err != nil {
				return err
			}
		}
		x.page.Stats.Loaded += y.page.Stats.Loaded
		x.page.Stats.LoadedBytes += y.page.Stats.LoadedBytes
		x.page.Stats.IndexEntries += y.page.Stats.IndexEntries
	}
	return nil
}
