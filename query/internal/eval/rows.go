package eval

import (
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/syntax"
)

// CompiledSelect is the compiled form of a bind.QueryBlock, a SELECT with its clauses. It makes rows from an
// item, and values from rows. It has no state of its own: the state is in the frame and in a collector.
type CompiledSelect struct {
	First   []TruthFunc // conditions that need no source
	Clauses []compiledFromClauseSource
	Project jsonWriteFunc
	Value   ValueFunc // Write as a ValueFunc
	// keepsAll is set for a select list, whose rows are objects: no row is dropped. If it is not set (SELECT
	// VALUE and SELECT *), a row whose value is undefined is dropped.
	keepsAll bool
	GroupBy  []ValueFunc
	firstKey int       // number of the first key of GROUP BY
	carried  ValueFunc // value taken from a group's first row and stored after the keys; may be nil
	order    []ValueFunc
	orderBy  []*bind.OrderKey // of groups
	Aggs     []compiledAggregate
	grouped  bool
	Distinct bool
}

// compiledFromClauseSource is the compiled form of a bind.FromSource: one source of FROM or JOIN, with the
// conditions that can be tested once the source is bound.
type compiledFromClauseSource struct {
	kind   bind.FromSourceKind
	slot   int
	x      ValueFunc
	Sub    *CompiledSelect
	Filter []TruthFunc
}

// compiledAggregate is the compiled form of a call of an aggregate function.
type compiledAggregate struct {
	id   int
	Name string
	arg  ValueFunc
}

// Rowset returns the compiled form of a SELECT (the query or a subquery). Each SELECT is compiled once.
func (c *Compiler) Rowset(bl *bind.QueryBlock) *CompiledSelect {
	if rs, ok := c.Blocks[bl]; ok {
		return rs
	}
	rs := &CompiledSelect{grouped: bl.Grouped, firstKey: bl.FirstKey, Distinct: bl.Distinct,
		GroupBy: c.values(bl.GroupBy)}
	c.Blocks[bl] = rs
	for _, st := range bl.Steps {
		cl := compiledFromClauseSource{kind: st.Kind}
		if st.Alias != nil {
			cl.slot = st.Alias.Slot
		}
		if st.X != nil {
			cl.x = c.Value(st.X)
		}
		if st.Sub != nil {
			cl.Sub = c.Rowset(st.Sub)
		}
		for _, e := range st.Filter {
			cl.Filter = append(cl.Filter, c.Decide(e))
		}
		rs.Clauses = append(rs.Clauses, cl)
	}
	for _, e := range bl.First {
		rs.First = append(rs.First, c.Decide(e))
	}
	for _, a := range bl.Aggs {
		rs.Aggs = append(rs.Aggs, compiledAggregate{a.Id, a.Name, c.Value(a.Arg)})
	}
	if bl.FirstRID != nil {
		rs.carried = c.path(bl.FirstRID)
	}
	for _, key := range bl.Sorted {
		rs.order = append(rs.order, c.Value(key.X))
	}
	rs.orderBy = bl.Sorted
	c.projection(rs, bl)
	return rs
}

func (c *Compiler) projection(rs *CompiledSelect, bl *bind.QueryBlock) {
	switch {
	case bl.Star:
		star := c.starOf(bl)
		rs.Value, rs.Project = c.Value(star), c.write(star)
	case bl.Value != nil:
		rs.Value, rs.Project = c.Value(bl.Value), c.write(bl.Value)
	default:
		rs.keepsAll = true
		w := c.writeObject(bl.Items)
		rs.Project = w
		rs.Value = func(f *Frame) jsondoc.Value {
			text, _ := w(f, nil)
			return jsondoc.Of(text)
		}
	}
}

// starOf returns the expression that SELECT * stands for: the alias, which is the only one.
func (c *Compiler) starOf(bl *bind.QueryBlock) syntax.Expr {
	id := &syntax.Ident{Name: "*"}
	c.Idents[id] = bl.Steps[len(bl.Steps)-1].Alias
	return id
}

// OfItem reports whether the first source of FROM is the item itself, as in FROM c, and not a part of it, as
// in FROM c.tags.
func (rs *CompiledSelect) OfItem() bool {
	return len(rs.Clauses) > 0 && rs.Clauses[0].kind == bind.StepItem
}

// BindPaths binds only the sources that are one path of the item, as in FROM c.a x, so that ORDER BY keys can
// be computed before any rows are made. A path that the item does not have is undefined.
func (rs *CompiledSelect) BindPaths(f *Frame) {
	for i := range rs.Clauses {
		if cl := &rs.Clauses[i]; cl.kind == bind.StepBind {
			f.slots[cl.slot] = cl.x(f)
		}
	}
}

// Admits reports whether the WHERE conditions hold that use no name of this SELECT's FROM clause. They can
// be tested before any row is made.
func (rs *CompiledSelect) Admits(f *Frame) bool {
	for _, d := range rs.First {
		if d(f) != Yes {
			return false
		}
	}
	return true
}

// Each binds the i-th and all later sources to each combination of values for which the conditions hold, in
// nested order, and calls fn for each combination. It stops and returns false if fn returns false or an
// error has occurred.
func (rs *CompiledSelect) Each(f *Frame, i int, fn func() bool) bool {
	switch len(rs.Clauses) - i {
	case 0:
		return fn()
	case 1:
		return rs.Bind(f, i, fn)
	}
	return rs.Bind(f, i, func() bool { return rs.Each(f, i+1, fn) })
}

// Bind binds the i-th source to each value for which its conditions hold, and calls fn for each. It stops and
// returns false if fn returns false or the run has ended.
func (rs *CompiledSelect) Bind(f *Frame, i int, fn func() bool) bool {
	cl := &rs.Clauses[i]
	switch cl.kind {
	case bind.StepItem:
		return rs.admit(f, i, fn)
	case bind.StepBind:
		v := cl.x(f)
		if v.Kind() == jsondoc.Undefined {
			return true
		}
		f.slots[cl.slot] = v
		return rs.admit(f, i, fn)
	case bind.StepElements:
		return rs.elements(f, i, cl.x(f), fn)
	}
	return cl.Sub.values(f, func(v jsondoc.Value) bool { return rs.BindTo(f, i, v, fn) })
}

// BindTo binds the i-th source, which is a subquery, to the value v of a row of that subquery, and calls fn
// if the conditions hold. If the source takes the elements of the value, it does so for each element. It
// stops and returns false if fn returns false or the run has ended.
func (rs *CompiledSelect) BindTo(f *Frame, i int, v jsondoc.Value, fn func() bool) bool {
	cl := &rs.Clauses[i]
	if cl.kind == bind.StepFlatten {
		return rs.elements(f, i, v, fn)
	}
	f.slots[cl.slot] = v
	return rs.admit(f, i, fn)
}

// admit tests the conditions that belong to the i-th source of FROM, to which f has already bound a value. If
// all hold it calls fn and returns its result. If one does not hold it returns true, so that the caller goes
// on with the next value. It returns false if the run has ended.
func (rs *CompiledSelect) admit(f *Frame, i int, fn func() bool) bool {
	if !f.Run.row() {
		return false
	}
	for _, d := range rs.Clauses[i].Filter {
		if d(f) != Yes {
			return true
		}
	}
	return fn()
}

func (rs *CompiledSelect) elements(f *Frame, i int, array jsondoc.Value, fn func() bool) bool {
	if array.Kind() != jsondoc.Array {
		return true
	}
	more := true
	array.Each(func(_ string, elem jsondoc.Value) bool {
		f.slots[rs.Clauses[i].slot] = elem
		more = f.Run.Spend(elem.TextLen()/4) && rs.admit(f, i, fn)
		return more
	})
	return more
}

// emitDefined calls fn with the value of a row and returns the result of fn. If the value is undefined, there
// is no row: emitDefined then returns true.
func emitDefined(v jsondoc.Value, fn func(jsondoc.Value) bool) bool {
	return v.Kind() == jsondoc.Undefined || fn(v)
}

// SetEntry is the approximate memory in bytes of one entry of a map or set that a query keeps, such as a
// group or a value of DISTINCT, beside the bytes of its key.
const SetEntry = 64

// values calls fn for the value of each row of a subquery, until fn returns false.
func (rs *CompiledSelect) values(f *Frame, fn func(jsondoc.Value) bool) bool {
	held := 0
	more := rs.collect(f, &held, func(row func() bool) bool { return !rs.Admits(f) || rs.Each(f, 0, row) },
		fn)
	f.Run.Used -= held // the memory was used only for this row of the outer query
	return more
}

// collect makes values from rows: feed calls its argument once for each row, and collect groups the rows,
// drops duplicates and projects. It calls fn with each value. It returns false if fn has returned false or
// the run has ended. It adds the bytes that it needs to held.
func (rs *CompiledSelect) collect(f *Frame, held *int, feed func(row func() bool) bool,
	fn func(jsondoc.Value) bool) bool {
	emit := func() bool { return emitDefined(rs.Value(f), fn) }
	if rs.Distinct {
		seen := DistinctRows{Run: f.Run, Held: held}
		defer seen.Close()
		out := fn
		fn = func(v jsondoc.Value) bool {
			if !seen.Add(v) {
				return f.Run.Err == nil
			}
			return out(v)
		}
	}
	if !rs.grouped {
		return feed(emit)
	}
	g := NewGrouper(rs, f, held)
	defer g.Close()
	return feed(g.Add) && g.Each(emit)
}
