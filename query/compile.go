package query

import (
	"math"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// Expressions are compiled to closures over a frame. There are three forms of them, so that the usual filter
// and the usual projection build no values: a valuer gives a value, a decider one of the three truth values,
// a writer JSON text.
type (
	valuer  func(f *frame) doc.Value
	decider func(f *frame) truth
	writer  func(f *frame, dst []byte) (out []byte, defined bool)
)

// truth is a boolean or undefined.
type truth uint8

const (
	unknown truth = iota
	no
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

func truthOfValue(v doc.Value) truth {
	if v.Kind() != doc.Bool {
		return unknown
	}
	return truthOf(v.Bool())
}

func (t truth) value() doc.Value {
	if t == unknown {
		return lang.Undefined
	}
	return doc.BoolValue(t == yes)
}

func (t truth) not() truth {
	switch t {
	case yes:
		return no
	case no:
		return yes
	}
	return unknown
}

// compiler turns the expressions of a bound query into closures.
type compiler struct {
	*binder
	computed map[string]valuer
	blocks   map[*block]*rowset // of subqueries, each compiled once
}

// value compiles an expression.
func (c *compiler) value(e syntax.Expr) valuer {
	if i, ok := c.keys[e]; ok {
		return func(f *frame) doc.Value { return f.keys[i] }
	}
	if _, _, ok := syntax.PathOf(e); ok && !c.throughKey(e) {
		return c.path(e)
	}
	switch e := e.(type) {
	case *syntax.Literal:
		return literal(e.Value)
	case *syntax.Parameter:
		i := c.params[e.Name]
		return func(f *frame) doc.Value { return f.run.given[i] }
	case *syntax.Member:
		x, name := c.value(e.X), e.Name
		return func(f *frame) doc.Value {
			v := x(f)
			f.run.Spend(lang.Work(v))
			return v.Member(name)
		}
	case *syntax.Index:
		return c.binary(e.X, e.I, lang.OpIndex)
	case *syntax.Unary:
		return c.unary(e)
	case *syntax.Binary:
		if e.Op > syntax.Ge {
			return c.binary(e.X, e.Y, operators()[e.Op])
		}
	case *syntax.Coalesce:
		x, y := c.value(e.X), c.value(e.Y)
		return func(f *frame) doc.Value {
			if v := x(f); v.Kind() != doc.Undefined {
				return v
			}
			return y(f)
		}
	case *syntax.Cond:
		return c.conditional(e.If, e.Then, e.Else)
	case *syntax.Call:
		if v := c.call(e); v != nil {
			return v
		}
	case *syntax.ArrayLit, *syntax.ObjectLit:
		w := c.write(e)
		return func(f *frame) doc.Value {
			text, _ := w(f, nil)
			return doc.Of(text)
		}
	case *syntax.Subquery:
		if e.Kind != syntax.Exists {
			return c.subquery(e)
		}
	}
	d := c.decide(e)
	return func(f *frame) doc.Value { return d(f).value() }
}

func literal(v doc.Value) valuer {
	// From 2^53 on the spelling tells integers from others, which no double does; and a -0 stays one.
	if f := v.Num(); math.Abs(f) < 1<<53 && (f != 0 || !math.Signbit(f)) {
		v = asKept(v)
	}
	return func(*frame) doc.Value { return v }
}

// throughKey tells of a path that it goes on from a key of GROUP BY: such a path is not read from an item.
func (c *compiler) throughKey(e syntax.Expr) bool {
	for {
		switch x := e.(type) {
		case *syntax.Member:
			e = x.X
		case *syntax.Index:
			e = x.X
		default:
			return false
		}
		if c.isKey(e) {
			return true
		}
	}
}

func (c *compiler) unary(e *syntax.Unary) valuer {
	x := c.value(e.X)
	switch e.Op {
	case syntax.Neg:
		if l, ok := e.X.(*syntax.Literal); ok { // as it is spelled: -0.0 is not 0, and -0 is
			v := lang.OpNegate(l.Value)
			return func(*frame) doc.Value { return v }
		}
		return func(f *frame) doc.Value { return lang.OpNegate(x(f)) }
	case syntax.Plus:
		return func(f *frame) doc.Value { return lang.OpPlus(x(f)) }
	case syntax.BitNot:
		return func(f *frame) doc.Value { return lang.OpBitNot(x(f)) }
	}
	return func(f *frame) doc.Value { return truthOfValue(x(f)).not().value() }
}

func (c *compiler) binary(a, b syntax.Expr, op func(a, b doc.Value) doc.Value) valuer {
	x, y := c.value(a), c.value(b)
	return func(f *frame) doc.Value {
		v, w := operands(f, x, y)
		if !f.run.Spend(lang.Work(v) + lang.Work(w)) {
			return lang.Undefined
		}
		return op(v, w)
	}
}

func (c *compiler) conditional(condition, then, otherwise syntax.Expr) valuer {
	d, x, y := c.decide(condition), c.value(then), c.value(otherwise)
	return func(f *frame) doc.Value {
		if d(f) == yes {
			return x(f)
		}
		return y(f)
	}
}

// operators are the operators with two operands but comparisons, which decide.
func operators() map[syntax.BinaryOp]func(a, b doc.Value) doc.Value {
	return map[syntax.BinaryOp]func(a, b doc.Value) doc.Value{
		syntax.Shl: lang.OpShiftLeft, syntax.Shr: lang.OpShiftRight, syntax.UShr: lang.OpShiftRightZero, syntax.Concat: lang.OpConcat,
		syntax.Add: lang.OpAdd, syntax.Sub: lang.OpSubtract, syntax.BitAnd: lang.OpBitAnd, syntax.BitOr: lang.OpBitOr, syntax.BitXor: lang.OpBitXor,
		syntax.Mul: lang.OpMultiply, syntax.Div: lang.OpDivide, syntax.Mod: lang.OpModulo,
	}
}

// path compiles a name with constant steps behind it. What leads from the item to a property is read straight
// from the document's text.
func (c *compiler) path(e syntax.Expr) valuer {
	root, steps, _ := syntax.PathOf(e)
	a := c.idents[root]
	if a == nil { // a step into NaN or Infinity
		return func(*frame) doc.Value { return lang.Undefined }
	}
	if a.item {
		return c.itemPath(steps)
	}
	slot := a.slot
	if len(steps) == 0 {
		return func(f *frame) doc.Value { return f.slots[slot] }
	}
	rest := follow(steps)
	return func(f *frame) doc.Value {
		v := f.slots[slot]
		if !f.run.Spend(v.TextLen() / 4) {
			return lang.Undefined
		}
		return rest(v)
	}
}

func (c *compiler) itemPath(steps []syntax.Step) valuer {
	if len(steps) == 0 {
		return (*frame).document
	}
	var first valuer
	name := steps[0].Name
	switch computed := c.computed[name]; {
	case steps[0].IsIndex:
		return func(*frame) doc.Value { return lang.Undefined }
	case computed != nil:
		first = computed
	case doc.IsSystem(name):
		first = func(f *frame) doc.Value { return f.system(name) }
	default:
		n := 1
		for n < len(steps) && !steps[n].IsIndex {
			n++
		}
		path := stepsPath(steps[:n])
		first = func(f *frame) doc.Value {
			if !f.run.Spend(len(f.body) / 4) {
				return lang.Undefined
			}
			return doc.Get(f.body, path)
		}
		steps = steps[n-1:]
	}
	if len(steps) == 1 {
		return first
	}
	rest := follow(steps[1:])
	return func(f *frame) doc.Value {
		v := first(f)
		f.run.Spend(v.TextLen() / 4)
		return rest(v)
	}
}

func stepsPath(steps []syntax.Step) doc.Path {
	names := make([]string, len(steps))
	for i, st := range steps {
		names[i] = st.Name
	}
	return doc.PathOf(names...)
}

// follow returns what walks from a value along constant steps.
func follow(steps []syntax.Step) func(doc.Value) doc.Value {
	n := 0
	for n < len(steps) && !steps[n].IsIndex {
		n++
	}
	if n == len(steps) {
		path := stepsPath(steps)
		return func(v doc.Value) doc.Value { return v.Get(path) }
	}
	path, at, rest := stepsPath(steps[:n]), steps[n].Index, func(v doc.Value) doc.Value { return v }
	if n+1 < len(steps) {
		rest = follow(steps[n+1:])
	}
	return func(v doc.Value) doc.Value {
		v = v.Get(path)
		if v.Kind() != doc.Array {
			return lang.Undefined
		}
		return rest(lang.Element(v, at))
	}
}
