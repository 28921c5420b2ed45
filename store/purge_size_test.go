package store_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// deletionCountingEngine is an engine that counts the items that each transaction deletes.
type deletionCountingEngine struct {
	testdisk.Engine
	items  []int // of the transactions that delete any
	ranges []engine.Range
}

func (d *deletionCountingEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	n := 0
	at, err := d.Engine.Update(ctx, scopes, func(t engine.Txn) error {
		n = 0
		return fn(&deletionCountingTxn{t, &n, d})
	}, ahead...)
	if n > 0 {
		d.items = append(d.items, n)
	}
	return at, err
}

type deletionCountingTxn struct {
	engine.Txn
	items *int
	of    *deletionCountingEngine
}

func (t *deletionCountingTxn) DeleteRange(r engine.Range) {
	t.of.ranges = append(t.of.ranges, engine.Range{Start: bytes.Clone(r.Start), End: bytes.Clone(r.End)})
	t.Txn.DeleteRange(r)
}

func (t *deletionCountingTxn) Delete(key []byte) {
	if len(key) == layout.ScopeLen+1+layout.RIDLen && key[layout.ScopeLen] == layout.FamilyItem {
		*t.items++
	}
	t.Txn.Delete(key)
}

// TestPurgeTransactionSize checks the number of documents that one transaction of the reaper
// deletes: few, fewer if they are large, and at least one. Writers of the range wait for such a
// transaction.
func TestPurgeTransactionSize(t *testing.T) {
	testdisk.Pebble(t, "the engine for PostgreSQL advises larger transactions")
	t.Parallel()
	for _, c := range []struct {
		bytes, documents, most int
	}{{100, 70, 16}, {5_000, 70, 7}, {20_000, 20, 2}, {100_000, 5, 1}} {
		t.Run(fmt.Sprint(c.bytes), func(t *testing.T) {
			var e *deletionCountingEngine
			b := newBenchOver(t, testdisk.New(t), `"defaultTtl":10`,
				store.Options{Ranges: 1, ManualReaper: true},
				func(p testdisk.Engine) engine.Engine { e = &deletionCountingEngine{Engine: p}; return e })
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

// TestPurgedKeysAreRangeDeleted checks that after many purges the emptied parts of the key space are
// deleted as ranges, so that iterators do not step over single deleted keys, and that live documents
// around them are unharmed.
func TestPurgedKeysAreRangeDeleted(t *testing.T) {
	testdisk.Pebble(t, "the engine for PostgreSQL has no tombstones to clear")
	t.Parallel()
	var e *deletionCountingEngine
	b := newBenchOver(t, testdisk.New(t), `"defaultTtl":10`, store.Options{Ranges: 1, ManualReaper: true},
		func(p testdisk.Engine) engine.Engine { e = &deletionCountingEngine{Engine: p}; return e })
	defer b.close()
	const documents, lives = 3_000, 1_500
	alive := func(i int) bool { return i%lives == 0 || i == documents-1 }
	for i := range documents {
		ttl := 0
		if alive(i) {
			ttl = -1
		}
		body := fmt.Appendf(nil, `{"id":"%d","pk":"x","n":%d`, i, i)
		if ttl != 0 {
			body = fmt.Appendf(body, `,"ttl":%d`, ttl)
		}
		if _, _, err := b.c.Create(b.ctx, pk("x"), append(body, '}'), store.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	b.clock.Advance(10 * time.Second)
	if n, err := b.db.SweepNow(b.ctx); n != documents-3 || err != nil {
		t.Fatal(n, err)
	}
	cleared := map[byte]int{}
	for _, r := range e.ranges {
		if len(r.Start) > layout.ScopeLen {
			cleared[r.Start[layout.ScopeLen]]++
		}
	}
	for _, family := range []byte{layout.FamilyItem, layout.FamilyFeed, layout.FamilyWritten} {
		if cleared[family] != 2 { // one range for each 1,024 items
			t.Errorf("%d ranges of the family %c were deleted, want 2", cleared[family], family)
		}
	}
	for i := range documents {
		_, _, err := b.c.Read(b.ctx, pk("x"), fmt.Sprint(i), store.ReadOptions{})
		if alive(i) && err != nil || !alive(i) && !is(err, fault.CodeNotFound) {
			t.Errorf("document %d: %v", i, err)
		}
	}
	page, _, err := b.c.Changes(b.ctx, store.ChangesRequest{MaxItems: -1})
	if err != nil || len(page.Changes) != 3 {
		t.Errorf("the feed has %d changes, %v", len(page.Changes), err)
	}
}
