package jsondoc

import (
	"cmp"
	"slices"
	"strings"
)

// Compare returns -1, 0 or 1 if a is less than, equal to or greater than b in Cosmos DB's order, which is
// total:
//
//   - kinds in the order of their constants, undefined first
//   - false before true
//   - numbers as doubles, so that 1 and 1.0 are equal, and -0 and 0; NaN is equal to itself and less than
//     all other numbers
//   - strings by their UTF-8 bytes with escapes resolved, which is by code point. Cosmos DB keeps strings
//     as UTF-8 in its index, so this is the order in which the service returns them. (JavaScript and .NET
//     compare UTF-16 units, which puts the characters from U+E000 to U+FFFF after emoji instead of
//     before.) The order does not depend on a language, and is case-sensitive.
//   - arrays element by element; if one is a prefix of the other, it is less
//   - objects like arrays of their names and values, sorted by name. Cosmos DB does not define an order of
//     objects. In this one the order of members does not matter.
func Compare(a, b Value) int {
	switch {
	case a.kind != b.kind:
		return cmp.Compare(a.kind, b.kind)
	case a.text == b.text && a.text != "" && a.made == b.made:
		return 0
	}
	switch a.kind {
	case Bool:
		if a.Bool() {
			return 1
		}
		return -1
	case Number:
		return cmp.Compare(a.Num(), b.Num())
	case String:
		return strings.Compare(a.str(), b.str())
	case Array:
		return compareArrays(a, b)
	case Object:
		return compareObjects(a, b)
	}
	return 0
}

// Equal reports whether Compare returns 0: the values have the same kind and the same content, even if they
// are spelled differently.
func Equal(a, b Value) bool { return Compare(a, b) == 0 }

func compareArrays(a, b Value) int {
	x, y := a.walk(), b.walk()
	for {
		more := x.next()
		if !y.next() {
			if more {
				return 1
			}
			return 0
		}
		if !more {
			return -1
		}
		if c := Compare(x.elem, y.elem); c != 0 {
			return c
		}
	}
}

func compareObjects(a, b Value) int {
	var bufA, bufB [16]namedValue
	return slices.CompareFunc(a.sorted(bufA[:0]), b.sorted(bufB[:0]), func(x, y namedValue) int {
		if c := strings.Compare(x.name, y.name); c != 0 {
			return c
		}
		return Compare(x.value, y.value)
	})
}

// namedValue is a member of an object, with its unescaped name.
type namedValue struct {
	name  string
	value Value
}

// sorted appends the members of an object to buf, in the order of their names.
func (v Value) sorted(buf []namedValue) []namedValue {
	for it := v.walk(); it.next(); {
		buf = append(buf, namedValue{unescaped(it.key), it.elem})
	}
	slices.SortFunc(buf, func(x, y namedValue) int { return strings.Compare(x.name, y.name) })
	return buf
}
