package syntax

import "github.com/mayflydb/mayfly/internal/jsondoc"

// TextSpan is the part of the text that a node was parsed from, in characters (Unicode code points) from 0;
// End is exclusive. Parentheses around an expression are not part of it. Nodes that were not parsed have
// the zero TextSpan.
type TextSpan struct {
	Start, End int
}

// Extent returns the span itself. Every node embeds a TextSpan, which makes it a Node.
func (s TextSpan) Extent() TextSpan { return s }

// Node is a piece of a query: *Query, *Select, *Star, *SelectItem, *RowCountOperand, *Source, *OrderBy,
// *SortItem or an Expr.
type Node interface {
	Extent() TextSpan
}

// QueryTree is a whole query or a subquery. Clauses that the text leaves out are nil.
type QueryTree struct {
	TextSpan
	Select  *SelectClause // nil only in the result of ParseCondition
	From    []*FromSource
	Where   Expr
	GroupBy []Expr
	OrderBy *OrderBy
	Offset  *RowCountOperand // Offset and Limit are both set or both nil
	Limit   *RowCountOperand
}

// SelectClause is the SELECT clause. One of Star, Value and Items is set.
type SelectClause struct {
	TextSpan
	Distinct bool
	Top      *RowCountOperand // nil without TOP
	Star     *Star            // SELECT *
	Value    Expr             // SELECT VALUE x
	Items    []*SelectItem
}

// Star is the * of SELECT *.
type Star struct {
	TextSpan
}

// SelectItem is one entry of a select list.
type SelectItem struct {
	TextSpan
	X         Expr
	AliasSpan TextSpan // of the alias
	Alias     string   // as written; it is empty if the item has no alias
	HasAlias  bool     // needed since an alias can be empty: AS ""
}

// RowCountOperand is the operand of TOP, OFFSET or LIMIT: a number without a sign, or a parameter. The number
// of OFFSET and LIMIT is an integer. That of TOP may have a fraction, which Cosmos DB refuses with a code of
// its own (SC2060). The size of the number is not checked here.
type RowCountOperand struct {
	TextSpan
	Value jsondoc.Value // the number; undefined if Param is set
	Param string        // with its @; empty if Value is set
}

// FromSource is one source of the FROM clause. The first one follows FROM, each of the others a JOIN.
type FromSource struct {
	TextSpan
	// Path is an Ident followed by steps, each a MemberExpr, or an IndexExpr with a string or integer: PathOf
	// splits it. It is nil if Sub is set.
	Path  Expr
	Sub   *QueryTree // FROM (SELECT ...)
	Alias string     // empty if there is none
	In    bool       // Alias IN source: iterates over the elements; Alias is set then
}

// OrderBy is the ORDER BY clause: either Items or Rank is set.
type OrderBy struct {
	TextSpan
	Items []*SortItem
	Rank  *Call // ORDER BY RANK f(...)
	// Directed reports whether an ORDER BY RANK is followed by ASC or DESC, which has no meaning there.
	Directed bool
}

// SortItem is one key of ORDER BY.
type SortItem struct {
	TextSpan
	X    Expr
	Desc bool
	Asc  bool // ASC was written; this matters only after _VectorScore
}

// Expr is a scalar expression. Its types are the ones below and no others. A parsed expression has at most
// MaxDepth levels, so functions over it may recurse.
type Expr interface {
	Node
	expr()
}

// Literal is a constant: undefined, null, true, false, a number or a string. A number keeps its digits as
// written, so that integers beyond 2^53 stay exact; a hexadecimal number becomes decimal. A parsed number
// has no sign. A Literal that was not parsed may have a negative number, an array or an object.
type Literal struct {
	TextSpan
	Value jsondoc.Value
	// Name is the name of the parameter that the literal stands for, with its @. The literal is printed as
	// that parameter. Parse leaves Name empty.
	Name string
}

// Parameter is a reference to a parameter of the query, such as @name.
type Parameter struct {
	TextSpan
	Name string // with its @; case-sensitive
}

// Ident is a single name: an alias, or NaN or Infinity if no alias has that name.
type Ident struct {
	TextSpan
	Name string // case-sensitive
}

// MemberExpr is x.name. PropertyOf also accepts x["name"].
type MemberExpr struct {
	TextSpan
	X    Expr
	Name string
}

// IndexExpr is x[i].
type IndexExpr struct {
	TextSpan
	X, I Expr
}

// Unary is an operator with one operand. NOT has the same precedence as the other unary operators: NOT c.x =
// 1 is (NOT c.x) = 1.
type Unary struct {
	TextSpan
	Op UnaryOperator
	X  Expr
}

// Binary is an operator with two operands, other than AND, OR and ??.
type Binary struct {
	TextSpan
	Op   BinaryOperator
	X, Y Expr
}

// Logical is a chain of two or more operands joined by AND or OR. (a OR b) OR c is the same chain as a OR b
// OR c, but a OR (b OR c) is a chain of two operands, the second of which is a chain. In a tree that was not
// parsed, the first operand may be such a chain as well; it is printed in the same way.
type Logical struct {
	TextSpan
	Op    LogicalOp
	Terms []Expr
}

// Coalesce is x ?? y.
type Coalesce struct {
	TextSpan
	X, Y Expr
}

// Conditional is if ? then : else.
type Conditional struct {
	TextSpan
	If, Then, Else Expr
}

// Between is x [NOT] BETWEEN low AND high.
type Between struct {
	TextSpan
	Not          bool
	X, Low, High Expr
}

// InExpr is x [NOT] IN (list). The list is never empty.
type InExpr struct {
	TextSpan
	Not  bool
	X    Expr
	List []Expr
}

// Like is x [NOT] LIKE pattern [ESCAPE escape].
type Like struct {
	TextSpan
	Not        bool
	X, Pattern Expr
	Escape     *Literal // a string, not checked to be one character; nil if there is none
}

// Call is a call of a built-in function or of a UDF. The parser does not check whether the function exists.
type Call struct {
	TextSpan
	Name     string   // as written; case-insensitive for built-in functions, not for UDFs
	NameSpan TextSpan // the name alone; for a UDF with the "udf." before it
	UDF      bool     // udf.Name(...)
	Args     []Expr
}

// ArrayLiteral is [a, b].
type ArrayLiteral struct {
	TextSpan
	Elems []Expr
}

// ObjectLiteral is {"k": v}. Keys[i] belongs to Values[i]; a key may occur more than once. KeySpans is empty
// if the node was not parsed.
type ObjectLiteral struct {
	TextSpan
	Keys     []string
	KeySpans []TextSpan
	Values   []Expr
}

// Subquery is a query in parentheses used as an expression.
type Subquery struct {
	TextSpan
	Kind  SubqueryKind
	Query *QueryTree
}

// RewrittenQueryPlaceholder is {name}, a gap in a rewritten query that the client replaces by text before it
// sends the query. If the placeholder OrderByFilter is not replaced, it stands for true.
type RewrittenQueryPlaceholder struct {
	TextSpan
	Name string // without the braces
}

// OrderByFilter is the Name of the placeholder that clients replace by the filter that resumes an ORDER BY.
const OrderByFilter = "documentdb-formattableorderbyquery-filter"

func (*Literal) expr()                   {}
func (*Parameter) expr()                 {}
func (*Ident) expr()                     {}
func (*MemberExpr) expr()                {}
func (*IndexExpr) expr()                 {}
func (*Unary) expr()                     {}
func (*Binary) expr()                    {}
func (*Logical) expr()                   {}
func (*Coalesce) expr()                  {}
func (*Conditional) expr()               {}
func (*Between) expr()                   {}
func (*InExpr) expr()                    {}
func (*Like) expr()                      {}
func (*Call) expr()                      {}
func (*ArrayLiteral) expr()              {}
func (*ObjectLiteral) expr()             {}
func (*Subquery) expr()                  {}
func (*RewrittenQueryPlaceholder) expr() {}

// UnaryOperator is the operator of a Unary.
type UnaryOperator uint8

// The operators with one operand.
const (
	Not    UnaryOperator = iota // NOT
	Neg                         // -
	Plus                        // +
	BitNot                      // ~
)

// String returns the operator as it is written.
func (op UnaryOperator) String() string { return [...]string{"NOT", "-", "+", "~"}[op] }

// BinaryOperator is the operator of a Binary.
type BinaryOperator uint8

// The operators with two operands.
const (
	Eq     BinaryOperator = iota // =
	Ne                           // != or <>
	Lt                           // <
	Le                           // <=
	Gt                           // >
	Ge                           // >=
	Shl                          // <<
	Shr                          // >>
	UShr                         // >>>, which shifts in zeros
	Concat                       // ||
	Add                          // +
	Sub                          // -
	BitAnd                       // &
	BitOr                        // |
	BitXor                       // ^
	Mul                          // *
	Div                          // /
	Mod                          // %
)

// String returns the operator as it is written.
func (op BinaryOperator) String() string {
	return [...]string{"=", "!=", "<", "<=", ">", ">=", "<<", ">>", ">>>", "||", "+", "-", "&", "|", "^", "*",
		"/", "%"}[op]
}

// LogicalOp is the operator of a Logical.
type LogicalOp uint8

// The operators of a Logical.
const (
	And LogicalOp = iota
	Or
)

// String returns the operator as it is written.
func (op LogicalOp) String() string { return [...]string{"AND", "OR"}[op] }

// SubqueryKind is the way in which a Subquery uses its rows.
type SubqueryKind uint8

// The kinds of subqueries used as expressions.
const (
	Scalar SubqueryKind = iota // (SELECT ...): the value of the only row
	Exists                     // EXISTS(SELECT ...): whether there is a row
	Array                      // ARRAY(SELECT ...): all rows
)
