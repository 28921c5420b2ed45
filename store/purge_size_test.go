package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// deletionCounter is an engine that counts the items that each transaction deletes.
type deletionCounter struct {
	*pebble.Engine
	items []int // of the transactions that delete any
}

func (d *deletionCounter) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.Position, error) {
	n := 0
	at, err := d.Engine.Update(ctx, scopes, func(t engine.Txn) error {
		n = 0
		return fn(&countingTxn{t, &n})
	}, ahead...)
	if n > 0 {
		d.items = append(d.items, n)
	}
	return at, err
}

type countingTxn struct {
	engine.Txn
	items *int
}

func (t *countingTxn) Delete(key []byte) {
	if len(key) == layout.ScopeLen+1+layout.RIDLen && key[layout.ScopeLen] == layout.FamilyItem {
		*t.items++
	}
	t.Txn.Delete(key)
}

// Writers of a range wait while a purge has its scope. So a transaction of the reaper deletes few documents,
// and fewer if they are large, but at least one.
func TestPurgesAreShortTransactions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bytes, documents, most int
	}{{100, 70, 16}, {5_000, 70, 7}, {20_000, 20, 2}, {100_000, 5, 1}} {
		t.Run(fmt.Sprint(c.bytes), func(t *testing.T) {
			var e *deletionCounter
			b := newBenchOver(t, vfs.NewMem(), `"defaultTtl":10`,
				store.Options{Ranges: 1, ManualReaper: true},
				func(p *pebble.Engine) engine.Engine { e = &deletionCounter{Engine: p}; return e })
			defer b.close()
			for i := range c.documents {
				body := fmt.Appendf(nil, `{"id":"%d","pk":"x","n":%d,"pad":"%s"}`, i, i,
					strings.Repeat("x", c.bytes))
				if _, _, err := b.c.Create(b.ctx, pk("x"), body, store.WriteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			b.clock.Advance(10 * time.Second)
			if n, err := b.db.SweepNow(b.ctx); n != c.documents || err != nil {
				t.Fatal(n, err)
			}
			if got := slices.Max(e.items); got != c.most {
				t.Errorf("a transaction has deleted %d documents, want at most %d: %v", got, c.most, e.items)
			}
		})
	}
}
