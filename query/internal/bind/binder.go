package bind

import (
	"fmt"
	"slices"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"github.com/mayflydb/mayfly/query/syntax"
)

// Cosmos DB's limits on the text of a query.
const (
	maxJoins = 10
	MaxUDFs  = 10
	MaxCount = 1<<32 - 1 // maximum of TOP, OFFSET and LIMIT
)

// FromAlias is a name that a FROM clause binds, or a source without a name.
type FromAlias struct {
	Name  string
	Block *QueryBlock
	Level int // index of the step of the block that binds it
	Slot  int // index of the value in the frame; unused if Item is set
	Item  bool
	// route is the path from the item to the value, and entered reports whether the path enters all elements
	// of an array. Both are valid only if known is set: the value is then a part of the item, and no step of
	// the path selects one element of an array.
	known       bool
	route       index.Path
	entersArray bool
	single      bool // the item has exactly one value for this name
}

// QueryBlock is a SELECT with its clauses: the query itself or a subquery. The nodes of the syntax tree are
// not changed; the binder's tables hold the meaning of their names.
type QueryBlock struct {
	outer     *QueryBlock
	Steps     []*FromSource // FROM and JOIN; the item is the first one if the query reads the container
	Container bool          // the first step is the item itself, or a subquery that reads the container
	Where     []syntax.Expr // joined by AND
	Filtered  bool          // there is a WHERE, even if it is always true
	// First has the conditions of WHERE that use no source of FROM. The binder leaves it empty; the
	// planner's rule push-filter moves these conditions here.
	First    []syntax.Expr
	GroupBy  []syntax.Expr
	FirstKey int // number of the block's first GROUP BY key, counted over the whole query
	Grouped  bool
	Aggs     []AggregateCall
	// keepsFirstRID says that the select list may use the property _rid although it is no GROUP BY key.
	// Its value is the _rid of the first item of each group. It is set for GROUP BY with ORDER BY.
	keepsFirstRID bool
	FirstRID      syntax.Expr // that _rid, if it is in the list
	Star          bool
	Value         syntax.Expr // SELECT VALUE
	Items         []SelectProperty
	Distinct      bool
	Top           int64 // -1: none
	Offset        int64
	Limit         int64 // -1: none
	Order         []*OrderKey
	Sorted        []*OrderKey  // ORDER BY of groups, after the form has been chosen
	Rank          []*RankScore // ORDER BY RANK
	ranked        bool         // there is an ORDER BY RANK, valid or not
}

// SelectProperty is one property of the rows of a select list.
type SelectProperty struct {
	Name string
	X    syntax.Expr
}

// AggregateCall is an aggregate function that a block calls. id is its number, counted over the whole query.
type AggregateCall struct {
	Id   int
	Name string // as registered
	Arg  syntax.Expr
}

// aggregateRef identifies the aggregate that a function call stands for: the query block (a SELECT with its
// clauses) to which the aggregate belongs, and the aggregate's number in it.
type aggregateRef struct {
	Id    int
	Block *QueryBlock
}

// FromSourceKind says which rows a source of a FROM clause makes for each row of the sources before it.
type FromSourceKind uint8

const (
	StepItem     FromSourceKind = iota // one row: the item
	StepBind                           // one row: the value of x; no row if it is undefined
	StepElements                       // one row for each element of the array x
	stepRows                           // a row for each row of sub
	StepFlatten                        // one row for each element of each row of the subquery sub
)

// FromSource is one source of a FROM clause (an alias, or a JOIN), with the conditions that can be tested
// once the source is bound.
type FromSource struct {
	Kind   FromSourceKind
	X      syntax.Expr
	Sub    *QueryBlock
	Alias  *FromAlias
	Filter []syntax.Expr // conditions that the rule push-filter moves here
}

// OrderKey is one key of ORDER BY, with its direction and, if the key is a path, the path from the item.
type OrderKey struct {
	X        syntax.Expr
	Desc     bool
	Route    index.Path // if x is a property path of the item; else nil
	Distance bool       // VectorDistance or a score: undefined comes last in both directions
	// Refused is the error with which running the query is refused because of this key, or nil. Cosmos DB
	// still makes a plan for such a query if a client that merges the results of several ranges asks for
	// one.
	Refused *queryerror.Error
}

// nameScope holds the names that are visible at one point of the query.
type nameScope struct {
	outer   *nameScope
	aliases []*FromAlias
	inner   bool // scope of an expression: a subquery in it has only outer names as its sources
}

func (s *nameScope) find(name string) *FromAlias {
	for ; s != nil; s = s.outer {
		for _, a := range slices.Backward(s.aliases) {
			if a.Name == name {
				return a
			}
		}
	}
	return nil
}

// empty reports whether neither this scope nor an outer one has bound a name yet. The name in FROM must then
// be that of the container.
func (s *nameScope) empty() bool {
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
	Info   *ContainerInfo
	Params map[string]int // index of each parameter's value
	Values []jsondoc.Value
	Fixed  bool // a decision depended on the value of a parameter, so the plan is valid for that value only
	errs   []*queryerror.Error

	Idents map[*syntax.Ident]*FromAlias
	Subs   map[*syntax.QueryTree]*QueryBlock
	Aggs   map[*syntax.Call]aggregateRef
	Keys   map[syntax.Expr]int // parts of a select list that equal a GROUP BY key, with the number of the key
	UDFs   int                 // number of calls of user defined functions
	Slots  int
	Groups int // number of GROUP BY keys
	joins  int
	fold   ConstantFoldingFunc
}

// ConstantFoldingFunc returns an expression of a bound query with its constant parts replaced by their
// values.
type ConstantFoldingFunc func(*Binder, syntax.Expr) syntax.Expr

// NewBinder returns a binder of one query. It returns an *Error if two parameters have the same name.
func NewBinder(text string, params []Parameter, info *ContainerInfo,
	fold ConstantFoldingFunc) (*Binder, error) {
	b := &Binder{
		Text: text, Info: info, Params: make(map[string]int, len(params)), Values: ValuesOf(params),
		Idents: map[*syntax.Ident]*FromAlias{}, Subs: map[*syntax.QueryTree]*QueryBlock{},
		Aggs: map[*syntax.Call]aggregateRef{},
		Keys: map[syntax.Expr]int{}, fold: fold,
	}
	for i, p := range params {
		if _, twice := b.Params[p.Name]; twice {
			return nil, queryerror.Plain("Invalid query. Specified duplicate parameter name '" + p.Name +
				"'.")
		}
		b.Params[p.Name] = i
	}
	return b, nil
}

// AsStored returns a value as a document would store it, with numbers in their shortest spelling. The result
// shares no memory with v.
func AsStored(v jsondoc.Value) jsondoc.Value {
	switch v.Kind() {
	case jsondoc.Number, jsondoc.Array, jsondoc.Object:
		text, err := jsondoc.Compact(v.AppendJSON(nil), jsondoc.Limits{})
		// JSON represents numbers that are not finite as strings
		if kept := jsondoc.Of(text); err == nil && kept.Kind() == v.Kind() {
			return kept
		}
	}
	return v.Clone()
}

// ValuesOf returns the values of parameters as documents would store them.
func ValuesOf(params []Parameter) []jsondoc.Value {
	if len(params) == 0 {
		return nil
	}
	values := make([]jsondoc.Value, len(params))
	for i, p := range params {
		values[i] = AsStored(p.Value)
	}
	return values
}

// PinnedValue returns the value of a parameter and records that a decision depends on it (Fixed): the plan
// is then valid for this value only. It returns undefined if there is no such parameter.
func (b *Binder) PinnedValue(name string) jsondoc.Value {
	i, ok := b.Params[name]
	if !ok {
		return lang.Undefined
	}
	b.Fixed = true
	return b.Values[i]
}

// ConstOf returns the value of an expression that is a literal or a parameter. ok is false for any other
// expression.
func (b *Binder) ConstOf(e syntax.Expr) (v jsondoc.Value, ok bool) {
	switch e := e.(type) {
	case *syntax.Literal:
		return e.Value, true
	case *syntax.Parameter:
		return b.Values[b.Params[e.Name]], true
	}
	return lang.Undefined, false
}

// Constants returns the values of a list of literals and parameters. ok is false if the list has any other
// expression.
func (b *Binder) Constants(list []syntax.Expr) (values []jsondoc.Value, ok bool) {
	values = make([]jsondoc.Value, len(list))
	for i, e := range list {
		if values[i], ok = b.ConstOf(e); !ok {
			return nil, false
		}
	}
	return values, true
}

// maxErrors is the maximum number of errors that are reported for a query.
const maxErrors = 100

// fail records an error at a node.
func (b *Binder) fail(at syntax.TextSpan, e *queryerror.Error) {
	if len(b.errs) == maxErrors {
		return
	}
	e.Start, e.End = at.Start, at.End
	e.Place(b.Text)
	b.errs = append(b.errs, e)
}

func (b *Binder) failCode(at syntax.Node, code, format string, args ...any) {
	b.fail(at.Extent(), &queryerror.Error{Code: code, Message: fmt.Sprintf(format, args...)})
}

// FailPlain records an error that Cosmos DB reports without a position in the query.
func (b *Binder) FailPlain(at syntax.Node, message string) {
	b.fail(at.Extent(), queryerror.Plain(message))
}

// Err returns the recorded errors as one. Cosmos DB reports errors in two formats (queryerror.ErrorFormat);
// Err returns only those in the format of the first.
func (b *Binder) Err() error {
	if len(b.errs) == 0 {
		return nil
	}
	slices.SortStableFunc(b.errs, func(x, y *queryerror.Error) int { return x.Start - y.Start })
	first := b.errs[0]
	for _, e := range b.errs[1:] {
		if e.Style == first.Style {
			first.More = append(first.More, e)
		}
	}
	return first
}

// Block binds a query or a subquery. For a subquery (sub), outer is the enclosing block and outside are the
// names that are visible around the subquery.
func (b *Binder) Block(q *syntax.QueryTree, outer *QueryBlock, outside *nameScope, sub bool) *QueryBlock {
	bl := &QueryBlock{outer: outer, Top: -1, Limit: -1, Distinct: q.Select != nil && q.Select.Distinct}
	bl.ranked = q.OrderBy != nil && q.OrderBy.Rank != nil
	b.Subs[q] = bl
	s := &nameScope{outer: outside}
	for i, src := range q.From {
		b.source(bl, s, src, i)
	}
	if b.joins += max(0, len(q.From)-1); len(q.From) > 1 && b.joins > maxJoins {
		b.FailPlain(q.From[len(q.From)-1], fmt.Sprintf("The query exceeds the maximum number of %d JOINs.",
			maxJoins))
	}
	if q.Where != nil {
		b.expr(q.Where, &enclosingClause{block: bl, scope: s, clause: "WHERE"})
		bl.Where, bl.Filtered = Conjuncts(nil, q.Where), true
	}
	for _, key := range q.GroupBy {
		b.expr(key, &enclosingClause{block: bl, scope: s, clause: "GROUP BY"})
		b.groupKey(key)
	}
	bl.GroupBy, bl.Grouped, bl.FirstKey = q.GroupBy, len(q.GroupBy) > 0, b.Groups
	b.Groups += len(q.GroupBy)
	if bl.keepsFirstRID = bl.Grouped && q.OrderBy != nil; bl.keepsFirstRID {
		b.Groups++
	}
	b.selection(bl, s, q)
	if q.Select.Top != nil && q.Offset != nil {
		b.failCode(q, queryerror.CodeTopWithOffset,
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

func (b *Binder) refuseInSubquery(q *syntax.QueryTree) {
	if q.OrderBy != nil && q.OrderBy.Rank != nil {
		b.failCode(q.OrderBy, queryerror.CodeRankInSubquery,
			"The ORDER BY RANK clause is not supported in subqueries.")
	} else if q.OrderBy != nil {
		b.failCode(q.OrderBy, queryerror.CodeSubqueryOrderBy, "'ORDER BY' is not supported in subqueries.")
	}
	if q.Select.Top != nil {
		b.failCode(q.Select.Top, queryerror.CodeSubqueryTop, "'TOP' is not supported in subqueries.")
	}
	if q.Offset != nil {
		b.failCode(q.Offset, queryerror.CodeSubqueryLimit,
			"'OFFSET LIMIT' clause is not supported in subqueries.")
	}
}

// Conjuncts appends the operands of a condition joined by AND.
func Conjuncts(dst []syntax.Expr, e syntax.Expr) []syntax.Expr {
	if l, ok := e.(*syntax.Logical); ok && l.Op == syntax.And {
		for _, term := range l.Terms {
			dst = Conjuncts(dst, term)
		}
		return dst
	}
	return append(dst, e)
}

// counts evaluates the TOP, OFFSET and LIMIT of q and sets the results in bl. It records an error for a value
// that is not a whole number in the allowed range.
func (b *Binder) counts(bl *QueryBlock, q *syntax.QueryTree) {
	if q.Select.Top != nil {
		bl.Top = b.count(q.Select.Top, queryerror.CodeTop,
			"The count value provided for a TOP clause must be an integer.")
	}
	if q.Offset != nil {
		bl.Offset = b.count(q.Offset, queryerror.CodeOffset,
			"The OFFSET count value exceeds the maximum allowed value.")
		bl.Limit = b.count(q.Limit, queryerror.CodeLimit,
			"The LIMIT count value exceeds the maximum allowed value.")
	}
}

func (b *Binder) count(c *syntax.RowCountOperand, code, message string) int64 {
	v := c.Value
	if c.Param != "" {
		v = b.PinnedValue(c.Param)
	}
	f := v.Num()
	if v.Kind() != jsondoc.Number || f < 0 || f > MaxCount || f != float64(int64(f)) {
		b.failCode(c, code, "%s", message)
		return 0
	}
	return int64(f)
}
