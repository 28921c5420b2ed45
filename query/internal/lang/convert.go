package lang

import (
	"bytes"
	"math"
	"strconv"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

func conversionBuiltins() []Builtin {
	return []Builtin{
		{Name: "TOSTRING", Min: 1, Max: 1, Fn: fnToString},
		{Name: "STRINGTOARRAY", Min: 1, Max: 1, Fn: parseAs(jsondoc.Array)},
		{Name: "STRINGTOBOOLEAN", Min: 1, Max: 1, Fn: parseAs(jsondoc.Bool)},
		{Name: "STRINGTONULL", Min: 1, Max: 1, Fn: parseAs(jsondoc.Null)},
		{Name: "STRINGTONUMBER", Min: 1, Max: 1, Fn: parseAs(jsondoc.Number)},
		{Name: "STRINGTOOBJECT", Min: 1, Max: 1, Fn: parseAs(jsondoc.Object)},
	}
}

// parseAs returns the implementation of a built-in function that parses its argument, a string, as one
// JSON value of kind k, which may have blanks around it.
func parseAs(k jsondoc.Kind) func(*CallContext, []jsondoc.Value) jsondoc.Value {
	return func(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
		if args[0].Kind() != jsondoc.String {
			return Undefined
		}
		text := args[0].AppendStr(nil) // the result is a view on this copy
		v := jsondoc.Of(text)
		if v.Kind() != k || jsondoc.Valid(text, jsondoc.Limits{MaxBytes: MaxText}) != nil {
			return Undefined
		}
		return v
	}
}

func fnToString(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	switch v := args[0]; v.Kind() {
	case jsondoc.Undefined, jsondoc.String:
		return v
	default:
		return textValue(string(appendText(nil, v)))
	}
}

// appendText appends a value in the format of ToString: JSON without blanks, numbers in their shortest form.
func appendText(dst []byte, v jsondoc.Value) []byte {
	switch v.Kind() {
	case jsondoc.Number:
		return appendNumberText(dst, v)
	case jsondoc.String:
		return jsondoc.AppendString(dst, v.Str())
	case jsondoc.Array, jsondoc.Object:
		return appendNestedText(dst, v)
	}
	return v.AppendJSON(dst)
}

func appendNestedText(dst []byte, v jsondoc.Value) []byte {
	open, end := byte('['), byte(']')
	if v.Kind() == jsondoc.Object {
		open, end = '{', '}'
	}
	dst = append(dst, open)
	start := len(dst)
	v.Each(func(key string, elem jsondoc.Value) bool {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		if v.Kind() == jsondoc.Object {
			dst = append(jsondoc.AppendString(dst, key), ':')
		}
		dst = appendText(dst, elem)
		return true
	})
	return append(dst, end)
}

// appendNumberText appends a number. An integer of 64 bits has all its digits. A double has 15 digits, or 17
// if 15 digits do not identify it. From 1e17 on and below 1e-4 it has an exponent of at least two digits.
// This is the format of the service's run-time library.
func appendNumberText(dst []byte, v jsondoc.Value) []byte {
	f := v.Num()
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 0):
		if f < 0 {
			dst = append(dst, '-')
		}
		return append(dst, "Infinity"...)
	case f == 0 && math.Signbit(f):
		return append(dst, "-0"...)
	}
	if n, ok := AsInteger(v); ok {
		return strconv.AppendInt(dst, n, 10)
	}
	digits := 15
	var buf [32]byte
	if back, err := strconv.ParseFloat(string(strconv.AppendFloat(buf[:0], f, 'e', digits-1, 64)),
		64); err != nil || back != f {
		digits = 17
	}
	mantissa, exponent, _ := bytes.Cut(strconv.AppendFloat(buf[:0], f, 'e', digits-1, 64), []byte("e"))
	mantissa = bytes.TrimRight(bytes.TrimRight(mantissa, "0"), ".")
	if e, err := strconv.Atoi(string(exponent)); err == nil && -4 <= e && e < 17 {
		decimals := max(len(bytes.Trim(mantissa, "-"))-2, 0) - e // of the mantissa behind its point
		return strconv.AppendFloat(dst, f, 'f', max(decimals, 0), 64)
	}
	return append(append(append(dst, mantissa...), 'e'), exponent...)
}
