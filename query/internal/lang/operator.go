package lang

import (
	"cmp"
	"math"
	"math/big"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// The operators. Each returns undefined if an operand is undefined or of a type that the operator does not
// accept, unless its comment says otherwise. There is no conversion between types, and only true counts as
// true.

func pick(first bool, a, b jsondoc.Value) jsondoc.Value {
	if first {
		return a
	}
	return b
}

// IsTrue reports whether a value is the boolean true. WHERE keeps only rows for which it is.
func IsTrue(v jsondoc.Value) bool { return v.Kind() == jsondoc.Bool && v.Bool() }

// Equal reports whether two values are equal for operators and functions. It is the equality of package
// jsondoc, except that NaN does not equal itself.
func Equal(a, b jsondoc.Value) bool {
	if a.Kind() == jsondoc.Number && b.Kind() == jsondoc.Number {
		return a.Num() == b.Num()
	}
	return jsondoc.Equal(a, b)
}

// Orderable reports whether < <= > >= are defined for two values: both must be of the same primitive type.
func Orderable(a, b jsondoc.Value) bool { return a.Kind() == b.Kind() && IsPrimitive(a) }

// OpOrder reports whether the order of a and b, which is -1, 0 or 1, is in [low, high]. The result is
// undefined if the values have no order, as with NaN or different types.
func OpOrder(a, b jsondoc.Value, low, high int) jsondoc.Value {
	if !Orderable(a, b) {
		return Undefined
	}
	if a.Kind() == jsondoc.Number {
		x, y := a.Num(), b.Num()
		if x != x || y != y {
			return Undefined
		}
		c := cmp.Compare(x, y)
		return jsondoc.BoolValue(low <= c && c <= high)
	}
	c := jsondoc.Compare(a, b)
	return jsondoc.BoolValue(low <= c && c <= high)
}

// OpConcat concatenates two strings.
func OpConcat(a, b jsondoc.Value) jsondoc.Value {
	if !AllOf(jsondoc.String, a, b) {
		return Undefined
	}
	text := a.Str() + b.Str()
	if len(text) > MaxText {
		return Undefined
	}
	return jsondoc.StringValue(text)
}

// OpPlus is the unary plus. It returns the number as it is written.
func OpPlus(a jsondoc.Value) jsondoc.Value {
	if a.Kind() != jsondoc.Number {
		return Undefined
	}
	return a
}

// OpNegate is the unary minus. A 64-bit integer stays exact, and wraps around on overflow. So
// -9007199254740993, which is parsed as a minus and a number, is exact. A zero that is not written as an
// integer, such as 0.0, becomes a negative zero.
func OpNegate(a jsondoc.Value) jsondoc.Value {
	if a.Kind() != jsondoc.Number {
		return Undefined
	}
	switch f := a.Num(); {
	case f == 0 && string(a.Raw()) != "0":
		return negativeZero(!math.Signbit(f))
	case math.Abs(f) >= MaxExact:
		if n, ok := AsInteger(a); ok {
			return IntegerValue(-n)
		} else if string(a.Raw()) == "9223372036854775808" { // fits into 64 bits with the minus
			return IntegerValue(math.MinInt64)
		}
	}
	return jsondoc.NumberValue(-a.Num())
}

// negativeZero returns a zero, with a minus sign if negative is set. Only a division distinguishes the two.
func negativeZero(negative bool) jsondoc.Value {
	if negative {
		return jsondoc.Of([]byte("-0.0"))
	}
	return jsondoc.NumberValue(0)
}

// OpAdd, OpSubtract, OpMultiply and OpDivide calculate with doubles, but exactly if operands and result are
// integers of 64 bits. The result of a division by zero is infinite or NaN.
func OpAdd(a, b jsondoc.Value) jsondoc.Value {
	return calculate(a, b, func(x, y float64) float64 { return x + y }, (*big.Int).Add)
}

// OpSubtract is the operator -.
func OpSubtract(a, b jsondoc.Value) jsondoc.Value {
	return calculate(a, b, func(x, y float64) float64 { return x - y }, (*big.Int).Sub)
}

// OpMultiply is the operator *.
func OpMultiply(a, b jsondoc.Value) jsondoc.Value {
	return calculate(a, b, func(x, y float64) float64 { return x * y }, (*big.Int).Mul)
}

// OpDivide is the operator /.
func OpDivide(a, b jsondoc.Value) jsondoc.Value {
	return calculate(a, b, func(x, y float64) float64 { return x / y }, quotient)
}

// OpModulo is the remainder of a division rounded towards zero; it has the sign of the dividend.
func OpModulo(a, b jsondoc.Value) jsondoc.Value {
	return calculate(a, b, math.Mod, func(z, x, y *big.Int) *big.Int {
		if y.Sign() == 0 {
			return nil
		}
		return z.Rem(x, y)
	})
}

// quotient returns x / y, or nil if the division has a remainder.
func quotient(z, x, y *big.Int) *big.Int {
	if y.Sign() == 0 {
		return nil
	}
	if _, rest := z.QuoRem(x, y, new(big.Int)); rest.Sign() != 0 {
		return nil
	}
	return z
}

// calculate applies an operator to two numbers: double calculates with doubles, exact with integers of any
// size. The exact result is used if both numbers are 64-bit integers, one of the numbers or the result is
// so large that doubles are inexact (2^53 or more), and the exact result fits into 64 bits. The result is
// undefined if a or b is not a number.
func calculate(a, b jsondoc.Value, double func(x, y float64) float64,
	exact func(z, x, y *big.Int) *big.Int) jsondoc.Value {
	if !AllOf(jsondoc.Number, a, b) {
		return Undefined
	}
	x, y := a.Num(), b.Num()
	result := double(x, y)
	if large := max(math.Abs(x), math.Abs(y), math.Abs(result)); large >= MaxExact && large <= 1<<64 {
		m, ok := AsInteger(a)
		n, ok2 := AsInteger(b)
		if ok && ok2 {
			if z := exact(new(big.Int), big.NewInt(m), big.NewInt(n)); z != nil && z.IsInt64() {
				return IntegerValue(z.Int64())
			}
		}
	}
	return jsondoc.NumberValue(result)
}

// toInt32 converts a number as JavaScript does: it drops the fraction and takes the rest modulo 2^32.
// Infinities and NaN become 0.
func toInt32(f float64) int32 {
	if f != f || f-f != 0 {
		return 0
	}
	if math.Abs(f) < 1<<62 {
		return int32(int64(f))
	}
	return int32(int64(math.Mod(math.Trunc(f), 1<<32)))
}

// bitwise implements an operator such as & or <<: it converts the numbers a and b to 32-bit integers, as
// JavaScript does, and applies f to them. The result is undefined if a or b is not a number.
func bitwise(a, b jsondoc.Value, f func(x, y int32) float64) jsondoc.Value {
	if !AllOf(jsondoc.Number, a, b) {
		return Undefined
	}
	return jsondoc.NumberValue(f(toInt32(a.Num()), toInt32(b.Num())))
}

// OpBitAnd and the other bitwise operators work on integers of 32 bits, as in JavaScript; a shift uses the
// five lowest bits of its count.
func OpBitAnd(a, b jsondoc.Value) jsondoc.Value {
	return bitwise(a, b, func(x, y int32) float64 { return float64(x & y) })
}

// OpBitOr is the operator |.
func OpBitOr(a, b jsondoc.Value) jsondoc.Value {
	return bitwise(a, b, func(x, y int32) float64 { return float64(x | y) })
}

// OpBitXor is the operator ^.
func OpBitXor(a, b jsondoc.Value) jsondoc.Value {
	return bitwise(a, b, func(x, y int32) float64 { return float64(x ^ y) })
}

// OpShiftLeft is the operator <<.
func OpShiftLeft(a, b jsondoc.Value) jsondoc.Value {
	return bitwise(a, b, func(x, y int32) float64 { return float64(x << (y & 31)) })
}

// OpShiftRight is the operator >>.
func OpShiftRight(a, b jsondoc.Value) jsondoc.Value {
	return bitwise(a, b, func(x, y int32) float64 { return float64(x >> (y & 31)) })
}

// OpShiftRightZero is the operator >>>, which fills with zeros; the result is a signed integer of 32 bits.
func OpShiftRightZero(a, b jsondoc.Value) jsondoc.Value {
	return bitwise(a, b, func(x, y int32) float64 { return float64(int32(uint32(x) >> (y & 31))) })
}

// OpBitNot is the operator ~.
func OpBitNot(a jsondoc.Value) jsondoc.Value {
	return bitwise(a, a, func(x, _ int32) float64 { return float64(^x) })
}

// opConditional implements a ? b : c and IIF(a, b, c). It returns b if a is the boolean true, and c
// otherwise.
func opConditional(condition, a, b jsondoc.Value) jsondoc.Value { return pick(IsTrue(condition), a, b) }

// OpIndex implements a[i]. It returns an element of an array by its index from 0, ignoring the fraction of
// i, or a member of an object by its name.
func OpIndex(a, i jsondoc.Value) jsondoc.Value {
	switch {
	case a.Kind() == jsondoc.Object && i.Kind() == jsondoc.String:
		return a.Member(i.Str())
	case a.Kind() == jsondoc.Array:
		n := math.Trunc(i.Num())
		if i.Kind() != jsondoc.Number || !(n >= 0 && n < MaxExact) {
			return Undefined
		}
		return Element(a, int(n))
	}
	return Undefined
}

// Element returns the n-th element of an array, or undefined.
func Element(array jsondoc.Value, n int) (v jsondoc.Value) {
	array.Each(func(_ string, elem jsondoc.Value) bool {
		if n == 0 {
			v = elem
		}
		n--
		return n >= 0
	})
	return v
}
