package query

import (
	"fmt"
	"slices"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query/internal/fault"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// The limits of Cosmos DB.
const (
	maxJoins = 10
	maxUDFs  = 10
	maxCount = 1<<32 - 1 // of TOP, OFFSET and LIMIT
)

// alias is a name that a FROM clause binds, or a source without a name.
type alias struct {
	name  string
	block *block
	level int // which step of the block binds it
	slot  int // of the frame, where item is not set
	item  bool
	// route leads from the item to the value, where known is set: where the value is a part of the item and
	// no step picks one element of an array. entered tells that it goes through all elements of an array.
	known   bool
	route   index.Path
	entered bool
	single  bool // an item has one such value
}

// block is a SELECT with its clauses: the query itself or a subquery. The nodes of the syntax tree stay in
// place; what their names mean is in the binder's tables.
type block struct {
	outer     *block
	steps     []*step       // FROM and JOIN; the item is the first one where the query reads the container
	container bool          // the first step is the item, or a subquery that reads the container
	where     []syntax.Expr // joined by AND
	// those of them that need none of the sources: what the rule push-filter moves here
	first    []syntax.Expr
	groupBy  []syntax.Expr
	firstKey int // the number of its first key of GROUP BY among those of the whole query
	grouped  bool
	aggs     []aggCall
	// a select list may name the _rid of each group's first item: GROUP BY with ORDER BY
	carries  bool
	carried  syntax.Expr // that name, where it is in the list
	star     bool
	value    syntax.Expr // SELECT VALUE
	items    []outItem
	distinct bool
	top      int64 // -1: none
	offset   int64
	limit    int64 // -1: none
	order    []*orderKey
	sorted   []*orderKey // ORDER BY of groups, once the form is chosen
	rank     []*rankPart // ORDER BY RANK
	ranked   bool        // there is ORDER BY RANK, be it right or wrong
}

// outItem is one property that a select list puts out.
type outItem struct {
	name string
	x    syntax.Expr
}

// aggCall is an aggregate function of a block; id numbers those of the whole query.
type aggCall struct {
	id   int
	name string // registered
	arg  syntax.Expr
}

// aggRef is what an aggregate call is bound to.
type aggRef struct {
	id    int
	block *block
}

// stepKind tells how a step makes rows.
type stepKind uint8

const (
	stepItem     stepKind = iota // one row: the item
	stepBind                     // one row: the value of x, none where that is undefined
	stepElements                 // a row for each element of x
	stepRows                     // a row for each row of sub
	stepFlatten                  // a row for each element of each row of sub
)

// step is one source of a FROM clause, and the conditions that can be decided once it is bound.
type step struct {
	kind   stepKind
	x      syntax.Expr
	sub    *block
	alias  *alias
	filter []syntax.Expr // what the rule push-filter moves here
}

// orderKey is one key of ORDER BY.
type orderKey struct {
	x        syntax.Expr
	desc     bool
	route    index.Path // where x is a property path of the item; nil else
	distance bool       // VectorDistance or a score: what is undefined comes last, whatever the direction
	// what the query is refused with, though not its plan for a client that merges; nil: nothing
	refused *fault.Error
}

// scope is what names mean at a place of the query.
type scope struct {
	outer   *scope
	aliases []*alias
	inner   bool // of an expression: a subquery in it has sources out of what is bound outside alone
}

func (s *scope) find(name string) *alias {
	for ; s != nil; s = s.outer {
		for _, a := range slices.Backward(s.aliases) {
			if a.name == name {
				return a
			}
		}
	}
	return nil
}

// empty tells that nothing has been bound yet, here or outside, and nothing need be: that a name in FROM must
// be the container's.
func (s *scope) empty() bool {
	for ; s != nil; s = s.outer {
		if len(s.aliases) > 0 || s.inner {
			return false
		}
	}
	return true
}

// binder resolves the names of one query and checks it.
type binder struct {
	text   string
	info   *Info
	params map[string]int // where the value of a parameter lies
	values []doc.Value
	fixed  bool // a decision was made by the value of a parameter: see shape
	errs   []*fault.Error

	idents map[*syntax.Ident]*alias
	subs   map[*syntax.Query]*block
	aggs   map[*syntax.Call]aggRef
	keys   map[syntax.Expr]int // parts of a select list that are a key of GROUP BY: which
	calls  []*syntax.Call      // of UDFs
	slots  int
	groups int // keys of GROUP BY
	joins  int
	fold   folder
}

// folder returns an expression of a bound query with its constant parts replaced by their values.
type folder func(*binder, syntax.Expr) syntax.Expr

func newBinder(text string, params []Parameter, info *Info, fold folder) (*binder, error) {
	b := &binder{
		text: text, info: info, params: make(map[string]int, len(params)), values: valuesOf(params),
		idents: map[*syntax.Ident]*alias{}, subs: map[*syntax.Query]*block{}, aggs: map[*syntax.Call]aggRef{},
		keys: map[syntax.Expr]int{}, fold: fold,
	}
	for i, p := range params {
		if _, twice := b.params[p.Name]; twice {
			return nil, fault.Plain("Invalid query. Specified duplicate parameter name '" + p.Name + "'.")
		}
		b.params[p.Name] = i
	}
	return b, nil
}

// asKept returns a value in the form in which a document would have it: the numbers in it in their shortest
// spelling. It shares no memory with v.
func asKept(v doc.Value) doc.Value {
	switch v.Kind() {
	case doc.Number, doc.Array, doc.Object:
		text, err := doc.Compact(v.AppendJSON(nil), doc.Limits{})
		// what is not finite is a string in JSON
		if kept := doc.Of(text); err == nil && kept.Kind() == v.Kind() {
			return kept
		}
	}
	return v.Clone()
}

func valuesOf(params []Parameter) []doc.Value {
	if len(params) == 0 {
		return nil
	}
	values := make([]doc.Value, len(params))
	for i, p := range params {
		values[i] = asKept(p.Value)
	}
	return values
}

// given is the value of a parameter, by which something is decided that holds for this value alone; undefined
// where there is none of that name.
func (b *binder) given(name string) doc.Value {
	i, ok := b.params[name]
	if !ok {
		return lang.Undefined
	}
	b.fixed = true
	return b.values[i]
}

// constOf is the value of an expression that is a constant, or a parameter that stands for one.
func (b *binder) constOf(e syntax.Expr) (v doc.Value, ok bool) {
	switch e := e.(type) {
	case *syntax.Literal:
		return e.Value, true
	case *syntax.Parameter:
		return b.values[b.params[e.Name]], true
	}
	return lang.Undefined, false
}

// constants are the values of a list of constants.
func (b *binder) constants(list []syntax.Expr) (values []doc.Value, ok bool) {
	values = make([]doc.Value, len(list))
	for i, e := range list {
		if values[i], ok = b.constOf(e); !ok {
			return nil, false
		}
	}
	return values, true
}

// maxErrors is how many errors of a query are reported.
const maxErrors = 100

// Fail notes an error at a node.
func (b *binder) fail(at syntax.Span, e *fault.Error) {
	if len(b.errs) == maxErrors {
		return
	}
	e.Start, e.End = at.Start, at.End
	e.Place(b.text)
	b.errs = append(b.errs, e)
}

func (b *binder) failCode(at syntax.Node, code, format string, args ...any) {
	b.fail(at.Extent(), &fault.Error{Code: code, Message: fmt.Sprintf(format, args...)})
}

func (b *binder) failPlain(at syntax.Node, message string) { b.fail(at.Extent(), fault.Plain(message)) }

// Err returns what was found wrong. Errors of the other style than the first one's are left out.
func (b *binder) err() error {
	if len(b.errs) == 0 {
		return nil
	}
	slices.SortStableFunc(b.errs, func(x, y *fault.Error) int { return x.Start - y.Start })
	first := b.errs[0]
	for _, e := range b.errs[1:] {
		if e.Style == first.Style {
			first.More = append(first.More, e)
		}
	}
	return first
}

// block binds a query or a subquery.
func (b *binder) block(q *syntax.Query, outer *block, outside *scope, sub bool) *block {
	bl := &block{outer: outer, top: -1, limit: -1, distinct: q.Select != nil && q.Select.Distinct}
	bl.ranked = q.OrderBy != nil && q.OrderBy.Rank != nil
	b.subs[q] = bl
	s := &scope{outer: outside}
	for i, src := range q.From {
		b.source(bl, s, src, i)
	}
	if b.joins += max(0, len(q.From)-1); len(q.From) > 1 && b.joins > maxJoins {
		b.failPlain(q.From[len(q.From)-1], fmt.Sprintf("The query exceeds the maximum number of %d JOINs.",
			maxJoins))
	}
	if q.Where != nil {
		b.expr(q.Where, &place{block: bl, scope: s, clause: "WHERE"})
		bl.where = conjuncts(nil, q.Where)
	}
	for _, key := range q.GroupBy {
		b.expr(key, &place{block: bl, scope: s, clause: "GROUP BY"})
		b.groupKey(key)
	}
	bl.groupBy, bl.grouped, bl.firstKey = q.GroupBy, len(q.GroupBy) > 0, b.groups
	b.groups += len(q.GroupBy)
	if bl.carries = bl.grouped && q.OrderBy != nil; bl.carries {
		b.groups++
	}
	b.selection(bl, s, q)
	if q.Select.Top != nil && q.Offset != nil {
		b.failCode(q, fault.CodeTopWithOffset, "A TOP cannot be used in the same query or subquery as an OFFSET.")
	}
	if sub {
		b.refuseInSubquery(q)
	} else {
		b.counts(bl, q)
		b.orderBy(bl, s, q)
	}
	return bl
}

func (b *binder) refuseInSubquery(q *syntax.Query) {
	if q.OrderBy != nil && q.OrderBy.Rank != nil {
		b.failCode(q.OrderBy, fault.CodeRankInSubquery, "The ORDER BY RANK clause is not supported in subqueries.")
	} else if q.OrderBy != nil {
		b.failCode(q.OrderBy, fault.CodeSubqueryOrderBy, "'ORDER BY' is not supported in subqueries.")
	}
	if q.Select.Top != nil {
		b.failCode(q.Select.Top, fault.CodeSubqueryTop, "'TOP' is not supported in subqueries.")
	}
	if q.Offset != nil {
		b.failCode(q.Offset, fault.CodeSubqueryLimit, "'OFFSET LIMIT' clause is not supported in subqueries.")
	}
}

// conjuncts appends the operands of a condition that are joined by AND.
func conjuncts(dst []syntax.Expr, e syntax.Expr) []syntax.Expr {
	if l, ok := e.(*syntax.Logical); ok && l.Op == syntax.And {
		for _, term := range l.Terms {
			dst = conjuncts(dst, term)
		}
		return dst
	}
	return append(dst, e)
}

// counts evaluates TOP, OFFSET and LIMIT.
func (b *binder) counts(bl *block, q *syntax.Query) {
	if q.Select.Top != nil {
		bl.top = b.count(q.Select.Top, fault.CodeTop,
			"The count value provided for a TOP clause must be an integer.")
	}
	if q.Offset != nil {
		bl.offset = b.count(q.Offset, fault.CodeOffset, "The OFFSET count value exceeds the maximum allowed value.")
		bl.limit = b.count(q.Limit, fault.CodeLimit, "The LIMIT count value exceeds the maximum allowed value.")
	}
}

func (b *binder) count(c *syntax.Count, code, message string) int64 {
	v := c.Value
	if c.Param != "" {
		v = b.given(c.Param)
	}
	f := v.Num()
	if v.Kind() != doc.Number || f < 0 || f > maxCount || f != float64(int64(f)) {
		b.failCode(c, code, "%s", message)
		return 0
	}
	return int64(f)
}

// documentPath takes apart an expression that is a path of property names from an alias, c.a["b"], or the
// alias itself.
func (b *binder) documentPath(e syntax.Expr) (*alias, []string, bool) {
	root, steps, ok := syntax.PathOf(e)
	if !ok {
		return nil, nil, false
	}
	a := b.idents[root]
	if a == nil {
		return nil, nil, false
	}
	names := make([]string, len(steps))
	for i, st := range steps {
		if st.IsIndex {
			return nil, nil, false
		}
		names[i] = st.Name
	}
	return a, names, true
}

// itemRoute returns the way from the item to the value of an expression that is a path, as an indexing policy
// has it. It is false where the value is not a part of the item or where a step names one element of an
// array.
func (b *binder) itemRoute(e syntax.Expr) (route index.Path, entered, ok bool) {
	a, names, ok := b.documentPath(e)
	if !ok || !a.known || a.item && len(names) == 0 {
		return nil, false, false
	}
	route = slices.Clone(a.route)
	for _, name := range names {
		route = append(route, index.Segment{Name: name})
	}
	return route, a.entered, true
}
