package query

import (
	"slices"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// ordering is how a query with ORDER BY gets its rows in order.
type ordering struct {
	keys     []valuer // compiled
	distinct int      // how many of the first keys DISTINCT is about; 0: no DISTINCT
	covered  bool     // nothing is wanted of the documents but what the walk's path has
	loose    bool     // rows differ by what the path has alone, and equal ones are one
	skips    bool     // a row that OFFSET skips need not be looked at
	implied  bool     // the query has no ORDER BY: see orderDistinct
	walk     *walk    // nil: no range or composite index has the order
	vectors  *vectors // nil: no vector index has it
	// nil: no index of words has it. With none of the three, the documents are sorted
	texts *textOrder
}

// walk is a way through an index whose order is that of the query.
type walk struct {
	path      index.Path       // of a range index
	composite *index.Composite // or a composite one
	fixed     []doc.Value      // of its first paths, those before the keys of the order
	spans     []span           // rising, whatever the direction
	reverse   bool
	undefined bool // documents without the path belong to the rows: a range index does not have them
}

func (w *walk) String() string {
	text := w.path.String()
	if w.composite != nil {
		text = compositeText(w.composite)
	}
	if w.reverse {
		text += " backwards"
	}
	if w.undefined {
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
func (p *planner) chooseOrder(leaves []*leaf) {
	keys := p.plan.top.order
	o := p.plan.order
	if o == nil { // DISTINCT that remembers all rows: they are made in order all the same
		o = &ordering{}
		p.plan.order = o
	}
	routed := !slices.ContainsFunc(keys, func(k *orderKey) bool { return k.route == nil })
	switch {
	case !routed:
		if len(keys) == 1 && p.nearestFirst(keys[0]) {
			o.vectors = p.chooseVectors(keys[0].x)
		} else if len(keys) == 1 {
			o.texts = p.chooseTexts(keys[0])
		}
		return
	case len(keys) == 1:
		if !p.info.Index.Included(keys[0].route) && !p.info.Lenient && !p.hasComposite(leaves) {
			p.failPlain(keys[0].x, refusedExcluded)
			return
		}
	case !p.servedBy(keys) && !p.info.Lenient:
		p.plan.use.PotentialComposite = append(p.plan.use.PotentialComposite, orderSpec(keys))
		p.failPlain(keys[0].x, refusedComposite)
		return
	}
	if o.walk = p.compositeWalk(keys, leaves); o.walk == nil && len(keys) == 1 {
		o.walk = p.pathWalk(keys[0], leaves)
	}
	if o.walk != nil && o.walk.composite != nil {
		p.plan.use.Composite = append(p.plan.use.Composite, compositeSpec(o.walk.composite))
	} else if o.walk == nil && len(keys) > 1 {
		p.plan.use.PotentialComposite = append(p.plan.use.PotentialComposite, orderSpec(keys))
	}
}

// nearestFirst tells of a key that it is the distance of vectors in the direction in which an index finds
// them.
func (p *planner) nearestFirst(key *orderKey) bool {
	c, ok := key.x.(*syntax.Call)
	if !ok || !key.distance {
		return false // a constant by now
	}
	f, _ := lang.LookupBuiltin(c.Name)
	return f.Name == lang.VectorDistance && key.desc == !p.euclidean(c)
}

func orderSpec(keys []*orderKey) []string {
	spec := make([]string, len(keys))
	for i, k := range keys {
		if spec[i] = k.route.String() + " ASC"; k.desc {
			spec[i] = k.route.String() + " DESC"
		}
	}
	return spec
}

// servedBy tells whether the policy has a composite index of exactly these keys, all directions the same or
// all opposite.
func (p *planner) servedBy(keys []*orderKey) bool {
	return slices.ContainsFunc(p.info.Index.Composites(), func(c *index.Composite) bool {
		_, ok := matchKeys(c.Keys, keys)
		return ok
	})
}

// hasComposite tells whether a composite index serves a single key behind paths that are compared with =.
func (p *planner) hasComposite(leaves []*leaf) bool {
	return p.compositeWalk(p.plan.top.order, leaves) != nil
}

// matchKeys tells whether paths of an index are those of ORDER BY, and whether it must be walked backwards.
func matchKeys(have []index.CompositeKey, want []*orderKey) (reverse, ok bool) {
	if len(have) != len(want) {
		return false, false
	}
	reverse = have[0].Descending != want[0].desc
	for i, k := range have {
		if k.Path.String() != want[i].route.String() || (k.Descending != want[i].desc) != reverse {
			return false, false
		}
	}
	return reverse, true
}

// compositeWalk returns a walk through a composite index that consists of paths compared with = and, behind
// them, the keys of ORDER BY. Nothing may follow: rows with equal keys come in the order of their rids.
func (p *planner) compositeWalk(keys []*orderKey, leaves []*leaf) *walk {
	var best *walk
	for _, c := range p.info.Index.Composites() {
		fixed := len(c.Keys) - len(keys)
		if !c.Ready || fixed < 0 || len(keys) == 1 && fixed == 0 {
			continue
		}
		values, n := equalPrefix(c, leaves)
		reverse, ok := matchKeys(c.Keys[fixed:], keys)
		if !ok || n < fixed || best != nil && len(best.fixed) >= fixed {
			continue
		}
		lo, hi, _ := c.Interval(values[:fixed]...)
		best = &walk{composite: c, fixed: values[:fixed], reverse: reverse, spans: []span{{lo: lo, hi: hi}}}
		best.narrow(values[:fixed], keys, leaves)
	}
	return best
}

// pathWalk returns a walk through the range index of a path. What the conditions say of the same path narrows
// it.
func (p *planner) pathWalk(key *orderKey, leaves []*leaf) *walk {
	if !p.info.Index.RangeIndexed(key.route) {
		return nil
	}
	w := &walk{path: key.route, reverse: key.desc}
	if i := slices.IndexFunc(leaves, func(l *leaf) bool { return slices.Equal(l.path, key.route) }); i >= 0 {
		w.spans, w.undefined = leaves[i].spans, leaves[i].undefined
		return w
	}
	lo, hi := p.info.Index.PathRange(key.route)
	w.spans, w.undefined = []span{{lo: lo, hi: hi}}, true
	return w
}

// narrow cuts a walk to the comparisons that the conditions make with the first key of the order.
func (w *walk) narrow(fixed []doc.Value, keys []*orderKey, leaves []*leaf) {
	l := boundedLeaf(leaves, keys[0].route.String())
	if l == nil {
		return
	}
	w.spans = compositeSpans(w.composite, fixed, l.bounds)
}

// beside tells which of the ways say more than a walk itself does, and are short to read.
func beside(w *walk) func(access) bool {
	return func(a access) bool {
		s, ok := a.(*spansAccess)
		return !ok || !s.whole && (w == nil || !slices.EqualFunc(s.spans, w.spans, sameSpan))
	}
}

// waysBeside are the ways that may be taken in place of a walk, before it has begun.
func (p *planned) waysBeside(w *walk) (ways []access) {
	for _, a := range p.ways {
		if len(w.fixed) == 0 && beside(w)(a) {
			ways = append(ways, a)
		}
	}
	return ways
}

func sameSpan(a, b span) bool { return string(a.lo) == string(b.lo) && string(a.hi) == string(b.hi) }
