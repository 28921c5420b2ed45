package bind

import (
	"fmt"
	"slices"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/fault"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// The limits of Cosmos DB.
const (
	maxJoins = 10
	MaxUDFs  = 10
	MaxCount = 1<<32 - 1 // of TOP, OFFSET and LIMIT
)

// Alias is a name that a FROM clause binds, or a source without a name.
type Alias struct {
	Name  string
	Block *Block
	Level int // which step of the block binds it
	Slot  int // of the frame, where item is not set
	Item  bool
	// route leads from the item to the value, where known is set: where the value is a part of the item and
	// no step picks one element of an array. entered reports that it goes through all elements of an array.
	known   bool
	route   index.Path
	entered bool
	single  bool // an item has one such value
}

// Block is a SELECT with its clauses: the query itself or a subquery. The nodes of the syntax tree stay in
// place; what their names mean is in the binder's tables.
type Block struct {
	outer     *Block
	Steps     []*Step       // FROM and JOIN; the item is the first one where the query reads the container
	Container bool          // the first step is the item, or a subquery that reads the container
	Where     []syntax.Expr // joined by AND
	Filtered  bool          // there is a WHERE, be it one that is always true
	// those of them that need none of the sources: what the rule push-filter moves here
	First    []syntax.Expr
	GroupBy  []syntax.Expr
	FirstKey int // the number of its first key of GROUP BY among those of the whole query
	Grouped  bool
	Aggs     []AggCall
	// a select list may name the _rid of each group's first item: GROUP BY with ORDER BY
	carries  bool
	Carried  syntax.Expr // that name, where it is in the list
	Star     bool
	Value    syntax.Expr // SELECT VALUE
	Items    []OutItem
	Distinct bool
	Top      int64 // -1: none
	Offset   int64
	Limit    int64 // -1: none
	Order    []*OrderKey
	Sorted   []*OrderKey // ORDER BY of groups, once the form is chosen
	Rank     []*RankPart // ORDER BY RANK
	ranked   bool        // there is ORDER BY RANK, be it right or wrong
}

// OutItem is one property that a select list puts out.
type OutItem struct {
	Name string
	X    syntax.Expr
}

// AggCall is an aggregate function of a block; id numbers those of the whole query.
type AggCall struct {
	Id   int
	Name string // registered
	Arg  syntax.Expr
}

// aggRef is what an aggregate call is bound to.
type aggRef struct {
	Id    int
	Block *Block
}

// StepKind reports how a step makes rows.
type StepKind uint8

const (
	StepItem     StepKind = iota // one row: the item
	StepBind                     // one row: the value of x, none where that is undefined
	StepElements                 // a row for each element of x
	stepRows                     // a row for each row of sub
	StepFlatten                  // a row for each element of each row of sub
)

// Step is one source of a FROM clause, and the conditions that can be decided once it is bound.
type Step struct {
	Kind   StepKind
	X      syntax.Expr
	Sub    *Block
	Alias  *Alias
	Filter []syntax.Expr // what the rule push-filter moves here
}

// OrderKey is one key of ORDER BY.
type OrderKey struct {
	X        syntax.Expr
	Desc     bool
	Route    index.Path // where x is a property path of the item; nil else
	Distance bool       // VectorDistance or a score: what is undefined comes last, whatever the direction
	// what the query is refused with, though not its plan for a client that merges; nil: nothing
	Refused *fault.Error
}

// scope is what names mean at a place of the query.
type scope struct {
	outer   *scope
	aliases []*Alias
	inner   bool // of an expression: a subquery in it has sources out of what is bound outside alone
}

func (s *scope) find(name string) *Alias {
	for ; s != nil; s = s.outer {
		for _, a := range slices.Backward(s.aliases) {
			if a.Name == name {
				return a
			}
		}
	}
	return nil
}

// empty reports whether nothing has been bound yet, here or outside, and nothing need be: that a name in FROM
// must be the container's.
func (s *scope) empty() bool {
	for ; s != nil; s = s.outer {
		if len(s.aliases) > 0 || s.inner {
			return false
		}
	}
	return true
}

// Binder resolves the names of one query and checks it.
type Binder struct {
	Text   string
	Info   *Info
	Params map[string]int // where the value of a parameter lies
	Values []jsondoc.Value
	Fixed  bool // a decision was made by the value of a parameter: see shape
	errs   []*fault.Error

	Idents map[*syntax.Ident]*Alias
	Subs   map[*syntax.Query]*Block
	Aggs   map[*syntax.Call]aggRef
	Keys   map[syntax.Expr]int // parts of a select list that are a key of GROUP BY: which
	calls  []*syntax.Call      // of UDFs
	Slots  int
	Groups int // keys of GROUP BY
	joins  int
	fold   Folder
}

// Folder returns an expression of a bound query with its constant parts replaced by their values.
type Folder func(*Binder, syntax.Expr) syntax.Expr

// NewBinder returns a binder of one query. The error is an *Error: two parameters have the same name.
func NewBinder(text string, params []Parameter, info *Info, fold Folder) (*Binder, error) {
	b := &Binder{
		Text: text, Info: info, Params: make(map[string]int, len(params)), Values: ValuesOf(params),
		Idents: map[*syntax.Ident]*Alias{}, Subs: map[*syntax.Query]*Block{}, Aggs: map[*syntax.Call]aggRef{},
		Keys: map[syntax.Expr]int{}, fold: fold,
	}
	for i, p := range params {
		if _, twice := b.Params[p.Name]; twice {
			return nil, fault.Plain("Invalid query. Specified duplicate parameter name '" + p.Name + "'.")
		}
		b.Params[p.Name] = i
	}
	return b, nil
}

// AsKept returns a value in the form in which a document would have it: the numbers in it in their shortest
// spelling. It shares no memory with v.
func AsKept(v jsondoc.Value) jsondoc.Value {
	switch v.Kind() {
	case jsondoc.Number, jsondoc.Array, jsondoc.Object:
		text, err := jsondoc.Compact(v.AppendJSON(nil), jsondoc.Limits{})
		// what is not finite is a string in JSON
		if kept := jsondoc.Of(text); err == nil && kept.Kind() == v.Kind() {
			return kept
		}
	}
	return v.Clone()
}

// ValuesOf returns the values of parameters as documents would hold them.
func ValuesOf(params []Parameter) []jsondoc.Value {
	if len(params) == 0 {
		return nil
	}
	values := make([]jsondoc.Value, len(params))
	for i, p := range params {
		values[i] = AsKept(p.Value)
	}
	return values
}

// Given is the value of a parameter, by which something is decided that holds for this value alone; undefined
// where there is none of that name.
func (b *Binder) Given(name string) jsondoc.Value {
	i, ok := b.Params[name]
	if !ok {
		return lang.Undefined
	}
	b.Fixed = true
	return b.Values[i]
}

// ConstOf is the value of an expression that is a constant, or a parameter that stands for one.
func (b *Binder) ConstOf(e syntax.Expr) (v jsondoc.Value, ok bool) {
	switch e := e.(type) {
	case *syntax.Literal:
		return e.Value, true
	case *syntax.Parameter:
		return b.Values[b.Params[e.Name]], true
	}
	return lang.Undefined, false
}

// Constants are the values of a list of constants.
func (b *Binder) Constants(list []syntax.Expr) (values []jsondoc.Value, ok bool) {
	values = make([]jsondoc.Value, len(list))
	for i, e := range list {
		if values[i], ok = b.ConstOf(e); !ok {
			return nil, false
		}
	}
	return values, true
}

// maxErrors is how many errors of a query are reported.
const maxErrors = 100

// Fail notes an error at a node.
func (b *Binder) fail(at syntax.Span, e *fault.Error) {
	if len(b.errs) == maxErrors {
		return
	}
	e.Start, e.End = at.Start, at.End
	e.Place(b.Text)
	b.errs = append(b.errs, e)
}

func (b *Binder) failCode(at syntax.Node, code, format string, args ...any) {
	b.fail(at.Extent(), &fault.Error{Code: code, Message: fmt.Sprintf(format, args...)})
}

// FailPlain notes an error of the style without places.
func (b *Binder) FailPlain(at syntax.Node, message string) { b.fail(at.Extent(), fault.Plain(message)) }

// Err returns what was found wrong. Errors of the other style than the first one's are left out.
func (b *Binder) Err() error {
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

// Block binds a query or a subquery.
func (b *Binder) Block(q *syntax.Query, outer *Block, outside *scope, sub bool) *Block {
	bl := &Block{outer: outer, Top: -1, Limit: -1, Distinct: q.Select != nil && q.Select.Distinct}
	bl.ranked = q.OrderBy != nil && q.OrderBy.Rank != nil
	b.Subs[q] = bl
	s := &scope{outer: outside}
	for i, src := range q.From {
		b.source(bl, s, src, i)
	}
	if b.joins += max(0, len(q.From)-1); len(q.From) > 1 && b.joins > maxJoins {
		b.FailPlain(q.From[len(q.From)-1], fmt.Sprintf("The query exceeds the maximum number of %d JOINs.",
			maxJoins))
	}
	if q.Where != nil {
		b.expr(q.Where, &place{block: bl, scope: s, clause: "WHERE"})
		bl.Where, bl.Filtered = Conjuncts(nil, q.Where), true
	}
	for _, key := range q.GroupBy {
		b.expr(key, &place{block: bl, scope: s, clause: "GROUP BY"})
		b.groupKey(key)
	}
	bl.GroupBy, bl.Grouped, bl.FirstKey = q.GroupBy, len(q.GroupBy) > 0, b.Groups
	b.Groups += len(q.GroupBy)
	if bl.carries = bl.Grouped && q.OrderBy != nil; bl.carries {
		b.Groups++
	}
	b.selection(bl, s, q)
	if q.Select.Top != nil && q.Offset != nil {
		b.failCode(q, fault.CodeTopWithOffset,
			"A TOP cannot be used in the same query or subquery as an OFFSET.")
	}
	if sub {
		b.refuseInSubquery(q)
	} else {
		b.counts(bl, q)
		b.orderBy(bl, s, q)
	}
	return bl
}

func (b *Binder) refuseInSubquery(q *syntax.Query) {
	if q.OrderBy != nil && q.OrderBy.Rank != nil {
		b.failCode(q.OrderBy, fault.CodeRankInSubquery,
			"The ORDER BY RANK clause is not supported in subqueries.")
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

// Conjuncts appends the operands of a condition that are joined by AND.
func Conjuncts(dst []syntax.Expr, e syntax.Expr) []syntax.Expr {
	if l, ok := e.(*syntax.Logical); ok && l.Op == syntax.And {
		for _, term := range l.Terms {
			dst = Conjuncts(dst, term)
		}
		return dst
	}
	return append(dst, e)
}

// counts evaluates TOP, OFFSET and LIMIT.
func (b *Binder) counts(bl *Block, q *syntax.Query) {
	if q.Select.Top != nil {
		bl.Top = b.count(q.Select.Top, fault.CodeTop,
			"The count value provided for a TOP clause must be an integer.")
	}
	if q.Offset != nil {
		bl.Offset = b.count(q.Offset, fault.CodeOffset,
			"The OFFSET count value exceeds the maximum allowed value.")
		bl.Limit = b.count(q.Limit, fault.CodeLimit,
			"The LIMIT count value exceeds the maximum allowed value.")
	}
}

func (b *Binder) count(c *syntax.Count, code, message string) int64 {
	v := c.Value
	if c.Param != "" {
		v = b.Given(c.Param)
	}
	f := v.Num()
	if v.Kind() != jsondoc.Number || f < 0 || f > MaxCount || f != float64(int64(f)) {
		b.failCode(c, code, "%s", message)
		return 0
	}
	return int64(f)
}
