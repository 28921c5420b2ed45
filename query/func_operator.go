package query

import (
	"cmp"
	"math"

	"github.com/mayflydb/mayfly/doc"
)

// The operators. Each returns undefined where an operand is undefined or of a type that the operator does not take,
// except where its comment says otherwise. There is no conversion between types and no truthiness.

// opNot negates a boolean.
func opNot(a doc.Value) doc.Value {
	if a.Kind() != doc.Bool {
		return undefined
	}
	return doc.BoolValue(!a.Bool())
}

// opAnd is false where either operand is, whatever the other one.
func opAnd(a, b doc.Value) doc.Value {
	return allTrue(2, func(i int) doc.Value { return pick(i == 0, a, b) })
}

// opOr is true where either operand is, whatever the other one.
func opOr(a, b doc.Value) doc.Value {
	return anyOf(2, func(i int) doc.Value { return pick(i == 0, a, b) })
}

func pick(first bool, a, b doc.Value) doc.Value {
	if first {
		return a
	}
	return b
}

// isTrue tells whether a value is true itself; WHERE keeps a row for nothing else.
func isTrue(v doc.Value) bool { return v.Kind() == doc.Bool && v.Bool() }

// opEqual compares values of any types: those of different types are not equal, arrays and objects are compared by
// content. Only undefined equals nothing and differs from nothing.
func opEqual(a, b doc.Value) doc.Value {
	if a.Kind() == doc.Undefined || b.Kind() == doc.Undefined {
		return undefined
	}
	return doc.BoolValue(equal(a, b))
}

// opNotEqual is the negation of opEqual.
func opNotEqual(a, b doc.Value) doc.Value { return opNot(opEqual(a, b)) }

// equal is equality as operators and functions have it: that of doc, except that NaN is not even itself.
func equal(a, b doc.Value) bool {
	if a.Kind() == doc.Number && b.Kind() == doc.Number {
		return a.Num() == b.Num()
	}
	return doc.Equal(a, b)
}

// orderable tells whether one of < <= > >= says anything about two values: both are of the same primitive type.
func orderable(a, b doc.Value) bool { return a.Kind() == b.Kind() && isPrimitive(a) }

// opLess is a < b.
func opLess(a, b doc.Value) doc.Value { return opOrder(a, b, -1, -1) }

// opLessEqual is a <= b.
func opLessEqual(a, b doc.Value) doc.Value { return opOrder(a, b, -1, 0) }

// opGreater is a > b.
func opGreater(a, b doc.Value) doc.Value { return opOrder(a, b, 1, 1) }

// opGreaterEqual is a >= b.
func opGreaterEqual(a, b doc.Value) doc.Value { return opOrder(a, b, 0, 1) }

// opOrder tells whether the order of a and b is between low and high. NaN has no order: all four operators are false.
func opOrder(a, b doc.Value, low, high int) doc.Value {
	if !orderable(a, b) {
		return undefined
	}
	if a.Kind() == doc.Number {
		x, y := a.Num(), b.Num()
		c := cmp.Compare(x, y)
		return doc.BoolValue(x == x && y == y && low <= c && c <= high)
	}
	c := doc.Compare(a, b)
	return doc.BoolValue(low <= c && c <= high)
}

// opBetween is a >= low AND a <= high, so it can be false although one of the bounds is of another type.
func opBetween(a, low, high doc.Value) doc.Value {
	return opAnd(opGreaterEqual(a, low), opLessEqual(a, high))
}

// opConcat joins two strings.
func opConcat(a, b doc.Value) doc.Value {
	if !allOf(doc.String, a, b) {
		return undefined
	}
	text := a.Str() + b.Str()
	if len(text) > maxText {
		return undefined
	}
	return doc.StringValue(text)
}

// opPlus is the unary plus: a number stays as it is, spelling and all.
func opPlus(a doc.Value) doc.Value {
	if a.Kind() != doc.Number {
		return undefined
	}
	return a
}

// opNegate is the unary minus. Integers of 64 bits stay exact, since a literal such as -9007199254740993 is a minus and a
// number.
func opNegate(a doc.Value) doc.Value {
	if a.Kind() != doc.Number {
		return undefined
	}
	if math.Abs(a.Num()) >= maxExact {
		n, ok := asInteger(a)
		switch {
		case ok && n != math.MinInt64:
			return integerValue(-n)
		case !ok && string(a.Raw()) == "9223372036854775808": // fits with the minus
			return integerValue(math.MinInt64)
		}
	}
	return doc.NumberValue(-a.Num())
}

// opAdd, opSubtract, opMultiply and opDivide calculate with doubles: a division by zero is infinite or NaN.
func opAdd(a, b doc.Value) doc.Value {
	if !allOf(doc.Number, a, b) {
		return undefined
	}
	return doc.NumberValue(a.Num() + b.Num())
}

func opSubtract(a, b doc.Value) doc.Value {
	if !allOf(doc.Number, a, b) {
		return undefined
	}
	return doc.NumberValue(a.Num() - b.Num())
}

func opMultiply(a, b doc.Value) doc.Value {
	if !allOf(doc.Number, a, b) {
		return undefined
	}
	return doc.NumberValue(a.Num() * b.Num())
}

func opDivide(a, b doc.Value) doc.Value {
	if !allOf(doc.Number, a, b) {
		return undefined
	}
	return doc.NumberValue(a.Num() / b.Num())
}

// opModulo is the remainder of a division that was cut off; it has the sign of the dividend.
func opModulo(a, b doc.Value) doc.Value {
	if !allOf(doc.Number, a, b) {
		return undefined
	}
	return doc.NumberValue(math.Mod(a.Num(), b.Num()))
}

// toInt32 converts as JavaScript does: without the fraction, modulo 2^32; what is not finite is 0.
func toInt32(f float64) int32 {
	if f != f || f-f != 0 {
		return 0
	}
	if math.Abs(f) < 1<<62 {
		return int32(int64(f))
	}
	return int32(int64(math.Mod(math.Trunc(f), 1<<32)))
}

// bitwise makes an operator of a function of two integers of 32 bits.
func bitwise(a, b doc.Value, f func(x, y int32) float64) doc.Value {
	if !allOf(doc.Number, a, b) {
		return undefined
	}
	return doc.NumberValue(f(toInt32(a.Num()), toInt32(b.Num())))
}

// opBitAnd and the other bitwise operators work on integers of 32 bits, as in JavaScript; a shift takes the five lowest
// bits of its count.
func opBitAnd(a, b doc.Value) doc.Value {
	return bitwise(a, b, func(x, y int32) float64 { return float64(x & y) })
}

func opBitOr(a, b doc.Value) doc.Value {
	return bitwise(a, b, func(x, y int32) float64 { return float64(x | y) })
}

func opBitXor(a, b doc.Value) doc.Value {
	return bitwise(a, b, func(x, y int32) float64 { return float64(x ^ y) })
}

func opShiftLeft(a, b doc.Value) doc.Value {
	return bitwise(a, b, func(x, y int32) float64 { return float64(x << (y & 31)) })
}

func opShiftRight(a, b doc.Value) doc.Value {
	return bitwise(a, b, func(x, y int32) float64 { return float64(x >> (y & 31)) })
}

// opShiftRightZero is >>>, which fills with zeroes.
func opShiftRightZero(a, b doc.Value) doc.Value {
	return bitwise(a, b, func(x, y int32) float64 { return float64(uint32(x) >> (y & 31)) })
}

func opBitNot(a doc.Value) doc.Value {
	return bitwise(a, a, func(x, _ int32) float64 { return float64(^x) })
}

// opConditional is a ? b : c, and IIF: c for every condition but true.
func opConditional(condition, a, b doc.Value) doc.Value { return pick(isTrue(condition), a, b) }

// opCoalesce is a ?? b: b where a is undefined; null is a value.
func opCoalesce(a, b doc.Value) doc.Value { return pick(a.Kind() != doc.Undefined, a, b) }

// opIn tells whether a equals one of the values, as a = x OR a = y OR ... does.
func opIn(a doc.Value, values []doc.Value) doc.Value {
	return anyOf(len(values), func(i int) doc.Value { return opEqual(a, values[i]) })
}

// opIndex is a[i]: an element of an array by a number from 0, a member of an object by its name.
func opIndex(a, i doc.Value) doc.Value {
	switch {
	case a.Kind() == doc.Object && i.Kind() == doc.String:
		return a.Member(i.Str())
	case a.Kind() == doc.Array:
		n, ok := position(i)
		if !ok || n < 0 {
			return undefined
		}
		return element(a, n)
	}
	return undefined
}

// element returns the n-th element of an array, or undefined.
func element(array doc.Value, n int) (v doc.Value) {
	array.Each(func(_ string, elem doc.Value) bool {
		if n == 0 {
			v = elem
		}
		n--
		return n >= 0
	})
	return v
}
