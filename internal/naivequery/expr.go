package naivequery

import (
	"math"
	"math/big"

	"github.com/mayflydb/mayfly/query/syntax"
)

// eval returns the value of an expression.
func (e *evaluator) eval(x syntax.Expr, at evaluationContext) any {
	switch x := x.(type) {
	case *syntax.Literal:
		return constant(x.Value)
	case *syntax.Parameter:
		if v, ok := e.params[x.Name]; ok {
			return v
		}
		return Undefined{}
	case *syntax.Ident:
		return e.ident(x, at)
	case *syntax.MemberExpr:
		return member(e.eval(x.X, at), x.Name)
	case *syntax.IndexExpr:
		return member(e.eval(x.X, at), e.eval(x.I, at))
	case *syntax.Unary:
		return unary(x.Op, e.eval(x.X, at))
	case *syntax.Binary:
		return binary(x.Op, e.eval(x.X, at), e.eval(x.Y, at))
	case *syntax.Logical:
		return e.logical(x, at)
	case *syntax.Coalesce:
		if v := e.eval(x.X, at); !isUndefined(v) {
			return v
		}
		return e.eval(x.Y, at)
	case *syntax.Conditional:
		if e.eval(x.If, at) == any(true) {
			return e.eval(x.Then, at)
		}
		return e.eval(x.Else, at)
	}
	return e.predicate(x, at)
}

// predicate evaluates BETWEEN, IN, LIKE and the other kinds of expressions that eval does not handle itself.
func (e *evaluator) predicate(x syntax.Expr, at evaluationContext) any {
	switch x := x.(type) {
	case *syntax.Between:
		v := e.eval(x.X, at)
		return negatedIf(x.Not, and(binary(syntax.Ge, v, e.eval(x.Low, at)),
			binary(syntax.Le, v, e.eval(x.High, at))))
	case *syntax.InExpr:
		v := e.eval(x.X, at)
		var found any = false
		for _, one := range x.List {
			found = or(found, binary(syntax.Eq, v, e.eval(one, at)))
		}
		return negatedIf(x.Not, found)
	case *syntax.Like:
		var escape any = Undefined{}
		if x.Escape != nil {
			escape = e.eval(x.Escape, at)
		}
		return negatedIf(x.Not, like(e.eval(x.X, at), e.eval(x.Pattern, at), escape, x.Escape != nil))
	case *syntax.Call:
		return e.call(x, at)
	case *syntax.ArrayLiteral:
		list := []any{}
		for _, elem := range x.Elems {
			if v := e.eval(elem, at); !isUndefined(v) {
				list = append(list, v)
			}
		}
		return list
	case *syntax.ObjectLiteral:
		object := map[string]any{}
		for i, key := range x.Keys {
			delete(object, key)
			if v := e.eval(x.Values[i], at); !isUndefined(v) {
				object[key] = v
			}
		}
		return object
	case *syntax.Subquery:
		return e.subquery(x, at)
	case *syntax.RewrittenQueryPlaceholder:
		return true
	}
	unknown("this expression")
	return nil
}

func (e *evaluator) ident(x *syntax.Ident, at evaluationContext) any {
	if v, ok := at.scope.find(x.Name); ok {
		return v
	}
	switch x.Name {
	case "NaN":
		return math.NaN()
	case "Infinity":
		return math.Inf(1)
	}
	failf("Identifier '%s' could not be resolved.", x.Name)
	return nil
}

// member evaluates object.name, object["name"] or array[i].
func member(v, key any) any {
	switch key := key.(type) {
	case string:
		if object, ok := v.(map[string]any); ok {
			if elem, ok := object[key]; ok {
				return elem
			}
		}
	default:
		at, ok := number(key)
		array, _ := v.([]any)
		for i, elem := range array {
			if ok && float64(i) == at {
				return elem
			}
		}
	}
	return Undefined{}
}

func (e *evaluator) subquery(x *syntax.Subquery, at evaluationContext) any {
	rows := e.rows(x.Query, at.scope)
	switch {
	case x.Kind == syntax.Exists:
		return len(rows) > 0
	case x.Kind == syntax.Array:
		return append([]any{}, rows...)
	case len(rows) == 0:
		return Undefined{}
	case len(rows) > 1:
		failf("The cardinality of a scalar subquery result set cannot be greater than one.")
	}
	return rows[0]
}

func (e *evaluator) logical(x *syntax.Logical, at evaluationContext) any {
	result := e.eval(x.Terms[0], at)
	for _, term := range x.Terms[1:] {
		if v := e.eval(term, at); x.Op == syntax.And {
			result = and(result, v)
		} else {
			result = or(result, v)
		}
	}
	return result
}

// and implements AND with the truth values true, false and undefined. A value that is not a boolean counts as
// undefined.
func and(a, b any) any {
	switch {
	case a == any(false) || b == any(false):
		return false
	case a == any(true) && b == any(true):
		return true
	}
	return Undefined{}
}

func or(a, b any) any { return not(and(not(a), not(b))) }

func not(v any) any {
	if b, ok := v.(bool); ok {
		return !b
	}
	return Undefined{}
}

func negatedIf(negate bool, v any) any {
	if negate {
		return not(v)
	}
	return v
}

func unary(op syntax.UnaryOperator, v any) any {
	if op == syntax.Not {
		return not(v)
	}
	n, ok := number(v)
	switch {
	case !ok:
		return Undefined{}
	case op == syntax.Neg:
		return negative(v)
	case op == syntax.BitNot:
		return float64(^int32Of(n))
	}
	return v
}

// negative returns a number with the opposite sign. The lowest integer overflows to itself.
func negative(v any) any {
	if n, ok := v.(LargeInteger); ok {
		return -n
	}
	return -v.(float64)
}

func binary(op syntax.BinaryOperator, a, b any) any {
	switch op {
	case syntax.Eq:
		return equal(a, b)
	case syntax.Ne:
		return not(equal(a, b))
	case syntax.Lt, syntax.Le, syntax.Gt, syntax.Ge:
		return ordered(op, a, b)
	case syntax.Concat:
		s, ok1 := a.(string)
		t, ok2 := b.(string)
		if ok1 && ok2 {
			return s + t
		}
		return Undefined{}
	}
	x, ok1 := number(a)
	y, ok2 := number(b)
	if !ok1 || !ok2 {
		return Undefined{}
	}
	if n, ok := exactly(op, a, b); ok {
		return n
	}
	return arithmetic(op, x, y)
}

// exactly computes with two integers without rounding. It returns false if an operand or the result is not
// an integer of 64 bits, or if none of the three is a LargeInteger, so that doubles are exact anyway.
func exactly(op syntax.BinaryOperator, a, b any) (any, bool) {
	x, y := wholeOf(a), wholeOf(b)
	if x == nil || y == nil {
		return nil, false
	}
	z, rest := new(big.Int), new(big.Int)
	switch op {
	case syntax.Add:
		z.Add(x, y)
	case syntax.Sub:
		z.Sub(x, y)
	case syntax.Mul:
		z.Mul(x, y)
	case syntax.Div, syntax.Mod:
		if y.Sign() == 0 {
			return nil, false
		}
		if z.QuoRem(x, y, rest); op == syntax.Mod {
			z = rest
		} else if rest.Sign() != 0 {
			return nil, false
		}
	default:
		return nil, false
	}
	_, large1 := a.(LargeInteger)
	_, large2 := b.(LargeInteger)
	switch {
	case !z.IsInt64():
		return nil, false
	case z.CmpAbs(big.NewInt(maxExact)) >= 0:
		return LargeInteger(z.Int64()), true
	}
	return float64(z.Int64()), large1 || large2
}

// wholeOf returns a value as an exact integer, or nil if it is not an integer.
func wholeOf(v any) *big.Int {
	switch v := v.(type) {
	case LargeInteger:
		return big.NewInt(int64(v))
	case float64:
		if math.Abs(v) < maxExact && v == math.Trunc(v) {
			return big.NewInt(int64(v))
		}
	}
	return nil
}

// equal is the operator =. It returns undefined if an operand is undefined, and false for operands of
// different types.
func equal(a, b any) any {
	if isUndefined(a) || isUndefined(b) {
		return Undefined{}
	}
	return equals(a, b)
}

// equals reports whether two values that are not undefined are equal. NaN does not equal itself.
func equals(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equals(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, v := range a {
			if w, ok := b[name]; !ok || !equals(v, w) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	x, ok1 := number(a)
	y, ok2 := number(b)
	return ok1 && ok2 && x == y || a == b
}

// ordered implements < <= > >=. They are undefined unless both operands are primitive values of the same
// type.
func ordered(op syntax.BinaryOperator, a, b any) any {
	if !isPrimitive(a) || rank(a) != rank(b) {
		return Undefined{}
	}
	x, _ := number(a)
	if y, _ := number(b); math.IsNaN(x) || math.IsNaN(y) {
		return false
	}
	switch c := Compare(a, b); op {
	case syntax.Lt:
		return c < 0
	case syntax.Le:
		return c <= 0
	case syntax.Gt:
		return c > 0
	default:
		return c >= 0
	}
}

func arithmetic(op syntax.BinaryOperator, x, y float64) any {
	switch op {
	case syntax.Add:
		return x + y
	case syntax.Sub:
		return x - y
	case syntax.Mul:
		return x * y
	case syntax.Div:
		return x / y
	case syntax.Mod:
		return math.Mod(x, y)
	}
	a, b := int32Of(x), int32Of(y)
	switch by := uint32(b) % 32; op {
	case syntax.BitAnd:
		return float64(a & b)
	case syntax.BitOr:
		return float64(a | b)
	case syntax.BitXor:
		return float64(a ^ b)
	case syntax.Shl:
		return float64(a << by)
	case syntax.Shr:
		return float64(a >> by)
	default:
		return float64(uint32(a) >> by)
	}
}

// int32Of truncates a number to 32 bits, as JavaScript does.
func int32Of(n float64) int32 {
	const all = 1 << 32
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return 0
	}
	n = math.Mod(math.Trunc(n), all)
	if n < 0 {
		n += all
	}
	return int32(uint32(n))
}
