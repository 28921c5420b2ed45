package eval

import (
	"math"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// Expressions are compiled to closures over a frame. There are three forms of closures, so that most filters
// and projections build no values: a ValueFunc returns a value, a TruthFunc returns a truth value (true,
// false or undefined), and a writer appends JSON text.
type (
	ValueFunc     func(f *Frame) jsondoc.Value
	TruthFunc     func(f *Frame) Truth
	jsonWriteFunc func(f *Frame, dst []byte) (out []byte, defined bool)
)

// Truth is the result of a condition: true, false or undefined (Unknown).
type Truth uint8

const (
	// Unknown is the truth of a condition whose value is not a boolean.
	Unknown Truth = iota
	no
	// Yes is the truth of a condition that holds.
	Yes
)

func truthOf(b bool) Truth {
	if b {
		return Yes
	}
	return no
}

func truthOfValue(v jsondoc.Value) Truth {
	if v.Kind() != jsondoc.Bool {
		return Unknown
	}
	return truthOf(v.Bool())
}

// Value returns the truth as a JSON value; undefined for Unknown.
func (t Truth) Value() jsondoc.Value {
	if t == Unknown {
		return lang.Undefined
	}
	return jsondoc.BoolValue(t == Yes)
}

func (t Truth) not() Truth {
	switch t {
	case Yes:
		return no
	case no:
		return Yes
	}
	return Unknown
}

// Compiler compiles the expressions of a bound query to closures.
type Compiler struct {
	*bind.Binder
	Computed map[string]ValueFunc
	Blocks   map[*bind.QueryBlock]*CompiledSelect // of subqueries, each compiled once
}

// Value compiles an expression to a function that returns its value for the row in a Frame.
func (c *Compiler) Value(e syntax.Expr) ValueFunc {
	if i, ok := c.Keys[e]; ok {
		return func(f *Frame) jsondoc.Value { return f.keys[i] }
	}
	if _, _, ok := syntax.PathOf(e); ok && !c.isKeyPath(e) {
		return c.path(e)
	}
	switch e := e.(type) {
	case *syntax.Literal:
		return literal(e.Value)
	case *syntax.Parameter:
		i := c.Params[e.Name]
		return func(f *Frame) jsondoc.Value { return f.Run.params[i] }
	case *syntax.MemberExpr:
		x, name := c.Value(e.X), e.Name
		return func(f *Frame) jsondoc.Value {
			v := x(f)
			f.Run.Spend(lang.Work(v))
			return v.Member(name)
		}
	case *syntax.IndexExpr:
		return c.binary(e.X, e.I, lang.OpIndex)
	case *syntax.Unary:
		return c.unary(e)
	case *syntax.Binary:
		if e.Op > syntax.Ge {
			return c.binary(e.X, e.Y, Operators()[e.Op])
		}
	case *syntax.Coalesce:
		x, y := c.Value(e.X), c.Value(e.Y)
		return func(f *Frame) jsondoc.Value {
			if v := x(f); v.Kind() != jsondoc.Undefined {
				return v
			}
			return y(f)
		}
	case *syntax.Conditional:
		return c.conditional(e.If, e.Then, e.Else)
	case *syntax.Call:
		if v := c.call(e); v != nil {
			return v
		}
	case *syntax.ArrayLiteral, *syntax.ObjectLiteral:
		w := c.write(e)
		return func(f *Frame) jsondoc.Value {
			text, _ := w(f, nil)
			return jsondoc.Of(text)
		}
	case *syntax.Subquery:
		if e.Kind != syntax.Exists {
			return c.subquery(e)
		}
	}
	d := c.Decide(e)
	return func(f *Frame) jsondoc.Value { return d(f).Value() }
}

func literal(v jsondoc.Value) ValueFunc {
	// From 2^53 on the value alone no longer identifies the integer, so the spelling is kept; so is that of
	// -0.
	if f := v.Num(); math.Abs(f) < 1<<53 && (f != 0 || !math.Signbit(f)) {
		v = bind.AsStored(v)
	}
	return func(*Frame) jsondoc.Value { return v }
}

// isKeyPath reports whether a path begins with a GROUP BY key. Such a path is read from the key, not from
// the item.
func (c *Compiler) isKeyPath(e syntax.Expr) bool {
	for {
		switch x := e.(type) {
		case *syntax.MemberExpr:
			e = x.X
		case *syntax.IndexExpr:
			e = x.X
		default:
			return false
		}
		if c.isKey(e) {
			return true
		}
	}
}

func (c *Compiler) unary(e *syntax.Unary) ValueFunc {
	x := c.Value(e.X)
	switch e.Op {
	case syntax.Neg:
		// compared by the spelling: -0.0 differs from 0, but -0 does not
		if l, ok := e.X.(*syntax.Literal); ok {
			v := lang.OpNegate(l.Value)
			return func(*Frame) jsondoc.Value { return v }
		}
		return func(f *Frame) jsondoc.Value { return lang.OpNegate(x(f)) }
	case syntax.Plus:
		return func(f *Frame) jsondoc.Value { return lang.OpPlus(x(f)) }
	case syntax.BitNot:
		return func(f *Frame) jsondoc.Value { return lang.OpBitNot(x(f)) }
	}
	return func(f *Frame) jsondoc.Value { return truthOfValue(x(f)).not().Value() }
}

func (c *Compiler) binary(a, b syntax.Expr, op func(a, b jsondoc.Value) jsondoc.Value) ValueFunc {
	x, y := c.Value(a), c.Value(b)
	return func(f *Frame) jsondoc.Value {
		v, w := operands(f, x, y)
		if !f.Run.Spend(lang.Work(v) + lang.Work(w)) {
			return lang.Undefined
		}
		return op(v, w)
	}
}

func (c *Compiler) conditional(condition, then, otherwise syntax.Expr) ValueFunc {
	d, x, y := c.Decide(condition), c.Value(then), c.Value(otherwise)
	return func(f *Frame) jsondoc.Value {
		if d(f) == Yes {
			return x(f)
		}
		return y(f)
	}
}

// Operators returns the functions of the operators with two operands. Comparisons are missing, since they are
// compiled to a TruthFunc.
func Operators() map[syntax.BinaryOperator]func(a, b jsondoc.Value) jsondoc.Value {
	return map[syntax.BinaryOperator]func(a, b jsondoc.Value) jsondoc.Value{
		syntax.Shl: lang.OpShiftLeft, syntax.Shr: lang.OpShiftRight, syntax.UShr: lang.OpShiftRightZero,
		syntax.Concat: lang.OpConcat,
		syntax.Add:    lang.OpAdd, syntax.Sub: lang.OpSubtract, syntax.BitAnd: lang.OpBitAnd,
		syntax.BitOr: lang.OpBitOr, syntax.BitXor: lang.OpBitXor,
		syntax.Mul: lang.OpMultiply, syntax.Div: lang.OpDivide, syntax.Mod: lang.OpModulo,
	}
}

// path compiles a name followed by constant steps. A path from the item to a property is read directly from
// the document's text.
func (c *Compiler) path(e syntax.Expr) ValueFunc {
	root, steps, _ := syntax.PathOf(e)
	a := c.Idents[root]
	if a == nil { // a step into NaN or Infinity
		return func(*Frame) jsondoc.Value { return lang.Undefined }
	}
	if a.Item {
		return c.itemPath(steps)
	}
	slot := a.Slot
	if len(steps) == 0 {
		return func(f *Frame) jsondoc.Value { return f.slots[slot] }
	}
	rest := follow(steps)
	return func(f *Frame) jsondoc.Value {
		v := f.slots[slot]
		if !f.Run.Spend(v.TextLen() / 4) {
			return lang.Undefined
		}
		return rest(v)
	}
}

func (c *Compiler) itemPath(steps []syntax.PathStep) ValueFunc {
	if len(steps) == 0 {
		return (*Frame).document
	}
	var first ValueFunc
	name := steps[0].Name
	switch computed := c.Computed[name]; {
	case steps[0].IsIndex:
		return func(*Frame) jsondoc.Value { return lang.Undefined }
	case computed != nil:
		first = computed
	case jsondoc.IsSystem(name):
		first = func(f *Frame) jsondoc.Value { return f.system(name) }
	default:
		n := 1
		for n < len(steps) && !steps[n].IsIndex {
			n++
		}
		path := stepsPath(steps[:n])
		first = func(f *Frame) jsondoc.Value {
			if !f.Run.Spend(len(f.Body) / 4) {
				return lang.Undefined
			}
			return jsondoc.Get(f.Body, path)
		}
		steps = steps[n-1:]
	}
	if len(steps) == 1 {
		return first
	}
	rest := follow(steps[1:])
	return func(f *Frame) jsondoc.Value {
		v := first(f)
		f.Run.Spend(v.TextLen() / 4)
		return rest(v)
	}
}

func stepsPath(steps []syntax.PathStep) jsondoc.Path {
	names := make([]string, len(steps))
	for i, st := range steps {
		names[i] = st.Name
	}
	return jsondoc.PathOf(names...)
}

// follow returns a function that leads from a value to the value inside it at a path of constant steps,
// such as .a[0].
func follow(steps []syntax.PathStep) func(jsondoc.Value) jsondoc.Value {
	n := 0
	for n < len(steps) && !steps[n].IsIndex {
		n++
	}
	if n == len(steps) {
		path := stepsPath(steps)
		return func(v jsondoc.Value) jsondoc.Value { return v.Get(path) }
	}
	path, at, rest := stepsPath(steps[:n]), steps[n].Index, func(v jsondoc.Value) jsondoc.Value { return v }
	if n+1 < len(steps) {
		rest = follow(steps[n+1:])
	}
	return func(v jsondoc.Value) jsondoc.Value {
		v = v.Get(path)
		if v.Kind() != jsondoc.Array {
			return lang.Undefined
		}
		return rest(lang.Element(v, at))
	}
}
