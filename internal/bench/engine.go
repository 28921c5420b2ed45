package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/engine/postgres"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// EngineComparisonOptions are the options of CompareEngines.
type EngineComparisonOptions struct {
	URL     string // of a PostgreSQL database; its schema mayfly_bench is replaced
	Dir     string // an empty folder for Pebble
	Docs    int    // documents of 1 KB in each store
	Seconds float64
}

// comparedStore is one of the compared stores. ops holds the functions that carry out the operations, by
// the operations' names. Their argument n is a number that increases with each call.
type comparedStore struct {
	name  string
	ops   map[string]func(ctx context.Context, n int) error
	purge func(ctx context.Context) (int, error) // purges all documents, which have expired
	trips func() uint64                          // round trips to the database so far; nil: not counted
	close func() error
}

// engineComparisonOperation is an operation that CompareEngines measures, with the number of clients that run
// it: a row of its table.
type engineComparisonOperation struct {
	name, op string
	clients  int
}

var engineRows = []engineComparisonOperation{
	{"create", "create", 1},
	{"create, 16 clients", "create", 16},
	{"point read", "read", 1},
	{"point read, 16 clients", "read", 16},
	{"equality, 20 rows", "equality", 1},
	{"ORDER BY, top 20", "order", 1},
	{"two conditions, 20 rows", "both", 1},
	{"COUNT(1)", "count", 1},
	{"feed page of 100", "feed", 1},
	{"replace", "replace", 1},
	{"replace, 16 clients", "replace", 16},
	{"batch of 100 creates", "batch", 1},
}

// CompareEngines measures the same operations on Pebble, on PostgreSQL, and on a plain table of jsonb in the
// same PostgreSQL, one after the other for each operation, and writes a table.
func CompareEngines(ctx context.Context, o EngineComparisonOptions, out io.Writer) (err error) {
	var all []*comparedStore
	defer func() {
		for _, s := range all {
			if cerr := s.close(); err == nil {
				err = cerr
			}
		}
	}()
	pool, err := prepareEngines(ctx, o.URL)
	if err != nil {
		return err
	}
	all = append(all, newTableSubject(pool))
	for _, open := range []func(context.Context, EngineComparisonOptions) (*comparedStore, error){
		openPostgresSubject, openPebbleSubject,
	} {
		s, err := open(ctx, o)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	slices.Reverse(all)
	for _, s := range all {
		if err := s.load(ctx, o.Docs, out); err != nil {
			return err
		}
	}
	next := (o.Docs + batchSize - 1) / batchSize * batchSize
	for _, row := range engineRows {
		fmt.Fprintf(out, "%-26s", row.name)
		for _, s := range all {
			m, err := s.measure(ctx, row, &next, o.Seconds)
			if err != nil {
				return fmt.Errorf("%s on %s: %w", row.name, s.name, err)
			}
			fmt.Fprintf(out, " | %s", m)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "%-26s", "purge of all")
	for _, s := range all {
		began, before := ttl.SystemClock{}.Now(), s.tripsSoFar()
		n, err := s.purge(ctx)
		if err != nil {
			return err
		}
		took := ttl.SystemClock{}.Now().Sub(began)
		fmt.Fprintf(out, " | %s %d, %.0f/s%s", s.name, n, float64(n)/took.Seconds(), s.tripsSince(before, n))
	}
	fmt.Fprintln(out)
	return nil
}

// tripsSoFar returns the round trips so far, 0 if they are not counted.
func (s *comparedStore) tripsSoFar() uint64 {
	if s.trips == nil {
		return 0
	}
	return s.trips()
}

// tripsSince returns the average number of round trips of n operations as text, such as " 1.5 trips".
// before is the number of round trips counted when the operations began. The text is empty if round trips
// are not counted.
func (s *comparedStore) tripsSince(before uint64, n int) string {
	if s.trips == nil || n == 0 {
		return ""
	}
	return fmt.Sprintf(" %.3g trips", float64(s.trips()-before)/float64(n))
}

// load creates the documents.
func (s *comparedStore) load(ctx context.Context, docs int, out io.Writer) error {
	began, before := ttl.SystemClock{}.Now(), s.tripsSoFar()
	for from := 0; from < docs; from += batchSize {
		if err := s.ops["batch"](ctx, from); err != nil {
			return err
		}
	}
	took := ttl.SystemClock{}.Now().Sub(began)
	_, err := fmt.Fprintf(out, "%s: %d documents loaded, %.0f/s%s\n", s.name, docs,
		float64(docs)/took.Seconds(), s.tripsSince(before, docs))
	return err
}

// batchSize is the number of documents of a batch.
const batchSize = 100

// measure runs an operation for some seconds. It returns the text for the table: the median time, the rate
// and the round trips of one operation.
func (s *comparedStore) measure(ctx context.Context, row engineComparisonOperation, next *int,
	seconds float64) (string, error) {
	var mu sync.Mutex
	var times []time.Duration
	var failed error
	var all sync.WaitGroup
	clock := ttl.SystemClock{}
	began, before := clock.Now(), s.tripsSoFar()
	for range row.clients {
		all.Go(func() {
			for {
				mu.Lock()
				n := *next
				*next += batchSize
				stop := failed != nil || clock.Now().Sub(began).Seconds() > seconds
				mu.Unlock()
				if stop {
					return
				}
				from := clock.Now()
				err := s.ops[row.op](ctx, n)
				took := clock.Now().Sub(from)
				mu.Lock()
				times = append(times, took)
				if err != nil {
					failed = err
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if failed != nil {
		return "", failed
	}
	took := clock.Now().Sub(began)
	slices.Sort(times)
	return fmt.Sprintf("%s p50 %.3f ms %.0f/s%s", s.name, times[len(times)/2].Seconds()*1000,
		float64(len(times))/took.Seconds(), s.tripsSince(before, len(times))), nil
}

func openPebbleSubject(ctx context.Context, o EngineComparisonOptions) (*comparedStore, error) {
	e, err := pebble.Open(ctx, pebble.Options{Dir: o.Dir})
	if err != nil {
		return nil, err
	}
	return newContainerOperations(ctx, "pebble", e)
}

func openPostgresSubject(ctx context.Context, o EngineComparisonOptions) (*comparedStore, error) {
	e, err := postgres.Open(ctx, postgres.Options{URL: o.URL, Schema: benchSchema})
	if err != nil {
		return nil, err
	}
	s, err := newContainerOperations(ctx, "postgres", e)
	if err == nil {
		s.trips = e.Trips
	}
	return s, err
}

// newContainerOperations returns a comparedStore that runs the operations on a new container with one
// partition range, in a store over e.
func newContainerOperations(ctx context.Context, name string, e engine.Engine) (*comparedStore, error) {
	clock := ttl.NewManual(time.Unix(1_700_000_000, 0))
	db, err := store.Open(ctx, e, store.Options{Clock: clock, Ranges: 1, ManualReaper: true})
	if err != nil {
		return nil, err
	}
	c, err := engineContainer(ctx, db)
	if err != nil {
		return nil, err
	}
	p := &containerOperations{c: c}
	purge := func(ctx context.Context) (int, error) {
		clock.Advance(2 * engineTTL * time.Second)
		return db.SweepNow(ctx)
	}
	return &comparedStore{name: name, ops: p.ops(), purge: purge, close: db.Close}, nil
}
