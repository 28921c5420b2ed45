package query

import (
	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// decide compiles a condition. What is not a boolean counts as undefined.
func (c *compiler) decide(e syntax.Expr) decider {
	if !c.isKey(e) {
		switch e := e.(type) {
		case *syntax.Logical:
			return c.logical(e)
		case *syntax.Unary:
			if e.Op == syntax.Not {
				x := c.decide(e.X)
				return func(f *frame) truth { return x(f).not() }
			}
		case *syntax.Binary:
			if e.Op <= syntax.Ge {
				return c.comparison(e)
			}
		case *syntax.Between:
			return c.between(e)
		case *syntax.In:
			return c.in(e)
		case *syntax.Like:
			return c.like(e)
		case *syntax.Call:
			if !e.UDF {
				if fn, ok := lang.LookupBuiltin(e.Name); ok && isTypeTest(fn.Name) {
					x, set := c.value(e.Args[0]), typeTests()[fn.Name]
					return func(f *frame) truth { return truthOf(set.has(x(f).Kind())) }
				}
			}
		case *syntax.Subquery:
			if e.Kind == syntax.Exists {
				return c.exists(e)
			}
		}
	}
	x := c.value(e)
	return func(f *frame) truth { return truthOfValue(x(f)) }
}

// logical compiles a chain of AND or OR, which ends at the first operand that decides.
func (c *compiler) logical(e *syntax.Logical) decider {
	terms := make([]decider, len(e.Terms))
	for i, term := range e.Terms {
		terms[i] = c.decide(term)
	}
	neutral, decides := yes, no
	if e.Op == syntax.Or {
		neutral, decides = no, yes
	}
	return func(f *frame) truth {
		result := neutral
		for _, term := range terms {
			switch t := term(f); t {
			case decides:
				return t
			case unknown:
				result = unknown
			}
		}
		return result
	}
}

// comparison compiles = != < <= > >=.
func (c *compiler) comparison(e *syntax.Binary) decider {
	x, y := c.value(e.X), c.value(e.Y)
	if l, ok := e.Y.(*syntax.Literal); ok { // the usual form: no call for the constant
		v := l.Value
		y = nil
		switch e.Op {
		case syntax.Eq:
			return func(f *frame) truth { return same(x(f), v) }
		case syntax.Ne:
			return func(f *frame) truth { return same(x(f), v).not() }
		}
		low, high := orderBounds(e.Op)
		return func(f *frame) truth { return ordered(x(f), v, low, high) }
	}
	if i, ok := c.parameter(e.Y); ok {
		return comparedWith(x, e.Op, i)
	}
	switch e.Op {
	case syntax.Eq:
		return func(f *frame) truth { return same(compared(f, x, y)) }
	case syntax.Ne:
		return func(f *frame) truth { return same(compared(f, x, y)).not() }
	}
	low, high := orderBounds(e.Op)
	return func(f *frame) truth {
		a, b := compared(f, x, y)
		return ordered(a, b, low, high)
	}
}

// comparedWith is a comparison with a parameter.
func comparedWith(x valuer, op syntax.BinaryOp, i int) decider {
	switch op {
	case syntax.Eq:
		return func(f *frame) truth { return same(x(f), f.run.given[i]) }
	case syntax.Ne:
		return func(f *frame) truth { return same(x(f), f.run.given[i]).not() }
	}
	low, high := orderBounds(op)
	return func(f *frame) truth { return ordered(x(f), f.run.given[i], low, high) }
}

// compared evaluates the operands of a comparison. They are undefined where the run has ended.
func compared(f *frame, x, y valuer) (a, b doc.Value) {
	if a, b = operands(f, x, y); !f.run.Spend(min(lang.Work(a), lang.Work(b))) {
		return lang.Undefined, lang.Undefined
	}
	return a, b
}

// same is the operator =.
func same(a, b doc.Value) truth {
	if a.Kind() == doc.Undefined || b.Kind() == doc.Undefined {
		return unknown
	}
	return truthOf(a.Kind() == b.Kind() && lang.Equal(a, b))
}

// orderBounds tells between what the order of two values must lie for a comparison to hold.
func orderBounds(op syntax.BinaryOp) (low, high int) {
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

func ordered(a, b doc.Value, low, high int) truth {
	if a.Kind() != b.Kind() {
		return unknown
	}
	return truthOfValue(lang.OpOrder(a, b, low, high))
}

func and(a, b truth) truth {
	switch {
	case a == no || b == no:
		return no
	case a == unknown || b == unknown:
		return unknown
	}
	return yes
}

func (c *compiler) between(e *syntax.Between) decider {
	x, low, high, not := c.value(e.X), c.value(e.Low), c.value(e.High), e.Not
	return func(f *frame) truth {
		v := x(f)
		t := and(ordered(v, low(f), 0, 1), ordered(v, high(f), -1, 0))
		if not {
			return t.not()
		}
		return t
	}
}

// manyIn is the number of constants from which IN looks them up instead of comparing with each.
const manyIn = 8

func (c *compiler) in(e *syntax.In) decider {
	x, not := c.value(e.X), e.Not
	find := c.membership(e.List)
	return func(f *frame) truth {
		t := find(f, x(f))
		if not {
			return t.not()
		}
		return t
	}
}

// membership compiles a list to what tells whether a value is in it. What is undefined in it counts for
// nothing.
func (c *compiler) membership(list []syntax.Expr) func(f *frame, v doc.Value) truth {
	if len(list) < manyIn || !allConstant(list) {
		values := c.values(list)
		return func(f *frame, v doc.Value) truth {
			if v.Kind() == doc.Undefined {
				return unknown
			}
			for _, x := range values {
				w := x(f)
				if !f.run.Spend(min(lang.Work(v), lang.Work(w))) {
					return unknown
				}
				if same(v, w) == yes {
					return yes
				}
			}
			return no
		}
	}
	// Equal values have equal encodings, NaN aside, which equals nothing and is left out.
	set := make(map[string]struct{}, len(list))
	for _, e := range list {
		v := e.(*syntax.Literal).Value
		if v.Kind() != doc.Undefined && lang.Equal(v, v) {
			set[string(doc.AppendOrdered(nil, v))] = struct{}{}
		}
	}
	return func(f *frame, v doc.Value) truth {
		if v.Kind() == doc.Undefined {
			return unknown
		}
		f.key = doc.AppendOrdered(f.key[:0], v)
		_, ok := set[string(f.key)]
		return truthOf(ok)
	}
}

func (c *compiler) like(e *syntax.Like) decider {
	var escape doc.Value
	if e.Escape != nil {
		escape = e.Escape.Value
	}
	x, pattern, not := c.value(e.X), c.value(e.Pattern), e.Not
	compiled := func(f *frame) *lang.LikePattern { return lang.LikeOf(pattern(f), escape) }
	if l, ok := e.Pattern.(*syntax.Literal); ok {
		p := lang.LikeOf(l.Value, escape)
		compiled = func(*frame) *lang.LikePattern { return p }
	}
	return func(f *frame) truth {
		t := truthOfValue(lang.OpLike(&f.run.Call, x(f), compiled(f)))
		if not {
			return t.not()
		}
		return t
	}
}
