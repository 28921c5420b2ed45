package syntax

import (
	"math"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

func (p *printer) value(v jsondoc.Value) {
	switch v.Kind() {
	case jsondoc.Undefined:
		p.print("undefined")
	case jsondoc.Number:
		p.buf = appendNumber(p.buf, v)
	case jsondoc.String:
		p.buf = jsondoc.AppendString(p.buf, v.Str())
	case jsondoc.Array, jsondoc.Object:
		p.composite(v)
	default:
		p.buf = v.AppendJSON(p.buf)
	}
}

// composite prints an array or an object in the form of an ArrayLiteral or ObjectLiteral.
func (p *printer) composite(v jsondoc.Value) {
	brackets := "[]"
	if v.Kind() == jsondoc.Object {
		brackets = "{}"
	}
	p.print(brackets[:1])
	first := true
	v.Each(func(key string, elem jsondoc.Value) bool {
		if !first {
			p.print(", ")
		}
		first = false
		if v.Kind() == jsondoc.Object {
			p.buf = jsondoc.AppendString(p.buf, key)
			p.print(": ")
		}
		p.value(elem)
		return true
	})
	p.print(brackets[1:])
}

// appendNumber appends an integer with all its digits, and any other number in the shortest form that has the
// same double value.
func appendNumber(dst []byte, v jsondoc.Value) []byte {
	f := v.Num()
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	case isDigits(v.Raw()):
		return v.AppendJSON(dst)
	}
	from := len(dst)
	dst = jsondoc.NumberValue(f).AppendJSON(dst)
	// The shortest form of a large number may end in zeros in place of the exact digits. It must not look
	// like an exact integer.
	if math.Abs(f) >= 1<<53 && isDigits(dst[from:]) {
		dst = strconv.AppendFloat(dst[:from], f, 'e', -1, 64)
	}
	return dst
}

// isDigits reports whether a number is written as an integer.
func isDigits(number []byte) bool { return strings.Trim(string(number), "-0123456789") == "" }
