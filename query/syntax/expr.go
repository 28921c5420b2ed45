package syntax

import "github.com/mayflydb/mayfly/internal/jsondoc"

// The precedence levels of binary operators, the lowest first. Unary operators have a higher precedence than
// all of them, and .name and [i] the highest.
//
// Cosmos DB has an order of its own. Comparisons and shifts share one level, and so do additions and bitwise
// operators, each evaluated from left to right: 1 < 2 = true is true and 1 | 2 + 3 is 6. IN, LIKE and
// BETWEEN accept comparisons as operands but are not comparisons: no = may follow x IN (1, 2). BETWEEN has
// the precedence of OR and cannot be combined with OR or AND without parentheses: both x BETWEEN 1 AND 2 AND
// y and y OR x BETWEEN 1 AND 2 are refused. In ParseLenient BETWEEN has the precedence of IN, and the first
// AND after it belongs to it.
const (
	condLevel       = 1 + iota // ? :     right to left
	coalesceLevel              // ??      right to left
	orLevel                    // OR
	andLevel                   // AND
	predicateLevel             // [NOT] IN, LIKE    cannot be chained
	comparisonLevel            // = != <> < <= > >= << >> >>>
	concatLevel                // ||
	additiveLevel              // + - & | ^
	productLevel               // * / %

	lowest = condLevel
)

// infix maps the binary operators to their levels of precedence and, from comparisonLevel on, to their
// BinaryOperator. The operator NOT is the one before IN, LIKE or BETWEEN.
var infix = map[string]struct {
	level int
	op    BinaryOperator
}{
	"?": {level: condLevel}, "??": {level: coalesceLevel}, "OR": {level: orLevel}, "AND": {level: andLevel},
	"NOT": {level: predicateLevel}, "IN": {level: predicateLevel}, "LIKE": {
		level: predicateLevel}, "BETWEEN": {level: predicateLevel},
	"=": {comparisonLevel, Eq}, "!=": {comparisonLevel, Ne}, "<>": {comparisonLevel, Ne},
	"<": {comparisonLevel, Lt}, "<=": {comparisonLevel, Le}, ">": {comparisonLevel,
		Gt}, ">=": {comparisonLevel, Ge},
	"<<": {comparisonLevel, Shl}, ">>": {comparisonLevel, Shr}, ">>>": {comparisonLevel, UShr},
	"||": {concatLevel, Concat},
	"+":  {additiveLevel, Add}, "-": {additiveLevel, Sub}, "&": {additiveLevel, BitAnd},
	"|": {additiveLevel, BitOr}, "^": {additiveLevel, BitXor},
	"*": {productLevel, Mul}, "/": {productLevel, Div}, "%": {productLevel, Mod},
}

// prefix holds the unary operators.
var prefix = map[string]UnaryOperator{"NOT": Not, "-": Neg, "+": Plus, "~": BitNot}

// expr parses an expression. It reads only operators of the given level or of a higher precedence.
func (p *parser) expr(level int) Expr {
	if !p.enter() {
		return nil
	}
	start := p.tok.Start
	x := p.unary()
	// The expression parsed so far can be the left operand of an operator with a lower precedence, or with
	// the same precedence if that level is evaluated from left to right. It cannot be the left operand of an
	// operator with a higher precedence.
	for tightest := productLevel; ; {
		op := infix[p.tok.sym]
		between := !p.lenient && op.level == predicateLevel && p.atBetween()
		if between && level > orLevel {
			break
		}
		if between && tightest <= predicateLevel {
			p.accept("NOT")
			p.unexpected()
		}
		if op.level < level || op.level > tightest {
			break
		}
		tightest = op.level
		switch op.level {
		case condLevel:
			x = p.cond(x, start)
			tightest--
		case coalesceLevel:
			p.next()
			y := p.expr(coalesceLevel)
			x = &Coalesce{p.since(start), x, y}
			tightest--
		case orLevel:
			x = p.logical(x, start, Or, op.level)
		case andLevel:
			x = p.logical(x, start, And, op.level)
		case predicateLevel:
			x = p.predicate(x, start)
			if tightest--; between {
				tightest = orLevel - 1
			}
		default:
			p.next()
			y := p.expr(op.level + 1)
			x = &Binary{p.since(start), op.op, x, y}
		}
	}
	p.leave()
	return x
}

// exprs parses one or more expressions separated by commas.
func (p *parser) exprs() []Expr {
	list := []Expr{p.expr(lowest)}
	for p.accept(",") {
		list = append(list, p.expr(lowest))
	}
	return list
}

// cond parses the rest of x ? a : b.
func (p *parser) cond(x Expr, start int) Expr {
	p.expect("?")
	a := p.expr(lowest)
	p.expect(":")
	b := p.expr(lowest)
	return &Conditional{p.since(start), x, a, b}
}

// logical parses the rest of x AND y AND z, or the same with OR, in a loop, since programs generate chains
// of any length. If x is already such a chain, in parentheses, the operands are appended to it.
func (p *parser) logical(x Expr, start int, op LogicalOp, level int) Expr {
	chain, ok := x.(*Logical)
	if !ok || chain.Op != op {
		chain = &Logical{Op: op, Terms: []Expr{x}}
	}
	for p.accept(op.String()) {
		chain.Terms = append(chain.Terms, p.expr(level+1))
	}
	chain.TextSpan = p.since(start)
	return chain
}

// atBetween reports whether the current token is BETWEEN, or the NOT before it.
func (p *parser) atBetween() bool {
	return p.is("BETWEEN") || p.is("NOT") && p.ahead().sym == "BETWEEN"
}

// predicate parses the rest of x [NOT] IN, LIKE or BETWEEN.
func (p *parser) predicate(x Expr, start int) Expr {
	not := p.accept("NOT")
	switch {
	case p.accept("IN"):
		p.expect("(")
		list := p.exprs()
		p.expect(")")
		return &InExpr{p.since(start), not, x, list}
	case p.accept("LIKE"):
		like := &Like{Not: not, X: x, Pattern: p.expr(comparisonLevel)}
		if p.accept("ESCAPE") {
			t := p.take(quoted)
			like.Escape = &Literal{TextSpan: t.TextSpan, Value: t.value}
		}
		like.TextSpan = p.since(start)
		return like
	}
	p.expect("BETWEEN")
	low := p.expr(comparisonLevel)
	p.expect("AND")
	high := p.expr(comparisonLevel)
	return &Between{p.since(start), not, x, low, high}
}

func (p *parser) unary() Expr {
	op, ok := prefix[p.tok.sym]
	if !ok {
		return p.postfix()
	}
	if !p.enter() {
		return nil
	}
	start := p.tok.Start
	p.next()
	x := p.unary()
	p.leave()
	return &Unary{p.since(start), op, x}
}

func (p *parser) postfix() Expr {
	start := p.tok.Start
	x := p.primary()
	for {
		switch {
		case p.accept("."):
			name := p.take(word).text
			x = &MemberExpr{p.since(start), x, name}
		case p.accept("["):
			i := p.expr(lowest)
			p.expect("]")
			x = &IndexExpr{p.since(start), x, i}
		default:
			return x
		}
	}
}

func (p *parser) primary() Expr {
	t := p.tok
	switch t.kind {
	case number, quoted:
		p.next()
		// a hexadecimal number; its canonical form is decimal
		if n := t.value.Raw(); t.kind == number && n[0] == '-' {
			return &Unary{t.TextSpan, Neg, &Literal{TextSpan: t.TextSpan, Value: jsondoc.Of(n[1:])}}
		}
		return &Literal{TextSpan: t.TextSpan, Value: t.value}
	case parameter:
		p.next()
		return &Parameter{t.TextSpan, t.text}
	case placeholder:
		p.next()
		return &RewrittenQueryPlaceholder{t.TextSpan, t.text[1 : len(t.text)-1]}
	case word:
		p.next()
		if p.is("(") {
			return p.call(t, false)
		}
		return &Ident{t.TextSpan, t.text}
	}
	switch t.sym {
	case "UNDEFINED":
		return p.constant(jsondoc.Value{})
	case "NULL":
		return p.constant(jsondoc.NullValue())
	case "TRUE", "FALSE":
		return p.constant(jsondoc.BoolValue(t.sym == "TRUE"))
	case "(":
		return p.parenthesised()
	case "[":
		return p.array()
	case "{":
		return p.object()
	case "EXISTS", "ARRAY":
		kind := Exists
		if t.sym == "ARRAY" {
			kind = Array
		}
		p.next()
		q := p.subquery()
		return &Subquery{p.since(t.Start), kind, q}
	case "UDF":
		p.next()
		p.expect(".")
		name := p.take(word)
		name.Start = t.Start
		return p.call(name, true)
	case "LEFT", "RIGHT": // reserved words that are also functions
		if p.ahead().sym == "(" {
			p.next()
			return p.call(t, false)
		}
	}
	p.unexpected()
	return nil
}

func (p *parser) constant(v jsondoc.Value) Expr {
	t := p.tok
	p.next()
	return &Literal{TextSpan: t.TextSpan, Value: v}
}

// parenthesised parses (expr) or (SELECT ...).
func (p *parser) parenthesised() Expr {
	start := p.tok.Start
	p.expect("(")
	if p.is("SELECT") {
		q := p.query()
		p.expect(")")
		return &Subquery{p.since(start), Scalar, q}
	}
	x := p.expr(lowest)
	p.expect(")")
	return x
}

// call parses the rest of name(a, b). udf says that the function is user defined.
func (p *parser) call(name token, udf bool) Expr {
	c := &Call{Name: name.text, NameSpan: name.TextSpan, UDF: udf}
	p.expect("(")
	if !p.is(")") {
		c.Args = p.exprs()
	}
	p.expect(")")
	c.TextSpan = p.since(name.Start)
	return c
}

func (p *parser) array() Expr {
	start := p.tok.Start
	p.expect("[")
	a := &ArrayLiteral{}
	if !p.is("]") {
		a.Elems = p.exprs()
	}
	p.expect("]")
	a.TextSpan = p.since(start)
	return a
}

func (p *parser) object() Expr {
	start := p.tok.Start
	p.expect("{")
	o := &ObjectLiteral{}
	if !p.is("}") {
		o.member(p)
		for p.accept(",") {
			o.member(p)
		}
	}
	p.expect("}")
	o.TextSpan = p.since(start)
	return o
}

// member parses name: expr or "name": expr.
func (o *ObjectLiteral) member(p *parser) {
	key, span := "", p.tok.TextSpan
	if p.tok.kind == quoted {
		key = p.take(quoted).value.Str()
	} else {
		key = p.take(word).text
	}
	p.expect(":")
	o.Keys, o.KeySpans = append(o.Keys, key), append(o.KeySpans, span)
	o.Values = append(o.Values, p.expr(lowest))
}
