package store_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/datatest"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/roundtrips"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// TestRoundTrips compares the numbers of round trips that each operation would need on a remote engine with a
// golden table: see package roundtrips.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	datatest.Run(t, "testdata/trips.txt", func(t *testing.T, c *datatest.TestFileCommand) string {
		ranges, err := strconv.Atoi(c.KV["ranges"])
		if err != nil || c.Cmd != "trips" {
			t.Fatalf("%s: trips ranges=n", c.Pos)
		}
		tr := newTripCounter(t, ranges)
		defer tr.b.close()
		tr.all()
		var table strings.Builder
		for _, r := range tr.rows {
			fmt.Fprintf(&table, "%-*s %4d  %s\n", tripNameWidth, r.name, r.total, r.detail)
		}
		return table.String()
	})
}

// tripNameWidth is the width in characters of the column with the names of operations in the table of round
// trips.
const tripNameWidth = 56

// operationRoundTrips is a row of the table: an operation and the round trips that it needed.
type operationRoundTrips struct {
	name   string
	total  int
	detail string
}

// operationRoundTripCounter performs operations on a store and counts their round trips.
type operationRoundTripCounter struct {
	t    *testing.T
	b    *testStore
	fs   *testdisk.EngineStorage
	open func() engine.Engine // opens the engine anew
	rows []operationRoundTrips

	begin func()                            // begins to count
	end   func() (total int, detail string) // returns what has been counted
}

func newTripCounter(t *testing.T, ranges int) *operationRoundTripCounter {
	tr := &operationRoundTripCounter{t: t, fs: testdisk.New(t)}
	var e *roundtrips.CountingEngine
	turn := roundtrips.NewCountingLock()
	tr.open = func() engine.Engine {
		p, err := tr.fs.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		e = roundtrips.Over(p)
		return roundtrips.Quiet(e, turn)
	}
	tr.begin = func() {
		turn.Take()
		e.Take()
	}
	tr.end = func() (int, string) {
		defer turn.Give()
		n := e.Take()
		return n.Total(), n.String()
	}
	tr.b = newBenchOf(t, tr.open(), `"defaultTtl":-1`, tr.options(ranges))
	tr.b.ctx = roundtrips.Counted(tr.b.ctx)
	return tr
}

// options returns the options of a store that does no background work.
func (tr *operationRoundTripCounter) options(ranges int) store.Options {
	return store.Options{Ranges: ranges, ManualReaper: true, Wall: ttl.NewManual(time.Unix(1_700_000_000, 0))}
}

// all performs every operation of the test, each kind after the other, and records the number of round trips
// of each operation as a row of the table.
func (tr *operationRoundTripCounter) all() {
	tr.writes()
	tr.forget()
	tr.reads()
	tr.queries()
	tr.many()
}

// forget reopens the store, so that its caches are empty, such as that of item locations.
func (tr *operationRoundTripCounter) forget() {
	tr.t.Helper()
	b := tr.b
	err := b.db.Close()
	if err == nil {
		o := tr.options(0)
		o.Clock = b.clock
		b.db, err = store.Open(b.ctx, tr.open(), o)
	}
	if err != nil {
		tr.t.Fatal(err)
	}
	b.lookUp()
}

// row performs an operation and adds its name and its number of round trips to the table.
func (tr *operationRoundTripCounter) row(name string, fn func() error) {
	tr.t.Helper()
	tr.begin()
	if err := fn(); err != nil {
		tr.t.Errorf("%s: %v", name, err)
	}
	n, detail := tr.end()
	tr.rows = append(tr.rows, operationRoundTrips{name, n, detail})
}

// tripBody returns the i-th document, of 1 KB. more holds further members as JSON. Its value n is not in
// the order of i.
func tripBody(i int, more string) []byte {
	return fmt.Appendf(nil,
		`{"id":"%d","pk":"p%d","n":%d,"city":"c%d","deep":{"a":%d,"b":"x"},"text":"%01000d"%s}`, i, i%10,
		i*157%401, i%5, i, i, more)
}

func tripKey(i int) definition.PartitionKey { return pk(fmt.Sprintf("p%d", i%10)) }

func (tr *operationRoundTripCounter) create(i int, more string) error {
	_, _, err := tr.b.c.Create(tr.b.ctx, tripKey(i), tripBody(i, more), store.WriteOptions{})
	return err
}

func (tr *operationRoundTripCounter) writes() {
	b := tr.b
	tr.row("create, first of its shape", func() error { return tr.create(0, "") })
	for i := 1; i < 400; i++ {
		if err := tr.create(i, ""); err != nil {
			tr.t.Fatal(err)
		}
	}
	tr.row("create", func() error { return tr.create(400, "") })
	tr.row("create, its id is taken", func() error {
		if err := tr.create(400, ""); !is(err, fault.CodeConflict) {
			return fmt.Errorf("it was created: %w", err)
		}
		return nil
	})
	tr.row("replace", func() error {
		_, _, err := b.c.Replace(b.ctx, tripKey(7), "7", tripBody(7, `,"v":1`), store.WriteOptions{})
		return err
	})
	tr.row("patch", func() error {
		ops, err := jsondoc.ParsePatch([]byte(`[{"op":"set","path":"/n","value":1}]`))
		if err == nil {
			_, _, err = b.c.Patch(b.ctx, tripKey(7), "7", store.Patch{Operations: ops}, store.WriteOptions{})
		}
		return err
	})
	tr.row("delete", func() error {
		_, err := b.c.Delete(b.ctx, tripKey(400), "400", store.WriteOptions{})
		return err
	})
}

func (tr *operationRoundTripCounter) read(id string, want fault.Code) error {
	_, _, err := tr.b.c.Read(tr.b.ctx, tripKey(8), id, store.ReadOptions{})
	if want != 0 && is(err, want) {
		return nil
	}
	return err
}

func (tr *operationRoundTripCounter) reads() {
	tr.row("read", func() error { return tr.read("8", 0) })
	tr.row("read, its rid known", func() error { return tr.read("8", 0) })
	tr.row("read, absent", func() error { return tr.read("none", fault.CodeNotFound) })
	tr.row("list 100", func() error {
		_, _, err := tr.b.c.List(tr.b.ctx, store.ListOptions{})
		return err
	})
	tr.row("list one partition", func() error {
		_, _, err := tr.b.c.List(tr.b.ctx,
			store.ListOptions{Scope: store.KeyOrRange{Partition: tripKey(3)}})
		return err
	})
	for _, n := range []int{10, 100} {
		tr.row(fmt.Sprint("feed page of ", n), func() error {
			page, _, err := tr.b.c.Changes(tr.b.ctx, store.ChangesRequest{MaxItems: n})
			if len(page.Changes) != n {
				return fmt.Errorf("%d changes, %w", len(page.Changes), err)
			}
			return err
		})
	}
}

func (tr *operationRoundTripCounter) queries() {
	for _, q := range []string{
		`SELECT * FROM c WHERE c.city = "c3"`,
		`SELECT * FROM c WHERE c.city = "c3" AND c.deep.b = "x"`,
		`SELECT * FROM c ORDER BY c.n`,
		`SELECT VALUE COUNT(1) FROM c`,
	} {
		_, name, _ := strings.Cut(q, "FROM c ")
		if name == "" {
			name = "COUNT(1)"
		}
		tr.row("query "+name, func() error {
			req := store.QueryRequest{Text: q, ListOptions: store.ListOptions{MaxItems: 20}}
			_, _, err := tr.b.c.Query(tr.b.ctx, req)
			return err
		})
	}
}

func (tr *operationRoundTripCounter) many() {
	b := tr.b
	for i := range 256 {
		if err := tr.create(1000+10*i, `,"ttl":1`); err != nil {
			tr.t.Fatal(err)
		}
	}
	b.clock.Advance(10 * time.Second)
	for _, want := range []int{256, 0} {
		tr.row(fmt.Sprint("purge ", want), func() error {
			n, err := b.db.SweepNow(b.ctx)
			if n != want {
				return fmt.Errorf("%d were purged, %w", n, err)
			}
			return err
		})
	}
	for i := range 512 {
		if err := tr.create(1000+10*i, `,"ttl":1`); err != nil {
			tr.t.Fatal(err)
		}
	}
	b.clock.Advance(10 * time.Second)
	tr.row("purge 512", func() error {
		_, err := b.db.SweepNow(b.ctx)
		return err
	})
	ops := make([]store.ItemOperation, store.MaxBatchOperations)
	for _, again := range []string{"new", "old"} {
		for i := range ops {
			body := fmt.Appendf(nil, `{"id":"b%d","pk":"p0","n":1,"is":"%s"}`, i, again)
			ops[i] = store.ItemOperation{Kind: store.OperationUpsert, Body: body}
		}
		tr.row("batch of 100, "+again, func() error {
			_, _, err := b.c.Batch(b.ctx, pk("p0"), ops, store.BatchOptions{Atomic: true})
			return err
		})
	}
}

// TestReadsOverRemoteEngine checks that reads have the same results over an engine with read-ahead as over
// one without.
func TestReadsOverRemoteEngine(t *testing.T) {
	t.Parallel()
	for _, ranges := range []int{1, 3} {
		tr := newTripCounter(t, ranges)
		for i := range 300 {
			more := ""
			if i%7 == 0 {
				more = `,"ttl":1`
			}
			if err := tr.create(i, more); err != nil {
				t.Fatal(err)
			}
		}
		b := tr.b
		for i := 0; i < 300; i += 11 {
			if _, err := b.c.Delete(b.ctx, tripKey(i), strconv.Itoa(i), store.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		b.clock.Advance(5 * time.Second)
		far := tr.answers()
		b.reopen(tr.fs)
		b.lookUp()
		if diff := cmp.Diff(tr.answers(), far); diff != "" {
			t.Errorf("%d ranges (-at hand +far):\n%s", ranges, diff)
		}
		b.close()
	}
}

// answers reads the container to its end by queries, lists and change feeds, in small pages, and returns
// all results.
func (tr *operationRoundTripCounter) answers() (all []string) {
	const page = 7
	b := tr.b
	note := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	fatal := func(err error) {
		tr.t.Helper()
		if err != nil {
			tr.t.Fatal(err)
		}
	}
	for _, text := range []string{
		`SELECT c.id FROM c WHERE c.city = "c3"`,
		`SELECT c.id FROM c WHERE c.city = "c3" AND c.deep.b = "x"`,
		`SELECT c.id FROM c WHERE c.n > 20 AND c.n < 250`,
		`SELECT c.id FROM c WHERE c.city = "c1" OR c.city = "c2"`,
		`SELECT c.id FROM c ORDER BY c.n`,
		`SELECT c.id FROM c WHERE c.deep.b = "x" ORDER BY c.n DESC`,
		`SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 11 LIMIT 90`,
		`SELECT c.id FROM c ORDER BY c.text`,
		`SELECT c.id FROM c ORDER BY c.none DESC`,
	} {
		for _, scope := range []store.KeyOrRange{{}, {Partition: tripKey(3)}} {
			for token, more := "", true; more; more = token != "" {
				o := store.ListOptions{MaxItems: page, Continuation: token, Scope: scope}
				p, _, err := b.c.Query(b.ctx, store.QueryRequest{Text: text, ListOptions: o})
				fatal(err)
				note("%s: %s", text, p.Rows) // its charge may be higher, by what was read ahead
				token = p.Continuation
			}
			for token, more := "", true; more; more = token != "" {
				p, r, err := b.c.List(b.ctx, store.ListOptions{MaxItems: page, Continuation: token,
					Scope: scope})
				fatal(err)
				for _, item := range p.Items {
					note("list: %s, %v RU", item.AppendJSON(nil), r.Charge)
				}
				token = p.Continuation
			}
			position := ""
			for more := true; more; {
				start := store.ChangesStart{After: position}
				p, r, err := b.c.Changes(b.ctx, store.ChangesRequest{MaxItems: page, Start: start,
					Scope: scope})
				fatal(err)
				for _, ch := range p.Changes {
					note("feed: %s, %v RU", ch.AppendJSON(nil), r.Charge)
				}
				note("at %s", p.Position)
				more, position = len(p.Changes) > 0, p.Position
			}
		}
	}
	return all
}
