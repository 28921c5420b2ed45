package query

import (
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/lang"
)

// TestFunctionAllocations checks that the functions most frequent in filters, such as CONTAINS, allocate
// no memory.
func TestFunctionAllocations(t *testing.T) {
	c := testCall()
	body := jsondoc.Of([]byte(`{"name":"Adventure Works Cycles","city":"K\u00f6ln","tags":["a","b","c"],"n":5,"at":"2024-10-10T14:40:20.1234567Z"}`))
	name, city, tags, n, at := body.Member("name"), body.Member("city"), body.Member("tags"), body.Member(
		"n"), body.Member("at")
	text := jsondoc.StringValue("works")
	like := lang.CompileLike("%Works%", 0, false)
	fn := func(name string) func(*lang.CallContext, []jsondoc.Value) jsondoc.Value {
		b, _ := lang.Lookup(name)
		return b.Fn
	}
	contains, starts, length, array, abs, part := fn("CONTAINS"), fn("STARTSWITH"), fn("LENGTH"), fn(
		"ARRAY_CONTAINS"), fn("ABS"), fn("YEAR")
	three, two, one := []jsondoc.Value{name, text, jsondoc.BoolValue(true)}, []jsondoc.Value{city,
		text}, []jsondoc.Value{name}
	needle, number, date := []jsondoc.Value{tags, jsondoc.StringValue("c")}, []jsondoc.Value{n}, []jsondoc.Value{at}
	for what, f := range map[string]func(){
		"CONTAINS":       func() { contains(c, three) },
		"STARTSWITH":     func() { starts(c, two) },
		"LENGTH":         func() { length(c, one) },
		"ARRAY_CONTAINS": func() { array(c, needle) },
		"ABS":            func() { abs(c, number) },
		"YEAR":           func() { part(c, date) },
		"LIKE":           func() { lang.OpLike(c, name, like) },
		"=":              func() { eval.Same(name, text) },
		"<":              func() { eval.Ordered(n, n, -1, -1) },
		"+":              func() { lang.OpAdd(n, n) },
	} {
		if got := testing.AllocsPerRun(100, f); got > 0 {
			t.Errorf("%s allocates %v times", what, got)
		}
	}
}
