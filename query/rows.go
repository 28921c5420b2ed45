package query

import (
	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query/syntax"
)

// rowset is a compiled block: what makes rows of an item, and what makes values of rows. It holds no state;
// that is in the frame and in a collector.
type rowset struct {
	first   []decider // conditions that need none of the sources
	clauses []clause
	project writer
	value   valuer // the same as a value
	// a row whose value is undefined does not exist with SELECT VALUE and SELECT *; the others are objects
	keepsAll bool
	groupBy  []valuer
	firstKey int    // number of the first of them
	carried  valuer // of a group's first row, behind the keys; may be nil
	order    []valuer
	orderBy  []*orderKey // of groups
	aggs     []aggregator
	grouped  bool
	distinct bool
}

// clause is a compiled step.
type clause struct {
	kind   stepKind
	slot   int
	x      valuer
	sub    *rowset
	filter []decider
}

// aggregator is a compiled aggregate call.
type aggregator struct {
	id   int
	name string
	arg  valuer
}

// rowset compiles a block, once.
func (c *compiler) rowset(bl *block) *rowset {
	if rs, ok := c.blocks[bl]; ok {
		return rs
	}
	rs := &rowset{grouped: bl.grouped, firstKey: bl.firstKey, distinct: bl.distinct,
		groupBy: c.values(bl.groupBy)}
	c.blocks[bl] = rs
	for _, st := range bl.steps {
		cl := clause{kind: st.kind}
		if st.alias != nil {
			cl.slot = st.alias.slot
		}
		if st.x != nil {
			cl.x = c.value(st.x)
		}
		if st.sub != nil {
			cl.sub = c.rowset(st.sub)
		}
		for _, e := range st.filter {
			cl.filter = append(cl.filter, c.decide(e))
		}
		rs.clauses = append(rs.clauses, cl)
	}
	for _, e := range bl.first {
		rs.first = append(rs.first, c.decide(e))
	}
	for _, a := range bl.aggs {
		rs.aggs = append(rs.aggs, aggregator{a.id, a.name, c.value(a.arg)})
	}
	if bl.carried != nil {
		rs.carried = c.path(bl.carried)
	}
	for _, key := range bl.sorted {
		rs.order = append(rs.order, c.value(key.x))
	}
	rs.orderBy = bl.sorted
	c.projection(rs, bl)
	return rs
}

func (c *compiler) projection(rs *rowset, bl *block) {
	switch {
	case bl.star:
		star := c.starOf(bl)
		rs.value, rs.project = c.value(star), c.write(star)
	case bl.value != nil:
		rs.value, rs.project = c.value(bl.value), c.write(bl.value)
	default:
		rs.keepsAll = true
		w := c.writeObject(bl.items)
		rs.project = w
		rs.value = func(f *frame) doc.Value {
			text, _ := w(f, nil)
			return doc.Of(text)
		}
	}
}

// starOf is what SELECT * means: the only alias.
func (c *compiler) starOf(bl *block) syntax.Expr {
	id := &syntax.Ident{Name: "*"}
	c.idents[id] = bl.steps[len(bl.steps)-1].alias
	return id
}

// ofItem tells that the first source is the item itself.
func (rs *rowset) ofItem() bool { return len(rs.clauses) > 0 && rs.clauses[0].kind == stepItem }

// bindPaths binds the sources that are one path of the item, as FROM c.a x is, without making rows of it:
// what the rows are ordered by is asked before they are made. A path that an item lacks is undefined.
func (rs *rowset) bindPaths(f *frame) {
	for i := range rs.clauses {
		if cl := &rs.clauses[i]; cl.kind == stepBind {
			f.slots[cl.slot] = cl.x(f)
		}
	}
}

// admits tells whether the conditions hold that need no source.
func (rs *rowset) admits(f *frame) bool {
	for _, d := range rs.first {
		if d(f) != yes {
			return false
		}
	}
	return true
}

// each binds the sources from the i-th on in all ways for which the conditions hold, in nested order, and
// calls fn for each. It stops, and returns false, where fn does or an error has occurred.
func (rs *rowset) each(f *frame, i int, fn func() bool) bool {
	switch len(rs.clauses) - i {
	case 0:
		return fn()
	case 1:
		return rs.bind(f, i, fn)
	}
	return rs.bind(f, i, func() bool { return rs.each(f, i+1, fn) })
}

// bind binds the i-th source in all ways for which its conditions hold, and calls fn for each.
func (rs *rowset) bind(f *frame, i int, fn func() bool) bool {
	cl := &rs.clauses[i]
	switch cl.kind {
	case stepItem:
		return rs.admit(f, i, fn)
	case stepBind:
		v := cl.x(f)
		if v.Kind() == doc.Undefined {
			return true
		}
		f.slots[cl.slot] = v
		return rs.admit(f, i, fn)
	case stepElements:
		return rs.elements(f, i, cl.x(f), fn)
	}
	return cl.sub.values(f, func(v doc.Value) bool { return rs.bindTo(f, i, v, fn) })
}

// bindTo is bind of a subquery with one of its values.
func (rs *rowset) bindTo(f *frame, i int, v doc.Value, fn func() bool) bool {
	cl := &rs.clauses[i]
	if cl.kind == stepFlatten {
		return rs.elements(f, i, v, fn)
	}
	f.slots[cl.slot] = v
	return rs.admit(f, i, fn)
}

// admit checks the conditions of a step that is bound.
func (rs *rowset) admit(f *frame, i int, fn func() bool) bool {
	if !f.run.row() {
		return false
	}
	for _, d := range rs.clauses[i].filter {
		if d(f) != yes {
			return true
		}
	}
	return fn()
}

func (rs *rowset) elements(f *frame, i int, array doc.Value, fn func() bool) bool {
	if array.Kind() != doc.Array {
		return true
	}
	more := true
	array.Each(func(_ string, elem doc.Value) bool {
		f.slots[rs.clauses[i].slot] = elem
		more = f.run.Spend(elem.TextLen()/4) && rs.admit(f, i, fn)
		return more
	})
	return more
}

// emitDefined calls fn for a row's value, unless that is undefined: then there is no row.
func emitDefined(v doc.Value, fn func(doc.Value) bool) bool {
	return v.Kind() == doc.Undefined || fn(v)
}

// setEntry is about how many bytes a member of a set takes besides its text.
const setEntry = 64

// values calls fn for the value of each row of a subquery, until fn returns false.
func (rs *rowset) values(f *frame, fn func(doc.Value) bool) bool {
	held := 0
	more := rs.collect(f, &held, func(row func() bool) bool { return !rs.admits(f) || rs.each(f, 0, row) }, fn)
	f.run.Used -= held // it was for this row of the outer query
	return more
}

// collect makes values of the rows that feed calls its argument for: groups them, drops duplicates, projects.
// It adds the bytes that it needed for that to held.
func (rs *rowset) collect(f *frame, held *int, feed func(row func() bool) bool,
	fn func(doc.Value) bool) bool {
	emit := func() bool { return emitDefined(rs.value(f), fn) }
	if rs.distinct {
		seen := distinctRows{run: f.run, held: held}
		defer seen.close()
		out := fn
		fn = func(v doc.Value) bool {
			if !seen.add(v) {
				return f.run.Err == nil
			}
			return out(v)
		}
	}
	if !rs.grouped {
		return feed(emit)
	}
	g := newGrouper(rs, f, held)
	defer g.close()
	return feed(g.add) && g.each(emit)
}
