package metamorphic

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// numbers returns the small numbers of random documents and queries, as JSON tokens. They are few and some
// are repeated, so that queries find documents; they include a zero with a sign and numbers written with a
// fraction.
func numbers() []string {
	return []string{"0", "1", "2", "3", "1", "2", "1", "2", "2.5", "-1", "-0.0", "1.0", "10", "-7"}
}

func bigNumbers() []string {
	return []string{"9007199254740994", "9007199254740993", "9007199254740992", "12345678901234567890",
		"1e300", "-1e300", "5e-324", "-0", "1e2"}
}

func stringTokens() []string {
	long := strings.Repeat("long", 32) // 128 bytes
	list := []string{`"a"`, `"ab"`, `"a"`, `"b"`, `"x"`, `"a"`, `"ab"`, `"b"`, `"a\u0000"`, `"a\u0000b"`,
		`"\ud83d\ude00"`, `"\uffee"`, `"\u00e9"`}
	for _, s := range []string{"", "a", "ab", "abc", "b", "B", "a_b", "a%b", "1", "true", "x", "y", long,
		long + "x", long + "y", long[1:] + "x",
		long[:127], long + "x", long + strings.Repeat("z", 40)} {
		list = append(list, strconv.Quote(s))
	}
	return list
}

// scalar draws null, a boolean, a number or a string.
func scalar(r *rand.Rand) string {
	switch r.IntN(8) {
	case 0:
		return pick(r, "null", "true", "false")
	case 1:
		return pick(r, append(bigNumbers(), numbers()...)...)
	case 2, 3, 4:
		return pick(r, numbers()...)
	}
	return pick(r, stringTokens()...)
}

// anything draws a value of any type.
func anything(r *rand.Rand) string {
	switch r.IntN(6) {
	case 0:
		return pick(r, "[]", "[1]", "[1,2]", `["a",1]`, "[[1]]", "[null]", `[{"x":1}]`, "[-0.0]")
	case 1:
		return pick(r, "{}", `{"x":1}`, `{"x":"a"}`, `{"x":1,"y":2}`, `{"y":2,"x":1.0}`, `{"x":{"y":1}}`,
			`{"x":[1]}`)
	}
	return scalar(r)
}

func arrayOf(n int, elem func() string) string {
	elems := make([]string, n)
	for i := range elems {
		elems[i] = elem()
	}
	return "[" + strings.Join(elems, ",") + "]"
}

// RandomFields draws the members that queries refer to, as a JSON object without blanks. Each may be missing
// or have another type than in most documents.
//
//	n  a number          s     a string              tags  an array of scalars
//	b  a boolean         o     an object, nested     list  an array of objects
//	m  anything          a-b   has a name that is no identifier
func RandomFields(r *rand.Rand) string {
	var members []string
	member := func(name string, usual func() string) {
		switch r.IntN(12) {
		case 0, 1, 2:
		case 3:
			members = append(members, strconv.Quote(name)+":"+anything(r))
		default:
			members = append(members, strconv.Quote(name)+":"+usual())
		}
	}
	of := func(from ...string) func() string { return func() string { return pick(r, from...) } }
	member("n", of(numbers()...))
	member("s", of(stringTokens()...))
	member("b", of("true", "false"))
	member("m", func() string { return anything(r) })
	member("o", func() string { return nested(r) })
	member("tags", func() string { return arrayOf(r.IntN(4), func() string { return scalar(r) }) })
	member("list", func() string { return arrayOf(r.IntN(4), func() string { return entry(r) }) })
	if r.IntN(4) == 0 {
		member("a-b", of(numbers()...))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// nested draws a random object: the value of the property "o" of a document.
func nested(r *rand.Rand) string {
	var members []string
	if r.IntN(4) > 0 {
		members = append(members, `"x":`+scalar(r))
	}
	if r.IntN(3) > 0 {
		members = append(members, `"y":`+pick(r, numbers()...))
	}
	if r.IntN(3) == 0 {
		members = append(members, `"z":{"w":`+anything(r)+"}")
	}
	return "{" + strings.Join(members, ",") + "}"
}

// entry draws a random element of the array "list" of a document: mostly an object, sometimes any value.
func entry(r *rand.Rand) string {
	if r.IntN(8) == 0 {
		return anything(r)
	}
	return `{"k":` + pick(r, "1", "2", `"a"`, `"b"`, "null") + `,"v":` + scalar(r) + "}"
}
