package enginetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayflydb/mayfly/engine"
)

// readMany reads keys by GetMany and returns their values, "-" for an absent key.
func readMany(t *testing.T, r engine.Reader, names ...string) []string {
	t.Helper()
	values, err := r.GetMany(keys(names...))
	if err != nil {
		t.Fatalf("GetMany %q: %v", names, err)
	}
	out := make([]string, len(values))
	for i, v := range values {
		if out[i] = string(v); v == nil {
			out[i] = "-"
		}
	}
	return out
}

func testGetMany(t *testing.T, s *testedEngine) {
	s.set("a", "a/1", "one", "a/2", "", "a/3", "three")
	if err := s.View(ctx, func(r engine.Reader) error {
		if got := readMany(t, r, "a/2"); got[0] != "" {
			t.Errorf("a value that is empty: %q", got)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var kept [][]byte
	if err := s.View(ctx, func(r engine.Reader) error {
		if got := readMany(t, r); len(got) != 0 {
			t.Errorf("no keys: %q", got)
		}
		want := []string{"three", "-", "one", "", "three", "-", "one"}
		if diff := cmp.Diff(want, readMany(t, r, "a/3", "a/4", "a/1", "a/2", "a/3", "", "a/1")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		// GetMany shows the snapshot, and its values stay valid during later reads.
		s.set("a", "a/1", "late", "a/4", "late")
		var err error
		if kept, err = r.GetMany(keys("a/1", "a/4", "a/3")); err != nil {
			return err
		}
		for i := range 200 {
			readMany(t, r, "a/1", fmt.Sprint("b/", i), "a/3")
		}
		if string(kept[0]) != "one" || kept[1] != nil || string(kept[2]) != "three" {
			t.Errorf("values of the snapshot: %q", kept)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// testGetManyOfLargeValues requests values that are together larger than one result of GetMany may be. It
// checks that GetMany returns only the first of them, and that GetEach returns all.
func testGetManyOfLargeValues(t *testing.T, s *testedEngine) {
	large := string(make([]byte, engine.ManyBytes/2))
	names := []string{"a/0", "a/1", "a/2", "a/3", "a/4"}
	for _, name := range names[1:] {
		s.set("a", name, large)
	}
	look := func(r engine.Reader) error {
		if values, err := r.GetMany(keys(names...)); err != nil || len(values) != 3 {
			t.Errorf("%d values of half the size each and one that is absent, %v; want 3", len(values), err)
		}
		var got []int
		err := engine.GetEach(r, keys(names...), func(i int, v []byte) (bool, error) {
			if absent := i == 0; absent != (v == nil) || !absent && len(v) != len(large) {
				t.Errorf("value %d has %d bytes", i, len(v))
			}
			got = append(got, i)
			return i < 3, nil
		})
		if diff := cmp.Diff([]int{0, 1, 2, 3}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		return err
	}
	if err := s.View(ctx, look); err != nil {
		t.Error(err)
	}
	s.update([]string{"a"}, func(tx engine.Txn) error { return look(tx) })
	one := string(make([]byte, engine.ManyBytes+1))
	s.set("a", "a/1", one)
	s.update([]string{"a"}, func(tx engine.Txn) error {
		if got := readMany(t, tx, "a/1", "a/2"); len(got) != 1 || got[0] != one {
			t.Errorf("%d values where the first is enough", len(got))
		}
		return nil
	})
}

func testGetManyOfOwnWrites(t *testing.T, s *testedEngine) {
	s.set("a", "a/1", "old", "a/2", "old", "a/3", "old", "a/4", "old")
	s.update([]string{"a"}, func(tx engine.Txn) error {
		names := []string{"a/4", "a/3", "a/2", "a/1", "a/0"}
		if diff := cmp.Diff([]string{"old", "old", "old", "old", "-"},
			readMany(t, tx, names...)); diff != "" {
			t.Errorf("before it writes (-want +got):\n%s", diff)
		}
		tx.Set([]byte("a/0"), []byte("new"))
		tx.Set([]byte("a/1"), []byte("new"))
		tx.Delete([]byte("a/2"))
		tx.DeleteRange(span("a/3", "a/4"))
		if diff := cmp.Diff([]string{"old", "-", "-", "new", "new"}, readMany(t, tx, names...)); diff != "" {
			t.Errorf("after it has written (-want +got):\n%s", diff)
		}
		tx.Set([]byte("a/2"), []byte("again"))
		if diff := cmp.Diff([]string{"again", "again"}, readMany(t, tx, "a/2", "a/2")); diff != "" {
			t.Errorf("a key that it has deleted and set (-want +got):\n%s", diff)
		}
		return nil
	})
}

// testGetManyUntilTheContextEnds cancels the context of a View and of an Update while they run, and checks
// that the next GetMany in them fails with the error of the context.
func testGetManyUntilTheContextEnds(t *testing.T, s *testedEngine) {
	s.set("a", "a/1", "one")
	look := func(r engine.Reader, end func()) error {
		readMany(t, r, "a/1")
		end()
		if _, err := r.GetMany(keys("a/1")); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("GetMany after the context has ended: %w", err)
		}
		return nil
	}
	ending, end := context.WithCancel(ctx)
	if err := s.View(ending, func(r engine.Reader) error { return look(r, end) }); err != nil {
		t.Errorf("View: %v", err)
	}
	ending, end = context.WithCancel(ctx)
	if _, err := s.Update(ending, keys("a"), func(tx engine.Txn) error { return look(tx, end) }); err != nil {
		t.Errorf("Update: %v", err)
	}
}
