package enginetest

import (
	"fmt"
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

// testSkip checks engine.Skip, which skips at most n keys of a scan and returns how many it has skipped:
// at the start of a scan, after Next, after SeekGE, and in a transaction that has written keys itself.
func testSkip(t *testing.T, s *testedEngine) {
	const all = 300
	var list []string
	for i := range all {
		list = append(list, fmt.Sprintf("a/%03d", i), "x")
	}
	s.set("a", list...)
	for _, test := range []struct {
		nexts, seek, most, want int // seek: -1 for none
		next                    string
	}{
		{0, -1, all, all, ""},
		{0, -1, all + 1, all, ""},
		{0, -1, all - 1, all - 1, "a/299"},
		{0, -1, 10, 10, "a/010"},
		{0, -1, 0, 0, "a/000"},
		{5, -1, 3, 3, "a/008"},
		{5, -1, 100, 100, "a/105"},
		{all, -1, 1, 0, ""},
		{2, 200, 50, 50, "a/251"},
		{0, 200, all, 99, ""},
	} {
		look := func(r engine.Reader) error {
			it := r.Scan(engine.Prefix([]byte("a/")), false)
			for range test.nexts {
				it.Next()
			}
			if test.seek >= 0 {
				it.SeekGE(fmt.Appendf(nil, "a/%03d", test.seek))
			}
			got, next := engine.Skip(it, test.most), ""
			if it.Next() {
				next = string(it.Key())
			}
			if got != test.want || next != test.next {
				t.Errorf("%+v: %d keys, then %q", test, got, next)
			}
			return it.Close()
		}
		if err := s.View(ctx, look); err != nil {
			t.Fatal(err)
		}
		_, err := s.Update(ctx, [][]byte{[]byte("a")}, func(tx engine.Txn) error {
			tx.Delete([]byte("a/100"))
			tx.Set([]byte("a/100"), []byte("y"))
			return look(tx)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
