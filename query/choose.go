package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query/syntax"
)

// access proposes the documents that may fulfil a query's conditions, as rids from an index. It is part of a
// plan and holds no state: a reader walks it.
type access interface {
	fmt.Stringer
	// sorted tells that the rids come in order straight from posting lists. Else they are gathered from a
	// range of keys first, as long as they are not too many.
	sorted() bool
}

// keysAccess are the documents below one of some index keys.
type keysAccess struct {
	keys [][]byte
	text string
}

// spansAccess are the documents in one of some ranges of index keys.
type spansAccess struct {
	spans []span
	text  string
}

// allOfAccess are the documents that all of a list propose, allSorted ones.
type allOfAccess struct{ list []access }

// anyOfAccess are the documents that one of a list proposes.
type anyOfAccess struct{ list []access }

func (a *keysAccess) sorted() bool  { return true }
func (a *spansAccess) sorted() bool { return false }
func (a *allOfAccess) sorted() bool { return true }
func (a *anyOfAccess) sorted() bool {
	return !slices.ContainsFunc(a.list, func(b access) bool { return !b.sorted() })
}

func (a *keysAccess) String() string  { return a.text }
func (a *spansAccess) String() string { return "range " + a.text }
func (a *allOfAccess) String() string { return "intersect (" + joined(a.list) + ")" }
func (a *anyOfAccess) String() string { return "union (" + joined(a.list) + ")" }

func joined(list []access) string {
	texts := make([]string, len(list))
	for i, a := range list {
		texts[i] = a.String()
	}
	return strings.Join(texts, "; ")
}

// required returns conditions that must hold for an item to have a row: those of WHERE, and those of
// subqueries that must have a row themselves.
func (p *planner) required(dst []syntax.Expr, bl *block) []syntax.Expr {
	for _, e := range bl.where {
		if sub, ok := e.(*syntax.Subquery); ok && sub.Kind == syntax.Exists {
			dst = p.requiredRow(dst, p.subs[sub.Query])
		} else {
			dst = append(dst, e)
		}
	}
	for _, st := range bl.steps {
		if st.sub != nil {
			dst = p.requiredRow(dst, st.sub)
		}
	}
	return dst
}

// requiredRow returns the conditions for a subquery to have a row: none where it has one in any case, as
// COUNT has.
func (p *planner) requiredRow(dst []syntax.Expr, bl *block) []syntax.Expr {
	if bl.grouped && len(bl.groupBy) == 0 {
		return dst
	}
	return p.required(dst, bl)
}

// chooseIndex is the rule "index-choice": it decides how the documents are found and, for ORDER BY, whether
// an index has them in order, and refuses an ORDER BY as Cosmos DB does.
func chooseIndex(p *planner) {
	t := p.plan.top
	if !t.container {
		return
	}
	single := map[string]*leaf{} // conditions on paths that have one value, by path
	var order []string
	var found []access
	feeding := t
	for feeding.derived() != nil {
		feeding = feeding.derived()
	}
	for _, e := range p.required(nil, feeding) {
		l := p.leafOf(e)
		switch {
		case l == nil:
			if a := p.accessOf(e); a != nil {
				found = append(found, a)
			}
		case l.entered:
			found = append(found, l.access())
			if spec := l.name + "/?"; !slices.Contains(p.plan.use.Single, spec) {
				p.plan.use.Single = append(p.plan.use.Single, spec)
			}
		default:
			at := l.name
			if before := single[at]; before != nil {
				l = intersect(before, l)
			} else {
				order = append(order, at)
			}
			single[at] = l
		}
	}
	var leaves []*leaf
	for _, at := range order {
		leaves = append(leaves, single[at])
	}
	p.plan.access = p.chooseAccess(leaves, found)
	if p.plan.form == sorting || p.plan.form == blocking && len(t.order) > 0 {
		p.chooseOrder(leaves)
	}
	p.noteUse(leaves)
}

// access returns what a leaf proposes; nil where documents without an entry fulfil it, too.
func (l *leaf) access() access {
	if l.undefined {
		return nil
	}
	if l.width != points || len(l.spans) > maxPoints {
		return &spansAccess{l.spans, l.text}
	}
	a := &keysAccess{text: l.text}
	for _, s := range l.spans {
		a.keys = append(a.keys, s.lo)
	}
	return a
}

// accessOf returns what a condition proposes that is not about one path alone: AND and OR of such, and
// functions with an index of their own kind. It is nil where it proposes nothing.
func (p *planner) accessOf(e syntax.Expr) access {
	if l := p.leafOf(e); l != nil {
		return l.access()
	}
	switch e := e.(type) {
	case *syntax.Logical:
		if e.Op == syntax.Or {
			return p.accessOfAny(e)
		}
		var best access
		for _, term := range e.Terms {
			if a := p.accessOf(term); a != nil && (best == nil || a.sorted() && !best.sorted()) {
				best = a
			}
		}
		return best
	case *syntax.Subquery:
		if e.Kind == syntax.Exists {
			list := p.requiredRow(nil, p.subs[e.Query])
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

func (p *planner) accessOfAny(e *syntax.Logical) access {
	any := &anyOfAccess{}
	for _, term := range e.Terms {
		a := p.accessOf(term)
		if a == nil || len(any.list) == maxPoints {
			return nil
		}
		any.list = append(any.list, a)
	}
	return any
}

// chooseAccess combines what the conditions propose. All posting lists are intersected; a range is asked only
// where there is none, and then the narrowest by its look.
func (p *planner) chooseAccess(leaves []*leaf, found []access) access {
	var lists []access
	var narrowest *leaf
	composite, covered := p.equalComposite(leaves)
	if composite != nil {
		lists = append(lists, composite)
	}
	for _, l := range leaves {
		a := l.access()
		switch {
		case a == nil, l.isEqual && slices.Contains(covered, l.name):
		case a.sorted():
			lists = append(lists, a)
		case narrowest == nil || l.width < narrowest.width:
			narrowest = l
		}
	}
	var loose access
	for _, a := range found {
		if a == nil {
			continue
		}
		if a.sorted() {
			lists = append(lists, a)
		} else if loose == nil {
			loose = a
		}
	}
	switch {
	case len(lists) > 1:
		return &allOfAccess{lists[:min(len(lists), maxOpen)]}
	case len(lists) == 1:
		return lists[0]
	case narrowest != nil:
		return narrowest.access()
	}
	return loose
}

// equalComposite returns the posting list of a composite index all of whose paths are compared with =, and
// those paths.
func (p *planner) equalComposite(leaves []*leaf) (a access, covered []string) {
	for _, c := range p.info.Index.Composites() {
		values, n := equalPrefix(c, leaves)
		if !c.Ready || n < len(c.Keys) {
			continue
		}
		for _, k := range c.Keys {
			covered = append(covered, k.Path.String())
		}
		key, _ := c.Prefix(values...)
		p.plan.use.Composite = append(p.plan.use.Composite, compositeSpec(c))
		return &keysAccess{[][]byte{key}, compositeText(c) + " = " + valuesText(values)}, covered
	}
	return nil, nil
}

// equalPrefix returns the values of as many paths of a composite index, from the first, as are compared with
// =.
func equalPrefix(c *index.Composite, leaves []*leaf) (values []doc.Value, n int) {
	for _, k := range c.Keys {
		name := k.Path.String()
		i := slices.IndexFunc(leaves, func(l *leaf) bool {
			return l.isEqual && l.equal.Kind() != doc.Undefined && l.name == name
		})
		if i < 0 {
			break
		}
		values = append(values, leaves[i].equal)
	}
	return values, len(values)
}

func compositeSpec(c *index.Composite) []string {
	spec := make([]string, len(c.Keys))
	for i, k := range c.Keys {
		spec[i] = k.String()
	}
	return spec
}

func compositeText(c *index.Composite) string {
	return "(" + strings.Join(compositeSpec(c), ", ") + ")"
}

func valuesText(values []doc.Value) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = clip(v)
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

// noteUse fills in which indexes the query uses.
func (p *planner) noteUse(leaves []*leaf) {
	use := &p.plan.use
	for _, l := range leaves {
		use.Single = append(use.Single, l.name+"/?")
	}
	if o := p.plan.order; o != nil && o.walk != nil && o.walk.composite == nil {
		if spec := o.walk.path.String() + "/?"; !slices.Contains(use.Single, spec) {
			use.Single = append(use.Single, spec)
		}
	}
	var equals, ranges []string
	for _, l := range leaves {
		if l.isEqual {
			equals = append(equals, l.name+" ASC")
		} else {
			ranges = append(ranges, l.name+" ASC")
		}
	}
	// posting lists of equal values are intersected as they are
	if len(equals) > 0 && len(ranges) > 0 && len(use.Composite) == 0 {
		use.PotentialComposite = append(use.PotentialComposite, append(equals, ranges[0]))
	}
	p.noteShown()
}

// noteShown adds the indexed paths that the select list computes with, by functions and by aggregates.
func (p *planner) noteShown() {
	t := p.plan.top
	shown := []syntax.Expr{t.value}
	for _, item := range t.items {
		shown = append(shown, item.x)
	}
	for _, a := range t.aggs {
		p.noteArgument(a.arg)
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

// noteArgument adds the path that an expression is, if it is one and indexed.
func (p *planner) noteArgument(e syntax.Expr) {
	route, entered, ok := p.itemRoute(e)
	if !ok || entered || !p.info.Index.RangeIndexed(route) {
		return
	}
	if spec := route.String() + "/?"; !slices.Contains(p.plan.use.Single, spec) {
		p.plan.use.Single = append(p.plan.use.Single, spec)
	}
}
