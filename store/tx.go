package store

import (
	"bytes"
	"context"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/split"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// tx is one transaction on the items of one slot. Its put and del are the only code that writes the keys of
// items, so that an item, its feed entry, its deadline and its uniqueness always agree: requests, batches and
// the reaper are all callers of the same two. A split moves what they have written: see package
// store/internal/split.
type tx struct {
	engine.Txn
	ctx context.Context // of the request that it belongs to; nil in background work
	c   *Container
	st  *containerState
	s   *partition
	now int64

	last   layout.Sequence // the last one taken; 0: none has been
	purged int             // ghosts removed
	// index entries of the versions that were written and removed, ghosts apart: what they cost
	terms    int
	keeps    bool            // the container keeps all versions
	shapes   []shapeName     // found to have a record, or given one
	listed   []shapeName     // shapes that have a record, as this transaction has seen
	full     bool            // there is no room for more shapes
	wiped    bool            // there are no index entries any more
	feed     []feedWrite     // written by finish, when the last sequence is known
	history  []versionWrite  // the same
	changed  []view.Entry    // scratch of put and del
	mem      layout.Room     // where keys are made
	written  []*prepared     // what apply has written
	blocked  *blocker        // what must be moved before the transaction can be done
	one      [1]*prepared    // room for the usual transaction's
	lint     definition.Lint // what is odd about what was written
	expiries []expiryWrite   // written by finish
	noted    *split.Notes    // where a split wants to be told of touched; nil: the range is not being split
	touched  []uint64        // items that were written or removed
	dues     dues
	judging  time.Duration // spent on conditions of patches
}

// stored is an item as it lies in the store, or as it is about to.
type stored struct {
	rid  uint64
	head layout.Header
	body []byte
	id   string
	pk   []byte // ordered encoding of the full partition key

	terms *terms // index entries that were made ahead, or nil
	dated bool   // put leaves its _ts as it is
}

// begin fails with *elsewhereError where st is not the state of the container any more.
func (t *tx) begin(txn engine.Txn, c *Container, st *containerState, s *partition) error {
	if err := c.writable(txn, st, s); err != nil {
		return err
	}
	*t = tx{Txn: txn, c: c, st: st, s: s, now: c.moment(), keeps: st.retention() > 0,
		feed: t.feed[:0], history: t.history[:0], changed: t.changed[:0], shapes: t.shapes[:0], listed: t.listed[:0],
		mem: t.mem, noted: s.noted.Load()}
	t.mem.Reset()
	t.written = t.one[:0]
	t.dues = dues{never, never}
	return nil
}

// take takes the sequence of the next write. The first one takes the transaction's LSN.
func (t *tx) take() layout.Sequence {
	next, ok := t.last.Next()
	if t.last == 0 || !ok {
		next = layout.FirstOf(t.NextLSN(t.s.scope))
	}
	t.last = next
	return next
}

// committed passes on what the transaction has found out. It is called after its commit, inside the gate.
func (t *tx) committed() {
	t.c.ds.purged.Add(uint64(t.purged))
	t.c.purged.Add(uint64(t.purged))
	if t.wiped {
		t.s.shapes.forget()
	}
	t.s.shapes.learn(t.shapes, t.full)
	t.tellSplit()
	t.rescanBehind()
	for _, p := range t.written {
		point := p.point
		if p.renamed != nil {
			point = p.renamed
		}
		t.c.ds.rids.Put(point, p.item.rid)
		if t.c.diesSoon(p.item.head.Life, t.now) {
			t.c.ds.in.WakeReaper()
		}
		t.lint |= t.c.lintItem(t.st, p)
	}
	t.c.watch.Notify()
	if len(t.expiries) > 0 {
		t.c.expirySubscribers.Notify()
	}
}

// find looks an item up by its point key. ghost reports that it has expired or was deleted with its whole
// partition key: it is nobody's item any more, but its keys are still there.
func (t *tx) find(point []byte) (item *stored, ghost bool, err error) {
	v, err := t.Get(point)
	if isAbsent(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	rid, ok := layout.NumberOf(v)
	if !ok {
		return nil, false, engine.ErrCorrupt
	}
	return t.load(rid)
}

func (t *tx) itemKey(rid uint64) []byte {
	return t.mem.Keep(layout.AppendSlotKey(t.mem.Free(), t.s.scope, layout.FamilyItem, rid))
}

// load reads an item by its rid; nil where there is none.
func (t *tx) load(rid uint64) (item *stored, ghost bool, err error) {
	v, err := t.Get(t.itemKey(rid))
	if isAbsent(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	item, err = t.c.decode(rid, v)
	if err != nil {
		return nil, false, err
	}
	return item, !t.live(item), nil
}

// decode reads a stored value whole.
func (c *Container) decode(rid uint64, value []byte) (*stored, error) {
	item, err := c.keys.Decode(rid, value)
	if err != nil {
		return nil, err
	}
	return &stored{rid: rid, head: item.Head, body: item.Body, id: item.ID, pk: item.PK}, nil
}

// item is a stored item as it is answered.
func (c *Container) item(of *stored) Item {
	return value.NewItem((*itemOwner)(c), of.rid, of.head, of.body, of.id)
}

// plain is the item as those know it who only look.
func (item *stored) plain() view.Item {
	return view.Item{RID: item.rid, Head: item.head, Body: item.body, ID: item.id, PK: item.pk}
}

// entries are all keys of an item but its own, its feed entry and its index entries.
func (t *tx) entries(dst []view.Entry, item *stored) []view.Entry {
	plain := item.plain()
	return t.c.keys.AppendEntries(dst, &t.mem, t.s.scope, &plain)
}

func (t *tx) live(item *stored) bool {
	return !t.st.expired(&item.head, item.body, t.now) &&
		!t.st.tombstoned(item.head, func() []byte { return item.pk })
}

// put writes item over old, which is nil for a new item. It gives the item its sequence, and a new one its
// rid.
func (t *tx) put(old, item *stored) error {
	item.head.Sequence = t.take()
	item.head.Slot = t.s.number
	if !item.dated {
		item.head.Life.TS = t.now
	}
	item.head.Life.Generation = t.st.policy().Generation
	item.head.Life.Base, item.head.Life.Based = t.st.lives.Basis.Of(item.body)
	t.c.note(markWrite, t.now)
	item.rid = layout.ItemRID(t.s.number, item.head.Sequence)
	if old != nil {
		item.rid = old.rid
	}
	if err := t.putTerms(old, item); err != nil { // first, since it may read
		return err
	}
	var before []view.Entry
	if old != nil {
		before = t.entries(t.changed[:0], old)
		t.dropFeed(old.head.Sequence)
	}
	n := len(before)
	all := t.entries(before, item)
	t.changed = all
	t.diff(all[:n], all[n:])
	t.setItem(item)
	t.feed = append(t.feed, feedWrite{item.head.Sequence,
		layout.FeedEntry{RID: item.rid, TS: t.now, EPK: item.head.EPK}})
	if old == nil {
		t.record(layout.Created, nil, item)
	} else {
		t.record(layout.Replaced, old, item)
	}
	t.noteDeadline(item)
	return nil
}

// putTerms writes the index entries that a new version of an item has, and takes away those that only the old
// one had.
func (t *tx) putTerms(old, item *stored) error {
	after, err := t.termsOf(item)
	if err != nil {
		return err
	}
	var before []index.Entry
	if old != nil {
		if before, err = t.termsToDelete(old); err != nil {
			return err
		}
	}
	t.charge(before)
	t.charge(after)
	t.diffTerms(before, after, len(t.st.olders) == 0)
	return nil
}

// diffTerms is diff for index entries, both lists in the order of their keys. complete reports that all of
// before are there.
func (t *tx) diffTerms(before, after []index.Entry, complete bool) {
	for len(before) > 0 || len(after) > 0 {
		c := -1
		switch {
		case len(before) == 0:
			c = 1
		case len(after) > 0:
			c = bytes.Compare(before[0].Key, after[0].Key)
		}
		if c < 0 {
			t.Delete(before[0].Key)
		} else if c > 0 || !complete || !bytes.Equal(before[0].Value, after[0].Value) {
			t.Set(after[0].Key, after[0].Value)
		}
		if c <= 0 {
			before = before[1:]
		}
		if c >= 0 {
			after = after[1:]
		}
	}
}

// diff writes what changed between an item's old keys and its new ones, deletes before sets.
func (t *tx) diff(before, after []view.Entry) {
	for _, b := range before {
		if !containsEntry(after, b, false) {
			t.Delete(b.Key)
		}
	}
	for _, a := range after {
		if !containsEntry(before, a, true) {
			t.Set(a.Key, a.Value)
		}
	}
}

func containsEntry(in []view.Entry, e view.Entry, values bool) bool {
	for i := range in {
		if bytes.Equal(in[i].Key, e.Key) && (!values || bytes.Equal(in[i].Value, e.Value)) {
			return true
		}
	}
	return false
}

// del removes a live item with all its keys, by the last sequence taken.
func (t *tx) del(item *stored) error {
	keys, err := t.owned(t.changed[:0], item)
	if err != nil {
		return err
	}
	t.changed = keys
	t.record(layout.Deleted, item, nil)
	t.remove(item, keys)
	return nil
}

// purge removes a ghost with all its keys. One that is to be moved to an archive ends the transaction with
// errBlocked.
func (t *tx) purge(ghost *stored) error {
	if t.st.moves(ghost) {
		t.blocked = &blocker{t.c, t.s, ghost.rid}
		return errBlocked
	}
	terms := t.terms
	keys, err := t.owned(t.changed[:0], ghost)
	if err != nil {
		return err
	}
	t.changed, t.terms = keys, terms
	t.purgeWith(ghost, keys)
	return nil
}

// purgeWith is purge with the ghost's keys at hand. Nobody sees it but a reader of all versions: for them it
// is a change, which has its own sequence, before that of the item that takes the ghost's place.
func (t *tx) purgeWith(ghost *stored, keys []view.Entry) {
	t.purged++
	logged := t.st.logsExpiryOf(ghost)
	if t.keeps || logged {
		kind := uint8(layout.Expired)
		if t.st.tombstoned(ghost.head, func() []byte { return ghost.pk }) {
			kind = layout.Deleted
		}
		if logged = logged && kind == layout.Expired; t.keeps || logged {
			t.take()
		}
		t.record(kind, ghost, nil)
		if logged {
			t.logExpiry(ghost)
		}
	}
	t.remove(ghost, keys)
}

// charge counts the entries of a document that the indexing policy asks for.
func (t *tx) charge(entries []index.Entry) {
	t.terms += max(0, len(entries)-t.st.terms.Unnamed())
}

// owned appends the keys that go with an item. They are all its own, those that name a rid too, and need not
// be looked up: an id or a unique key that a ghost holds is given to another item only when the ghost has
// been purged, in the same transaction.
func (t *tx) owned(dst []view.Entry, item *stored) ([]view.Entry, error) {
	dst = t.entries(dst, item)
	terms, err := t.termsToDelete(item)
	t.charge(terms)
	for _, e := range terms {
		dst = append(dst, view.Entry{Key: e.Key})
	}
	return dst, err
}

// remove deletes an item and its keys. Whoever removes several items asks for the keys of all first: a read
// after a write costs the transaction an index over what it has written.
func (t *tx) remove(item *stored, keys []view.Entry) {
	for _, e := range keys {
		t.Delete(e.Key)
	}
	t.dropFeed(item.head.Sequence)
	t.Delete(t.itemKey(item.rid))
	t.touch(item)
}
