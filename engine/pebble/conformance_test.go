package pebble

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/enginetest"
	"github.com/mayflydb/mayfly/internal/crashdisk"
)

// TestMain runs the tests with a garbage collection percentage of 400, since they allocate much and keep
// little, and checks that no goroutine is left at the end.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]func(t *testing.T) Options{
		"disk":   func(t *testing.T) Options { return Options{Dir: t.TempDir()} },
		"memory": func(*testing.T) Options { return Options{Memory: true, FS: vfs.NewMem()} },
	} {
		t.Run(name, func(t *testing.T) {
			enginetest.Run(t, func(t *testing.T) enginetest.ReopenableStorage {
				o := options(t)
				o.Strict = true
				return enginetest.ReopenableStorage{Open: func(t *testing.T) engine.Engine { return mustOpen(t, o) }}
			})
		})
	}
	// Ceilings move, write buffers turn over and tables are compacted every few writes, and the power fails.
	t.Run("small", func(t *testing.T) {
		enginetest.Run(t, func(t *testing.T) enginetest.ReopenableStorage { return frail(asItIs) })
	})
}

func asItIs(e *Engine) engine.Engine { return e }

// frail returns a data set for the conformance suite whose power can be cut: the disk then keeps what was
// synced and a random part of the rest. watch wraps the engine that the suite uses.
func frail(watch func(*Engine) engine.Engine) enginetest.ReopenableStorage {
	fs, rng := crashdisk.New(), rand.New(rand.NewPCG(1, 2))
	left := fs // of the last cut
	return enginetest.ReopenableStorage{
		Open: func(t *testing.T) engine.Engine {
			fs = left
			o := Options{Dir: "data", FS: fs, Strict: true, lsnBlock: 8, memTable: 64 << 10, FirstLSN: 1000}
			return watch(mustOpen(t, o))
		},
		Cut: func(*testing.T) {
			percent := []int{0, 30, 70, 100}[rng.IntN(4)]
			left = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
		},
	}
}

// nonDurableUpdateEngine is a deliberately broken engine: its Update returns before the commit is durable.
type nonDurableUpdateEngine struct{ *Engine }

func (h nonDurableUpdateEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	return h.Engine.Update(ctx, scopes, func(tx engine.Txn) error {
		tx.Relax()
		return fn(tx)
	}, ahead...)
}

// nonDurableSettleEngine is a deliberately broken engine: its Settle returns without making anything durable.
type nonDurableSettleEngine struct{ *Engine }

func (nonDurableSettleEngine) Settle(context.Context, []byte, uint64) error { return nil }

// nonAtomicEngine is a deliberately broken engine: it commits each transaction in two steps, between which
// a crash can happen.
type nonAtomicEngine struct{ *Engine }

func (h nonAtomicEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	var later [][2][]byte
	at, err := h.Engine.Update(ctx, scopes, func(tx engine.Txn) error {
		later = later[:0]
		return fn(&laterSetsDeferringTxn{Txn: tx, later: &later})
	}, ahead...)
	if err == nil && len(later) > 0 {
		at, err = h.Engine.Update(ctx, scopes, func(tx engine.Txn) error {
			for _, pair := range later {
				tx.Set(pair[0], pair[1])
			}
			return nil
		})
	}
	return at, err
}

// laterSetsDeferringTxn writes only the first key that is set in a transaction. It appends the later ones to
// later, for a second transaction.
type laterSetsDeferringTxn struct {
	engine.Txn
	sets  int
	later *[][2][]byte
}

func (h *laterSetsDeferringTxn) Set(key, value []byte) {
	if h.sets++; h.sets == 1 {
		h.Txn.Set(key, value)
	} else {
		*h.later = append(*h.later, [2][]byte{bytes.Clone(key), bytes.Clone(value)})
	}
}

// lsnRestartingEngine is a deliberately broken engine: when it is opened, it issues the LSNs of each scope (a
// key prefix with its own sequence of LSNs) from the first one again.
type lsnRestartingEngine struct{ *Engine }

func newLSNResetEngine(t *testing.T) func(e *Engine) engine.Engine {
	return func(e *Engine) engine.Engine {
		for _, scope := range []string{"a", "b", "c"} {
			if err := e.db.Delete(engine.CeilingKey([]byte(scope)), nil); err != nil {
				t.Fatal(err)
			}
		}
		return lsnRestartingEngine{e}
	}
}

// TestCrashSuiteDetectsBrokenEngines checks that the crash test of the conformance suite fails, with the
// expected error, for engines that break a guarantee of durability.
func TestCrashSuiteDetectsBrokenEngines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		watch func(*Engine) engine.Engine
		want  error
	}{
		"hasty":     {func(e *Engine) engine.Engine { return nonDurableUpdateEngine{e} }, enginetest.ErrLost},
		"boastful":  {func(e *Engine) engine.Engine { return nonDurableSettleEngine{e} }, enginetest.ErrLost},
		"torn":      {func(e *Engine) engine.Engine { return nonAtomicEngine{e} }, enginetest.ErrTorn},
		"forgetful": {newLSNResetEngine(t), enginetest.ErrReissued},
	} {
		t.Run(name, func(t *testing.T) {
			d := frail(c.watch)
			for seed := range uint64(20) {
				if err := enginetest.Crash(t, d, seed); err != nil {
					if !errors.Is(err, c.want) {
						t.Errorf("%v; want %v", err, c.want)
					}
					return
				}
			}
			t.Error("it passed")
		})
	}
}
