package lang

import (
	"math"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

func mathBuiltins() []Builtin {
	return []Builtin{
		ofInteger("ABS", math.Abs), ofInteger("CEILING", math.Ceil), ofInteger("FLOOR",
			math.Floor), of1("SIGN", sign),
		ofInteger("TRUNC", math.Trunc), {Name: "ROUND", Min: 1, Max: 2, Fn: fnRound}, of1("SQRT",
			math.Sqrt), of1("EXP", math.Exp), of1("LOG10", math.Log10),
		of1("SQUARE", func(x float64) float64 { return x * x }),
		of1("SIN", math.Sin), of1("COS", math.Cos), of1("TAN", math.Tan), of1("ASIN", math.Asin), of1("ACOS",
			math.Acos),
		of1("ATAN", math.Atan), of1("COT", func(x float64) float64 { return 1 / math.Tan(x) }),
		of1("DEGREES", func(x float64) float64 { return x * (180 / math.Pi) }),
		of1("RADIANS", func(x float64) float64 { return x * (math.Pi / 180) }),
		of2("POWER", math.Pow), of2("ATN2", math.Atan2),
		{Name: "LOG", Min: 1, Max: 2, Fn: fnLog},
		{Name: "NUMBERBIN", Min: 1, Max: 2, Fn: fnNumberBin},
		{Name: "PI", Fn: func(*CallContext,
			[]jsondoc.Value) jsondoc.Value {
			return jsondoc.NumberValue(math.Pi)
		}},
		{Name: "RAND", Volatile: true, Fn: func(c *CallContext, _ []jsondoc.Value) jsondoc.Value {
			if c.Random == nil {
				return jsondoc.Value{}
			}
			return jsondoc.NumberValue(c.Random())
		}},
	}
}

// of1 returns the function of the query language with this name that applies f to its argument. Its value
// is undefined if the argument is not a number.
func of1(name string, f func(float64) float64) Builtin {
	return Builtin{Name: name, Min: 1, Max: 1, Fn: func(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
		if args[0].Kind() != jsondoc.Number {
			return Undefined
		}
		return jsondoc.NumberValue(f(args[0].Num()))
	}}
}

// ofInteger returns the function of the query language with this name that applies f to a number; for other
// arguments it is undefined. f must be a function such as Abs or Floor, which changes at most the sign of an
// integer. So integers of 64 bits are calculated exactly.
func ofInteger(name string, f func(float64) float64) Builtin {
	b := of1(name, f)
	double := b.Fn
	b.Fn = func(c *CallContext, args []jsondoc.Value) jsondoc.Value {
		if x := args[0].Num(); math.Abs(x) >= MaxExact {
			if n, ok := AsInteger(args[0]); ok && f(x) != x {
				return IntegerValue(-n)
			} else if ok {
				return IntegerValue(n)
			}
		}
		return double(c, args)
	}
	return b
}

// fnRound rounds a number; halves are rounded away from zero. The optional second argument is the number of
// decimal places. If it is negative, places before the decimal point are rounded.
func fnRound(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	places := 0
	if len(args) > 1 {
		var ok bool
		if places, ok = position(args[1]); !ok {
			return Undefined
		}
	}
	x := args[0].Num()
	switch _, whole := AsInteger(args[0]); {
	case args[0].Kind() != jsondoc.Number:
		return Undefined
	case whole && places >= 0:
		return args[0]
	}
	power := math.Pow(10, float64(places))
	if math.IsInf(power, 1) {
		return jsondoc.NumberValue(x) // the number has no digit at that place
	}
	return jsondoc.NumberValue(math.Round(x*power) / power)
}

// of2 returns the function of the query language with this name that applies f to its two arguments. Its
// value is undefined unless both are numbers.
func of2(name string, f func(x, y float64) float64) Builtin {
	return Builtin{Name: name, Min: 2, Max: 2, Fn: func(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
		if !AllOf(jsondoc.Number, args...) {
			return Undefined
		}
		return jsondoc.NumberValue(f(args[0].Num(), args[1].Num()))
	}}
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x // zero, or NaN
}

// fnLog returns the natural logarithm of a number or, with a second argument, the logarithm to that base.
func fnLog(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	if !AllOf(jsondoc.Number, args...) {
		return Undefined
	}
	x := args[0].Num()
	if len(args) == 1 {
		return jsondoc.NumberValue(math.Log(x))
	}
	switch base := args[1].Num(); base {
	case 2:
		return jsondoc.NumberValue(math.Log2(x))
	case 10:
		return jsondoc.NumberValue(math.Log10(x))
	default:
		return jsondoc.NumberValue(math.Log(x) / math.Log(base))
	}
}

// fnNumberBin rounds a number down to a multiple of a size. If the size is negative, it rounds up.
func fnNumberBin(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	size := 1.0
	if len(args) > 1 {
		size = args[1].Num()
	}
	if !AllOf(jsondoc.Number, args...) || size == 0 {
		return Undefined
	}
	return jsondoc.NumberValue(math.Floor(args[0].Num()/size) * size)
}

// integerBuiltins returns the functions of 64-bit integers, which overflow as in two's complement. If an
// argument is not such an integer, the result is undefined.
func integerBuiltins() []Builtin {
	return []Builtin{
		int2("INTADD", func(x, y int64) int64 { return x + y }),
		int2("INTSUB", func(x, y int64) int64 { return x - y }),
		int2("INTMUL", func(x, y int64) int64 { return x * y }),
		intQuotient("INTDIV", func(x, y int64) int64 { return x / y }),
		intQuotient("INTMOD", func(x, y int64) int64 { return x % y }),
		int2("INTBITAND", func(x, y int64) int64 { return x & y }),
		int2("INTBITOR", func(x, y int64) int64 { return x | y }),
		int2("INTBITXOR", func(x, y int64) int64 { return x ^ y }),
		int2("INTBITLEFTSHIFT", func(x, y int64) int64 { return x << (y & 63) }),
		int2("INTBITRIGHTSHIFT", func(x, y int64) int64 { return x >> (y & 63) }),
		{Name: "INTBITNOT", Min: 1, Max: 1, Fn: func(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
			x, ok := AsInteger(args[0])
			if !ok {
				return Undefined
			}
			return IntegerValue(^x)
		}},
	}
}

func int2(name string, f func(x, y int64) int64) Builtin {
	return Builtin{Name: name, Min: 2, Max: 2, Fn: func(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
		x, ok := AsInteger(args[0])
		y, ok2 := AsInteger(args[1])
		if !ok || !ok2 {
			return Undefined
		}
		return IntegerValue(f(x, y))
	}}
}

// intQuotient returns the built-in function called name, of two 64-bit integers, that is computed by f, a
// division or remainder. The result is undefined for a division by 0, and if the quotient does not fit
// into 64 bits.
func intQuotient(name string, f func(x, y int64) int64) Builtin {
	b := int2(name, f)
	divide := b.Fn
	b.Fn = func(c *CallContext, args []jsondoc.Value) jsondoc.Value {
		if n, _ := AsInteger(args[1]); n == 0 {
			return Undefined
		} else if m, _ := AsInteger(args[0]); n == -1 && m == math.MinInt64 { // the result does not fit
			return Undefined
		}
		return divide(c, args)
	}
	return b
}
