package plan

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/syntax"
)

// required appends the conditions that an item must match to have a row: those of WHERE, and those of
// subqueries in FROM that must return a row.
func (p *Planner) required(dst []syntax.Expr, bl *bind.QueryBlock) []syntax.Expr {
	for _, e := range bl.Where {
		if sub, ok := e.(*syntax.Subquery); ok && sub.Kind == syntax.Exists {
			dst = p.requiredRow(dst, p.Subs[sub.Query])
		} else {
			dst = append(dst, e)
		}
	}
	for _, st := range bl.Steps {
		if st.Sub != nil {
			dst = p.requiredRow(dst, st.Sub)
		}
	}
	return dst
}

// requiredRow appends the conditions under which a subquery returns a row. It appends none if the subquery
// always returns one, as with COUNT.
func (p *Planner) requiredRow(dst []syntax.Expr, bl *bind.QueryBlock) []syntax.Expr {
	if bl.Grouped && len(bl.GroupBy) == 0 {
		return dst
	}
	return p.required(dst, bl)
}

// chooseIndex is the rule "index-choice". It finds all access paths through indexes and, for ORDER BY, an
// index in that order, and refuses an ORDER BY in the same cases as Cosmos DB. The choice among the access
// paths is made by each run, which counts their entries: see package exec.
func chooseIndex(p *Planner) {
	t := p.Plan.Top
	if !t.Container {
		return
	}
	single := map[string]*Constraint{} // conditions on paths that have one value in each document, by path
	var order []string
	var found []IndexAccess
	feeding := t
	for feeding.Derived() != nil {
		feeding = feeding.Derived()
	}
	for _, e := range p.required(nil, feeding) {
		l := p.constraintOf(e)
		var a IndexAccess
		if l == nil {
			if a = p.accessOf(e); a == nil {
				l = p.termsOf(e)
			}
		} else if l.entered {
			a = l.access()
			p.noteUsed(l.name)
		} else {
			p.testing(l, e)
		}
		p.Plan.loose = p.Plan.loose || l == nil || l.entered
		if a != nil {
			found = append(found, a)
		} else if l != nil {
			at := l.name
			if before := single[at]; before != nil {
				l = intersect(before, l)
			} else {
				order = append(order, at)
			}
			single[at] = l
		}
	}
	var constraints []*Constraint
	for _, at := range order {
		constraints = append(constraints, single[at])
	}
	p.Plan.Constraints = constraints
	p.Plan.AccessPaths = p.accessPathsOf(constraints, found)
	if p.Plan.Form == cursor.Sorting || p.Plan.Form == cursor.Blocking && len(t.Order) > 0 {
		p.chooseOrder(constraints)
	}
	p.noteUse(constraints)
}

// access returns the index access that finds the documents matching a constraint. It returns nil if the
// constraint also matches documents that have no index entry.
func (l *Constraint) access() IndexAccess {
	if l.undefined {
		return nil
	}
	if l.selectivity != points {
		a := &SpansAccess{Spans: l.Spans, Whole: l.testOnly, text: l.text}
		if l.Superset {
			a.Test = l.Test
		}
		return a
	}
	a := &IndexKeysAccess{text: l.text}
	for _, s := range l.Spans {
		a.Keys = append(a.Keys, s.Lo)
	}
	return a
}

// accessOf returns the access of a condition that is not about a single path: AND and OR of conditions, and
// functions that have a special kind of index. It returns nil if there is none.
func (p *Planner) accessOf(e syntax.Expr) IndexAccess {
	if l := p.constraintOf(e); l != nil {
		a := l.access()
		if a != nil {
			p.noteUsed(l.name)
		}
		return a
	}
	switch e := e.(type) {
	case *syntax.Logical:
		if e.Op == syntax.Or {
			return p.accessOfAny(e)
		}
		var best IndexAccess
		for _, term := range e.Terms {
			if a := p.accessOf(term); a != nil && (best == nil || a.Lists() && !best.Lists()) {
				best = a
			}
		}
		return best
	case *syntax.Subquery:
		if e.Kind == syntax.Exists {
			list := p.requiredRow(nil, p.Subs[e.Query])
			if len(list) > 0 {
				return p.accessOf(&syntax.Logical{Op: syntax.And, Terms: list})
			}
		}
	case *syntax.Binary:
		return p.within(e)
	case *syntax.Call:
		return p.special(e)
	}
	return nil
}

func (p *Planner) accessOfAny(e *syntax.Logical) IndexAccess {
	any := &UnionAccess{}
	for _, term := range e.Terms {
		a := p.accessOf(term)
		if a == nil {
			return nil
		}
		any.List = append(any.List, a)
	}
	return any
}

// accessPathsOf returns the index accesses by which the matching documents can be found: those of the
// constraints, followed by those in found, which have been chosen before. Each of them finds all matching
// documents. A composite index replaces the constraints that it answers together.
func (p *Planner) accessPathsOf(constraints []*Constraint, found []IndexAccess) (ways []IndexAccess) {
	composite, covered := p.compositeAccess(constraints)
	if composite != nil {
		ways = append(ways, composite)
	}
	for _, l := range constraints {
		if a := l.access(); a != nil && !slices.Contains(covered, l.name) {
			ways = append(ways, a)
		}
	}
	for _, a := range found {
		if all, ok := a.(*IntersectionAccess); ok {
			ways = append(ways, all.List...)
		} else {
			ways = append(ways, a)
		}
	}
	return ways
}

// compositeAccess returns the access through a composite index, and the paths that it covers. The first paths
// of the index must be compared with =; the last one used may be compared in another way. Of several indexes
// it chooses one that covers most paths.
func (p *Planner) compositeAccess(constraints []*Constraint) (best IndexAccess, covered []string) {
	var spec []string
	for _, c := range p.Info.Index.Composites() {
		values, n := equalPrefix(c, constraints)
		if !c.Ready || n == 0 {
			continue
		}
		var names []string
		for _, k := range c.Keys[:n] {
			names = append(names, k.Path.String())
		}
		var a IndexAccess
		text := compositeText(c) + " = " + valuesText(values)
		if n == len(c.Keys) {
			key, _ := c.Prefix(values...)
			a = &IndexKeysAccess{[][]byte{key}, text}
		} else if l := boundedConstraint(constraints, c.Keys[n].Path.String()); l != nil {
			names = append(names, l.name)
			a = &SpansAccess{Spans: compositeSpans(c, values, l.bounds), text: text + ", " + l.text}
		}
		if a != nil && len(names) > max(1, len(covered)) {
			best, covered, spec = a, names, compositeSpec(c)
		}
	}
	if best != nil {
		p.Plan.Use.Composite = append(p.Plan.Use.Composite, spec)
	}
	return best, covered
}

// boundedConstraint returns the constraint of the path with this name, if the conditions compare the path
// with constants (=, <, >= and so on), and nil otherwise.
func boundedConstraint(constraints []*Constraint, name string) *Constraint {
	i := slices.IndexFunc(constraints, func(l *Constraint) bool {
		return l.name == name &&
			len(l.bounds) > 0
	})
	if i < 0 {
		return nil
	}
	return constraints[i]
}

// compositeSpans returns the spans of keys of a composite index whose first paths have the given values, and
// whose next path lies within bounds. It returns no spans if no value lies within bounds.
func compositeSpans(c *index.CompositeIndex, equal []jsondoc.Value, bounds []comparisonBound) []KeySpan {
	s := KeySpan{}
	s.Lo, s.Hi, _ = c.Interval(equal...)
	for _, b := range bounds {
		lo, hi, _ := c.Range(equal, b.op, b.v)
		if s.Lo = Later(s.Lo, lo); bytes.Compare(hi, s.Hi) < 0 {
			s.Hi = hi
		}
	}
	if bytes.Compare(s.Lo, s.Hi) >= 0 {
		return nil
	}
	return []KeySpan{s}
}

// equalPrefix returns the values of the first paths of a composite index, up to the first path that is not
// compared with =. n is their number.
func equalPrefix(c *index.CompositeIndex, constraints []*Constraint) (values []jsondoc.Value, n int) {
	for _, k := range c.Keys {
		name := k.Path.String()
		i := slices.IndexFunc(constraints, func(l *Constraint) bool {
			return l.isEqual && l.equal.Kind() != jsondoc.Undefined && l.name == name
		})
		if i < 0 {
			break
		}
		values = append(values, constraints[i].equal)
	}
	return values, len(values)
}

func compositeSpec(c *index.CompositeIndex) []string {
	spec := make([]string, len(c.Keys))
	for i, k := range c.Keys {
		spec[i] = k.String()
	}
	return spec
}

func compositeText(c *index.CompositeIndex) string {
	return "(" + strings.Join(compositeSpec(c), ", ") + ")"
}

func valuesText(values []jsondoc.Value) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = clip(v)
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

// noteUse records which indexes the query uses, and which would help it, for the index metrics that
// clients can request.
func (p *Planner) noteUse(constraints []*Constraint) {
	use := &p.Plan.Use
	var equals, ranges []string
	for _, l := range constraints {
		if l.isEqual {
			equals = append(equals, l.name+" ASC")
		} else {
			ranges = append(ranges, l.name+" ASC")
		}
	}
	ordered := ""
	if len(equals) == 0 || len(ranges) == 0 {
		ordered = p.orderedBeside(constraints)
	}
	for _, l := range slices.Backward(constraints) { // Cosmos DB lists the last condition first
		if l.name != ordered {
			p.noteUsed(l.name)
		}
	}
	if o := p.Plan.Order; o != nil && o.Walk != nil && o.Walk.Composite == nil {
		if path := o.Walk.Path.String(); path != ordered {
			p.noteUsed(path)
		}
	}
	// posting lists of equal values are intersected directly
	switch {
	case len(equals) == 0 || len(use.Composite) > 0:
	case len(ranges) > 0:
		use.PotentialComposite = append(use.PotentialComposite, append(equals, ranges[0]))
	case p.groupsBy(equals):
		use.PotentialComposite = append(use.PotentialComposite, equals)
	}
	p.noteShown()
}

// orderedBeside returns the only path of ORDER BY, if it has a condition in WHERE and another path has one
// too; otherwise "". It is for the index metrics: Cosmos DB does not report the index of that path if the
// conditions are all of one kind.
func (p *Planner) orderedBeside(constraints []*Constraint) string {
	order := p.Plan.Top.Order
	if len(order) != 1 {
		return ""
	}
	name := order[0].Route.String()
	is := func(l *Constraint) bool { return l.name == name }
	other := func(l *Constraint) bool { return l.name != name }
	if !slices.ContainsFunc(constraints, is) || !slices.ContainsFunc(constraints, other) {
		return ""
	}
	return name
}

// groupsBy reports whether the query groups by several paths, and specs lists exactly these in the same
// order, each followed by " ASC".
func (p *Planner) groupsBy(specs []string) bool {
	keys := p.Plan.Top.GroupBy
	if len(keys) < 2 || len(keys) != len(specs) {
		return false
	}
	for i, key := range keys {
		if route, entered, ok := p.ItemRoute(key); !ok || entered || route.String()+" ASC" != specs[i] {
			return false
		}
	}
	return true
}

// noteShown adds the indexed paths that the select list uses in functions and aggregates to the index
// metrics (the indexes that the query uses).
func (p *Planner) noteShown() {
	t := p.Plan.Top
	shown := []syntax.Expr{t.Value}
	for _, item := range t.Items {
		shown = append(shown, item.X)
	}
	for _, a := range t.Aggs {
		p.noteArgument(a.Arg)
	}
	for _, e := range shown {
		if e == nil {
			continue
		}
		syntax.Walk(e, func(n syntax.Node) bool {
			if call, ok := n.(*syntax.Call); ok && !call.UDF {
				for _, arg := range call.Args {
					p.noteArgument(arg)
				}
			}
			return true
		})
	}
}

// noteArgument adds the path that an expression consists of to the index metrics (the indexes that the
// query uses), if it is an indexed path.
func (p *Planner) noteArgument(e syntax.Expr) {
	route, entered, ok := p.ItemRoute(e)
	if !ok || entered || !p.Info.Index.RangeIndexed(route) {
		return
	}
	p.noteUsed(route.String())
}

// noteUsed adds a path to the index metrics, as one whose index the query uses.
func (p *Planner) noteUsed(path string) {
	if spec := path + "/?"; !slices.Contains(p.Plan.Use.Single, spec) {
		p.Plan.Use.Single = append(p.Plan.Use.Single, spec)
	}
}
