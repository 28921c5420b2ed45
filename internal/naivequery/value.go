package naivequery

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// Undefined is the value of a missing property.
type Undefined struct{}

// LargeInteger is an integer of 64 bits whose absolute value is 2^53 or more, which a double may not
// represent exactly.
type LargeInteger int64

// maxExact is the bound below which doubles represent all integers: 2^53.
const maxExact = 1 << 53

// Decode decodes JSON text. Empty text is Undefined. It returns an error of encoding/json if the text is
// invalid, and of strconv if a number is out of the range of doubles.
func Decode(text []byte) (any, error) {
	if len(text) == 0 {
		return Undefined{}, nil
	}
	var v any
	from := json.NewDecoder(bytes.NewReader(text))
	from.UseNumber()
	if err := from.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := from.Token(); err != io.EOF {
		return nil, errors.New("there is more than one value")
	}
	return withNumbers(v)
}

// withNumbers replaces each json.Number by a double or a LargeInteger.
func withNumbers(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		if n, wrong := v.Int64(); wrong == nil && math.Abs(f) >= maxExact {
			return LargeInteger(n), nil
		}
		return f, err
	case []any:
		for i, elem := range v {
			elem, err := withNumbers(elem)
			if err != nil {
				return nil, err
			}
			v[i] = elem
		}
	case map[string]any:
		for name, elem := range v {
			elem, err := withNumbers(elem)
			if err != nil {
				return nil, err
			}
			v[name] = elem
		}
	}
	return v, nil
}

// number returns a number as a double. The result is false if the value is not a number.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case LargeInteger:
		return float64(v), true
	}
	return 0, false
}

// constant returns the value of a literal.
func constant(v jsondoc.Value) any {
	got, err := Decode(v.Raw())
	if err != nil {
		failf("the literal %s is not JSON", v.Raw())
	}
	return got
}

// Text returns a value as JSON. The members of objects are sorted by name and -0 is written as 0, so that
// equal values have equal texts. Numbers that JSON cannot represent are strings, as in Cosmos DB's
// responses.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case LargeInteger:
		return Text(float64(v))
	case float64:
		switch {
		case math.IsNaN(v):
			return `"NaN"`
		case math.IsInf(v, 0):
			return `"` + strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, 64), "+") + `inity"`
		}
		return strconv.FormatFloat(v+0, 'g', -1, 64)
	case string:
		return strconv.Quote(v)
	case []any:
		parts := make([]string, len(v))
		for i, elem := range v {
			parts[i] = Text(elem)
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		var parts []string
		for _, name := range names(v) {
			parts = append(parts, strconv.Quote(name)+":"+Text(v[name]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return "undefined"
}

// names returns the names of an object's members, sorted.
func names(object map[string]any) []string {
	var list []string
	for name := range object {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// rank returns the position of a value's type in the order of all values.
func rank(v any) int {
	switch v.(type) {
	case nil:
		return 1
	case bool:
		return 2
	case float64, LargeInteger:
		return 3
	case string:
		return 4
	case []any:
		return 5
	case map[string]any:
		return 6
	}
	return 0
}

// Compare compares two values in the order of all values: undefined, null, false, true, numbers, strings by
// code point, arrays, objects. Cosmos DB does not define an order of arrays, nor of objects. Here arrays are
// compared element by element, and objects like arrays of their names and values, sorted by name.
func Compare(a, b any) int {
	if c := rank(a) - rank(b); c != 0 {
		return c
	}
	switch a := a.(type) {
	case bool:
		return asInt(a) - asInt(b.(bool))
	case float64, LargeInteger:
		x, _ := number(a)
		switch y, _ := number(b); {
		case x < y || math.IsNaN(x) && !math.IsNaN(y):
			return -1
		case x > y || math.IsNaN(y) && !math.IsNaN(x):
			return 1
		}
	case string:
		return strings.Compare(a, b.(string))
	case []any:
		b := b.([]any)
		for i := range min(len(a), len(b)) {
			if c := Compare(a[i], b[i]); c != 0 {
				return c
			}
		}
		return len(a) - len(b)
	case map[string]any:
		return Compare(flat(a), flat(b.(map[string]any)))
	}
	return 0
}

func flat(object map[string]any) []any {
	var list []any
	for _, name := range names(object) {
		list = append(list, name, object[name])
	}
	return list
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// same reports whether two values have the same type and content. DISTINCT and GROUP BY use it: undefined
// equals undefined, and NaN equals NaN.
func same(a, b any) bool { return Compare(a, b) == 0 }

func isUndefined(v any) bool { return v == any(Undefined{}) }

// isPrimitive reports whether a value is null, a boolean, a number or a string.
func isPrimitive(v any) bool { return 1 <= rank(v) && rank(v) <= 4 }
