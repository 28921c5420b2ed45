package plan

import (
	"slices"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// ordering is how a query with ORDER BY gets its rows in order.
type ordering struct {
	Keys     []eval.Valuer // compiled
	Distinct int           // how many of the first keys DISTINCT is about; 0: no DISTINCT
	Covered  bool          // nothing is wanted of the documents but what the walk's path has
	Loose    bool          // rows differ by what the path has alone, and equal ones are one
	Skips    bool          // a row that OFFSET skips need not be looked at
	implied  bool          // the query has no ORDER BY: see orderDistinct
	Walk     *Walk         // nil: no range or composite index has the order
	Vectors  *Vectors      // nil: no vector index has it
	// nil: no index of words has it. With none of the three, the documents are sorted
	Texts *textOrder
}

// Walk is a way through an index whose order is that of the query.
type Walk struct {
	Path      index.Path       // of a range index
	Composite *index.Composite // or a composite one
	Fixed     []jsondoc.Value  // of its first paths, those before the keys of the order
	Spans     []Span           // rising, whatever the direction
	Reverse   bool
	Undefined bool // documents without the path belong to the rows: a range index does not have them
}

// String says which index is walked, and how.
func (w *Walk) String() string {
	text := w.Path.String()
	if w.Composite != nil {
		text = compositeText(w.Composite)
	}
	if w.Reverse {
		text += " backwards"
	}
	if w.Undefined {
		text += ", and those without"
	}
	return text
}

const (
	refusedComposite = "The order by query does not have a corresponding composite index that it can be served from."
	refusedExcluded  = "The index path corresponding to the specified order-by item is excluded."
)

// chooseOrder finds an index for ORDER BY. As Cosmos DB does it refuses a query whose order no index has,
// unless the container is lenient.
func (p *Planner) chooseOrder(constraints []*Constraint) {
	keys := p.Plan.Top.Order
	o := p.Plan.Order
	if o == nil { // DISTINCT that remembers all rows: they are made in order all the same
		o = &ordering{}
		p.Plan.Order = o
	}
	routed := !slices.ContainsFunc(keys, func(k *bind.OrderKey) bool { return k.Route == nil })
	switch {
	case !routed:
		if len(keys) == 1 && p.nearestFirst(keys[0]) {
			o.Vectors = p.chooseVectors(keys[0].X)
		} else if len(keys) == 1 {
			o.Texts = p.chooseTexts(keys[0])
		}
		return
	case len(keys) == 1:
		if !p.Info.Index.Included(keys[0].Route) && !p.Info.Lenient && !p.hasComposite(constraints) {
			p.FailPlain(keys[0].X, refusedExcluded)
			return
		}
	case !p.servedBy(keys) && !p.Info.Lenient:
		p.Plan.Use.PotentialComposite = append(p.Plan.Use.PotentialComposite, orderSpec(keys))
		p.FailPlain(keys[0].X, refusedComposite)
		return
	}
	if o.Walk = p.compositeWalk(keys, constraints); o.Walk == nil && len(keys) == 1 {
		o.Walk = p.pathWalk(keys[0], constraints)
	}
	if o.Walk != nil && o.Walk.Composite != nil {
		p.Plan.Use.Composite = append(p.Plan.Use.Composite, compositeSpec(o.Walk.Composite))
	} else if o.Walk == nil && len(keys) > 1 {
		p.Plan.Use.PotentialComposite = append(p.Plan.Use.PotentialComposite, orderSpec(keys))
	}
}

// nearestFirst tells of a key that it is the distance of vectors in the direction in which an index finds
// them.
func (p *Planner) nearestFirst(key *bind.OrderKey) bool {
	c, ok := key.X.(*syntax.Call)
	if !ok || !key.Distance {
		return false // a constant by now
	}
	f, _ := lang.Lookup(c.Name)
	return f.Name == lang.VectorDistance && key.Desc == !p.Euclidean(c)
}

func orderSpec(keys []*bind.OrderKey) []string {
	spec := make([]string, len(keys))
	for i, k := range keys {
		if spec[i] = k.Route.String() + " ASC"; k.Desc {
			spec[i] = k.Route.String() + " DESC"
		}
	}
	return spec
}

// servedBy reports whether the policy has a composite index of exactly these keys, all directions the same or
// all opposite.
func (p *Planner) servedBy(keys []*bind.OrderKey) bool {
	return slices.ContainsFunc(p.Info.Index.Composites(), func(c *index.Composite) bool {
		_, ok := MatchKeys(c.Keys, keys)
		return ok
	})
}

// hasComposite reports whether a composite index serves a single key behind paths that are compared with =.
func (p *Planner) hasComposite(constraints []*Constraint) bool {
	return p.compositeWalk(p.Plan.Top.Order, constraints) != nil
}

// MatchKeys reports whether paths of an index are those of ORDER BY, and whether it must be walked backwards.
func MatchKeys(have []index.CompositeKey, want []*bind.OrderKey) (reverse, ok bool) {
	if len(have) != len(want) {
		return false, false
	}
	reverse = have[0].Descending != want[0].Desc
	for i, k := range have {
		if k.Path.String() != want[i].Route.String() || (k.Descending != want[i].Desc) != reverse {
			return false, false
		}
	}
	return reverse, true
}

// compositeWalk returns a walk through a composite index that consists of paths compared with = and, behind
// them, the keys of ORDER BY. Nothing may follow: rows with equal keys come in the order of their rids.
func (p *Planner) compositeWalk(keys []*bind.OrderKey, constraints []*Constraint) *Walk {
	var best *Walk
	for _, c := range p.Info.Index.Composites() {
		fixed := len(c.Keys) - len(keys)
		if !c.Ready || fixed < 0 || len(keys) == 1 && fixed == 0 {
			continue
		}
		values, n := equalPrefix(c, constraints)
		reverse, ok := MatchKeys(c.Keys[fixed:], keys)
		if !ok || n < fixed || best != nil && len(best.Fixed) >= fixed {
			continue
		}
		lo, hi, _ := c.Interval(values[:fixed]...)
		best = &Walk{Composite: c, Fixed: values[:fixed], Reverse: reverse, Spans: []Span{{Lo: lo, Hi: hi}}}
		best.Narrow(values[:fixed], keys, constraints)
	}
	return best
}

// pathWalk returns a walk through the range index of a path. What the conditions say of the same path narrows
// it.
func (p *Planner) pathWalk(key *bind.OrderKey, constraints []*Constraint) *Walk {
	if !p.Info.Index.RangeIndexed(key.Route) {
		return nil
	}
	w := &Walk{Path: key.Route, Reverse: key.Desc}
	if i := slices.IndexFunc(constraints, func(l *Constraint) bool {
		return slices.Equal(l.path,
			key.Route)
	}); i >= 0 {
		w.Spans, w.Undefined = constraints[i].Spans, constraints[i].undefined
		return w
	}
	lo, hi := p.Info.Index.PathRange(key.Route)
	w.Spans, w.Undefined = []Span{{Lo: lo, Hi: hi}}, true
	return w
}

// Narrow cuts a walk to the comparisons that the conditions make with the first key of the order.
func (w *Walk) Narrow(fixed []jsondoc.Value, keys []*bind.OrderKey, constraints []*Constraint) {
	l := boundedConstraint(constraints, keys[0].Route.String())
	if l == nil {
		return
	}
	w.Spans = compositeSpans(w.Composite, fixed, l.bounds)
}

// Beside reports which of the ways say more than a walk itself does, and are short to read.
func Beside(w *Walk) func(Access) bool {
	return func(a Access) bool {
		s, ok := a.(*SpansAccess)
		return !ok || !s.Whole && (w == nil || !slices.EqualFunc(s.Spans, w.Spans, sameSpan))
	}
}

// waysBeside are the ways that may be taken in place of a walk, before it has begun.
func (p *Plan) waysBeside(w *Walk) (ways []Access) {
	for _, a := range p.AccessPaths {
		if len(w.Fixed) == 0 && Beside(w)(a) {
			ways = append(ways, a)
		}
	}
	return ways
}

func sameSpan(a, b Span) bool { return string(a.Lo) == string(b.Lo) && string(a.Hi) == string(b.Hi) }
