package naive

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

// Undefined is the value of what is not there.
type Undefined struct{}

// Integer is a number with more digits than a double keeps for certain: an integer of 64 bits from 2^53 on.
type Integer int64

// maxExact is the end of the integers that a double tells from their neighbours.
const maxExact = 1 << 53

// Decode reads JSON text into a value. Empty text is Undefined; text that is not JSON is an error of
// encoding/json, a number beyond all doubles one of strconv.
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

// withNumbers makes a double or an Integer of each number that is still a text.
func withNumbers(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		if n, wrong := v.Int64(); wrong == nil && math.Abs(f) >= maxExact {
			return Integer(n), nil
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

// number is a number as a double.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case Integer:
		return float64(v), true
	}
	return 0, false
}

// constant is the value of a literal.
func constant(v jsondoc.Value) any {
	got, err := Decode(v.Raw())
	if err != nil {
		failf("the literal %s is not JSON", v.Raw())
	}
	return got
}

// Text writes a value as JSON with the members of objects in the order of their names and without -0, so that
// equal values have equal texts. Numbers that JSON has no text for are strings, as Cosmos DB answers them.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case Integer:
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

// names are the names of an object's members in their order.
func names(object map[string]any) []string {
	var list []string
	for name := range object {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// rank is the place of a value's type in the order of all values.
func rank(v any) int {
	switch v.(type) {
	case nil:
		return 1
	case bool:
		return 2
	case float64, Integer:
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

// Compare is the order of all values: undefined, null, false, true, numbers, strings by code point, arrays,
// objects. Cosmos DB leaves open how arrays are ordered among themselves, and objects; here arrays are
// compared element by element, and objects as if they were arrays of their names and values, by name.
func Compare(a, b any) int {
	if c := rank(a) - rank(b); c != 0 {
		return c
	}
	switch a := a.(type) {
	case bool:
		return asInt(a) - asInt(b.(bool))
	case float64, Integer:
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

// same reports whether two values are one: of one type, with the same content. It decides DISTINCT and GROUP
// BY, where undefined is a value as well and NaN is itself.
func same(a, b any) bool { return Compare(a, b) == 0 }

func isUndefined(v any) bool { return v == any(Undefined{}) }

// isPrimitive tells of null, booleans, numbers and strings.
func isPrimitive(v any) bool { return 1 <= rank(v) && rank(v) <= 4 }
