package lang

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// TestListsText checks listsText, which searches an array's text for a string, against a comparison with
// each element, for strings of characters that have a meaning in JSON's syntax.
func TestListsText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	str := func() string {
		var b strings.Builder
		for range r.IntN(4) {
			b.WriteString([]string{"a", "b", ",", " ", "]", "[", "é", `\"`, `\u0061`, "{"}[r.IntN(10)%(3+r.IntN(8))])
		}
		return `"` + b.String() + `"`
	}
	decided := map[bool]int{}
	for range 20_000 {
		elems := make([]string, r.IntN(5))
		for i := range elems {
			if elems[i] = str(); r.IntN(8) == 0 {
				elems[i] = []string{"1", "null", "true", "[]", `{"a":1}`}[r.IntN(5)]
			}
		}
		array := jsondoc.Of([]byte("[" + strings.Join(elems, []string{",", ", ", " ,"}[r.IntN(3)]) + "]"))
		v := jsondoc.Of([]byte(str()))
		want := false
		array.Each(func(_ string, elem jsondoc.Value) bool {
			want = want || Equal(elem, v)
			return true
		})
		found, ok := listsText(array, v)
		if ok && found != want {
			t.Fatalf("%s in %s: %v", v.Raw(), array.Raw(), found)
		}
		if ok {
			decided[found]++
		}
		if got := contains(new(CallContext), array, v, false); got.Bool() != want {
			t.Fatalf("ARRAY_CONTAINS(%s, %s) is %v", array.Raw(), v.Raw(), got.Bool())
		}
	}
	if decided[true] < 500 || decided[false] < 500 {
		t.Errorf("only %v are decided by the text", decided)
	}
}
