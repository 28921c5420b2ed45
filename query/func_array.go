package query

import (
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/doc"
)

func arrayBuiltins() []builtin {
	return []builtin{
		{name: "ARRAY_CONCAT", min: 2, max: -1, fn: fnArrayConcat},
		{name: "ARRAY_CONTAINS", min: 2, max: 3, fn: fnArrayContains},
		{name: "ARRAY_CONTAINS_ANY", min: 2, max: -1, fn: arrayContainsEach(anyOf)},
		{name: "ARRAY_CONTAINS_ALL", min: 2, max: -1, fn: arrayContainsEach(allTrue)},
		{name: "ARRAY_LENGTH", min: 1, max: 1, fn: fnArrayLength},
		{name: "ARRAY_SLICE", min: 2, max: 3, fn: fnArraySlice},
		{name: "ARRAY_AVG", min: 1, max: 1, fn: overNumbers(mean)},
		{name: "ARRAY_SUM", min: 1, max: 1, fn: overNumbers(total)},
		{name: "ARRAY_MEDIAN", min: 1, max: 1, fn: overNumbers(median)},
		{name: "ARRAY_MAX", min: 1, max: 1, fn: extremeElement(1)},
		{name: "ARRAY_MIN", min: 1, max: 1, fn: extremeElement(-1)},
		{name: "CHOOSE", min: 2, max: -1, fn: fnChoose},
		{name: "OBJECTTOARRAY", min: 1, max: 3, fn: fnObjectToArray},
		{name: "SETUNION", min: 2, max: 2, fn: overSets(setUnion)},
		{name: "SETINTERSECT", min: 2, max: 2, fn: overSets(setIntersect)},
		{name: "SETDIFFERENCE", min: 2, max: 2, fn: overSets(setDifference)},
		{name: "SETEQUAL", min: 2, max: 2, fn: overSets(setEqual)},
	}
}

func fnArrayConcat(_ *call, args []doc.Value) doc.Value {
	if !allOf(doc.Array, args...) {
		return undefined
	}
	dst := []byte{'['}
	for _, a := range args {
		a.Each(func(_ string, elem doc.Value) bool {
			dst = appendElement(dst, elem)
			return len(dst) <= maxText
		})
		if len(dst) > maxText {
			return undefined
		}
	}
	return doc.Of(append(dst, ']'))
}

// contains tells whether an array has an element that equals v or, where partial is set, one that includes
// it.
func contains(c *call, array, v doc.Value, partial bool) doc.Value {
	if array.Kind() != doc.Array || v.Kind() == doc.Undefined {
		return undefined
	}
	found := false
	array.Each(func(_ string, elem doc.Value) bool {
		found = partial && includes(c, elem, v) || !partial && equal(elem, v)
		return !found && c.err == nil
	})
	return doc.BoolValue(found)
}

// includes tells whether a value has at least what some other has: an object its members, each including the
// other's, an array as many elements, each including the other's at its place. All else must be equal.
func includes(c *call, v, of doc.Value) bool {
	if !c.spend(work(v)) {
		return false
	}
	switch {
	case allOf(doc.Object, v, of):
		has := true
		of.Each(func(name string, member doc.Value) bool {
			c.spend(work(v))
			has = includes(c, v.Member(strings.Clone(name)), member)
			return has
		})
		return has
	case allOf(doc.Array, v, of):
		if v.Len() != of.Len() {
			return false
		}
		var elems []doc.Value
		v.Each(func(_ string, elem doc.Value) bool {
			elems = append(elems, elem)
			return true
		})
		i, has := 0, true
		of.Each(func(_ string, elem doc.Value) bool {
			has = includes(c, elems[i], elem)
			i++
			return has
		})
		return has
	}
	return v.Kind() == of.Kind() && equal(v, of)
}

func fnArrayContains(c *call, args []doc.Value) doc.Value {
	if len(args) > 2 && args[2].Kind() != doc.Bool {
		return undefined
	}
	return contains(c, args[0], args[1], len(args) > 2 && args[2].Bool())
}

func arrayContainsEach(combine func(int, func(int) doc.Value) doc.Value) func(*call, []doc.Value) doc.Value {
	return func(c *call, args []doc.Value) doc.Value {
		return combine(len(args)-1, func(i int) doc.Value {
			if !c.spend(work(args[0])) {
				return undefined
			}
			return contains(c, args[0], args[i+1], false)
		})
	}
}

func fnArrayLength(_ *call, args []doc.Value) doc.Value {
	if args[0].Kind() != doc.Array {
		return undefined
	}
	return doc.NumberValue(float64(args[0].Len()))
}

func fnArraySlice(_ *call, args []doc.Value) doc.Value {
	start, ok := position(args[1])
	if !ok || args[0].Kind() != doc.Array {
		return undefined
	}
	if start < 0 {
		start = max(args[0].Len()+start, 0)
	}
	length := -1 // all
	if len(args) > 2 {
		if length, ok = position(args[2]); !ok {
			return undefined
		}
		length = max(length, 0)
	}
	dst, i := []byte{'['}, 0
	args[0].Each(func(_ string, elem doc.Value) bool {
		if length >= 0 && i-start >= length {
			return false
		}
		if i >= start {
			dst = appendElement(dst, elem)
		}
		i++
		return true
	})
	return doc.Of(append(dst, ']'))
}

// overNumbers makes a function of an array of numbers. An element of another kind makes the result undefined.
func overNumbers(f func([]float64) doc.Value) func(*call, []doc.Value) doc.Value {
	return func(c *call, args []doc.Value) doc.Value {
		numbers, ok := appendNumbers(c.numbers[0][:0], args[0])
		c.numbers[0] = numbers
		if !ok {
			return undefined
		}
		return f(numbers)
	}
}

// appendNumbers appends the elements of an array; ok is false where v is none or an element is not a number.
func appendNumbers(dst []float64, v doc.Value) (numbers []float64, ok bool) {
	ok = v.Kind() == doc.Array
	v.Each(func(_ string, elem doc.Value) bool {
		ok = ok && elem.Kind() == doc.Number
		dst = append(dst, elem.Num())
		return ok
	})
	return dst, ok
}

func sum(numbers []float64) doc.Value {
	all := 0.0
	for _, f := range numbers {
		all += f
	}
	return doc.NumberValue(all)
}

// total is the sum of an array that is not empty.
func total(numbers []float64) doc.Value {
	if len(numbers) == 0 {
		return undefined
	}
	return sum(numbers)
}

func mean(numbers []float64) doc.Value {
	if len(numbers) == 0 {
		return undefined
	}
	return doc.NumberValue(sum(numbers).Num() / float64(len(numbers)))
}

func median(numbers []float64) doc.Value {
	n := len(numbers)
	if n == 0 {
		return undefined
	}
	slices.Sort(numbers)
	if n%2 == 1 {
		return doc.NumberValue(numbers[n/2])
	}
	return doc.NumberValue((numbers[n/2-1] + numbers[n/2]) / 2)
}

// extremeElement makes a function that returns the least or the greatest element of an array of primitive
// values, of whatever types.
func extremeElement(sign int) func(*call, []doc.Value) doc.Value {
	return func(_ *call, args []doc.Value) doc.Value {
		best, ok := undefined, args[0].Kind() == doc.Array
		args[0].Each(func(_ string, elem doc.Value) bool {
			if ok = ok && isPrimitive(elem); ok &&
				(best.Kind() == doc.Undefined || doc.Compare(elem, best) == sign) {
				best = elem
			}
			return ok
		})
		if !ok {
			return undefined
		}
		return best
	}
}

// fnChoose returns the argument that the first one names by its number, from 1.
func fnChoose(_ *call, args []doc.Value) doc.Value {
	n, ok := position(args[0])
	if !ok || n < 1 || n >= len(args) {
		return undefined
	}
	return args[n]
}

// fnObjectToArray returns an object for each member, with its name as k and its value as v, or as the
// arguments call them.
func fnObjectToArray(_ *call, args []doc.Value) doc.Value {
	if args[0].Kind() != doc.Object || !allOf(doc.String, args[1:]...) {
		return undefined
	}
	names := [2]string{"k", "v"}
	for i, a := range args[1:] {
		names[i] = a.Str()
	}
	dst := []byte{'['}
	args[0].Each(func(name string, v doc.Value) bool {
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, '{')
		if names[0] != names[1] { // an object has a name once
			dst = append(doc.AppendString(dst, names[0]), ':')
			dst = append(doc.AppendString(dst, name), ',')
		}
		dst = append(doc.AppendString(dst, names[1]), ':')
		dst = append(v.AppendJSON(dst), '}')
		return len(dst) <= maxText
	})
	if len(dst) > maxText {
		return undefined
	}
	return doc.Of(append(dst, ']'))
}

// valueSet is a set of values, kept as what they encode to.
type valueSet struct {
	members map[string]bool
	key     []byte
	size    int // bytes of the members' encodings
}

// add adds a value and tells whether it is new.
func (s *valueSet) add(v doc.Value) bool {
	if s.has(v) {
		return false
	}
	if s.members == nil {
		s.members = make(map[string]bool)
	}
	s.members[string(s.key)] = true
	s.size += len(s.key)
	return true
}

func (s *valueSet) has(v doc.Value) bool {
	s.key = doc.AppendOrdered(s.key[:0], v)
	return s.members[string(s.key)]
}

func overSets(f func(a, b doc.Value) doc.Value) func(*call, []doc.Value) doc.Value {
	return func(_ *call, args []doc.Value) doc.Value {
		if !allOf(doc.Array, args...) {
			return undefined
		}
		return f(args[0], args[1])
	}
}

// setOf returns the elements of an array as a set.
func setOf(array doc.Value) *valueSet {
	s := &valueSet{}
	array.Each(func(_ string, elem doc.Value) bool {
		s.add(elem)
		return true
	})
	return s
}

// distinct appends the elements that keep admits, each value once.
func distinct(dst []byte, array doc.Value, seen *valueSet, keep func(doc.Value) bool) []byte {
	array.Each(func(_ string, elem doc.Value) bool {
		if keep(elem) && seen.add(elem) {
			dst = appendElement(dst, elem)
		}
		return true
	})
	return dst
}

func always(doc.Value) bool { return true }

// setUnion has the order of a, then of b.
func setUnion(a, b doc.Value) doc.Value {
	seen := &valueSet{}
	dst := distinct([]byte{'['}, a, seen, always)
	return doc.Of(append(distinct(dst, b, seen, always), ']'))
}

// setIntersect has the order of b, as the service does.
func setIntersect(a, b doc.Value) doc.Value {
	return doc.Of(append(distinct([]byte{'['}, b, &valueSet{}, setOf(a).has), ']'))
}

func setDifference(a, b doc.Value) doc.Value {
	other := setOf(b)
	return doc.Of(append(distinct([]byte{'['}, a, &valueSet{},
		func(v doc.Value) bool { return !other.has(v) }), ']'))
}

func setEqual(a, b doc.Value) doc.Value {
	x, y := setOf(a).members, setOf(b).members
	same := len(x) == len(y)
	for key := range x {
		same = same && y[key]
	}
	return doc.BoolValue(same)
}
