package store_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/inspect"
	"github.com/mayflydb/mayfly/ttl"
)

// TestDryRunPredictsEffects performs random operations, and checks that a dry run of a change of the default
// TTL predicts the effects that the change then has on the items.
func TestDryRunPredictsEffects(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			b := newTestStore(t, "", 1+int(seed%3))
			defer b.close()
			plain := seed%2 == 0 // nothing that an estimate does not see
			age(b, r, plain)
			next := []ttl.Seconds{ttl.Absent, ttl.Never, 1, 20, 90, 4000, 40 * 86400}[r.IntN(7)]
			if since := b.seconds() - b.expiry(strconv.Itoa(r.IntN(dryItems))).Timestamp; since < 1000 &&
				r.IntN(2) == 0 {
				next = ttl.Seconds(max(since, 1)) // so that one item is on the edge
			}
			exact, err := b.c.DryRunTTL(b.ctx, next, inspect.TTLChangeDryRunOptions{Examples: 1000})
			if err != nil {
				t.Fatal(err)
			}
			estimate, err := b.c.DryRunTTL(b.ctx, next,
				inspect.TTLChangeDryRunOptions{Examples: -1, Exact: -1})
			if err != nil {
				t.Fatal(err)
			}
			if !exact.Exact || estimate.Exact || !exact.Complete || !estimate.Complete {
				t.Errorf("exact %t and %t, complete %t and %t", exact.Exact, estimate.Exact, exact.Complete,
					estimate.Complete)
			}

			before := lives(b)
			b.setDefault(token(next))
			checkDryRun(t, exact, before, lives(b))
			if !plain {
				return
			}
			for e := range exact.Effects {
				if exact.Effects[e].Count != estimate.Effects[e].Count {
					t.Errorf("%v: %d, estimated %d", inspect.TTLChangeEffectOnItem(e), exact.Effects[e].Count,
						estimate.Effects[e].Count)
				}
			}
			if exact.After != estimate.After || exact.Expired != estimate.Expired {
				t.Errorf("after %v, %d expired; estimated %v, %d", exact.After, exact.Expired, estimate.After,
					estimate.Expired)
			}
		})
	}
}

const dryItems = 40

// age performs random operations on a container: writes, changes of the default TTL, purges, and moves of
// the clock.
func age(b *testStore, r *rand.Rand, plain bool) {
	b.t.Helper()
	for range 120 {
		id := strconv.Itoa(r.IntN(dryItems))
		switch r.IntN(12) {
		case 0:
			b.setDefault([]string{"null", "-1", "30", "100", "5000"}[r.IntN(5)])
		case 1, 2:
			b.pass(r.IntN(30))
		case 3:
			if r.IntN(4) == 0 {
				b.purgeDue()
			}
		case 4:
			if b.expiry(id).State == inspect.StateLive && !plain {
				b.leaseFor(id, 1+r.IntN(200))
			}
		default:
			b.mortal(id, []ttl.Seconds{ttl.Absent, ttl.Absent, ttl.Never, 5, 60, 3000, 90 * 86400}[r.IntN(7)])
		}
	}
}

func token(s ttl.Seconds) string {
	if s == ttl.Absent {
		return "null"
	}
	return fmt.Sprint(s)
}

func lives(b *testStore) map[string]inspect.ItemExpiryExplanation {
	b.t.Helper()
	out := make(map[string]inspect.ItemExpiryExplanation)
	for i := range dryItems {
		out[strconv.Itoa(i)] = b.expiry(strconv.Itoa(i))
	}
	return out
}

// checkDryRun compares the result of a dry run with the expiry of every item before and after the change,
// by id.
func checkDryRun(t *testing.T, d inspect.TTLChangeDryRunResult, before,
	after map[string]inspect.ItemExpiryExplanation) {
	t.Helper()
	var want [inspect.TTLEffects]int64
	var classes [len(d.After)]int64
	var expired int64
	effects := make(map[string]inspect.TTLChangeEffectOnItem)
	for id, was := range before {
		is := after[id]
		switch was.State {
		case inspect.StateGhost:
			expired++
			fallthrough
		case inspect.StateUnknown:
			if is.State != was.State {
				t.Errorf("%s: %v, and %v after the change", id, was.State, is.State)
			}
			continue
		}
		effect := inspect.EffectNone
		switch {
		case is.State == inspect.StateGhost:
			effect = inspect.EffectDies
		case is.Mortal && !was.Mortal:
			effect = inspect.EffectMortal
		case was.Mortal && !is.Mortal:
			effect = inspect.EffectImmortal
		case is.Mortal && is.ExpiresAt < was.ExpiresAt:
			effect = inspect.EffectSooner
		case is.Mortal && is.ExpiresAt > was.ExpiresAt:
			effect = inspect.EffectLater
		}
		want[effect]++
		effects[id] = effect
		class := len(classes) - 1
		if is.Mortal {
			for class = 0; class < len(inspect.DeadlineLimits) &&
				is.Remaining() > inspect.DeadlineLimits[class]; {
				class++
			}
		}
		classes[class]++
	}
	if d.Expired != expired || d.After != classes {
		t.Errorf("%d expired, deadlines %v; found %d, %v", d.Expired, d.After, expired, classes)
	}
	for e := range inspect.TTLEffects {
		if d.Effects[e].Count != want[e] {
			t.Errorf("%v: %d, found %d", e, d.Effects[e].Count, want[e])
		}
		if n := len(d.Effects[e].Examples); e != inspect.EffectNone && n != int(want[e]) {
			t.Errorf("%v: %d examples of %d", e, n, want[e])
		}
		for _, x := range d.Effects[e].Examples {
			if x.Partition.String() != `["p"]` || effects[x.ID] != e || x.Before != before[x.ID].ExpiresAt ||
				x.After != after[x.ID].ExpiresAt && e != inspect.EffectDies {
				t.Errorf("%v: the example %+v", e, x)
			}
		}
	}
}

func TestDryRunRefuses(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"indexingPolicy":{"indexingMode":"none","automatic":false}`, 1)
	defer b.close()
	for _, next := range []ttl.Seconds{-2, 5, ttl.Never} {
		if _, err := b.c.DryRunTTL(b.ctx, next, inspect.TTLChangeDryRunOptions{}); !is(err,
			fault.CodeBadRequest) {
			t.Errorf("%d: %v", next, err)
		}
	}
}

// tickingClock is a clock that advances by step at each call of Now.
type tickingClock struct {
	*ttl.VirtualClock
	step time.Duration
}

func (c tickingClock) Now() time.Time {
	c.Advance(c.step)
	return c.VirtualClock.Now()
}

// TestPageWithin checks that a page of a query ends when the time in ListOptions.Within has passed, and
// that the next page continues from there.
func TestPageWithin(t *testing.T) {
	t.Parallel()
	testdisk.Pebble(t, "each look at its clock takes time, also those at leases")
	wall := tickingClock{ttl.NewManual(time.Unix(0, 0)), 0}
	b := newBenchWith(t, testdisk.New(t), "", store.Options{Wall: &wall, Ranges: 1, ManualReaper: true})
	defer b.close()
	for i := range 700 {
		b.put(`{"id":"` + strconv.Itoa(i) + `","pk":"a"}`)
	}
	wall.step = time.Second
	pages := map[time.Duration]int{}
	for _, within := range []time.Duration{0, time.Second, time.Hour} {
		q := store.QueryRequest{Text: "SELECT c.id FROM c WHERE RAND() < 0 OR c.id = '699'",
			ListOptions: store.ListOptions{Within: within}, Cross: store.CrossServe}
		rows := 0
		for more := true; more; pages[within]++ {
			page, _, err := b.c.Query(b.ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			rows += len(page.Rows)
			q.Continuation, more = page.Continuation, page.Continuation != ""
		}
		if rows != 1 {
			t.Errorf("within %s: %d rows", within, rows)
		}
	}
	if pages[time.Second] <= pages[0] || pages[time.Hour] > pages[0]+1 || pages[time.Hour] < 2 {
		t.Errorf("%v", pages)
	}
}

// TestInspectionTimeLimit checks that inspections of a whole container, such as a dry run, end when their
// time limit has passed, and then report that they are incomplete.
func TestInspectionTimeLimit(t *testing.T) {
	t.Parallel()
	testdisk.Pebble(t, "each look at its clock takes a second, also those at leases")
	wall := tickingClock{ttl.NewManual(time.Unix(0, 0)), 0}
	b := newBenchWith(t, testdisk.New(t), `"defaultTtl":50`,
		store.Options{Wall: &wall, Ranges: 1, ManualReaper: true})
	defer b.close()
	for i := range 700 {
		b.mortal(strconv.Itoa(i), 0)
	}
	d, err := b.c.DryRunTTL(b.ctx, 10, inspect.TTLChangeDryRunOptions{})
	if n := d.Effects[inspect.EffectSooner].Count; err != nil || !d.Complete || n != 700 {
		t.Errorf("%d of 700, complete %t: %v", n, d.Complete, err)
	}
	wall.step = time.Second
	for _, exact := range []int64{0, -1} {
		d, err = b.c.DryRunTTL(b.ctx, 10, inspect.TTLChangeDryRunOptions{Exact: exact})
		if n := d.Effects[inspect.EffectSooner].Count; err != nil || d.Complete || n != 255 {
			t.Errorf("%d of 700, complete %t: %v", n, d.Complete, err)
		}
	}
	f, err := b.c.Forecast(b.ctx)
	if err != nil || f.Complete || f.Coming != 255 {
		t.Errorf("%d of 700, complete %t: %v", f.Coming, f.Complete, err)
	}
}
