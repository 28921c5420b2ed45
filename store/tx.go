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
// items. Requests, batches and the reaper all use them, so that an item, its feed entry, its deadline and
// its unique keys always agree. A split moves these keys without changing them: see package
// store/internal/split.
type tx struct {
	engine.Txn
	ctx context.Context // of the request; nil in background work
	c   *Container
	st  *containerState
	s   *partition
	now int64

	last   layout.Sequence // the last sequence taken; 0 if none
	purged int             // ghosts removed
	// terms is the number of index entries written and removed, without those of ghosts. It determines the
	// charge
	terms    int
	keeps    bool            // the container keeps all versions
	shapes   []shapeName     // shapes whose record was found or created
	listed   []shapeName     // shapes known in this transaction to have a record
	full     bool            // there is no room for records of more shapes
	wiped    bool            // all index entries of the slot have been deleted
	wipe     uint32          // the last wipe before the transaction: see takeOver
	feed     []feedWrite     // finish writes it, when the last sequence is known
	history  []versionWrite  // the same
	changed  []view.Entry    // reused by put and del
	mem      layout.Room     // memory for keys
	written  []*prepared     // operations whose items apply has written
	blocked  *blocker        // the ghost that must be moved before the transaction can be done
	one      [1]*prepared    // memory for written in the usual case
	lint     definition.Lint // lint rules broken by what was written
	expiries []expiryWrite   // written by finish
	noted    *split.Notes    // receives touched for a split; nil if the range is not being split
	touched  []uint64        // items that were written or removed
	dues     dues
	judging  time.Duration // spent on conditions of patches
}

// stored is an item in its stored form.
type stored struct {
	rid  uint64
	head layout.Header
	body []byte
	id   string
	pk   []byte // ordered encoding of the full partition key

	terms *terms // index entries made in advance, or nil
	dated bool   // put keeps its _ts
}

// begin fails with *elsewhereError if st is not the present state of the container.
func (t *tx) begin(txn engine.Txn, c *Container, st *containerState, s *partition) error {
	if err := c.writable(txn, st, s); err != nil {
		return err
	}
	*t = tx{Txn: txn, c: c, st: st, s: s, now: c.moment(), keeps: st.retention() > 0,
		wipe: c.ds.wipeOf(txn, s),
		feed: t.feed[:0], history: t.history[:0], changed: t.changed[:0], shapes: t.shapes[:0], listed: t.listed[:0],
		mem: t.mem, noted: s.noted.Load()}
	t.mem.Reset()
	t.written = t.one[:0]
	t.dues = dues{never, never}
	return nil
}

// take returns the sequence of the next write. The first call also takes the transaction's LSN.
func (t *tx) take() layout.Sequence {
	next, ok := t.last.Next()
	if t.last == 0 || !ok {
		next = layout.FirstOf(t.NextLSN(t.s.scope))
	}
	t.last = next
	return next
}

// committed updates the state in memory with the results of the transaction. It is called after the commit,
// inside the gate.
func (t *tx) committed() {
	t.c.ds.purged.Add(uint64(t.purged))
	t.c.purged.Add(uint64(t.purged))
	if t.wiped {
		t.s.shapes.forget()
	}
	t.s.shapes.learn(t.shapes, t.full, t.wipe)
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

// find looks up an item by its point key. ghost reports that it has expired or was deleted with its whole
// partition key: it does not exist for requests any more, but its keys are still stored.
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

// load reads an item by its rid. It returns nil if there is none.
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

// decode decodes a stored value completely.
func (c *Container) decode(rid uint64, value []byte) (*stored, error) {
	item, err := c.keys.Decode(rid, value)
	if err != nil {
		return nil, err
	}
	return &stored{rid: rid, head: item.Head, body: item.Body, id: item.ID, pk: item.PK}, nil
}

// item returns a stored item in the form for responses.
func (c *Container) item(of *stored) Item {
	return value.NewItem((*itemOwner)(c), of.rid, of.head, of.body, of.id)
}

// plain returns the item as a plain value, for packages that only read.
func (item *stored) plain() view.Item {
	return view.Item{RID: item.rid, Head: item.head, Body: item.body, ID: item.id, PK: item.pk}
}

// entries appends all keys of an item except its own, its feed entry and its index entries.
func (t *tx) entries(dst []view.Entry, item *stored) []view.Entry {
	plain := item.plain()
	return t.c.keys.AppendEntries(dst, &t.mem, t.s.scope, &plain)
}

func (t *tx) live(item *stored) bool {
	return !t.st.expired(&item.head, item.body, t.now) &&
		!t.st.tombstoned(item.head, func() []byte { return item.pk })
}

// put writes item over old, which is nil for a new item. It sets the item's sequence, and the rid of a new
// one.
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

// putTerms writes the index entries of a new version of an item, and deletes those that only the old
// version had.
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

// diffTerms is diff for index entries; both lists are in the order of their keys. complete reports that all
// entries of before are stored.
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

// diff writes the difference between an item's old keys and its new ones: deletes before sets.
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

// del deletes a live item with all its keys. The change has the last sequence taken.
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

// purge deletes a ghost with all its keys. If the ghost is to be moved to an expiry sink, it ends the
// transaction with errBlocked.
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

// purgeWith is purge for a ghost whose keys are known. Only a reader of all versions sees a purge. For that
// reader it is a change with its own sequence, before that of the item that takes the ghost's place.
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

// owned appends the keys that belong to an item. Keys that contain a rid need not be read to know that they
// are the item's own: an id or a unique key that a ghost holds is given to another item only after the
// ghost has been purged, in the same transaction.
func (t *tx) owned(dst []view.Entry, item *stored) ([]view.Entry, error) {
	dst = t.entries(dst, item)
	terms, err := t.termsToDelete(item)
	t.charge(terms)
	for _, e := range terms {
		dst = append(dst, view.Entry{Key: e.Key})
	}
	return dst, err
}

// remove deletes an item and its keys. To remove several items, get the keys of all of them first: a read
// after a write makes the transaction build an index of its writes.
func (t *tx) remove(item *stored, keys []view.Entry) {
	for _, e := range keys {
		t.Delete(e.Key)
	}
	t.dropFeed(item.head.Sequence)
	t.Delete(t.itemKey(item.rid))
	t.touch(item)
}
