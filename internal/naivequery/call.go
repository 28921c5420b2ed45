package naivequery

import (
	"math"
	"strings"
	"sync"

	"github.com/mayflydb/mayfly/query/syntax"
)

// call evaluates a function call.
func (e *evaluator) call(x *syntax.Call, at evaluationContext) any {
	name := strings.ToUpper(x.Name)
	if x.UDF {
		unknown("udf." + x.Name)
	}
	if fn, ok := aggregates()[name]; ok && len(x.Args) == 1 {
		return e.aggregate(fn, x.Args[0], at)
	}
	var args []any
	for _, arg := range x.Args {
		args = append(args, e.eval(arg, at))
	}
	if test, ok := typeTests()[name]; ok && len(args) == 1 {
		return test(args[0])
	}
	if fn, ok := mathFunctions()[name]; ok && len(args) == 1 {
		return ofNumber(name, fn, args[0])
	}
	if fn, ok := stringTests()[name]; ok && (len(args) == 2 || len(args) == 3) {
		return stringTest(fn, args)
	}
	if fn, ok := functions()[name]; ok && fn.min <= len(args) && len(args) <= fn.max {
		return fn.of(args)
	}
	unknown(x.Name)
	return nil
}

// ofNumber applies a function of one number. If the function leaves integers unchanged except for their
// sign, as five functions do, a LargeInteger stays exact.
func ofNumber(name string, fn func(float64) float64, v any) any {
	n, ok := v.(LargeInteger)
	switch name {
	case "ABS":
		if ok {
			return max(n, -n)
		}
	case "CEILING", "FLOOR", "TRUNC", "ROUND":
		if ok {
			return n
		}
	}
	if n, ok := number(v); ok {
		return fn(n)
	}
	return Undefined{}
}

var typeTests = sync.OnceValue(func() map[string]func(any) bool {
	kind := func(want int) func(any) bool { return func(v any) bool { return rank(v) == want } }
	return map[string]func(any) bool{
		"IS_DEFINED": func(v any) bool { return !isUndefined(v) }, "IS_PRIMITIVE": isPrimitive,
		"IS_NULL": kind(1), "IS_BOOL": kind(2), "IS_NUMBER": kind(3), "IS_STRING": kind(4), "IS_ARRAY": kind(
			5), "IS_OBJECT": kind(6),
		"IS_FINITE_NUMBER": func(v any) bool {
			n, ok := number(v)
			return ok && !math.IsNaN(n) && !math.IsInf(n, 0)
		},
		"IS_INTEGER": func(v any) bool { return wholeOf(v) != nil },
	}
})

var mathFunctions = sync.OnceValue(func() map[string]func(float64) float64 {
	return map[string]func(float64) float64{
		"ABS": math.Abs, "CEILING": math.Ceil, "FLOOR": math.Floor, "TRUNC": math.Trunc, "ROUND": math.Round, "SQRT": math.Sqrt,
		"SQUARE": func(n float64) float64 { return n * n },
		"SIGN": func(n float64) float64 {
			switch {
			case n < 0:
				return -1
			case n > 0:
				return 1
			}
			return n
		},
	}
})

// stringTests holds, by name, the functions that test two strings, such as CONTAINS. In a query they
// accept a third argument that makes them ignore case.
var stringTests = sync.OnceValue(func() map[string]func(s, t string) bool {
	return map[string]func(s, t string) bool{
		"STARTSWITH": strings.HasPrefix, "ENDSWITH": strings.HasSuffix, "CONTAINS": strings.Contains,
		"STRINGEQUALS": func(s, t string) bool { return s == t },
	}
})

func stringTest(fn func(s, t string) bool, args []any) any {
	s, ok1 := args[0].(string)
	t, ok2 := args[1].(string)
	if !ok1 || !ok2 {
		return Undefined{}
	}
	if len(args) == 3 {
		fold, ok := args[2].(bool)
		if !ok {
			return Undefined{}
		}
		if fold {
			s, t = strings.ToLower(s), strings.ToLower(t)
		}
	}
	return fn(s, t)
}

// builtinFunction is a built-in function: the number of arguments that it accepts, and its implementation.
type builtinFunction struct {
	min, max int
	of       func(args []any) any
}

var functions = sync.OnceValue(func() map[string]builtinFunction {
	const many = 1000
	return map[string]builtinFunction{
		"LOWER":              {1, 1, ofStrings(func(s []string) any { return strings.ToLower(s[0]) })},
		"UPPER":              {1, 1, ofStrings(func(s []string) any { return strings.ToUpper(s[0]) })},
		"LENGTH":             {1, 1, ofStrings(func(s []string) any { return float64(len([]rune(s[0]))) })},
		"CONCAT":             {2, many, ofStrings(func(s []string) any { return strings.Join(s, "") })},
		"REPLACE":            {3, 3, ofStrings(replace)},
		"LEFT":               {2, 2, func(args []any) any { return substring(args[0], 0.0, args[1]) }},
		"SUBSTRING":          {3, 3, func(args []any) any { return substring(args[0], args[1], args[2]) }},
		"IIF":                {3, 3, iif},
		"ARRAY_LENGTH":       {1, 1, arrayLength},
		"ARRAY_CONCAT":       {2, many, arrayConcat},
		"ARRAY_SLICE":        {2, 3, arraySlice},
		"ARRAY_CONTAINS":     {2, 3, arrayContains},
		"ARRAY_CONTAINS_ANY": {2, many, func(args []any) any { return containsEach(args, any(false), or) }},
		"ARRAY_CONTAINS_ALL": {2, many, func(args []any) any { return containsEach(args, any(true), and) }},
	}
})

// ofStrings returns a function that returns Undefined if an argument is not a string, and calls fn
// otherwise.
func ofStrings(fn func([]string) any) func([]any) any {
	return func(args []any) any {
		var list []string
		for _, arg := range args {
			s, ok := arg.(string)
			if !ok {
				return Undefined{}
			}
			list = append(list, s)
		}
		return fn(list)
	}
}

func replace(s []string) any {
	if s[1] == "" {
		return s[0]
	}
	return strings.ReplaceAll(s[0], s[1], s[2])
}

// substring returns a part of a string. As in LENGTH, positions are counted in code points.
func substring(v, start, length any) any {
	s, ok := v.(string)
	from, ok1 := number(start)
	n, ok2 := number(length)
	if !ok || !ok1 || !ok2 || from != math.Trunc(from) || n != math.Trunc(n) {
		return Undefined{}
	}
	chars := []rune(s)
	if from < 0 || n <= 0 || from >= float64(len(chars)) {
		return ""
	}
	chars = chars[int(from):]
	return string(chars[:int(min(n, float64(len(chars))))])
}

func iif(args []any) any {
	if args[0] == any(true) {
		return args[1]
	}
	return args[2]
}

func arrayLength(args []any) any {
	if array, ok := args[0].([]any); ok {
		return float64(len(array))
	}
	return Undefined{}
}

func arrayConcat(args []any) any {
	list := []any{}
	for _, arg := range args {
		array, ok := arg.([]any)
		if !ok {
			return Undefined{}
		}
		list = append(list, array...)
	}
	return list
}

func arraySlice(args []any) any {
	array, ok := args[0].([]any)
	start, ok1 := number(args[1])
	length := math.Inf(1)
	if len(args) == 3 {
		n, ok2 := number(args[2])
		length, ok = n, ok && ok2 && n == math.Trunc(n)
	}
	if !ok || !ok1 || start != math.Trunc(start) {
		return Undefined{}
	}
	size := float64(len(array))
	if start < 0 {
		start = max(0, size+start)
	}
	start = min(start, size)
	end := min(start+max(length, 0), size)
	return append([]any{}, array[int(start):int(end)]...)
}

// arrayContains reports whether an array contains a value. If the third argument is true, an object that has
// at least the members of the given one is enough.
func arrayContains(args []any) any {
	array, ok := args[0].([]any)
	partial := false
	if len(args) == 3 {
		b, ok3 := args[2].(bool)
		partial, ok = b, ok && ok3
	}
	if !ok || isUndefined(args[1]) {
		return Undefined{}
	}
	for _, elem := range array {
		if equals(elem, args[1]) || partial && hasMembers(elem, args[1]) {
			return true
		}
	}
	return false
}

func hasMembers(v, want any) bool {
	object, ok1 := v.(map[string]any)
	part, ok2 := want.(map[string]any)
	if !ok1 || !ok2 {
		return false
	}
	for name, w := range part {
		if have, ok := object[name]; !ok || !equals(have, w) {
			return false
		}
	}
	return true
}

// containsEach implements ARRAY_CONTAINS_ANY and ARRAY_CONTAINS_ALL: it calls ARRAY_CONTAINS for each value
// after the array and combines the results with join, beginning with start.
func containsEach(args []any, start any, join func(a, b any) any) any {
	result := start
	for _, v := range args[1:] {
		result = join(result, arrayContains([]any{args[0], v}))
	}
	return result
}
