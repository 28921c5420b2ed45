package store_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// steppingClock is a clock that advances by step at each call of Now, once step is set.
type steppingClock struct {
	ttl.Clock
	step, past atomic.Int64
}

func (s *steppingClock) Now() time.Time { return time.Unix(1_700_000_000, s.past.Add(s.step.Load())) }

// countdownContext is a context that is canceled after left calls of Err.
type countdownContext struct {
	context.Context
	left int
}

func (c *countdownContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// dead is the number of expired items in the container that expiredItems returns.
const dead = 6000

// expiredItems returns a container with many expired items that are not purged, and one live item before
// and one after them, and the clock of its time limits. limit is the time limit for a page, 0 for the
// default.
func expiredItems(t *testing.T, limit time.Duration) (*testStore, *steppingClock) {
	wall := &steppingClock{Clock: ttl.SystemClock{}}
	b := newBenchWith(t, testdisk.New(t), `"defaultTtl":-1,"changeFeedPolicy":{"retentionDuration":10}`,
		store.Options{Ranges: 1, ManualReaper: true, Wall: wall, QueryTime: limit})
	t.Cleanup(b.close)
	b.put(`{"id":"first","pk":"a","n":1}`)
	for n := 0; n < dead; {
		var ops []store.ItemOperation
		for range store.MaxBatchOperations {
			body := fmt.Appendf(nil, `{"id":"%d","pk":"a","n":1,"s":"x","ttl":10}`, n)
			ops = append(ops, store.ItemOperation{Kind: store.OperationCreate, Body: body, NoContent: true})
			n++
		}
		for _, r := range b.batch(pk("a"), store.BatchOptions{Atomic: true}, ops...).Results {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
	}
	b.put(`{"id":"last","pk":"a","n":1,"s":"y"}`)
	b.pass(20)
	return b, wall
}

// TestScansEndWithContext checks that every operation that passes over many expired items ends when
// its context ends.
func TestScansEndWithContext(t *testing.T) {
	t.Parallel()
	b, _ := expiredItems(t, 0)
	ask := func(text string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, _, err := b.c.Query(ctx,
				store.QueryRequest{Text: text, ListOptions: store.ListOptions{MaxItems: 1}})
			return err
		}
	}
	for name, walk := range map[string]func(context.Context) error{
		"list": func(ctx context.Context) error {
			_, _, err := b.c.List(ctx, store.ListOptions{})
			return err
		},
		"list of a partition": func(ctx context.Context) error {
			_, _, err := b.c.List(ctx, store.ListOptions{Scope: store.KeyOrRange{Partition: pk("a")}})
			return err
		},
		"feed": func(ctx context.Context) error {
			_, _, err := b.c.Changes(ctx, store.ChangesRequest{MaxItems: 1000})
			return err
		},
		"feed through a query": func(ctx context.Context) error {
			_, _, err := b.c.QueryChanges(ctx, store.ChangesRequest{},
				store.QueryRequest{Text: "SELECT * FROM c WHERE c.id = 'last'"})
			return err
		},
		"scan":     ask("SELECT * FROM c WHERE c.n + 1 = 3"),
		"count":    ask("SELECT VALUE COUNT(1) FROM c"),
		"order":    ask("SELECT * FROM c ORDER BY c.n DESC"),
		"postings": ask("SELECT * FROM c WHERE c.s = 'x'"),
		"groups":   ask("SELECT c.n FROM c GROUP BY c.n"),
		"usage": func(ctx context.Context) error {
			_, err := b.c.Usage(ctx)
			return err
		},
	} {
		if err := walk(&countdownContext{b.ctx, 8}); !is(err, fault.CodeCanceled) {
			t.Errorf("%s: %v", name, err)
		}
		if err := walk(b.ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// pages reads pages to the end by calls of page, each with the continuation of the one before. It checks
// that they return the ids in want, and that some of them are empty.
func pages(t *testing.T, want string, page func(from string) (ids []string, next string, err error)) {
	t.Helper()
	var ids []string
	empty, from := 0, ""
	for n := 0; ; n++ {
		got, next, err := page(from)
		if err != nil {
			t.Fatal(err)
		}
		if ids = append(ids, got...); len(got) == 0 {
			empty++
		}
		if next == "" {
			break
		}
		if next == from || n > dead {
			t.Fatalf("no progress behind %q", from)
		}
		from = next
	}
	if got := strings.Join(ids, " "); got != want || empty == 0 {
		t.Errorf("%s, %d empty pages; want %s", got, empty, want)
	}
}

// TestPagesOverExpiredItems checks that a page that passes over many expired items ends at its time limit,
// and that the next page continues where it stopped.
func TestPagesOverExpiredItems(t *testing.T) {
	racetest.Sequential(t)
	t.Parallel()
	var limit time.Duration
	if testdisk.Postgres(t) { // the renewal of leases in the background also looks at the clock, and moves it
		limit = time.Hour
	}
	b, wall := expiredItems(t, limit)
	wall.step.Store(int64(2 * time.Second))
	defer wall.step.Store(0)
	for _, scope := range []store.KeyOrRange{{}, {Partition: pk("a")}} {
		pages(t, "first last", func(from string) (ids []string, next string, err error) {
			p, _, err := b.c.List(b.ctx, store.ListOptions{Scope: scope, MaxItems: 1, Continuation: from})
			for _, it := range p.Items {
				ids = append(ids, it.ID())
			}
			return ids, p.Continuation, err
		})
		for text, want := range map[string]string{
			"SELECT VALUE c.id FROM c":                                     `"first" "last"`,
			"SELECT VALUE c.id FROM c WHERE c.s = 'y' OR c.s = 'x'":        `"last"`,
			"SELECT VALUE c.id FROM c WHERE c.s IN ('x', 'y') AND c.n = 1": `"last"`,
			"SELECT DISTINCT VALUE c.id FROM c":                            `"first" "last"`,
			"SELECT VALUE c.id FROM c ORDER BY c.n":                        `"first" "last"`,
			"SELECT VALUE c.id FROM c ORDER BY c.n DESC":                   `"last" "first"`,
			"SELECT VALUE c.id FROM c ORDER BY c.s":                        `"first" "last"`,
			"SELECT VALUE c.id FROM c ORDER BY c.none DESC":                `"last" "first"`,
		} {
			pages(t, want, func(from string) (ids []string, next string, err error) {
				p, _, err := b.c.Query(b.ctx, store.QueryRequest{Text: text,
					ListOptions: store.ListOptions{Scope: scope, MaxItems: 1, Continuation: from}})
				for _, row := range p.Rows {
					ids = append(ids, string(row))
				}
				return ids, p.Continuation, err
			})
		}
		pages(t, "first last", func(from string) (ids []string, next string, err error) {
			p, _, err := b.c.Changes(b.ctx,
				store.ChangesRequest{Scope: scope, Start: store.ChangesStart{After: from}, MaxItems: 1})
			for _, ch := range p.Changes {
				ids = append(ids, ch.Item.ID())
			}
			if next = p.Position; len(ids) == 0 && !p.More {
				next = ""
			}
			return ids, next, err
		})
	}
}

// TestAggregateOverItsTime checks that an aggregate query, which cannot be continued in another page,
// fails at its time limit.
func TestAggregateOverItsTime(t *testing.T) {
	t.Parallel()
	b, wall := expiredItems(t, 0)
	wall.step.Store(int64(2 * time.Second))
	defer wall.step.Store(0)
	for _, text := range []string{"SELECT VALUE MAX(c.n) FROM c WHERE c.n + 1 = 2",
		"SELECT c.n FROM c GROUP BY c.n"} {
		if _, _, err := b.c.Query(b.ctx, store.QueryRequest{Text: text}); !is(err, fault.CodeCanceled) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
