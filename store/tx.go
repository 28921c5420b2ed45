package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"time"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// tx is one transaction on the items of one slot. Its put and del are the only code that writes the keys of
// items, so that an item, its feed entry, its deadline and its uniqueness always agree: requests, batches and
// the reaper are all callers of the same two. A split moves what they have written: see mover.
type tx struct {
	engine.Txn
	ctx context.Context // of the request that it belongs to; nil in background work
	c   *Container
	st  *containerState
	s   *slot
	now int64

	last     layout.Sequence // the last one taken; 0: none has been
	purged   int             // ghosts removed
	terms    int             // index entries of the versions that were written and removed, ghosts apart: what they cost
	keeps    bool            // the container keeps all versions
	shapes   []shapeName     // found to have a record, or given one
	listed   []shapeName     // shapes that have a record, as this transaction has seen
	full     bool            // there is no room for more shapes
	wiped    bool            // there are no index entries any more
	feed     []feedWrite     // written by finish, when the last sequence is known
	history  []versionWrite  // the same
	changed  []entry         // scratch of put and del
	mem      []byte          // where keys are made; one that is outgrown lives on in its keys
	written  []*prepared     // what apply has written
	blocked  *blocker        // what must be moved before the transaction can be done
	one      [1]*prepared    // room for the usual transaction's
	lint     definition.Lint // what is odd about what was written
	expiries []expiryWrite   // written by finish
	noted    *notes          // where a split wants to be told of touched; nil: the range is not being split
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

// entry is one key that exists because an item does.
type entry struct{ key, value []byte }

// begin fails with *elsewhereError where st is not the state of the container any more.
func (t *tx) begin(txn engine.Txn, c *Container, st *containerState, s *slot) error {
	if err := c.writable(txn, st, s); err != nil {
		return err
	}
	*t = tx{Txn: txn, c: c, st: st, s: s, now: c.moment(), keeps: st.retention() > 0,
		feed: t.feed[:0], history: t.history[:0], changed: t.changed[:0], shapes: t.shapes[:0], listed: t.listed[:0],
		mem: t.mem[:0], noted: s.noted.Load()}
	t.written = t.one[:0]
	t.dues = dues{never, never}
	return nil
}

// free is room for a key or a small value. What has been appended to it is kept by keep, before the next call
// of free.
func (t *tx) free() []byte {
	const room, chunk = 256, 1024
	if cap(t.mem)-len(t.mem) < room {
		t.mem = make([]byte, 0, chunk)
	}
	return t.mem[len(t.mem):]
}

// keep keeps what was appended to free for as long as the transaction runs.
func (t *tx) keep(b []byte) []byte {
	if len(b) <= cap(t.mem)-len(t.mem) { // else it has outgrown the room, and is elsewhere
		t.mem = t.mem[:len(t.mem)+len(b)]
	}
	return b[:len(b):len(b)]
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
	t.c.db.purged.Add(uint64(t.purged))
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
		t.c.db.rids.put(point, p.item.rid)
		if t.c.diesSoon(p.item.head.Life, t.now) {
			t.c.db.in.WakeReaper()
		}
		t.lint |= t.c.lintItem(t.st, p)
	}
	t.c.watch.notify()
	if len(t.expiries) > 0 {
		t.c.mourners.notify()
	}
}

// find looks an item up by its point key. ghost tells that it has expired or was deleted with its whole
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
	return t.keep(layout.AppendSlotKey(t.free(), t.s.scope, layout.FamilyItem, rid))
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

// decode reads a stored value whole: besides the header, what the keys of other families are made of.
func (c *Container) decode(rid uint64, value []byte) (*stored, error) {
	h, body, err := layout.DecodeItem(value)
	if err != nil {
		return nil, err
	}
	return &stored{
		rid: rid, head: h, body: body,
		id: doc.Get(body, layout.IDPath).Str(),
		pk: c.def.Extract(body).AppendOrdered(nil),
	}, nil
}

func (t *tx) live(item *stored) bool {
	return !t.st.policy().Expired(item.head.Life, t.now) && !t.st.fenced(item.head, func() []byte { return item.pk })
}

// entries are all keys of an item but its own (d), its feed entry (f) and its index entries (i, o), in no
// order.
func (t *tx) entries(dst []entry, item *stored) []entry {
	cid, epk := t.c.cid, item.head.EPK
	rid := t.keep(binary.BigEndian.AppendUint64(t.free(), item.rid))
	dst = append(dst, entry{t.keep(layout.AppendPointKey(t.free(), cid, epk, item.pk, item.id)), rid})
	for n := t.c.def.Levels(); n > 0; n-- {
		e, p := t.c.def.Prefix(epk, item.pk, n)
		dst = append(dst, entry{t.keep(append(layout.AppendPartitionPrefix(t.free(), cid, layout.FamilyPartition, e, p), rid...)), nil})
	}
	for i := range t.c.uniques {
		k := layout.AppendUniquePrefix(t.free(), cid, item.pk, i)
		dst = append(dst, entry{t.keep(t.st.spec.UniqueKeys.Values(k, i, item.body)), rid})
	}
	if k := timeKey(t.free(), t.s.scope, item); k != nil {
		dst = append(dst, entry{t.keep(k), nil})
	}
	return dst
}

// timeKey is the item's key in the index of the reaper; nil for one that never expires.
func timeKey(dst, scope []byte, item *stored) []byte {
	switch l := item.head.Life; l.Own {
	case ttl.Never:
		return nil
	case ttl.Absent:
		return layout.AppendTimeKey(dst, scope, layout.FamilyWritten, l.TS, item.rid)
	default:
		return layout.AppendTimeKey(dst, scope, layout.FamilyDeadline, l.TS+int64(l.Own), item.rid)
	}
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
	t.c.note(markWrite, t.now)
	item.rid = layout.ItemRID(t.s.number, item.head.Sequence)
	if old != nil {
		item.rid = old.rid
	}
	if err := t.putTerms(old, item); err != nil { // first, since it may read
		return err
	}
	var before []entry
	if old != nil {
		before = t.entries(t.changed[:0], old)
		t.dropFeed(old.head.Sequence)
	}
	n := len(before)
	all := t.entries(before, item)
	t.changed = all
	t.diff(all[:n], all[n:])
	t.setItem(item)
	t.feed = append(t.feed, feedWrite{item.head.Sequence, layout.FeedEntry{RID: item.rid, TS: t.now, EPK: item.head.EPK}})
	if old == nil {
		t.record(ChangeCreate, nil, item)
	} else {
		t.record(ChangeReplace, old, item)
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
	t.terms += len(before) + len(after)
	t.diffTerms(before, after, len(t.st.olders) == 0)
	return nil
}

// diffTerms is diff for index entries, both lists in the order of their keys. complete tells that all of
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
func (t *tx) diff(before, after []entry) {
	for _, b := range before {
		if !containsEntry(after, b, false) {
			t.Delete(b.key)
		}
	}
	for _, a := range after {
		if !containsEntry(before, a, true) {
			t.Set(a.key, a.value)
		}
	}
}

func containsEntry(in []entry, e entry, values bool) bool {
	for i := range in {
		if bytes.Equal(in[i].key, e.key) && (!values || bytes.Equal(in[i].value, e.value)) {
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
	t.record(ChangeDelete, item, nil)
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
	t.bury(ghost, keys)
	return nil
}

// bury is purge with the ghost's keys at hand. Nobody sees it but a reader of all versions: for them it is a
// change, which has its own sequence, before that of the item that takes the ghost's place.
func (t *tx) bury(ghost *stored, keys []entry) {
	t.purged++
	mourned := t.st.logsExpiryOf(ghost.head)
	if t.keeps || mourned {
		kind := ChangeExpire
		if t.st.fenced(ghost.head, func() []byte { return ghost.pk }) {
			kind = ChangeDelete
		}
		if mourned = mourned && kind == ChangeExpire; t.keeps || mourned {
			t.take()
		}
		t.record(kind, ghost, nil)
		if mourned {
			t.logExpiry(ghost)
		}
	}
	t.remove(ghost, keys)
}

// owned appends the keys that go with an item. They are all its own, those that name a rid too, and need not
// be looked up: an id or a unique key that a ghost holds is given to another item only when the ghost has
// been purged, in the same transaction.
func (t *tx) owned(dst []entry, item *stored) ([]entry, error) {
	dst = t.entries(dst, item)
	terms, err := t.termsToDelete(item)
	t.terms += len(terms)
	for _, e := range terms {
		dst = append(dst, entry{e.Key, nil})
	}
	return dst, err
}

// remove deletes an item and its keys. Whoever removes several items asks for the keys of all first: a read
// after a write costs the transaction an index over what it has written.
func (t *tx) remove(item *stored, keys []entry) {
	for _, e := range keys {
		t.Delete(e.key)
	}
	t.dropFeed(item.head.Sequence)
	t.Delete(t.itemKey(item.rid))
	t.touch(item)
}
