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

// orderByStrategy says how a query with ORDER BY gets its rows in order.
type orderByStrategy struct {
	Keys     []eval.ValueFunc  // compiled
	Distinct int               // how many of the first keys DISTINCT applies to; 0: no DISTINCT
	Covered  bool              // the query uses nothing of the documents except the path of the walk
	Loose    bool              // rows depend only on the path of the walk, and equal rows are returned once
	Skips    bool              // a row that OFFSET skips need not be read
	implied  bool              // the text of the query has no ORDER BY: see orderDistinct
	Walk     *OrderedIndexScan // nil: no range or composite index has this order
	Vectors  *VectorOrder      // nil: no vector index has this order
	// Texts says how a full-text index returns the documents in this order; nil: none does. If Walk,
	// Vectors and Texts are all nil, the documents are sorted.
	Texts *textScoreOrder
}

// OrderedIndexScan is a walk over an index that returns documents in the order of the query's ORDER BY.
type OrderedIndexScan struct {
	Path      index.Path            // of a range index
	Composite *index.CompositeIndex // or a composite one
	Fixed     []jsondoc.Value       // values of its first paths, before the ORDER BY keys
	Spans     []KeySpan             // in ascending order, whatever the direction of the walk
	Reverse   bool
	Undefined bool // documents without the path are rows as well; a range index has no entries for them
}

// String returns the index and the direction of the walk.
func (w *OrderedIndexScan) String() string {
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

// chooseOrder finds an index for ORDER BY. Like Cosmos DB it refuses a query whose order no index has, unless
// the container is lenient.
func (p *Planner) chooseOrder(constraints []*Constraint) {
	keys := p.Plan.Top.Order
	o := p.Plan.Order
	if o == nil { // the whole set of rows is kept for DISTINCT, but rows are still made in order
		o = &orderByStrategy{}
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

// nearestFirst reports whether a key is a vector distance in the direction in which an index returns it.
func (p *Planner) nearestFirst(key *bind.OrderKey) bool {
	c, ok := key.X.(*syntax.Call)
	if !ok || !key.Distance {
		return false // the argument has been folded into a constant
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

// servedBy reports whether the policy has a composite index of exactly these keys, with all directions equal
// or all opposite.
func (p *Planner) servedBy(keys []*bind.OrderKey) bool {
	return slices.ContainsFunc(p.Info.Index.Composites(), func(c *index.CompositeIndex) bool {
		_, ok := MatchKeys(c.Keys, keys)
		return ok
	})
}

// hasComposite reports whether a composite index consists of paths that the conditions compare with =,
// followed by the only ORDER BY key.
func (p *Planner) hasComposite(constraints []*Constraint) bool {
	return p.compositeWalk(p.Plan.Top.Order, constraints) != nil
}

// MatchKeys reports whether the keys of an index are those of ORDER BY, and whether it must be walked
// backwards.
func MatchKeys(have []index.CompositePath, want []*bind.OrderKey) (reverse, ok bool) {
	if len(have) != len(want) {
		return false, false
	}
	reverse = have[0].Descending != want[0].Desc
	for i, k := range have {
		if !want[i].Route.Equals(k.Path) || (k.Descending != want[i].Desc) != reverse {
			return false, false
		}
	}
	return reverse, true
}

// compositeWalk returns a walk over a composite index that consists of paths compared with =, followed by
// exactly the ORDER BY keys. Rows with equal keys then come in the order of their rids.
func (p *Planner) compositeWalk(keys []*bind.OrderKey, constraints []*Constraint) *OrderedIndexScan {
	var best *OrderedIndexScan
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
		best = &OrderedIndexScan{Composite: c, Fixed: values[:fixed], Reverse: reverse,
			Spans: []KeySpan{{Lo: lo, Hi: hi}}}
		best.Narrow(values[:fixed], keys, constraints)
	}
	return best
}

// pathWalk returns a walk over the range index of a path, narrowed by the conditions on the same path.
func (p *Planner) pathWalk(key *bind.OrderKey, constraints []*Constraint) *OrderedIndexScan {
	if !p.Info.Index.RangeIndexed(key.Route) {
		return nil
	}
	w := &OrderedIndexScan{Path: key.Route, Reverse: key.Desc}
	if i := slices.IndexFunc(constraints, func(l *Constraint) bool {
		return slices.Equal(l.path,
			key.Route)
	}); i >= 0 {
		w.Spans, w.Undefined = constraints[i].Spans, constraints[i].undefined
		return w
	}
	lo, hi := p.Info.Index.PathRange(key.Route)
	w.Spans, w.Undefined = []KeySpan{{Lo: lo, Hi: hi}}, true
	return w
}

// Narrow restricts a walk over a composite index to the entries that satisfy the conditions on the first
// ORDER BY key. fixed are the values of the index's paths before that key.
func (w *OrderedIndexScan) Narrow(fixed []jsondoc.Value, keys []*bind.OrderKey, constraints []*Constraint) {
	l := boundedConstraint(constraints, keys[0].Route.String())
	if l == nil {
		return
	}
	w.Spans = compositeSpans(w.Composite, fixed, l.bounds)
}

// Beside returns a function that reports whether it can be faster to use an access path instead of the
// walk w, because it may read fewer index entries. It cannot if the access reads the same key ranges as w,
// or all entries of a path. w may be nil: then only an access that reads all entries of a path is
// excluded.
func Beside(w *OrderedIndexScan) func(IndexAccess) bool {
	return func(a IndexAccess) bool {
		s, ok := a.(*SpansAccess)
		return !ok || !s.Whole && (w == nil || !slices.EqualFunc(s.Spans, w.Spans, sameSpan))
	}
}

// pathsBeside returns the access paths that a run tries before it uses the ordered index scan w. It reads the
// first entries of each. If one of them finds few documents, the run reads and sorts these instead.
func (p *Plan) pathsBeside(w *OrderedIndexScan) (ways []IndexAccess) {
	for _, a := range p.AccessPaths {
		if len(w.Fixed) == 0 && Beside(w)(a) {
			ways = append(ways, a)
		}
	}
	return ways
}

func sameSpan(a, b KeySpan) bool { return string(a.Lo) == string(b.Lo) && string(a.Hi) == string(b.Hi) }
