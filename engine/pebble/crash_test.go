package pebble

import (
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/crashdisk"
)

// durabilityExpectations records what a client has observed, and a crash must not undo: the acknowledged keys
// and values, and the highest LSN of each scope (a key prefix with its own sequence of LSNs).
type durabilityExpectations struct {
	mu     sync.Mutex
	acked  map[string]string
	issued map[string]uint64 // highest LSN that may have been seen, by scope
}

func newObservedResults() *durabilityExpectations {
	return &durabilityExpectations{acked: map[string]string{}, issued: map[string]uint64{}}
}

func (l *durabilityExpectations) issue(scope string, lsn uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.issued[scope] = max(l.issued[scope], lsn)
}

func (l *durabilityExpectations) ack(written map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.Copy(l.acked, written)
}

func lsnKey(scope string, lsn uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte(scope+"/"), lsn))
}

// record runs a transaction that writes one key in each scope, and records the result. A key contains the
// LSN; its value lists all keys of the transaction. At random, the transaction does not wait for the disk,
// or fails.
func (l *durabilityExpectations) record(e *Engine, r *rand.Rand, scopes ...string) error {
	relaxed, fails := r.IntN(5) == 0, r.IntN(7) == 0
	size := r.IntN(300)
	var names [][]byte
	for _, s := range scopes {
		names = append(names, []byte(s))
	}
	written := map[string]string{}
	_, err := e.Update(ctx, names, func(tx engine.Txn) error {
		clear(written)
		all := ""
		for _, s := range scopes {
			lsn := tx.NextLSN([]byte(s))
			if !fails {
				l.issue(s, lsn)
			}
			all += lsnKey(s, lsn) + "\n"
		}
		for key := range linesOf(all) {
			written[key] = all + string(make([]byte, size))
			tx.Set([]byte(key), []byte(written[key]))
		}
		if relaxed {
			tx.Relax()
		}
		if fails {
			return errTest
		}
		return nil
	})
	if err == nil && !relaxed {
		l.ack(written)
	}
	if err == errTest {
		return nil
	}
	return err
}

// linesOf yields the keys at the beginning of all: each is 10 bytes long, may contain any byte, and is
// followed by a newline.
func linesOf(all string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := 0; i+11 <= len(all) && all[i+10] == '\n' && all[i+1] == '/'; i += 11 {
			if !yield(all[i : i+10]) {
				return
			}
		}
	}
}

// verify checks an engine that was opened after a crash: acknowledged writes are present, transactions are
// there as a whole or not at all, and no LSN is issued again. It then writes one more key in each scope.
func (l *durabilityExpectations) verify(t *testing.T, e *Engine) {
	t.Helper()
	found := map[string]string{}
	if err := e.View(ctx, func(r engine.Reader) error {
		it := r.Scan(engine.Range{}, false)
		for it.Next() {
			found[string(it.Key())] = string(it.Value())
		}
		return it.Close()
	}); err != nil {
		t.Fatalf("reading after the crash: %v", err)
	}
	for key, value := range l.acked {
		if found[key] != value {
			t.Fatalf("%q was acknowledged and is lost", key)
		}
	}
	for key, value := range found {
		for other := range linesOf(value) {
			if _, ok := found[other]; !ok {
				t.Fatalf("half a transaction survived: %q without %q", key, other)
			}
		}
	}
	for _, scope := range []string{"a", "b", "c"} {
		last := uint64(0)
		for _, key := range slices.Sorted(maps.Keys(found)) {
			if len(key) == 10 && key[:2] == scope+"/" {
				last = max(last, binary.BigEndian.Uint64([]byte(key[2:])))
			}
		}
		if h := e.Horizon([]byte(scope)); h < l.issued[scope] || h < last {
			t.Fatalf("after the crash the horizon of %s is %d; %d was issued, %d is there", scope, h, l.issued[scope], last)
		}
		var next uint64
		if _, err := e.Update(ctx, [][]byte{[]byte(scope)}, func(tx engine.Txn) error {
			next = tx.NextLSN([]byte(scope))
			tx.Set([]byte(scope+"!"), nil)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if next <= l.issued[scope] {
			t.Fatalf("%s issues LSN %d again; %d had been issued", scope, next, l.issued[scope])
		}
		l.issue(scope, next)
	}
}

// TestLSNAfterRelaxedCommitCrash checks that the LSN of a commit that was visible, but not durable at a
// crash, is not issued again after the crash.
func TestLSNAfterRelaxedCommitCrash(t *testing.T) {
	t.Parallel()
	fs := crashdisk.New()
	o := Options{Dir: "data", FS: fs, lsnBlock: 4}
	e := mustOpen(t, o)
	var seen uint64
	for range 50 {
		if _, err := e.Update(ctx, scopeA, func(tx engine.Txn) error {
			tx.Relax()
			seen = tx.NextLSN(scopeA[0])
			tx.Set([]byte("a/1"), nil)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		clone := o
		clone.FS = fs.CrashClone(vfs.CrashCloneCfg{})
		after := mustOpen(t, clone)
		if h := after.Horizon(scopeA[0]); h < seen {
			t.Fatalf("LSN %d was seen; after a crash the scope goes on behind %d", seen, h)
		}
		mustClose(t, after)
	}
	mustClose(t, e)
}

// crashDuring runs concurrent writers on e, and returns the disk as a crash at a random moment would leave
// it.
func crashDuring(t *testing.T, e *Engine, fs *crashdisk.Disk, rng *rand.Rand) *crashdisk.Disk {
	const writers, rounds = 6, 60
	moment := rng.IntN(writers * rounds)
	l := newObservedResults()
	var done sync.WaitGroup
	ticks := make(chan bool, writers*rounds)
	for w := range writers {
		mine := rand.New(rand.NewPCG(rng.Uint64(), uint64(w)))
		done.Go(func() {
			for range rounds {
				scopes := [][]string{{"a"}, {"a"}, {"b"}, {"c", "a"}, {"b", "c"}, {"a", "b", "c"}}[mine.IntN(6)]
				if err := l.record(e, mine, scopes...); err != nil {
					t.Errorf("before the crash: %v", err)
				}
				ticks <- true
			}
		})
	}
	for range moment {
		<-ticks
	}
	clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 30, 70, 100}[rng.IntN(4)], RNG: rng})
	done.Wait()
	mustClose(t, e)
	return clone
}
