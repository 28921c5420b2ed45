package store_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/inspect"
	"github.com/mayflydb/mayfly/ttl"
)

var worldSeed = flag.Uint64("worlds.seed", 0, "run the world of this seed alone, under every reaper")

// reapers are the schedules of the reaper: it never runs, runs after each step, at random, or purges some
// time after each expiry.
var reapers = []string{"off", "each step", "random", "delayed"}

// roundsEach is the number of rounds in a random timeline. Each round has several events and then some
// seconds that pass.
const roundsEach = 14

// TestRandomTimelines performs random events on items, their container and the clock, with all schedules
// of the reaper and with reopens. It checks in every second that reads, lists, queries, counts and the
// change feed return the items that are live in a simulation.
func TestRandomTimelines(t *testing.T) {
	t.Parallel()
	if *worldSeed != 0 {
		for i := range reapers {
			runTimelines(t, *worldSeed, 1, i)
		}
		return
	}
	// A store has a hundred worlds, one after the other.
	const stock = 100
	first, worlds := metamorphic.FirstSeed(), uint64(metamorphic.Timelines/metamorphic.Partitions)
	for from := uint64(0); from < worlds && !t.Failed(); from += stock {
		runTimelines(t, first+from, min(stock, worlds-from), int(from/stock))
	}
	t.Logf("%d timelines in %d worlds, from seed %d on", worlds*metamorphic.Partitions, worlds, first)
}

// runTimelines plays n random timelines, with the seeds from first on, in one store. i is the number of
// the store in the test, which determines its kind.
func runTimelines(t *testing.T, first, n uint64, i int) {
	t.Helper()
	s := newTimelineTestFixture(t, i%2 == 1)
	defer s.close()
	for seed := first; seed < first+n; seed++ {
		world := metamorphic.RandomWorld(rand.New(rand.NewPCG(seed, 3)), roundsEach)
		reaper := reapers[(int(seed)+i)%len(reapers)]
		err := s.play(world, seed, reaper)
		if err == nil {
			continue
		}
		again := func(events []metamorphic.TimelineOperation) error {
			s := newTimelineTestFixture(t, i%2 == 1)
			defer s.close()
			return s.play(metamorphic.ContainerTimeline{Default: world.Default, Events: events}, seed, reaper)
		}
		world.Events = metamorphic.ShrinkList(world.Events,
			func(less []metamorphic.TimelineOperation) bool { return again(less) != nil })
		t.Errorf("a world went wrong (-worlds.seed=%d, reaper %s, manual: %v): %v\nfirst seen as: %v\n\ncut down:\n%s",
			seed, reaper, s.manual, again(world.Events), err, world)
		return
	}
}

// timelineTestFixture is a store on which random timelines are played one after the other, with the
// simulation of the current one.
type timelineTestFixture struct {
	t      *testing.T
	ctx    context.Context
	disk   *testdisk.EngineStorage
	clock  *ttl.VirtualClock
	manual bool // no reaper of its own
	db     *store.DB
	d      *store.Database
	c      *store.Container

	release func() // lets the indexer go on, where it is held

	began int64 // the present world
	sim   *metamorphic.ItemExpiryModel
	keys  []metamorphic.ItemKey
}

func newTimelineTestFixture(t *testing.T, manual bool) *timelineTestFixture {
	t.Helper()
	return newTimelineRigOn(t, testdisk.NewCrashable(t), manual)
}

func newTimelineRigOn(t *testing.T, disk *testdisk.EngineStorage, manual bool) *timelineTestFixture {
	t.Helper()
	s := &timelineTestFixture{t: t, ctx: context.Background(), disk: disk,
		clock:  ttl.NewManual(time.Unix(1_700_000_000, 0)),
		manual: manual}
	err := s.open()
	if err == nil {
		s.d, err = s.db.CreateDatabase(s.ctx, "db", definition.Throughput{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *timelineTestFixture) open() error {
	e, err := s.disk.Open(s.ctx)
	if err == nil {
		s.db, err = store.Open(s.ctx, e, store.Options{Clock: s.clock, ManualReaper: s.manual})
	}
	return err
}

// holdIndexer stops the reindexer, so that a change of the ttlPropertyPath stays unfinished and there are
// items indexed by several paths.
func (s *timelineTestFixture) holdIndexer() {
	if s.release == nil {
		s.release = s.db.HoldIndexer()
	}
}

// sweep purges all expired items. It also works while holdIndexer keeps the reindexer stopped.
func (s *timelineTestFixture) sweep() (err error) {
	if s.release != nil {
		return s.db.SweepHeld(s.ctx)
	}
	_, err = s.db.SweepNow(s.ctx)
	return err
}

func (s *timelineTestFixture) reopen() error {
	s.releaseIndexer()
	if err := s.db.Close(); err != nil {
		return err
	}
	err := s.open()
	if err == nil {
		s.d, err = s.db.Database("db")
	}
	if err == nil {
		s.c, err = s.d.Container("c")
	}
	return err
}

func (s *timelineTestFixture) close() {
	s.t.Helper()
	s.releaseIndexer()
	checkClean(s.t, s.db)
	if err := s.db.Close(); err != nil {
		s.t.Error(err)
	}
}

// play plays a random timeline w in a new container, which it deletes afterwards. It returns an error if
// the store differs from the simulation.
func (s *timelineTestFixture) play(w metamorphic.ContainerTimeline, seed uint64, reaper string) error {
	r := rand.New(rand.NewPCG(seed, 4))
	spec := specOf(s.t, "")
	spec.DefaultTTL = ttl.Seconds(w.Default)
	var err error
	if s.c, err = s.d.CreateContainer(s.ctx, spec, definition.Throughput{}); err != nil {
		return err
	}
	if reaper == "delayed" {
		if err := s.set(func(c *store.ContainerSettings) {
			c.Reaper = &store.ReaperSettings{Delay: &store.PurgeDelay{Min: 1, Max: 6, Seed: seed}}
		}); err != nil {
			return err
		}
	}
	s.began, s.keys = s.clock.Now().Unix(), w.Keys()
	s.sim = metamorphic.NewTimelineModel(w.Default, s.began)
	reopen := 1 + r.IntN(4*len(w.Events)+4)
	for i, e := range w.Events {
		if err := s.step(e); err != nil {
			return fmt.Errorf("event %d, %s, at %d: %w", i+1, e, s.sim.Now(), err)
		}
		if i == reopen {
			if err := s.reopen(); err != nil {
				return err
			}
		}
		if reaper == "each step" || reaper == "delayed" && e.Verb == metamorphic.Pass || reaper == "random" &&
			r.IntN(12) == 0 {
			if err := s.sweep(); err != nil {
				return err
			}
		}
	}
	checkSound(s.t, s.db)
	s.releaseIndexer()
	if err := s.db.IndexNow(s.ctx); err != nil {
		return err
	}
	if err := s.look(); err != nil {
		return fmt.Errorf("all indexed anew: %w", err)
	}
	checkSound(s.t, s.db)
	return s.d.DeleteContainer(s.ctx, "c", store.WriteOptions{})
}

// step performs one event on the store and on the simulation and compares the results. If the event lets
// time pass, it compares all items before and after it.
func (s *timelineTestFixture) step(e metamorphic.TimelineOperation) error {
	if e.Verb == metamorphic.Pass {
		if err := s.look(); err != nil {
			return fmt.Errorf("before: %w", err)
		}
	}
	want := s.sim.Do(e)
	got, err := s.do(e)
	if err == nil && got != want {
		err = fmt.Errorf("%s, not %s", got, want)
	}
	if err == nil && e.Verb == metamorphic.Pass {
		err = s.look()
	}
	return err
}

func (s *timelineTestFixture) look() error {
	want := map[metamorphic.ItemKey]expectedVisibleItem{}
	for k, it := range s.sim.All() {
		want[k] = expectedVisibleItem{s.began + it.TS, it.TTL, int64(it.V)}
	}
	if err := lookAt(s.ctx, s.c, s.keys, want); err != nil {
		return err
	}
	return s.lookAhead(want)
}

// lookAhead checks that ExplainItem and Forecast report the expiry times that the model expects. alive are
// the items that are live in the model.
func (s *timelineTestFixture) lookAhead(alive map[metamorphic.ItemKey]expectedVisibleItem) error {
	coming, next := int64(0), int64(0)
	for _, k := range s.keys {
		if k.ID == "" {
			continue // of a batch
		}
		e, err := s.c.ExplainItem(s.ctx, pk(k.Partition), k.ID)
		if err != nil {
			return err
		}
		if _, lives := alive[k]; !lives {
			if e.State == inspect.StateLive {
				return fmt.Errorf("%s is dead, and explained as %+v", k, e)
			}
			continue
		}
		at, mortal := s.sim.ExpiresAt(k)
		if at += s.began; e.State != inspect.StateLive || e.Mortal != mortal ||
			mortal && e.ExpiresAt != at && at < 1e11 {
			return fmt.Errorf("%s dies at %d (%v), and is explained as %+v", k, at, mortal, e)
		}
		if mortal {
			if coming++; next == 0 || at < next {
				next = at
			}
		}
	}
	f, err := s.db.Forecast(s.ctx)
	if err == nil && (f.Coming != coming || coming > 0 && next < 1e11 && f.Now+f.Next != next) {
		err = fmt.Errorf("a forecast of %d, the first in %d s, not of %d at %d", f.Coming, f.Next, coming, next)
	}
	return err
}

// do performs an event on the store, and returns its result in the same form as the simulation's Do.
func (s *timelineTestFixture) do(e metamorphic.TimelineOperation) (answer string, err error) {
	p, id := pk(e.Partition), e.ID
	switch e.Verb {
	case metamorphic.Pass:
		s.clock.Advance(time.Duration(e.Seconds) * time.Second)
	case metamorphic.Default:
		spec := s.c.Info().Spec
		if spec.DefaultTTL = ttl.Seconds(e.TTL); e.TTL == 0 {
			spec.TTLPropertyPath = ""
		}
		_, err = s.d.ReplaceContainer(s.ctx, "c", spec, store.WriteOptions{})
	case metamorphic.Count:
		s.holdIndexer()
		spec := s.c.Info().Spec
		spec.DefaultTTL, spec.TTLPropertyPath = ttl.Seconds(e.TTL), e.Path
		_, err = s.d.ReplaceContainer(s.ctx, "c", spec, store.WriteOptions{})
	case metamorphic.Hurry:
		s.releaseIndexer()
		err = s.db.IndexNow(s.ctx)
	case metamorphic.Ceiling:
		err = s.set(func(c *store.ContainerSettings) { c.TTLCeiling = e.Seconds == 1 })
	case metamorphic.Create:
		_, _, err = s.c.Create(s.ctx, p, document(e, s.began), store.WriteOptions{})
	case metamorphic.Upsert:
		_, _, err = s.c.Upsert(s.ctx, p, document(e, s.began), store.WriteOptions{})
	case metamorphic.Import:
		_, _, err = s.c.Import(s.ctx, p, document(e, s.began),
			store.ImportTimestampOptions{Age: time.Duration(e.Seconds) * time.Second})
	case metamorphic.Replace:
		_, _, err = s.c.Replace(s.ctx, p, id, document(e, s.began), store.WriteOptions{})
	case metamorphic.Patch:
		_, _, err = s.c.Patch(s.ctx, p, id, patchTo(s.t, e, s.began), store.WriteOptions{})
	case metamorphic.Delete:
		_, err = s.c.Delete(s.ctx, p, id, store.WriteOptions{})
	case metamorphic.Hold:
		_, err = s.c.Lease(s.ctx, p, id, int(e.Seconds))
	case metamorphic.Release:
		err = s.c.ReleaseLease(s.ctx, p, id)
	case metamorphic.Batch:
		return s.batch(e)
	}
	return outcome(err)
}

// outcome returns "ok" for nil, and the name of the code for CodeNotFound and CodeConflict. Other errors
// are returned unchanged.
func outcome(err error) (string, error) {
	switch {
	case err == nil:
		return "ok", nil
	case slices.Contains([]fault.Code{fault.CodeNotFound, fault.CodeConflict}, fault.ErrorCode(err)):
		return fault.ErrorCode(err).String(), nil
	}
	return "", err
}

func (s *timelineTestFixture) batch(e metamorphic.TimelineOperation) (string, error) {
	ops := make([]store.ItemOperation, len(e.Batch))
	kinds := map[string]store.ItemOperationKind{metamorphic.Create: store.OperationCreate,
		metamorphic.Upsert:  store.OperationUpsert,
		metamorphic.Replace: store.OperationReplace, metamorphic.Patch: store.OperationPatch, metamorphic.Delete: store.OperationDelete, metamorphic.Read: store.OperationRead}
	for i, b := range e.Batch {
		ops[i] = store.ItemOperation{Kind: kinds[b.Verb], ID: b.ID, Partition: pk(b.Partition),
			Body: document(b, s.began)}
		if b.Verb == metamorphic.Patch {
			p := patchTo(s.t, b, s.began)
			ops[i].Patch = &p
		}
	}
	out, _, err := s.c.Batch(s.ctx, pk(e.Partition), ops, store.BatchOptions{Atomic: true})
	if err != nil {
		return "", err
	}
	failed := slices.IndexFunc(out.Results, func(r store.ItemOperationResult) bool {
		return r.Err != nil && !is(r.Err, fault.CodeFailedDependency)
	})
	if failed < 0 {
		return strings.TrimSpace(strings.Repeat("ok ", len(ops))), nil
	}
	answer, err := outcome(out.Results[failed].Err)
	return strings.Repeat("ok ", failed) + answer, err
}

func (s *timelineTestFixture) set(fn func(*store.ContainerSettings)) error {
	_, err := s.c.ChangeSettings(s.ctx, func(c *store.ContainerSettings) error {
		fn(c)
		return nil
	})
	return err
}

// document returns the document that an event writes. began is the second in which the timeline began.
func document(e metamorphic.TimelineOperation, began int64) []byte {
	b := fmt.Appendf(nil, `{"id":%q,"pk":%q,`, e.ID, e.Partition)
	if e.TTL != 0 {
		b = fmt.Appendf(b, `"ttl":%d,`, e.TTL)
	}
	if e.Base != "" {
		b = fmt.Appendf(b, `"base":%s,`, metamorphic.Base(e.Base, began))
	}
	if e.Other != "" {
		b = fmt.Appendf(b, `"o":{"base":%s},`, metamorphic.Base(e.Other, began))
	}
	return fmt.Appendf(b, `"v":%d}`, e.V)
}

// patchTo returns the patch that sets the values that an event writes. began is as in document.
func patchTo(t *testing.T, e metamorphic.TimelineOperation, began int64) store.Patch {
	text := fmt.Sprintf(`{"op":"set","path":"/v","value":%d}`, e.V)
	if e.TTL != 0 {
		text += fmt.Sprintf(`,{"op":"set","path":"/ttl","value":%d}`, e.TTL)
	}
	if e.Base != "" {
		text += fmt.Sprintf(`,{"op":"set","path":"/base","value":%s}`, metamorphic.Base(e.Base, began))
	}
	if e.Other != "" {
		text += fmt.Sprintf(`,{"op":"set","path":"/o","value":{"base":%s}}`, metamorphic.Base(e.Other, began))
	}
	return *patchOf(t, text)
}
