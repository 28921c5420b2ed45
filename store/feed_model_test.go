package store_test

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// TestFeedHistories performs random operations on a store and on a model, with splits and reopens, while
// readers of all kinds of scopes follow the change feeds with pages of random sizes. It checks that each
// reader gets exactly the changes of the model.
func TestFeedHistories(t *testing.T) {
	racetest.Sequential(t)
	t.Parallel()
	for _, ranges := range []int{1, 4} {
		for seed := range uint64(racetest.Campaign(5, 2)) {
			t.Run(fmt.Sprintf("ranges=%d/seed=%d", ranges, seed), func(t *testing.T) {
				w := newFeedRig(t, ranges, seed)
				defer w.close()
				for n := range 400 {
					w.step(n)
					if t.Failed() {
						t.Fatalf("at step %d", n)
					}
				}
				w.settle()
			})
		}
	}
}

// feedRig is a store, the model of its items and changes, and the readers of its change feeds.
type feedRig struct {
	t      *testing.T
	ctx    context.Context
	r      *rand.Rand
	fs     *testdisk.EngineStorage
	clock  *ttl.VirtualClock
	ranges int
	db     *store.DB
	d      *store.Database
	c      *store.Container

	items   map[metamorphic.ItemKey]feedModelItem
	writes  int
	history map[metamorphic.ItemKey][]string // what the feed of all versions must say of each key
	readers []*changeFeedTestReader
	all     []*changeFeedTestReader // of all versions
}

type feedModelItem struct {
	body string
	ts   int64
	ttl  int64 // 0: lives for ever
	lsn  uint64
	nth  int // write of the world: those of a batch share an LSN
}

func newFeedRig(t *testing.T, ranges int, seed uint64) *feedRig {
	w := &feedRig{t: t, ctx: context.Background(),
		r: rand.New(rand.NewPCG(seed, uint64(ranges))), fs: testdisk.NewCrashable(t), ranges: ranges,
		clock: ttl.NewManual(time.Unix(1_700_000_000,
			0)), items: map[metamorphic.ItemKey]feedModelItem{}, history: map[metamorphic.ItemKey][]string{}}
	w.open()
	var err error
	if w.d, err = w.db.CreateDatabase(w.ctx, "db", definition.Throughput{}); err == nil {
		spec := specOf(t, `"defaultTtl":-1,"changeFeedPolicy":{"retentionDuration":100000}`)
		spec.PartitionKey.Version = 1 + int(seed%2)
		w.c, err = w.d.CreateContainer(w.ctx, spec, definition.Throughput{})
	}
	if err != nil {
		t.Fatal(err)
	}
	scopes := []store.KeyOrRange{{}, {MaxEPK: "17"}, {MinEPK: "17", MaxEPK: "FF"},
		{Partition: pk("p1")}, {Range: "0"}}
	for _, s := range scopes {
		w.follow(s)
	}
	return w
}

func (w *feedRig) open() {
	e, err := w.fs.Open(w.ctx)
	if err == nil {
		w.db, err = store.Open(w.ctx, e, store.Options{Clock: w.clock, Ranges: w.ranges, ManualReaper: true})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *feedRig) close() {
	checkClean(w.t, w.db)
	if err := w.db.Close(); err != nil {
		w.t.Error(err)
	}
}

func (w *feedRig) reopen() {
	w.close()
	w.open()
	var err error
	if w.d, err = w.db.Database("db"); err == nil {
		w.c, err = w.d.Container("c")
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *feedRig) now() int64 { return w.clock.Now().Unix() }

func (w *feedRig) key() metamorphic.ItemKey {
	return metamorphic.ItemKey{Partition: fmt.Sprint("p", w.r.IntN(5)), ID: fmt.Sprint("i", w.r.IntN(4))}
}

// step performs one random operation and lets a random reader read one page.
func (w *feedRig) step(n int) {
	w.purge()
	switch k := w.key(); w.r.IntN(20) {
	case 0:
		w.clock.Advance(time.Duration(1+w.r.IntN(3)) * time.Second)
	case 1:
		w.sweep()
	case 2:
		w.sweep() // what has expired and what is deleted with its key are not distinguished before they are purged
		if _, err := w.c.DeletePartition(w.ctx, pk(k.Partition)); err != nil {
			w.t.Error(err)
		}
		for other, it := range w.items {
			if other.Partition == k.Partition {
				w.gone(other, fmt.Sprintf("delete <- %s at %d", it.body, it.lsn))
			}
		}
	case 3:
		switch n % 8 {
		case 0, 4:
			w.reopen()
		case 1:
			w.split()
		}
	case 4, 5, 6:
		w.delete(k)
	case 7, 8:
		w.rename(k, w.key().ID, n)
	default:
		w.put(k, n, 1+max(0, w.r.IntN(6)-2))
	}
	w.purge()
	w.readers[w.r.IntN(len(w.readers))].page()
	w.all[w.r.IntN(len(w.all))].page()
	if w.r.IntN(40) == 0 {
		w.fromTheBeginning()
	}
}

// purge removes the items that have expired from the model, and records their expiry in its history.
func (w *feedRig) purge() {
	for k, it := range w.items {
		if it.ttl > 0 && it.ts+it.ttl <= w.now() {
			w.gone(k, fmt.Sprintf("expire <- at %d", it.lsn))
		}
	}
}

func (w *feedRig) gone(k metamorphic.ItemKey, event string) {
	delete(w.items, k)
	w.history[k] = append(w.history[k], event)
}

// count returns the number of the next write, from 1.
func (w *feedRig) count() int {
	w.writes++
	return w.writes
}

// item returns a new document for the key k, sometimes with a ttl. n is a value in it.
func (w *feedRig) item(k metamorphic.ItemKey, n int) feedModelItem {
	it := feedModelItem{body: fmt.Sprintf(`{"id":%q,"pk":%q,"n":%d}`, k.ID, k.Partition, n), ts: w.now()}
	if w.r.IntN(3) == 0 {
		it.ttl = int64(1 + w.r.IntN(5))
		it.body = it.body[:len(it.body)-1] + fmt.Sprintf(`,"ttl":%d}`, it.ttl)
	}
	return it
}

// put upserts several items of one partition as an atomic batch, and records them in the model. The first
// item has the key k, the others have random ids. n is a number that their documents contain.
func (w *feedRig) put(k metamorphic.ItemKey, n, several int) {
	var keys []metamorphic.ItemKey
	var items []feedModelItem
	var ops []store.ItemOperation
	for range several {
		it := w.item(k, n)
		keys, items = append(keys, k), append(items, it)
		ops = append(ops, store.ItemOperation{Kind: store.OperationUpsert, Body: []byte(it.body)})
		k.ID = w.key().ID
	}
	out, receipt, err := w.c.Batch(w.ctx, pk(k.Partition), ops, store.BatchOptions{Atomic: true})
	if err != nil || out.Mixed {
		w.t.Error(codes(out), err)
		return
	}
	for i, k := range keys {
		if lsn := out.Results[i].Item.LSN(); lsn != receipt.LSN {
			w.t.Errorf("%s has LSN %d in a batch of %d", k, lsn, receipt.LSN)
		}
		w.wrote(k, items[i], receipt.LSN)
	}
}

// wrote records in the model that an upsert has stored the item with the given LSN.
func (w *feedRig) wrote(k metamorphic.ItemKey, it feedModelItem, lsn uint64) {
	it.lsn, it.nth = lsn, w.count()
	event := fmt.Sprintf("create %s at %d", it.body, it.lsn)
	if old, ok := w.items[k]; ok {
		event = fmt.Sprintf("replace %s at %d <- %s at %d", it.body, it.lsn, old.body, old.lsn)
	}
	w.items[k] = it
	w.history[k] = append(w.history[k], event)
}

// rename replaces an item by a document with another id, and checks that this succeeds exactly if the item
// exists and the id is free.
func (w *feedRig) rename(k metamorphic.ItemKey, id string, n int) {
	to := metamorphic.ItemKey{Partition: k.Partition, ID: id}
	old, there := w.items[k]
	_, taken := w.items[to]
	taken = taken && to != k
	it := feedModelItem{body: fmt.Sprintf(`{"id":%q,"pk":%q,"n":%d}`, id, k.Partition, n), ts: w.now()}
	got, _, err := w.c.Replace(w.ctx, pk(k.Partition), k.ID, []byte(it.body), store.WriteOptions{})
	switch {
	case !there && !is(err, fault.CodeNotFound), there && taken && !is(err, fault.CodeConflict), there && !taken && err != nil:
		w.t.Errorf("rename %s to %s: %v, but there: %v, taken: %v", k, id, err, there, taken)
	case err == nil:
		it.lsn, it.nth = got.LSN(), w.count()
		delete(w.items, k)
		w.items[to] = it
		w.history[to] = append(w.history[to], fmt.Sprintf("replace %s at %d <- %s at %d", it.body, it.lsn, old.body, old.lsn))
	}
}

func (w *feedRig) delete(k metamorphic.ItemKey) {
	it, there := w.items[k]
	_, err := w.c.Delete(w.ctx, pk(k.Partition), k.ID, store.WriteOptions{})
	if there != (err == nil) {
		w.t.Errorf("delete %s: %v, but there: %v", k, err, there)
	}
	if there {
		w.gone(k, fmt.Sprintf("delete <- %s at %d", it.body, it.lsn))
	}
}

func (w *feedRig) sweep() {
	if _, err := w.db.SweepNow(w.ctx); err != nil {
		w.t.Error(err)
	}
}

func (w *feedRig) split() {
	ranges := w.c.Ranges().Ranges
	_, err := w.c.Split(w.ctx, ranges[w.r.IntN(len(ranges))].ID, "")
	if err != nil && !is(err, fault.CodeConflict) {
		w.t.Error(err)
	}
}

// fromTheBeginning reads the whole feed of latest versions from its beginning or from a random time on,
// and checks that it contains the model's items in the order of their LSNs, range by range.
func (w *feedRig) fromTheBeginning() {
	w.t.Helper()
	start := store.ChangesStart{}
	if w.r.IntN(2) == 0 {
		start.Since = time.Unix(w.now()-int64(w.r.IntN(20)), 0)
	}
	type place struct {
		at  int
		lsn uint64
		nth int
		key metamorphic.ItemKey
	}
	var want, got []place
	bounds := w.c.Ranges().Ranges
	for k, it := range w.items {
		if start.Since.IsZero() || it.ts > start.Since.Unix() {
			at := slices.IndexFunc(bounds, func(r store.PartitionRange) bool { return w.epk(k) < r.Max })
			want = append(want, place{at, it.lsn, it.nth, k})
		}
	}
	slices.SortFunc(want, func(a, b place) int { return cmp.Or(a.at-b.at, cmp.Compare(a.lsn, b.lsn), a.nth-b.nth) })
	for {
		page, _, err := w.c.Changes(w.ctx, store.ChangesRequest{Start: start, MaxItems: 1 + w.r.IntN(7)})
		if err != nil {
			w.t.Fatal(err)
		}
		if start.After = page.Position; len(page.Changes) == 0 {
			break
		}
		for _, ch := range page.Changes {
			k := keyOf(ch.Item)
			got = append(got,
				place{slices.IndexFunc(bounds, func(r store.PartitionRange) bool { return w.epk(k) < r.Max }),
					ch.LSN, w.items[k].nth, k})
		}
	}
	if !slices.Equal(got, want) {
		w.t.Fatalf("since %v:\n%v\nwant\n%v", start.Since, got, want)
	}
}

// epk returns the effective partition key of an item in upper-case hexadecimal.
func (w *feedRig) epk(k metamorphic.ItemKey) string {
	def := w.c.Info().Spec.PartitionKey
	return strings.ToUpper(hex.EncodeToString(definition.EPK(&def, definition.NewPartitionKey(jsondoc.StringValue(k.Partition)))))
}

// settle purges all expired items, lets all readers read to the end, and checks that they have got all
// changes.
func (w *feedRig) settle() {
	w.t.Helper()
	w.purge()
	w.sweep()
	for i := 0; i < len(w.all); i++ { // a reader of a range that was split becomes two
		f := w.all[i]
		for !f.page() {
		}
		for k, want := range w.history {
			if f.wants(k) && !slices.Equal(f.changes[k], want) {
				w.t.Errorf("%+v was told of %s:\n%s\nwant\n%s", f.scope, k, strings.Join(f.changes[k], "\n"),
					strings.Join(want, "\n"))
			}
		}
	}
	for i := 0; i < len(w.readers); i++ {
		for !w.readers[i].page() {
		}
	}
	w.fromTheBeginning()
}

// changeFeedTestReader is a reader of a change feed that begins at the position at which it was created.
type changeFeedTestReader struct {
	w       *feedRig
	scope   store.KeyOrRange
	mode    store.ChangeFeedMode
	after   string
	seen    map[metamorphic.ItemKey]uint64
	changes map[metamorphic.ItemKey][]string
}

// follow adds a reader of the scope for each kind of feed, beginning at the current position.
func (w *feedRig) follow(s store.KeyOrRange) {
	for _, mode := range []store.ChangeFeedMode{store.LatestVersions, store.AllVersions} {
		page, _, err := w.c.Changes(w.ctx, store.ChangesRequest{Scope: s, Mode: mode, Start: store.ChangesStart{Now: true}})
		if err != nil || len(page.Changes) > 0 {
			w.t.Fatal(err, page)
		}
		f := &changeFeedTestReader{w: w, scope: s, mode: mode, after: page.Position,
			seen: map[metamorphic.ItemKey]uint64{}, changes: map[metamorphic.ItemKey][]string{}}
		if mode == store.AllVersions {
			w.all = append(w.all, f)
		} else {
			w.readers = append(w.readers, f)
		}
	}
}

func (f *changeFeedTestReader) wants(k metamorphic.ItemKey) bool {
	epk := f.w.epk(k)
	switch s := f.scope; {
	case !s.Partition.IsZero():
		return s.Partition.String() == pk(k.Partition).String()
	case s.Range != "":
		i := slices.IndexFunc(f.w.c.Ranges().Ranges,
			func(r store.PartitionRange) bool { return r.ID == s.Range })
		r := f.w.c.Ranges().Ranges[i]
		return r.Min <= epk && epk < r.Max
	default:
		return s.MinEPK <= epk && (s.MaxEPK == "" || epk < s.MaxEPK)
	}
}

// page reads one page. It returns true if there was nothing to read, after checking that the reader has
// seen everything.
func (f *changeFeedTestReader) page() (end bool) {
	f.w.t.Helper()
	f.w.purge()
	req := store.ChangesRequest{Scope: f.scope, Mode: f.mode, Start: store.ChangesStart{After: f.after}, MaxItems: 1 + f.w.r.IntN(5)}
	page, _, err := f.w.c.Changes(f.w.ctx, req)
	if is(err, fault.CodeRangeGone) {
		f.divide()
		return false
	}
	if err != nil {
		f.w.t.Fatalf("%+v: %v", req, err)
	}
	f.after = page.Position
	for i := range page.Changes {
		f.take(&page.Changes[i])
	}
	if len(page.Changes) == 0 && f.mode == store.LatestVersions {
		for k, it := range f.w.items {
			if f.wants(k) && f.seen[k] != it.lsn {
				f.w.t.Errorf("%+v at %s knows %s at LSN %d, but it is at %d", f.scope, f.after, k, f.seen[k], it.lsn)
			}
		}
	}
	return len(page.Changes) == 0
}

// divide replaces the reader of a range that was split by two, one for each half, which continue at its
// position.
func (f *changeFeedTestReader) divide() {
	gone := f.scope.Range
	for _, r := range f.w.c.Ranges().Ranges {
		switch {
		case !slices.Contains(r.Parents, gone):
		case f.scope.Range == gone:
			f.scope.Range = r.ID
		default:
			other := &changeFeedTestReader{w: f.w, scope: store.KeyOrRange{Range: r.ID},
				mode:  f.mode,
				after: f.after, seen: maps.Clone(f.seen), changes: maps.Clone(f.changes)}
			if f.mode == store.AllVersions {
				f.w.all = append(f.w.all, other)
			} else {
				f.w.readers = append(f.w.readers, other)
			}
		}
	}
	if f.scope.Range == gone {
		f.w.t.Fatalf("nothing has come of the range %s", gone)
	}
}

func (f *changeFeedTestReader) take(ch *store.Change) {
	f.w.t.Helper()
	k := metamorphic.ItemKey{ID: ch.Key.ID}
	if ch.Kind == store.ChangeDelete || ch.Kind == store.ChangeExpire {
		k.Partition = ch.Key.Partition.Values()[0].Str()
	} else {
		k = keyOf(ch.Item)
		if ch.Item.LSN() != ch.LSN || ch.Item.Timestamp() != ch.Timestamp {
			f.w.t.Errorf("%s: the item is of LSN %d, the change of %d", k, ch.Item.LSN(), ch.LSN)
		}
	}
	again := ch.LSN == f.seen[k] && f.mode == store.LatestVersions // all versions of a batch have its LSN
	if !f.wants(k) || ch.LSN < f.seen[k] || again {
		f.w.t.Errorf("%+v was told of %s at LSN %d after %d", f.scope, k, ch.LSN, f.seen[k])
	}
	f.seen[k] = ch.LSN
	var event string
	switch ch.Kind {
	case store.ChangeLatest:
		if now, ok := f.w.items[k]; !ok || now.lsn != ch.LSN || now.body != string(ch.Item.Body()) {
			f.w.t.Errorf("%s: %s at LSN %d, but it is %+v", k, ch.Item.Body(), ch.LSN, now)
		}
		return
	case store.ChangeExpire:
		event = fmt.Sprintf("expire <- at %d", ch.PreviousLSN)
		if ch.Previous != nil {
			f.w.t.Errorf("%s: an expiry shows the version before", k)
		}
	case store.ChangeDelete:
		event = fmt.Sprintf("delete <- %s at %d", ch.Previous.Body(), ch.PreviousLSN)
	case store.ChangeReplace:
		event = fmt.Sprintf("replace %s at %d <- %s at %d", ch.Item.Body(), ch.LSN, ch.Previous.Body(), ch.PreviousLSN)
	default:
		event = fmt.Sprintf("%s %s at %d", ch.Kind, ch.Item.Body(), ch.LSN)
	}
	if n := len(f.changes[k]); n >= len(f.w.history[k]) || f.w.history[k][n] != event {
		f.w.t.Errorf("%s: %s, want\n%s", k, event, strings.Join(f.w.history[k], "\n"))
	}
	f.changes[k] = append(slices.Clip(f.changes[k]), event) // another reader may have begun with these
}
