package enginetest

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mayflydb/mayfly/engine"
)

// testModel compares random transactions with a map: what they read while they run, and the data after they
// have committed or failed.
func testModel(t *testing.T, s *testedEngine) {
	key := rapid.StringMatching(`a/[a-d]{1,3}`)
	model := map[string]string{}
	// Each run starts from an empty scope, so that rapid can shrink a failure independently of earlier runs.
	clean := func(t engine.Txn) error { t.DeleteRange(engine.Prefix([]byte("a/"))); return nil }
	rapid.Check(t, func(rt *rapid.T) {
		s.update([]string{"a"}, clean)
		clear(model)
		for range rapid.IntRange(1, 4).Draw(rt, "transactions") {
			work := maps.Clone(model)
			fail := rapid.Bool().Draw(rt, "fail")
			_, err := s.Update(ctx, keys("a"), func(tx engine.Txn) error {
				for range rapid.IntRange(1, 12).Draw(rt, "operations") {
					modelStep(rt, tx, work, key)
				}
				if fail {
					return errRefused
				}
				return nil
			})
			switch {
			case fail && !errors.Is(err, errRefused):
				rt.Fatalf("Update: %v, want the closure's error", err)
			case !fail && err != nil:
				rt.Fatalf("Update: %v", err)
			case !fail:
				model = work
			}
			if err := s.View(ctx, func(r engine.Reader) error {
				compareScan(rt, r, model, "a/", "b", false)
				compareScan(rt, r, model, "a/", "b", true)
				compareSkip(rt, r, model, "a/", "b", false)
				return nil
			}); err != nil {
				rt.Fatalf("View: %v", err)
			}
		}
	})
}

func modelStep(rt *rapid.T, tx engine.Txn, m map[string]string, key *rapid.Generator[string]) {
	a, b := key.Draw(rt, "a"), key.Draw(rt, "b")
	switch rapid.IntRange(0, 7).Draw(rt, "step") {
	case 0, 1:
		m[a] = b
		tx.Set([]byte(a), []byte(b))
	case 2:
		delete(m, a)
		tx.Delete([]byte(a))
	case 3:
		maps.DeleteFunc(m, func(k, _ string) bool { return a <= k && k < b })
		tx.DeleteRange(span(a, b))
	case 4:
		v, err := tx.Get([]byte(a))
		if want, ok := m[a]; !ok && !errors.Is(err, engine.ErrNotFound) || ok &&
			(err != nil || string(v) != want) {
			rt.Fatalf("Get %q: %q, %v; want %q, %v", a, v, err, want, ok)
		}
	case 5:
		reverse := rapid.Bool().Draw(rt, "reverse")
		compareScan(rt, tx, m, a, b, reverse)
		compareSkip(rt, tx, m, a, b, reverse)
	case 6:
		compareSeek(rt, tx, m, a, b)
	case 7:
		compareMany(rt, tx, m, rapid.SliceOfN(key, 0, 8).Draw(rt, "keys"))
	}
}

func compareMany(rt *rapid.T, r engine.Reader, m map[string]string, names []string) {
	values, err := r.GetMany(keys(names...))
	if err != nil || len(values) != len(names) {
		rt.Fatalf("GetMany %q: %d values, %v", names, len(values), err)
	}
	for i, v := range values {
		if want, ok := m[names[i]]; ok != (v != nil) || string(v) != want {
			rt.Fatalf("GetMany %q: value %d is %q, want %q, %v", names, i, v, want, ok)
		}
	}
}

func between(m map[string]string, start, end string) []string {
	var want []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if start <= k && k < end {
			want = append(want, k+"="+m[k])
		}
	}
	return want
}

func compareScan(rt *rapid.T, r engine.Reader, m map[string]string, start, end string, reverse bool) {
	want := between(m, start, end)
	if reverse {
		slices.Reverse(want)
	}
	var got []string
	it := r.Scan(span(start, end), reverse)
	for it.Next() {
		got = append(got, string(it.Key())+"="+string(it.Value()))
	}
	if err := it.Close(); err != nil {
		rt.Fatalf("Scan: %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		rt.Fatalf("Scan [%q, %q) reverse %v (-want +got):\n%s", start, end, reverse, diff)
	}
}

// compareSkip checks engine.Skip against the model m: it scans the keys in [start, end), in turn skips 0,
// 1, 2 and so on keys and reads the next one, and compares each count and each key with the model. With
// reverse it scans in descending order.
func compareSkip(rt *rapid.T, r engine.Reader, m map[string]string, start, end string, reverse bool) {
	want := between(m, start, end)
	if reverse {
		slices.Reverse(want)
	}
	it := r.Scan(span(start, end), reverse)
	for at, n := 0, 0; ; n++ {
		skipped := engine.Skip(it, n)
		if skipped != min(n, len(want)-at) {
			rt.Fatalf("Skip %d skipped %d of %d keys", n, skipped, len(want)-at)
		}
		if at += skipped; !it.Next() {
			if at < len(want) {
				rt.Fatalf("no key behind %d of %d", at, len(want))
			}
			break
		}
		if got := string(it.Key()) + "=" + string(it.Value()); at >= len(want) || got != want[at] {
			rt.Fatalf("key %d of %q is %q", at, want, got)
		}
		at++
	}
	if err := it.Close(); err != nil {
		rt.Fatalf("Close: %v", err)
	}
}

// compareSeek checks SeekGE against the model m: it seeks to a, takes one step, seeks to b in the same
// iterator, and takes one step.
func compareSeek(rt *rapid.T, r engine.Reader, m map[string]string, a, b string) {
	it := r.Scan(span("a/", "b"), false)
	for _, target := range []string{a, b} {
		want := between(m, target, "b")
		var got []string
		if it.SeekGE([]byte(target)) {
			got = append(got, string(it.Key())+"="+string(it.Value()))
			if it.Next() {
				got = append(got, string(it.Key())+"="+string(it.Value()))
			}
		}
		if diff := cmp.Diff(want[:min(2, len(want))], got); diff != "" && len(want)+len(got) > 0 {
			rt.Fatalf("SeekGE %q (-want +got):\n%s", target, diff)
		}
	}
	if err := it.Close(); err != nil {
		rt.Fatalf("Close: %v", err)
	}
}
