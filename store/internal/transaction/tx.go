package transaction

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/split"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// Tx is one transaction on the items of one range. Its put and del are the only code that writes the keys of
// items. Requests, batches and the reaper all use them, so that an item, its feed entry, its deadline and
// its unique keys always agree. A split moves these keys without changing them: see package
// store/internal/split.
type Tx struct {
	engine.Txn
	fresher   engine.LikelyAbsentKeySetter // nil: the engine is local
	Ctx       context.Context              // of the request; nil in background work
	Container *ImmutableContainerProperties
	State     *container.State
	Range     *container.Partition
	Now       int64

	last   layout.WriteSequence // the last sequence taken; 0 if none
	Purged int                  // ghosts removed
	// terms is the number of index entries written and removed, without those of expired items. It
	// determines the charge.
	terms      int
	keeps      bool                           // the container keeps all versions
	shapes     []container.DocumentShapeHash  // shapes whose record was found or created
	listed     []container.DocumentShapeHash  // shapes known in this transaction to have a record
	full       bool                           // there is no room for records of more shapes
	termsWiped bool                           // all index entries of the range have been deleted
	wipe       uint32                         // the last wipe: see container.DocumentShapeRecordCache
	feed       []latestVersionFeedWrite       // entries that Finish writes, when the last sequence is known
	history    []versionFeedWrite             // the same
	changed    []view.KeyValue                // reused by put and del
	mem        layout.KeyArena                // memory for keys
	value      []byte                         // the stored form of the item that is being written
	Written    []*PreparedOperation           // operations whose items Apply has written
	Blocked    *BlockingExpiredItem           // the expired item that must be moved first
	one        [1]*PreparedOperation          // memory for Written in the usual case
	expiries   []expiryLogWrite               // written by Finish
	noted      *split.ConcurrentlyWrittenRIDs // gets touched after the commit; nil without a split
	touched    []uint64                       // items that were written or removed
	dues       earliestWrittenExpiryTimes
	judging    time.Duration // spent on conditions of patches
}

// StoredItem is an item as a transaction reads and writes it: its header, its body, and what was computed for
// its keys.
type StoredItem struct {
	view.DecodedItem

	terms *preparedIndexEntries // prepared index entries, or nil
	dated bool                  // put keeps its _ts
}

// Begin begins a transaction on the items of the partition range s of a container. txn is the engine's
// transaction, st the current state of the container, and now the time of the container's clock in seconds
// since 1970.
func (t *Tx) Begin(txn engine.Txn, c *ImmutableContainerProperties, st *container.State,
	s *container.Partition, now int64) {
	*t = Tx{Txn: txn, Container: c, State: st, Range: s, Now: now, keeps: st.Retention() > 0,
		wipe: s.Shapes.Wipe(), feed: t.feed[:0], history: t.history[:0], changed: t.changed[:0],
		shapes: t.shapes[:0], listed: t.listed[:0], mem: t.mem, value: t.value,
		noted: s.Noted.Load()}
	t.mem.Reset()
	t.fresher, _ = txn.(engine.LikelyAbsentKeySetter)
	t.Written = t.one[:0]
	t.dues = earliestWrittenExpiryTimes{view.Never, view.Never}
}

// set sets a key. fresh means that the key is not stored yet, because it contains a new rid or a new
// sequence: see engine.LikelyAbsentKeySetter.
func (t *Tx) set(fresh bool, key, value []byte) {
	if fresh && t.fresher != nil {
		t.fresher.SetFresh(key, value)
		return
	}
	t.Set(key, value)
}

// take returns the write sequence (LSN and position in the transaction) for the next write. It takes an LSN
// for the first write, and another one when the positions of the last LSN are used up.
func (t *Tx) take() layout.WriteSequence {
	next, ok := t.last.Next()
	if t.last == 0 || !ok {
		next = layout.FirstOf(t.NextLSN(t.Range.Scope))
	}
	t.last = next
	return next
}

// Learn updates the range's state in memory with the results of the transaction. It is called after the
// commit, while the container's gate (its lock) is held shared. rescan reports whether the reaper must start
// its pass again, because the transaction has written keys behind it.
func (t *Tx) Learn() (rescan bool) {
	if t.termsWiped {
		t.Range.Shapes.Forget()
	}
	t.Range.Shapes.Learn(t.shapes, t.full, t.wipe)
	t.tellSplit()
	return t.rescanBehind()
}

// Find looks up an item by its point key, which consists of its partition key and id. ghost reports that
// it has expired or was deleted with its whole partition key: it does not exist for requests any more, but
// its keys are still stored.
func (t *Tx) Find(point []byte) (item *StoredItem, ghost bool, err error) {
	v, err := t.Get(point)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	rid, ok := layout.NumberOf(v)
	if !ok {
		return nil, false, engine.ErrCorrupt
	}
	return t.Load(rid)
}

func (t *Tx) itemKey(rid uint64) []byte {
	return t.mem.Keep(layout.AppendScopeKey(t.mem.Free(), t.Range.Scope, layout.FamilyItem, rid))
}

// Load reads an item by its rid. It returns nil if there is none. ghost reports that it has expired or was
// deleted with its whole partition key, but is still stored.
func (t *Tx) Load(rid uint64) (item *StoredItem, ghost bool, err error) {
	v, err := t.Get(t.itemKey(rid))
	if errors.Is(err, engine.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	item, err = t.Container.Decode(rid, v)
	if err != nil {
		return nil, false, err
	}
	return item, !t.Live(item), nil
}

// entries appends the keys by which an item is found: its point key (by id), those of its partition key
// and unique keys, and its key in the index of expiry. Its own key, its feed entry and its index entries
// are not among them.
func (t *Tx) entries(dst []view.KeyValue, item *StoredItem) []view.KeyValue {
	return t.Container.Keys.AppendEntries(dst, &t.mem, t.Range.Scope, &item.DecodedItem)
}

// Live reports whether an item exists for clients: it has not expired, and was not deleted with its whole
// partition key.
func (t *Tx) Live(item *StoredItem) bool {
	return !t.State.Expired(&item.Head, item.Body, t.Now) &&
		!t.State.Tombstoned(item.Head, func() []byte { return item.PK })
}

// put writes an item in place of old, which is nil for a new item. It gives the item the next write
// sequence of the transaction and, if it is new, its rid.
func (t *Tx) put(old, item *StoredItem) error {
	item.Head.Sequence = t.take()
	item.Head.Range = t.Range.Number
	if !item.dated {
		item.Head.Life.TS = t.Now
	}
	item.Head.Life.Generation = t.State.Policy().Generation
	item.Head.Life.Base, item.Head.Life.Based = t.State.LifeRules.Basis.Of(item.Body)
	t.Container.Host.Note(container.MarkWrite, t.Now)
	item.RID = layout.ItemRID(t.Range.Number, item.Head.Sequence)
	fresh := old == nil // the keys with the rid have not been stored before
	if old != nil {
		item.RID = old.RID
	}
	if err := t.putTerms(old, item, fresh); err != nil { // first, since it may read
		return err
	}
	var before []view.KeyValue
	if old != nil {
		before = t.entries(t.changed[:0], old)
		t.dropFeed(old.Head.Sequence)
	}
	n := len(before)
	all := t.entries(before, item)
	t.changed = all
	t.diff(all[:n], all[n:])
	t.setItem(item, fresh)
	t.feed = append(t.feed, latestVersionFeedWrite{item.Head.Sequence,
		layout.FeedEntry{RID: item.RID, TS: t.Now, EPK: item.Head.EPK}})
	if old == nil {
		t.record(layout.Created, nil, item)
	} else {
		t.record(layout.Replaced, old, item)
	}
	t.noteDeadline(item)
	return nil
}

// putTerms writes the index entries of a new version of an item, and deletes those that only the old version
// had. fresh means that none of the new keys is stored yet.
func (t *Tx) putTerms(old, item *StoredItem, fresh bool) error {
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
	t.diffTerms(before, after, len(t.State.OlderIndexers) == 0, fresh)
	return nil
}

// diffTerms replaces the index entries before of an item by the entries after: it deletes the keys that only
// before contains, and sets the others. Both lists are in the order of their keys. If complete is set, all
// entries in before are known to be stored, so entries that do not change are not written again. fresh means
// that none of the keys in after is stored yet.
func (t *Tx) diffTerms(before, after []index.Entry, complete, fresh bool) {
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
			t.set(fresh, after[0].Key, after[0].Value)
		}
		if c <= 0 {
			before = before[1:]
		}
		if c >= 0 {
			after = after[1:]
		}
	}
}

// diff deletes those old keys of an item that are not among the new ones, and then sets the new keys that
// are not among the old ones.
func (t *Tx) diff(before, after []view.KeyValue) {
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

func containsEntry(in []view.KeyValue, e view.KeyValue, values bool) bool {
	for i := range in {
		if bytes.Equal(in[i].Key, e.Key) && (!values || bytes.Equal(in[i].Value, e.Value)) {
			return true
		}
	}
	return false
}

// del deletes a live item with all its keys. The caller has called take, which allocates the sequence of this
// change.
func (t *Tx) del(item *StoredItem) error {
	keys, err := t.owned(t.changed[:0], item)
	if err != nil {
		return err
	}
	t.changed = keys
	t.record(layout.Deleted, item, nil)
	t.remove(item, keys)
	return nil
}

// purge deletes a ghost (an expired item that is not purged yet) with all its keys. If the ghost has to be
// moved to an expiry sink, it ends the transaction with ErrBlocked.
func (t *Tx) purge(ghost *StoredItem) error {
	if t.State.Moves(&ghost.DecodedItem) {
		t.Blocked = &BlockingExpiredItem{t.Container.Host, t.Range, ghost.RID}
		return ErrBlocked
	}
	terms := t.terms
	keys, err := t.owned(t.changed[:0], ghost)
	if err != nil {
		return err
	}
	t.changed, t.terms = keys, terms
	t.recordPurge(ghost)
	t.remove(ghost, keys)
	return nil
}

// recordPurge adds the purge of an expired item to the feed of all versions and to the log of expiries, as
// far as the container keeps them. In the feed the purge is a change with its own sequence, before that of a
// new item with the same id.
func (t *Tx) recordPurge(ghost *StoredItem) {
	t.Purged++
	logged := t.State.LogsExpiryOf(&ghost.DecodedItem)
	if t.keeps || logged {
		kind := uint8(layout.Expired)
		if t.State.Tombstoned(ghost.Head, func() []byte { return ghost.PK }) {
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
}

// charge counts index entries for the charge of the request. It counts only those that the container's own
// indexing policy asks for.
func (t *Tx) charge(entries []index.Entry) {
	t.terms += max(0, len(entries)-t.State.Terms.Unnamed())
}

// owned appends the keys that belong to an item. It need not read the point key and the unique keys to
// check that they still refer to this item: another item gets the id or a unique key of an expired item
// only after that item has been purged, in the same transaction.
func (t *Tx) owned(dst []view.KeyValue, item *StoredItem) ([]view.KeyValue, error) {
	dst = t.entries(dst, item)
	terms, err := t.termsToDelete(item)
	t.charge(terms)
	for _, e := range terms {
		dst = append(dst, view.KeyValue{Key: e.Key})
	}
	return dst, err
}

// remove deletes an item, its entry in the change feed, and the other keys that belong to it, which are given
// as keys.
func (t *Tx) remove(item *StoredItem, keys []view.KeyValue) {
	for _, e := range keys {
		t.Delete(e.Key)
	}
	t.dropFeed(item.Head.Sequence)
	t.Delete(t.itemKey(item.RID))
	t.touch(item)
}

// deleteAll sorts keys of several items and deletes them. The engine finds the place of a key faster if it is
// near that of the key before.
func (t *Tx) deleteAll(keys []view.KeyValue) {
	slices.SortFunc(keys, func(a, b view.KeyValue) int { return bytes.Compare(a.Key, b.Key) })
	for _, k := range keys {
		t.Delete(k.Key)
	}
}
