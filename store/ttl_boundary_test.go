package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// The race at the boundary. The clock runs, and everybody is at work: writers give items a few seconds to
// live, again and again, the default is changed, the reaper comes by. Each answer is judged against the clock
// as it read before the call and after it: an item in it was not dead before, one that is missing was not
// alive afterwards, and a count lies between the two.

const (
	plots      = 64 // keys
	partitions = 4
)

// expiryModelItem is a key under which one item after the other is written, with the lifetime of the last
// one as its writer knows it. A write never shortens the life of a live item, so until is also valid during
// the next write.
type expiryModelItem struct {
	id, partition string
	kind          int

	writes atomic.Int64 // begun and ended ones: odd while one is under way
	until  atomic.Int64 // it is alive before this second
	dead   atomic.Int64 // and dead from this one on
}

// The kinds of expiryModelItem, by what determines when an item expires: a ttl of its own, the default of the
// container, or a lease.
const (
	ownLife = iota // a ttl of its own
	inherits
	leased
	kinds
)

// expiryBoundaryFixture is a container for tests of the moment of expiry. Concurrent goroutines write and
// read items under a fixed set of keys around their expiry. The rig holds a model of the items and counts the
// checked results.
type expiryBoundaryFixture struct {
	t           *testing.T
	ctx         context.Context
	clock       *ttl.VirtualClock
	db          *store.DB
	d           *store.Database
	c           *store.Container
	short, long int64 // the defaults, between which it goes to and fro
	plots       [plots]expiryModelItem

	// judged counts the results that were checked. shown counts those that rightly contained the item, gone
	// those that rightly did not, and crossed those during which the clock moved.
	judged, shown, gone, crossed atomic.Int64
	enough                       int64
	visits                       atomic.Int64 // of writers to plots
}

// TestNothingExpiredIsReturned checks with concurrent readers that no read returns an expired item or
// misses a live one, both with a clock that a goroutine advances and with a running clock.
func TestNothingExpiredIsReturned(t *testing.T) {
	t.Parallel()
	t.Run("advanced", func(t *testing.T) {
		clock := ttl.NewManual(time.Unix(1_700_000_000, 0))
		y := newBoundaryRig(t, clock, 2, 4)
		y.run(func() {
			for !y.over() { // half a second while the writers go past four plots
				clock.Advance(500 * time.Millisecond)
				for next := y.visits.Load() + 4; y.visits.Load() < next && !y.over(); {
					runtime.Gosched()
				}
			}
		})
	})
	t.Run("running", func(t *testing.T) {
		clock := ttl.NewVirtualClock(ttl.SystemClock{})
		clock.Set(time.Unix(1_700_000_000, 0))
		y := newBoundaryRig(t, clock, 30, 60)
		if err := clock.SetRate(5000); err != nil {
			t.Fatal(err)
		}
		y.run()
	})
}

func newBoundaryRig(t *testing.T, clock *ttl.VirtualClock, short, long int64) *expiryBoundaryFixture {
	t.Helper()
	y := &expiryBoundaryFixture{t: t, ctx: context.Background(), clock: clock, short: short, long: long,
		enough: metamorphic.Judgments / 2}
	e, err := testdisk.New(t).Open(y.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if y.db, err = store.Open(y.ctx, e,
		store.Options{Clock: clock, Ranges: 2, TTLPreviousImage: true}); err != nil {
		t.Fatal(err)
	}
	if y.d, err = y.db.CreateDatabase(y.ctx, "db", definition.Throughput{}); err == nil {
		spec := specOf(t, `"changeFeedPolicy":{"retentionDuration":1000}`)
		spec.DefaultTTL = ttl.Seconds(short)
		y.c, err = y.d.CreateContainer(y.ctx, spec, definition.Throughput{})
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range y.plots {
		y.plots[i].id, y.plots[i].partition, y.plots[i].kind = strconv.Itoa(i), strconv.Itoa(
			i%partitions), i/partitions%kinds
	}
	return y
}

func (y *expiryBoundaryFixture) run(more ...func()) {
	jobs := []func(){
		func() { y.write(0) },
		func() { y.write(1) },
		func() { y.read(1) },
		func() { y.read(2) },
		func() { y.read(3) },
		y.tend,
	}
	jobs = append(jobs, more...)
	all(len(jobs), func(i int) { jobs[i]() })
	y.t.Logf("%d judgments: %d shown, %d gone; in %d of them a second passed during the call",
		y.judged.Load(), y.shown.Load(), y.gone.Load(), y.crossed.Load())
	if y.shown.Load() == 0 || y.gone.Load() == 0 || y.crossed.Load() == 0 {
		y.t.Error("this was no test")
	}
	checkClean(y.t, y.db)
	if err := y.db.Close(); err != nil {
		y.t.Error(err)
	}
}

func (y *expiryBoundaryFixture) over() bool { return y.judged.Load() >= y.enough || y.t.Failed() }

func (y *expiryBoundaryFixture) now() int64 { return y.d.Now().Unix() }

// tend changes the container's default TTL and purges expired items repeatedly, until the test ends.
func (y *expiryBoundaryFixture) tend() {
	for n := 0; !y.over(); n++ {
		spec := y.c.Info().Spec
		spec.DefaultTTL = ttl.Seconds([]int64{y.short, y.long}[n%2])
		if _, err := y.d.ReplaceContainer(y.ctx, "c", spec, store.WriteOptions{}); err != nil {
			y.t.Error(err)
		}
		for range 100 {
			runtime.Gosched()
		}
		if n%4 == 0 {
			if _, err := y.db.SweepNow(y.ctx); err != nil {
				y.t.Error(err)
			}
		}
	}
}

// write writes every second expiryModelItem in turn, beginning with number half, until the test ends.
func (y *expiryBoundaryFixture) write(half int) {
	r := rand.New(rand.NewPCG(uint64(half), 5))
	for i := half; !y.over(); i = (i + 2) % plots {
		y.use(r, &y.plots[i])
		y.visits.Add(1)
	}
}

// use writes p by a random kind of write, whose result shows whether there was an item. use compares that
// with the lifetime of p.
func (y *expiryBoundaryFixture) use(r *rand.Rand, p *expiryModelItem) {
	until, dead, before := p.until.Load(), p.dead.Load(), y.now()
	if before+1 < dead && r.IntN(3) > 0 {
		runtime.Gosched()
		return // mostly wait for the death
	}
	p.writes.Add(1)
	defer p.writes.Add(1)
	life := max(1+r.Int64N(y.long), until-before)
	body := fmt.Appendf(nil, `{"id":%q,"pk":%q,"ttl":%d}`, p.id, p.partition, life)
	if p.kind == inherits {
		body = fmt.Appendf(nil, `{"id":%q,"pk":%q}`, p.id, p.partition)
	}
	var it store.Item
	var err error
	found := true // as far as the operation tells
	verb := []string{metamorphic.Create, metamorphic.Create, metamorphic.Upsert, metamorphic.Replace,
		metamorphic.Batch}[r.IntN(5)]
	switch verb {
	case metamorphic.Create:
		it, _, err = y.c.Create(y.ctx, pk(p.partition), body, store.WriteOptions{})
		found = is(err, fault.CodeConflict)
	case metamorphic.Upsert:
		var receipt store.OperationReceipt
		it, receipt, err = y.c.Upsert(y.ctx, pk(p.partition), body, store.WriteOptions{})
		found = !receipt.Inserted
	case metamorphic.Replace:
		it, _, err = y.c.Replace(y.ctx, pk(p.partition), p.id, body, store.WriteOptions{})
		found = err == nil
	case metamorphic.Batch:
		var out store.BatchResult
		op := store.ItemOperation{Kind: store.OperationUpsert, ID: p.id, Body: body}
		if out, _, err = y.c.Batch(y.ctx, pk(p.partition), []store.ItemOperation{op},
			store.BatchOptions{Atomic: true}); err == nil {
			it, err, found = out.Results[0].Item, out.Results[0].Err, !out.Results[0].Inserted
		}
	}
	if after := y.now(); err == nil || is(err, fault.CodeConflict) || is(err, fault.CodeNotFound) {
		y.check(verb, p, found, dead, until, before, after)
	} else {
		y.t.Error(err)
	}
	if err == nil {
		y.publish(r, p, it, life)
	}
}

// publish records in p, for the checks of concurrent reads, until when the item that was just written
// certainly lives and from when on it is certainly expired. life is its time to live in seconds. If p is of
// the kind leased, publish takes a lease on the item first.
func (y *expiryBoundaryFixture) publish(r *rand.Rand, p *expiryModelItem, it store.Item, life int64) {
	until, dead := it.Timestamp()+life, it.Timestamp()+life
	switch p.kind {
	case inherits:
		until, dead = it.Timestamp()+y.short, it.Timestamp()+y.long
	case leased:
		until, dead = max(until, p.until.Load()), max(dead, p.dead.Load()) // an older lease stays
		seconds := max(1+r.Int64N(y.long), until-y.now())
		l, err := y.c.Lease(y.ctx, pk(p.partition), p.id, int(seconds))
		if err == nil {
			until, dead = max(it.Timestamp()+life, l.Until), max(it.Timestamp()+life, l.Until)
		} else if !is(err, fault.CodeNotFound) {
			y.t.Error(err)
		}
	}
	p.dead.Store(dead)
	raiseTo(&p.until, until)
}

// raiseTo sets at to n if n is higher.
func raiseTo(at *atomic.Int64, n int64) {
	if n > at.Load() {
		at.Store(n)
	}
}

// check fails the test if a read contradicts the expiry of the item p: if it found the item although the item
// had expired before the read began, or missed the item although it still lived when the read had ended.
// before and after are the seconds at the beginning and the end of the read, dead the second in which the
// item had expired, until the one up to which it lives; how names the read.
func (y *expiryBoundaryFixture) check(how string, p *expiryModelItem, found bool, dead, until, before,
	after int64) {
	switch {
	case found && dead <= before:
		y.t.Errorf("%s: %s had expired at %d; a call from %d to %d found it", how, p.id, dead, before, after)
	case !found && after < until:
		y.t.Errorf("%s: %s expires at %d; a call from %d to %d missed it", how, p.id, until, before, after)
	case found:
		y.shown.Add(1)
	default:
		y.gone.Add(1)
	}
	y.judged.Add(1)
	if before < after {
		y.crossed.Add(1)
	}
}
