package enginetest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

// The errors that Crash returns if the data after a power cut violate the contract of engines.
var (
	// ErrLost is returned by Crash if a transaction is lost that was reported to be durable.
	ErrLost = errors.New("what was told to be durable is lost")
	// ErrTorn is returned by Crash if only a part of a transaction has survived.
	ErrTorn = errors.New("half a transaction is there")
	// ErrReissued is returned by Crash if an LSN may be issued again.
	ErrReissued = errors.New("LSNs may be issued twice")
)

// crashSeeds is how many times an engine is tested with Crash, each time with another seed of random
// numbers.
const crashSeeds = 6

func testCrash(t *testing.T, s *testedEngine) {
	if s.data.Cut == nil {
		return // Cut is optional
	}
	s.close()
	for seed := range uint64(crashSeeds) {
		if err := Crash(t, s.data, seed); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	s.open()
}

// testCrashAfterEachWrite cuts the power after each of a few transactions of different kinds. Acknowledged
// writes must have survived. Writes with Relax, whose Update returns before they are durable, must have
// survived if a later write has, if a later transaction of the scope has returned, or after Settle.
func testCrashAfterEachWrite(t *testing.T, s *testedEngine) {
	if s.data.Cut == nil {
		return // Cut is optional
	}
	last := uint64(0)
	write := func(n int, relax bool) {
		s.update([]string{"a"}, func(tx engine.Txn) error {
			if relax {
				tx.Relax()
			}
			if lsn := tx.NextLSN([]byte("a")); lsn <= last {
				t.Errorf("round %d: LSN %d is issued again, %d had been seen", n, lsn, last)
			} else {
				last = lsn
			}
			tx.Set(fmt.Appendf(nil, "a/%d", n), []byte("x"))
			tx.Set([]byte("a/last"), fmt.Append(nil, n))
			return nil
		})
	}
	for n := 0; n < 40; n += 4 {
		write(n, false)
		s.crash()
		s.want(fmt.Sprint("a/", n), "x")
		s.want("a/last", fmt.Sprint(n))

		write(n+1, true)
		write(n+2, false)
		s.crash()
		s.want(fmt.Sprint("a/", n+1), "x")
		s.want("a/last", fmt.Sprint(n+2))

		write(n+3, true)
		s.update([]string{"a"}, func(engine.Txn) error { return nil })
		s.crash()
		s.want("a/last", fmt.Sprint(n+3))

		write(n+3, true)
		if err := s.Settle(ctx, []byte("a"), last); err != nil {
			t.Fatal(err)
		}
		s.update([]string{"b"}, func(tx engine.Txn) error { tx.Delete([]byte("a/0")); return nil })
		s.crash()
		s.want("a/0", "-")
		s.set("a", "a/0", "x")
	}
}

// Crash cuts the power several times while writers and a reader work. A transaction that was acknowledged
// or reported to be durable must survive (ErrLost), any other must survive completely or not at all
// (ErrTorn), and no LSN may be issued twice (ErrReissued). No engine may be open over the data.
func Crash(t *testing.T, d ReopenableStorage, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 1))
	l := &observedResults{acknowledged: map[string]string{}, issued: map[string]uint64{}}
	for round := range 8 {
		act := (*observedResults).play
		if round%2 == 1 {
			act = (*observedResults).settle
		}
		e := d.Open(t)
		known, err := act(l, t, d, e, rng)
		if cerr := e.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return fmt.Errorf("before the cut: %w", err)
		}
		l = known
		e = d.Open(t)
		err = l.verify(e)
		if cerr := e.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// settle commits a transaction with Relax (its Update returns before it is durable), reads it, makes it
// durable by Settle, and cuts the power at once. It returns a copy of the observed results from before the
// cut.
func (l *observedResults) settle(t *testing.T, d ReopenableStorage, e engine.Engine,
	rng *rand.Rand) (*observedResults,
	error) {
	err := l.transact(e, make([]byte, rng.IntN(300)), true, false, "a")
	if err == nil {
		err = l.read(e)
	}
	known := l.copy()
	d.Cut(t)
	return known, err
}

// crashScopes are the scopes in which the writers of Crash write.
var crashScopes = []string{"a", "b", "c"}

// observedResults records the results that clients of the engine have received. After a crash the data must
// agree with it.
type observedResults struct {
	mu           sync.Mutex
	acknowledged map[string]string // keys and values that were acknowledged, or read and settled
	issued       map[string]uint64 // by scope, the highest LSN that a client may have received
	failed       error
}

func (l *observedResults) copy() *observedResults {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &observedResults{acknowledged: maps.Clone(l.acknowledged), issued: maps.Clone(l.issued)}
}

func (l *observedResults) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = errors.Join(l.failed, err)
}

// play lets writers write and cuts the power at a random moment. It returns a copy of the observed results
// from right before the cut.
func (l *observedResults) play(t *testing.T, d ReopenableStorage, e engine.Engine,
	rng *rand.Rand) (*observedResults,
	error) {
	const writers, rounds = 6, 40
	moment := rng.IntN(writers * rounds)
	ticks := make(chan bool, writers*rounds)
	var done sync.WaitGroup
	for w := range writers {
		mine := rand.New(rand.NewPCG(rng.Uint64(), uint64(w)))
		done.Go(func() {
			for range rounds {
				scopes := [][]string{{"a"}, {"a"}, {"b"}, {"c", "a"}, {"b", "c"},
					{"a", "b", "c"}}[mine.IntN(6)]
				if err := l.write(e, mine, scopes...); err != nil {
					l.fail(err)
				}
				ticks <- true
			}
		})
	}
	for range moment {
		<-ticks
	}
	if rng.IntN(2) == 0 { // settling would hide an early acknowledgement
		if err := l.read(e); err != nil {
			l.fail(err)
		}
	}
	known := l.copy()
	d.Cut(t)
	done.Wait()
	return known, l.failed
}

// write writes, in each scope, a key that contains the LSN. Each value begins with the list of all keys of
// the transaction: see keysOf.
func (l *observedResults) write(e engine.Engine, r *rand.Rand, scopes ...string) error {
	relaxed, fails := r.IntN(5) == 0, r.IntN(7) == 0
	return l.transact(e, make([]byte, r.IntN(300)), relaxed, fails, scopes...)
}

func (l *observedResults) transact(e engine.Engine, pad []byte, relaxed, fails bool, scopes ...string) error {
	written, lsns := map[string]string{}, map[string]uint64{}
	_, err := e.Update(ctx, keys(scopes...), func(tx engine.Txn) error {
		clear(written)
		all := ""
		for _, s := range scopes {
			lsn := tx.NextLSN([]byte(s))
			all += lsnKey(s, lsn)
			lsns[s] = lsn
		}
		for key := range keysOf(all) {
			written[key] = all + string(pad)
			tx.Set([]byte(key), []byte(written[key]))
		}
		if relaxed {
			tx.Relax()
		}
		if fails {
			return errRefused
		}
		return nil
	})
	if err == nil { // otherwise no client has received the LSNs
		for s, lsn := range lsns {
			l.issue(s, lsn)
		}
	}
	if err == nil && !relaxed {
		l.acknowledge(written)
	}
	if fails && errors.Is(err, errRefused) {
		return nil
	}
	return err
}

func (l *observedResults) issue(scope string, lsn uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.issued[scope] = max(l.issued[scope], lsn)
}

func (l *observedResults) acknowledge(pairs map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.Copy(l.acknowledged, pairs)
}

// read reads all scopes in a View and waits with Settle until what it has read is durable. From then on these
// data must survive a power cut, so read records them as acknowledged.
func (l *observedResults) read(e engine.Engine) error {
	var at []engine.LSNScopeStatus
	var found map[string]string
	err := e.View(ctx, func(r engine.Reader) (err error) {
		if at, err = r.Positions(keys(crashScopes...)); err == nil {
			found, err = readAll(r)
		}
		return err
	})
	for key := range found {
		l.issue(key[:1], lsnOf(key))
	}
	for i, scope := range crashScopes {
		if err == nil && !at[i].Settled {
			err = e.Settle(ctx, []byte(scope), 0)
		}
	}
	if err == nil {
		l.acknowledge(found)
	}
	return err
}

func readAll(r engine.Reader) (map[string]string, error) {
	found := map[string]string{}
	it := r.Scan(engine.Range{}, false)
	for it.Next() {
		if key := string(it.Key()); len(key) == lsnKeyLen && key[1] == '/' {
			found[key] = string(it.Value())
		}
	}
	return found, it.Close()
}

// lsnKeyLen is the length of a key that contains an LSN.
const lsnKeyLen = len("a/") + 8

func lsnKey(scope string, lsn uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte(scope+"/"), lsn))
}

func lsnOf(key string) uint64 { return binary.BigEndian.Uint64([]byte(key[2:])) }

// keysOf returns the keys that a transaction has written, in their order. all is the value of one of these
// keys: it begins with a list of the keys, all of length lsnKeyLen, without separators, and may continue with
// other bytes.
func keysOf(all string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for len(all) >= lsnKeyLen && slices.Contains(crashScopes, all[:1]) && yield(all[:lsnKeyLen]) {
			all = all[lsnKeyLen:]
		}
	}
}

// verify compares the data after a power cut with the results that clients observed before it. It returns
// ErrLost if durable data are missing, ErrTorn if only a part of a transaction is there, and ErrReissued
// if an LSN could be issued again. It also takes the next LSN of each scope and adds it to the observed
// results.
func (l *observedResults) verify(e engine.Engine) error {
	var found map[string]string
	err := e.View(ctx, func(r engine.Reader) (err error) {
		found, err = readAll(r)
		return err
	})
	if err != nil {
		return fmt.Errorf("reading after the cut: %w", err)
	}
	for key, value := range l.acknowledged {
		if found[key] != value {
			return fmt.Errorf("%w: %q", ErrLost, key)
		}
	}
	for key, value := range found {
		for other := range keysOf(value) {
			if _, ok := found[other]; !ok {
				return fmt.Errorf("%w: %q without %q", ErrTorn, key, other)
			}
		}
	}
	for _, scope := range crashScopes {
		if err := l.checkNextLSN(e, scope, found); err != nil {
			return err
		}
	}
	return nil
}

// checkNextLSN takes the next LSN of a scope and checks that it, and the scope's horizon (the highest durable
// LSN), are not below what clients have received. found are all keys in the data.
func (l *observedResults) checkNextLSN(e engine.Engine, scope string, found map[string]string) error {
	last := l.issued[scope]
	for key := range found {
		if key[:1] == scope {
			last = max(last, lsnOf(key))
		}
	}
	if h := e.Horizon([]byte(scope)); h < last {
		return fmt.Errorf("%w: the horizon of %s is %d, %d may have been seen", ErrReissued, scope, h, last)
	}
	var next uint64
	if _, err := e.Update(ctx, keys(scope), func(tx engine.Txn) error {
		next = tx.NextLSN([]byte(scope))
		tx.Set([]byte(scope+"!"), nil)
		return nil
	}); err != nil {
		return err
	}
	if next <= last {
		return fmt.Errorf("%w: %s issues %d, %d may have been seen", ErrReissued, scope, next, last)
	}
	l.issue(scope, next)
	return nil
}
