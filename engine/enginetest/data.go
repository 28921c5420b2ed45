package enginetest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayflydb/mayfly/engine"
)

var errRefused = errors.New("refused by the closure")

func testReadYourWrites(t *testing.T, s *testedEngine) {
	s.set("a", "a/1", "old", "a/2", "old", "a/3", "old")
	s.update([]string{"a"}, func(tx engine.Txn) error {
		tx.Set([]byte("a/0"), []byte("new"))
		tx.Set([]byte("a/2"), []byte("new"))
		tx.Delete([]byte("a/3"))
		for key, want := range map[string]string{"a/0": "new", "a/1": "old", "a/2": "new", "a/3": "-"} {
			if got := read(t, tx, key); got != want {
				t.Errorf("in the transaction %q is %q, want %q", key, got, want)
			}
		}
		want := []string{"a/0=new", "a/1=old", "a/2=new"}
		if diff := cmp.Diff(want, scan(t, tx, engine.Prefix([]byte("a/")), false)); diff != "" {
			t.Errorf("scan (-want +got):\n%s", diff)
		}
		tx.DeleteRange(span("a/1", "a/3"))
		tx.Set([]byte("a/1"), []byte("again"))
		want = []string{"a/1=again", "a/0=new"}
		if diff := cmp.Diff(want, scan(t, tx, engine.Prefix([]byte("a/")), true)); diff != "" {
			t.Errorf("reverse scan (-want +got):\n%s", diff)
		}
		return nil
	})
	s.want("a/1", "again")
	s.want("a/2", "-")
}

// testScanWhileWriting deletes keys during a scan: the iterator must continue to show the state in which it
// was created.
func testScanWhileWriting(t *testing.T, s *testedEngine) {
	for _, written := range []bool{false, true} {
		s.set("a", "a/1", "x", "a/2", "x", "a/3", "x")
		seen := 0
		s.update([]string{"a"}, func(tx engine.Txn) error {
			if written {
				tx.Set([]byte("a/0"), []byte("x"))
			}
			it := tx.Scan(engine.Prefix([]byte("a/")), false)
			for it.Next() {
				seen++
				tx.Delete(it.Key())
				tx.Set([]byte("a/9"), []byte("later"))
			}
			return it.Close()
		})
		if want := map[bool]int{false: 3, true: 5}[written]; seen != want {
			t.Errorf("the iterator showed %d keys, want %d", seen, want)
		}
		s.want("a/2", "-")
		s.want("a/9", "later")
	}
}

func testDeleteRange(t *testing.T, s *testedEngine) {
	all := engine.Range{}
	left := func() (out []string) {
		if err := s.View(ctx, func(r engine.Reader) error {
			out = scan(t, r, all, false)
			empty := scan(t, r, engine.Range{Start: []byte{}}, false) // no lower bound either
			if diff := cmp.Diff(out, empty); diff != "" {
				t.Errorf("from the empty key (-want +got):\n%s", diff)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	s.set("a", "a", "1", "a/1", "1", "b", "1", "\xff\xff", "1")
	s.update([]string{"a"}, func(tx engine.Txn) error {
		tx.DeleteRange(span("b", "a")) // reversed bounds: deletes nothing
		tx.DeleteRange(span("a", "a")) // empty range: deletes nothing
		tx.DeleteRange(engine.Prefix([]byte("a/")))
		return nil
	})
	if diff := cmp.Diff([]string{"a=1", "b=1", "\xff\xff=1"}, left()); diff != "" {
		t.Errorf("after deleting a prefix (-want +got):\n%s", diff)
	}
	s.update([]string{"a"}, func(tx engine.Txn) error {
		tx.Set([]byte("\xff\xff\xff"), []byte("own"))
		tx.DeleteRange(engine.Range{Start: []byte("b")})
		return nil
	})
	if diff := cmp.Diff([]string{"a=1"}, left()); diff != "" {
		t.Errorf("after deleting to the end (-want +got):\n%s", diff)
	}
	s.update([]string{"a"}, func(tx engine.Txn) error {
		tx.DeleteRange(all)
		tx.DeleteRange(all)
		return nil
	})
	if got := left(); len(got) > 0 {
		t.Errorf("after deleting everything: %q", got)
	}
}

func testBytesAreCopied(t *testing.T, s *testedEngine) {
	key, value := []byte("a/key"), []byte("value")
	s.update([]string{"a"}, func(tx engine.Txn) error {
		tx.Set(key, value)
		key[2], value[0] = 'X', 'X'
		tx.Delete(key)
		key[2] = 'Y'
		return nil
	})
	s.want("a/key", "value")

	const n = 300
	s.update([]string{"a"}, func(tx engine.Txn) error {
		for i := range n {
			tx.Set(fmt.Appendf(nil, "a/%d", i), bytes.Repeat([]byte{byte(i)}, i))
		}
		return nil
	})
	if err := s.View(ctx, func(r engine.Reader) error {
		var got [n][]byte
		for i := range n {
			var err error
			if got[i], err = r.Get(fmt.Appendf(nil, "a/%d", i)); err != nil {
				return err
			}
		}
		for i, v := range got {
			if !bytes.Equal(v, bytes.Repeat([]byte{byte(i)}, i)) {
				t.Errorf("value %d has changed before the function returned", i)
			}
			_ = append(v, "a caller's append must not reach the next value"...)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func testErrorDiscards(t *testing.T, s *testedEngine) {
	s.set("a", "a/1", "old")
	before := s.Metrics().Commits
	_, err := s.Update(ctx, keys("a"), func(tx engine.Txn) error {
		tx.Set([]byte("a/1"), []byte("new"))
		tx.Set([]byte("a/2"), []byte("new"))
		tx.DeleteRange(engine.Prefix([]byte("a/")))
		return errRefused
	})
	if err != errRefused {
		t.Errorf("Update returns %v, want the closure's error as it is", err)
	}
	s.want("a/1", "old")
	s.want("a/2", "-")
	if n := s.Metrics().Commits; n != before {
		t.Errorf("a failed transaction counts as a commit")
	}
	if err := s.View(ctx, func(engine.Reader) error { return errRefused }); err != errRefused {
		t.Errorf("View returns %v, want the closure's error as it is", err)
	}
}

func testViewIsOneSnapshot(t *testing.T, s *testedEngine) {
	s.set("a", "a/1", "old")
	if err := s.View(ctx, func(r engine.Reader) error {
		read(t, r, "a/0")
		s.set("a", "a/1", "new", "a/2", "new")
		if got := read(t, r, "a/1") + read(t, r, "a/2"); got != "old-" {
			t.Errorf("the snapshot shows what was written after it was taken: %q", got)
		}
		if diff := cmp.Diff([]string{"a/1=old"}, scan(t, r, engine.Prefix([]byte("a/")), false)); diff != "" {
			t.Errorf("scan of the snapshot (-want +got):\n%s", diff)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	s.want("a/1", "new")

	// A View inside an Update reads the committed state.
	s.update([]string{"a"}, func(tx engine.Txn) error {
		tx.Set([]byte("a/1"), []byte("newer"))
		s.want("a/1", "new")
		return nil
	})
}

func testGetter(t *testing.T, s *testedEngine) {
	g, ok := s.Engine.(engine.Getter)
	if !ok {
		return // Getter is optional
	}
	s.set("a", "a/1", "one")
	lsn := s.next("a")
	want := engine.LSNScopeStatus{LSN: lsn, Settled: true}
	if v, at, err := g.Get(ctx, []byte("a"), []byte("a/1")); err != nil || string(v) != "one" ||
		timeless(at) != want {
		t.Errorf("Get: %q at %v, %v; want it at %v", v, at, err, want)
	}
	if _, at, err := g.Get(ctx, []byte("a"), []byte("a/2")); !errors.Is(err, engine.ErrNotFound) ||
		timeless(at) != want {
		t.Errorf("Get of an absent key at %v: %v", at, err)
	}
	s.close()
	if _, _, err := g.Get(ctx, []byte("a"), []byte("a/1")); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("Get after Close: %v", err)
	}
}

func testSurvivesReopen(t *testing.T, s *testedEngine) {
	s.set("a", "a/1", "one", "a/2", "two", "b/1", "three")
	s.update([]string{"a"}, func(tx engine.Txn) error {
		tx.Relax()
		tx.DeleteRange(engine.Prefix([]byte("b/")))
		tx.Delete([]byte("a/2"))
		tx.Set([]byte("a/3"), nil)
		return nil
	})
	for range 2 {
		s.reopen()
		s.want("a/1", "one")
		s.want("a/2", "-")
		s.want("a/3", "")
		s.want("b/1", "-")
	}
}

func testScopes(t *testing.T, s *testedEngine) {
	nothing := func(engine.Txn) error { return nil }
	if _, err := s.Update(ctx, nil, nothing); !errors.Is(err, engine.ErrScope) {
		t.Errorf("no scope: %v, want ErrScope", err)
	}
	_, err := s.Update(ctx, keys("a"), func(tx engine.Txn) error {
		tx.Set([]byte("a/1"), []byte("x"))
		tx.NextLSN([]byte("b"))
		return nil
	})
	if !errors.Is(err, engine.ErrScope) {
		t.Errorf("an LSN of another scope: %v, want ErrScope", err)
	}
	s.want("a/1", "-")
	// Naming a scope twice is the same as naming it once.
	var lsn uint64
	at := s.update([]string{"b", "a", "b"}, func(tx engine.Txn) error {
		tx.Set([]byte("b/1"), []byte("x"))
		tx.NextLSN([]byte("b"))
		lsn = tx.NextLSN([]byte("b"))
		return nil
	})
	if len(at) != 3 || at[0].LSN != lsn || at[1].LSN >= lsn || at[2] != at[0] {
		t.Errorf("positions %v", at)
	}
}

func testClosed(t *testing.T, s *testedEngine) {
	s.set("a", "a/1", "x")
	e := s.Engine
	s.close()
	never := func() { t.Error("a closure ran after Close") }
	if err := e.View(ctx, func(engine.Reader) error { never(); return nil }); !errors.Is(err,
		engine.ErrClosed) {
		t.Errorf("View: %v", err)
	}
	if _, err := e.Update(ctx, keys("a"), func(engine.Txn) error { never(); return nil }); !errors.Is(err,
		engine.ErrClosed) {
		t.Errorf("Update: %v", err)
	}
	if err := e.Close(); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("Close: %v", err)
	}
	e.Horizon([]byte("a"))
	e.Metrics()
}

// testCloseWaits closes the engine while an Update and a View run, and checks that Close waits for both.
func testCloseWaits(t *testing.T, s *testedEngine) {
	e := s.Engine
	in, out, closed := make(chan bool), make(chan bool), make(chan error, 1)
	results := make(chan error, 2)
	go func() {
		_, err := e.Update(ctx, keys("a"), func(tx engine.Txn) error {
			in <- true
			<-out
			tx.Set([]byte("a/1"), []byte("x"))
			return nil
		})
		results <- err
	}()
	go func() {
		results <- e.View(ctx, func(r engine.Reader) error {
			in <- true
			<-out
			_, err := r.Get([]byte("a/1"))
			return err
		})
	}()
	<-in
	<-in
	go func() { closed <- e.Close() }()
	select {
	case <-closed:
		t.Error("Close did not wait")
	default:
	}
	close(out)
	for range 2 {
		if err := <-results; err != nil && !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("what ran when Close was called: %v", err)
		}
	}
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
	s.open()
	s.want("a/1", "x")
}

// testOpenIterator checks that an iterator that the function of a View or an Update leaves open cannot be
// used after the function has returned, whether or not the engine returns an error.
func testOpenIterator(t *testing.T, s *testedEngine) {
	s.set("a", "a/1", "x")
	var kept []engine.Iterator
	_ = s.View(ctx, func(r engine.Reader) error {
		kept = append(kept, r.Scan(span("a", ""), false), r.Scan(span("a", ""), true))
		kept[0].Next()
		return nil
	})
	_, _ = s.Update(ctx, keys("a"), func(tx engine.Txn) error {
		kept = append(kept, tx.Scan(span("a", ""), false))
		tx.Set([]byte("a/2"), []byte("y"))
		kept = append(kept, tx.Scan(span("a", ""), false))
		return nil
	})
	for i, it := range kept {
		if it.Next() || it.SeekGE([]byte("a")) || it.Key() != nil || it.Value() != nil {
			t.Errorf("iterator %d lives on", i)
		}
		_ = it.Close()
	}
	// A backward iterator has no SeekGE.
	err := s.View(ctx, func(r engine.Reader) error {
		it := r.Scan(span("a", ""), true)
		if it.SeekGE([]byte("a")) {
			t.Error("SeekGE of a reverse iterator found something")
		}
		return it.Close()
	})
	if err == nil {
		t.Error("SeekGE of a reverse iterator is not an error")
	}
	s.reopen()
}
