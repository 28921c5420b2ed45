package eval

import (
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// Decide compiles a condition. A value that is not a boolean counts as undefined.
func (c *Compiler) Decide(e syntax.Expr) TruthFunc {
	if !c.isKey(e) {
		switch e := e.(type) {
		case *syntax.Logical:
			return c.logical(e)
		case *syntax.Unary:
			if e.Op == syntax.Not {
				x := c.Decide(e.X)
				return func(f *Frame) Truth { return x(f).not() }
			}
		case *syntax.Binary:
			if e.Op <= syntax.Ge {
				return c.comparison(e)
			}
		case *syntax.Between:
			return c.between(e)
		case *syntax.InExpr:
			return c.in(e)
		case *syntax.Like:
			return c.like(e)
		case *syntax.Call:
			if !e.UDF {
				if fn, ok := lang.Lookup(e.Name); ok && isTypeTest(fn.Name) {
					x, set := c.Value(e.Args[0]), TypeTests()[fn.Name]
					return func(f *Frame) Truth { return truthOf(set.Has(x(f).Kind())) }
				}
			}
		case *syntax.Subquery:
			if e.Kind == syntax.Exists {
				return c.exists(e)
			}
		}
	}
	x := c.Value(e)
	return func(f *Frame) Truth { return truthOfValue(x(f)) }
}

// logical compiles a chain of AND or OR. Evaluation stops at the first operand that decides the result.
func (c *Compiler) logical(e *syntax.Logical) TruthFunc {
	terms := make([]TruthFunc, len(e.Terms))
	for i, term := range e.Terms {
		terms[i] = c.Decide(term)
	}
	neutral, decides := Yes, no
	if e.Op == syntax.Or {
		neutral, decides = no, Yes
	}
	return func(f *Frame) Truth {
		result := neutral
		for _, term := range terms {
			switch t := term(f); t {
			case decides:
				return t
			case Unknown:
				result = Unknown
			}
		}
		return result
	}
}

// comparison compiles = != < <= > >=.
func (c *Compiler) comparison(e *syntax.Binary) TruthFunc {
	x, y := c.Value(e.X), c.Value(e.Y)
	if l, ok := e.Y.(*syntax.Literal); ok { // the usual form: needs no call for the constant
		v := l.Value
		y = nil
		switch e.Op {
		case syntax.Eq:
			return func(f *Frame) Truth { return Same(x(f), v) }
		case syntax.Ne:
			return func(f *Frame) Truth { return Same(x(f), v).not() }
		}
		low, high := orderBounds(e.Op)
		return func(f *Frame) Truth { return Ordered(x(f), v, low, high) }
	}
	if i, ok := c.Parameter(e.Y); ok {
		return comparedWith(x, e.Op, i)
	}
	switch e.Op {
	case syntax.Eq:
		return func(f *Frame) Truth { return Same(compared(f, x, y)) }
	case syntax.Ne:
		return func(f *Frame) Truth { return Same(compared(f, x, y)).not() }
	}
	low, high := orderBounds(e.Op)
	return func(f *Frame) Truth {
		a, b := compared(f, x, y)
		return Ordered(a, b, low, high)
	}
}

// comparedWith compiles the comparison of x with the i-th parameter.
func comparedWith(x ValueFunc, op syntax.BinaryOperator, i int) TruthFunc {
	switch op {
	case syntax.Eq:
		return func(f *Frame) Truth { return Same(x(f), f.Run.params[i]) }
	case syntax.Ne:
		return func(f *Frame) Truth { return Same(x(f), f.Run.params[i]).not() }
	}
	low, high := orderBounds(op)
	return func(f *Frame) Truth { return Ordered(x(f), f.Run.params[i], low, high) }
}

// compared evaluates the operands of a comparison. It returns undefined for both if the run has ended.
func compared(f *Frame, x, y ValueFunc) (a, b jsondoc.Value) {
	if a, b = operands(f, x, y); !f.Run.Spend(min(lang.Work(a), lang.Work(b))) {
		return lang.Undefined, lang.Undefined
	}
	return a, b
}

// Same implements the operator =.
func Same(a, b jsondoc.Value) Truth {
	if a.Kind() == jsondoc.Undefined || b.Kind() == jsondoc.Undefined {
		return Unknown
	}
	return truthOf(a.Kind() == b.Kind() && lang.Equal(a, b))
}

// orderBounds returns the lowest and the highest order of two values (-1, 0 or 1) for which a comparison
// holds.
func orderBounds(op syntax.BinaryOperator) (low, high int) {
	switch op {
	case syntax.Lt:
		return -1, -1
	case syntax.Le:
		return -1, 0
	case syntax.Gt:
		return 1, 1
	}
	return 0, 1
}

// Ordered compares two values. It returns Yes if their order (-1, 0 or 1) is in [low, high], and Unknown if
// the values have different types.
func Ordered(a, b jsondoc.Value, low, high int) Truth {
	if a.Kind() != b.Kind() {
		return Unknown
	}
	return truthOfValue(lang.OpOrder(a, b, low, high))
}

func and(a, b Truth) Truth {
	switch {
	case a == no || b == no:
		return no
	case a == Unknown || b == Unknown:
		return Unknown
	}
	return Yes
}

func (c *Compiler) between(e *syntax.Between) TruthFunc {
	x, low, high, not := c.Value(e.X), c.Value(e.Low), c.Value(e.High), e.Not
	return func(f *Frame) Truth {
		v := x(f)
		t := and(Ordered(v, low(f), 0, 1), Ordered(v, high(f), -1, 0))
		if not {
			return t.not()
		}
		return t
	}
}

// ManyIn is the number of constants in a list from which on IN looks a value up in a set. With fewer
// constants it compares the value with each.
const ManyIn = 8

func (c *Compiler) in(e *syntax.InExpr) TruthFunc {
	x, not := c.Value(e.X), e.Not
	find := c.membership(e.List)
	return func(f *Frame) Truth {
		t := find(f, x(f))
		if not {
			return t.not()
		}
		return t
	}
}

// membership compiles a list to a function that reports whether a value is in it. Undefined elements are
// ignored.
func (c *Compiler) membership(list []syntax.Expr) func(f *Frame, v jsondoc.Value) Truth {
	if len(list) < ManyIn || !bind.AllConstant(list) {
		values := c.values(list)
		return func(f *Frame, v jsondoc.Value) Truth {
			if v.Kind() == jsondoc.Undefined {
				return Unknown
			}
			for _, x := range values {
				w := x(f)
				if !f.Run.Spend(min(lang.Work(v), lang.Work(w))) {
					return Unknown
				}
				if Same(v, w) == Yes {
					return Yes
				}
			}
			return no
		}
	}
	// Equal values have equal encodings, except for NaN, which equals nothing and is left out.
	set := make(map[string]struct{}, len(list))
	for _, e := range list {
		v := e.(*syntax.Literal).Value
		if v.Kind() != jsondoc.Undefined && lang.Equal(v, v) {
			set[string(jsondoc.AppendOrdered(nil, v))] = struct{}{}
		}
	}
	return func(f *Frame, v jsondoc.Value) Truth {
		if v.Kind() == jsondoc.Undefined {
			return Unknown
		}
		f.key = jsondoc.AppendOrdered(f.key[:0], v)
		_, ok := set[string(f.key)]
		return truthOf(ok)
	}
}

func (c *Compiler) like(e *syntax.Like) TruthFunc {
	var escape jsondoc.Value
	if e.Escape != nil {
		escape = e.Escape.Value
	}
	x, pattern, not := c.Value(e.X), c.Value(e.Pattern), e.Not
	compiled := func(f *Frame) *lang.LikePattern { return lang.LikeOf(pattern(f), escape) }
	if l, ok := e.Pattern.(*syntax.Literal); ok {
		p := lang.LikeOf(l.Value, escape)
		compiled = func(*Frame) *lang.LikePattern { return p }
	}
	return func(f *Frame) Truth {
		t := truthOfValue(lang.OpLike(&f.Run.CallContext, x(f), compiled(f)))
		if not {
			return t.not()
		}
		return t
	}
}
