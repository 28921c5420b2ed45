package lang

import (
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

func arrayBuiltins() []Builtin {
	return []Builtin{
		{Name: "ARRAY_CONCAT", Min: 2, Max: -1, Fn: fnArrayConcat},
		{Name: "ARRAY_CONTAINS", Min: 2, Max: 3, Fn: fnArrayContains},
		{Name: "ARRAY_CONTAINS_ANY", Min: 2, Max: -1, Fn: arrayContainsEach(anyOf)},
		{Name: "ARRAY_CONTAINS_ALL", Min: 2, Max: -1, Fn: arrayContainsEach(allTrue)},
		{Name: "ARRAY_LENGTH", Min: 1, Max: 1, Fn: fnArrayLength},
		{Name: "ARRAY_SLICE", Min: 2, Max: 3, Fn: fnArraySlice},
		{Name: "ARRAY_AVG", Min: 1, Max: 1, Fn: overNumbers(mean)},
		{Name: "ARRAY_SUM", Min: 1, Max: 1, Fn: overNumbers(total)},
		{Name: "ARRAY_MEDIAN", Min: 1, Max: 1, Fn: overNumbers(median)},
		{Name: "ARRAY_MAX", Min: 1, Max: 1, Fn: extremeElement(1)},
		{Name: "ARRAY_MIN", Min: 1, Max: 1, Fn: extremeElement(-1)},
		{Name: "CHOOSE", Min: 2, Max: -1, Fn: fnChoose},
		{Name: "OBJECTTOARRAY", Min: 1, Max: 3, Fn: fnObjectToArray},
		{Name: "SETUNION", Min: 2, Max: 2, Fn: overSets(setUnion)},
		{Name: "SETINTERSECT", Min: 2, Max: 2, Fn: overSets(setIntersect)},
		{Name: "SETDIFFERENCE", Min: 2, Max: 2, Fn: overSets(setDifference)},
		{Name: "SETEQUAL", Min: 2, Max: 2, Fn: overSets(setEqual)},
	}
}

func fnArrayConcat(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	if !AllOf(jsondoc.Array, args...) {
		return Undefined
	}
	dst := []byte{'['}
	for _, a := range args {
		a.Each(func(_ string, elem jsondoc.Value) bool {
			dst = AppendElement(dst, elem)
			return len(dst) <= MaxText
		})
		if len(dst) > MaxText {
			return Undefined
		}
	}
	return jsondoc.Of(append(dst, ']'))
}

// contains implements ARRAY_CONTAINS: it returns whether an array has an element that equals v. If partial is
// set, an object also counts that has all members of v.
func contains(c *CallContext, array, v jsondoc.Value, partial bool) jsondoc.Value {
	if array.Kind() != jsondoc.Array || v.Kind() == jsondoc.Undefined {
		return Undefined
	}
	if !partial {
		if found, ok := listsText(array, v); ok {
			return jsondoc.BoolValue(found)
		}
	}
	found := false
	array.Each(func(_ string, elem jsondoc.Value) bool {
		found = partial && includes(c, elem, v) || !partial && Equal(elem, v)
		return !found && c.Err == nil
	})
	return jsondoc.BoolValue(found)
}

// includes reports whether v includes of. An object includes another if it has all its members, each
// including the other's. An array includes another if both have the same length and each element includes the
// other's at the same position. All other values must be equal.
func includes(c *CallContext, v, of jsondoc.Value) bool {
	if !c.Spend(Work(v)) {
		return false
	}
	switch {
	case AllOf(jsondoc.Object, v, of):
		has := true
		of.Each(func(name string, member jsondoc.Value) bool {
			c.Spend(Work(v))
			has = includes(c, v.Member(strings.Clone(name)), member)
			return has
		})
		return has
	case AllOf(jsondoc.Array, v, of):
		if v.Len() != of.Len() {
			return false
		}
		var elems []jsondoc.Value
		v.Each(func(_ string, elem jsondoc.Value) bool {
			elems = append(elems, elem)
			return true
		})
		i, has := 0, true
		of.Each(func(_ string, elem jsondoc.Value) bool {
			has = includes(c, elems[i], elem)
			i++
			return has
		})
		return has
	}
	return v.Kind() == of.Kind() && Equal(v, of)
}

func fnArrayContains(c *CallContext, args []jsondoc.Value) jsondoc.Value {
	if len(args) > 2 && args[2].Kind() != jsondoc.Bool {
		return Undefined
	}
	return contains(c, args[0], args[1], len(args) > 2 && args[2].Bool())
}

func arrayContainsEach(combine func(int, func(int) jsondoc.Value) jsondoc.Value) func(*CallContext,
	[]jsondoc.Value) jsondoc.Value {
	return func(c *CallContext, args []jsondoc.Value) jsondoc.Value {
		return combine(len(args)-1, func(i int) jsondoc.Value {
			if !c.Spend(Work(args[0])) {
				return Undefined
			}
			return contains(c, args[0], args[i+1], false)
		})
	}
}

func fnArrayLength(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	if args[0].Kind() != jsondoc.Array {
		return Undefined
	}
	return jsondoc.NumberValue(float64(args[0].Len()))
}

func fnArraySlice(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	start, ok := position(args[1])
	if !ok || args[0].Kind() != jsondoc.Array {
		return Undefined
	}
	if start < 0 {
		start = max(args[0].Len()+start, 0)
	}
	length := -1 // all
	if len(args) > 2 {
		if length, ok = position(args[2]); !ok {
			return Undefined
		}
		length = max(length, 0)
	}
	dst, i := []byte{'['}, 0
	args[0].Each(func(_ string, elem jsondoc.Value) bool {
		if length >= 0 && i-start >= length {
			return false
		}
		if i >= start {
			dst = AppendElement(dst, elem)
		}
		i++
		return true
	})
	return jsondoc.Of(append(dst, ']'))
}

// overNumbers returns the implementation of a built-in function whose only argument is an array of
// numbers, such as ARRAY_AVG. It passes the numbers to f; if the argument is not such an array, the result
// is undefined.
func overNumbers(f func([]float64) jsondoc.Value) func(*CallContext, []jsondoc.Value) jsondoc.Value {
	return func(c *CallContext, args []jsondoc.Value) jsondoc.Value {
		numbers, ok := AppendNumbers(c.numbers[0][:0], args[0])
		c.numbers[0] = numbers
		if !ok {
			return Undefined
		}
		return f(numbers)
	}
}

// AppendNumbers appends the elements of an array of numbers. ok is false if v is not an array, or if an
// element is not a number.
func AppendNumbers(dst []float64, v jsondoc.Value) (numbers []float64, ok bool) {
	ok = v.Kind() == jsondoc.Array
	v.Each(func(_ string, elem jsondoc.Value) bool {
		ok = ok && elem.Kind() == jsondoc.Number
		dst = append(dst, elem.Num())
		return ok
	})
	return dst, ok
}

func sum(numbers []float64) jsondoc.Value {
	all := 0.0
	for _, f := range numbers {
		all += f
	}
	return jsondoc.NumberValue(all)
}

// total returns the sum of the numbers, or undefined if there are none.
func total(numbers []float64) jsondoc.Value {
	if len(numbers) == 0 {
		return Undefined
	}
	return sum(numbers)
}

func mean(numbers []float64) jsondoc.Value {
	if len(numbers) == 0 {
		return Undefined
	}
	return jsondoc.NumberValue(sum(numbers).Num() / float64(len(numbers)))
}

func median(numbers []float64) jsondoc.Value {
	n := len(numbers)
	if n == 0 {
		return Undefined
	}
	slices.Sort(numbers)
	if n%2 == 1 {
		return jsondoc.NumberValue(numbers[n/2])
	}
	return jsondoc.NumberValue((numbers[n/2-1] + numbers[n/2]) / 2)
}

// extremeElement returns the implementation of a built-in function whose result is the least element of an
// array (sign -1) or the greatest one (sign 1), in the order of all primitive values. If the argument is
// not an array of primitive values, the result is undefined.
func extremeElement(sign int) func(*CallContext, []jsondoc.Value) jsondoc.Value {
	return func(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
		best, ok := Undefined, args[0].Kind() == jsondoc.Array
		args[0].Each(func(_ string, elem jsondoc.Value) bool {
			if ok = ok && IsPrimitive(elem); ok &&
				(best.Kind() == jsondoc.Undefined || jsondoc.Compare(elem, best) == sign) {
				best = elem
			}
			return ok
		})
		if !ok {
			return Undefined
		}
		return best
	}
}

// fnChoose returns one of the arguments after the first. The first argument is the number of the chosen one,
// from 1.
func fnChoose(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	n, ok := position(args[0])
	if !ok || n < 1 || n >= len(args) {
		return Undefined
	}
	return args[n]
}

// fnObjectToArray returns an array with an object for each member. The object has the name of the member in
// k and its value in v. Further arguments set other names for k and v.
func fnObjectToArray(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	if args[0].Kind() != jsondoc.Object || !AllOf(jsondoc.String, args[1:]...) {
		return Undefined
	}
	names := [2]string{"k", "v"}
	for i, a := range args[1:] {
		names[i] = a.Str()
	}
	dst := []byte{'['}
	args[0].Each(func(name string, v jsondoc.Value) bool {
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, '{')
		if names[0] != names[1] { // an object cannot have two members of the same name
			dst = append(jsondoc.AppendString(dst, names[0]), ':')
			dst = append(jsondoc.AppendString(dst, name), ',')
		}
		dst = append(jsondoc.AppendString(dst, names[1]), ':')
		dst = append(v.AppendJSON(dst), '}')
		return len(dst) <= MaxText
	})
	if len(dst) > MaxText {
		return Undefined
	}
	return jsondoc.Of(append(dst, ']'))
}

// ValueSet is a set of values, stored as their encodings.
type ValueSet struct {
	Members map[string]bool
	Key     []byte
	size    int // size of the members' encodings in bytes
}

// Add adds a value and reports whether it is new.
func (s *ValueSet) Add(v jsondoc.Value) bool {
	if s.has(v) {
		return false
	}
	if s.Members == nil {
		s.Members = make(map[string]bool)
	}
	s.Members[string(s.Key)] = true
	s.size += len(s.Key)
	return true
}

func (s *ValueSet) has(v jsondoc.Value) bool {
	s.Key = jsondoc.AppendOrdered(s.Key[:0], v)
	return s.Members[string(s.Key)]
}

func overSets(f func(a, b jsondoc.Value) jsondoc.Value) func(*CallContext, []jsondoc.Value) jsondoc.Value {
	return func(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
		if !AllOf(jsondoc.Array, args...) {
			return Undefined
		}
		return f(args[0], args[1])
	}
}

// setOf returns the elements of an array as a set.
func setOf(array jsondoc.Value) *ValueSet {
	s := &ValueSet{}
	array.Each(func(_ string, elem jsondoc.Value) bool {
		s.Add(elem)
		return true
	})
	return s
}

// distinct appends the elements for which keep returns true, each value once.
func distinct(dst []byte, array jsondoc.Value, seen *ValueSet, keep func(jsondoc.Value) bool) []byte {
	array.Each(func(_ string, elem jsondoc.Value) bool {
		if keep(elem) && seen.Add(elem) {
			dst = AppendElement(dst, elem)
		}
		return true
	})
	return dst
}

func always(jsondoc.Value) bool { return true }

// setUnion returns an array with the distinct values of a in their order, followed by the other values of
// b.
func setUnion(a, b jsondoc.Value) jsondoc.Value {
	seen := &ValueSet{}
	dst := distinct([]byte{'['}, a, seen, always)
	return jsondoc.Of(append(distinct(dst, b, seen, always), ']'))
}

// setIntersect returns the distinct values that are in both arrays, in the order of b, as Cosmos DB does.
func setIntersect(a, b jsondoc.Value) jsondoc.Value {
	return jsondoc.Of(append(distinct([]byte{'['}, b, &ValueSet{}, setOf(a).has), ']'))
}

func setDifference(a, b jsondoc.Value) jsondoc.Value {
	other := setOf(b)
	return jsondoc.Of(append(distinct([]byte{'['}, a, &ValueSet{},
		func(v jsondoc.Value) bool { return !other.has(v) }), ']'))
}

func setEqual(a, b jsondoc.Value) jsondoc.Value {
	x, y := setOf(a).Members, setOf(b).Members
	same := len(x) == len(y)
	for key := range x {
		same = same && y[key]
	}
	return jsondoc.BoolValue(same)
}
