package store

import (
	"bytes"
	"context"
	"errors"
	"math"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// A mover copies what lies in the slot of a partition range that is being split into those of its halves,
// while the range is read and written: once over all items, and then again what its writers have noted.
// Nobody reads the copies before the moment of the split. What is in them is always what the range had at
// some moment; a crash or a failure throws them away whole.
//
// The keys that are not in a slot (p, k, u and b) stay as they are, and so do the items themselves: rid, LSN,
// etag, all.
type mover struct {
	c      *Container
	from   *partition
	halves [2]half
	terms  *index.Indexer // that makes the entries in the halves
	lives  view.Lives     // that the items have in the halves
	round  uint32         // of the container's record: entries of another one are of another policy
	noted  *notes
	split  *record.Split // its own, as it is stored
	logs   [len(splitLogs)]movedLog
	alone  bool // the caller has shut the gate

	batch []change
	bytes int
}

// half is one of the two ranges that are being made.
type half struct {
	slot   *partition
	shapes map[shapeName]struct{} // that have a record in it
}

// movedLog is how far a log has been copied.
type movedLog struct {
	// of the first entry that the range had then, and of the last one; 0: there was none
	first, last layout.Sequence
}

// change is a key to be set or to be deleted, or a range of keys to be deleted, of which it is the first.
type change struct {
	view.Entry
	deleted bool
	below   []byte // the end of the range; nil: it is about one key
}

// What a mover does in one go: between two looks at its context, in one view, in one transaction. switchKeys
// and stepBytes bound what it does while it holds the gate, too.
const (
	stepKeys   = 512     // items and entries of logs
	switchKeys = 256     // the same, with the gate shut
	stepBytes  = 1 << 20 // of the keys and values that it writes; the last item may exceed it
)

// newMover prepares the splitting of s, for which the container's record has the numbers of the slots.
func newMover(c *Container, st *containerState, s *partition, bound []byte) (m *mover, err error) {
	m = &mover{c: c, from: s, split: st.rec.Split,
		noted: &notes{rids: make(map[uint64]struct{})}}
	m.begin(st)
	lower, upper := s.rec, s.rec
	lower.Max, upper.Min = definition.EPKHex(bound), definition.EPKHex(bound)
	lower.Slot, upper.Slot = st.rec.Split.Lower, st.rec.Split.To
	for i, rec := range []record.Range{lower, upper} {
		if m.halves[i].slot, err = newPartition(c.cid, rec); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// begin makes the mover go by the container's present indexing policy. Nothing is copied yet.
func (m *mover) begin(st *containerState) {
	m.terms, m.lives, m.round = st.terms, st.lives, st.rec.IndexRound
	m.logs = [len(splitLogs)]movedLog{}
	for i := range m.halves {
		m.halves[i].shapes = make(map[shapeName]struct{})
	}
}

// restart throws the copies away, to begin anew by the policy of st.
func (m *mover) restart(ctx context.Context, st *containerState) error {
	m.begin(st)
	m.batch, m.bytes = m.batch[:0], 0
	for i := range m.halves {
		m.removeAll(engine.Prefix(m.halves[i].slot.scope))
	}
	return m.flush(ctx)
}

func (m *mover) set(key, value []byte) {
	m.batch = append(m.batch, change{Entry: view.Entry{Key: key, Value: value}})
	m.bytes += len(key) + len(value)
}

func (m *mover) remove(key []byte) {
	m.batch = append(m.batch, change{Entry: view.Entry{Key: key}, deleted: true})
	m.bytes += len(key)
}

func (m *mover) removeAll(r engine.Range) {
	m.batch = append(m.batch, change{Entry: view.Entry{Key: r.Start}, deleted: true, below: r.End})
}

// flush writes the batch in order, in as many transactions as it takes, without waiting for the disk: the
// moment of the split waits for all of it. It is in the gate, for each transaction anew, so that a container
// that is being dropped or changed is so before it or after it.
func (m *mover) flush(ctx context.Context) error {
	for rest := m.batch; len(rest) > 0; {
		n, size := 0, 0
		for n < len(rest) && (n == 0 || size < stepBytes) {
			size += len(rest[n].Key) + len(rest[n].Value)
			n++
		}
		if err := m.write(ctx, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	clear(m.batch)
	m.batch, m.bytes = m.batch[:0], 0
	return nil
}

// write writes a part of the batch. Its scope is one that nobody else uses, so that it keeps no writer
// waiting, and the halves' own ones begin with the LSNs that they are given in the end. The catalog's is
// there for others who undo the split: then nothing more may be written, since the slots are free.
func (m *mover) write(ctx context.Context, part []change) error {
	if !m.alone {
		st, _, err := m.c.enter(ctx)
		if err != nil {
			return err
		}
		defer m.c.leave()
		if st.rec.IndexRound != m.round {
			return errReindexed
		}
	}
	scope := layout.SlotFamily(m.halves[1].slot.scope, layout.FamilyItem).Start
	_, err := m.c.ds.eng.Update(ctx, [][]byte{scope, host.CatalogScope()}, func(t engine.Txn) error {
		if err := m.going(t); err != nil {
			return err
		}
		for _, ch := range part {
			switch {
			case ch.below != nil:
				t.DeleteRange(engine.Range{Start: ch.Key, End: ch.below})
			case ch.deleted:
				t.Delete(ch.Key)
			default:
				t.Set(ch.Key, ch.Value)
			}
		}
		t.Relax()
		return nil
	})
	return err
}

// going fails with *elsewhereError where another store has undone the split.
func (m *mover) going(r engine.Reader) error {
	rec, err := m.c.storedRecord(r)
	if err != nil && !isAbsent(err) {
		return err
	}
	if err != nil || rec.CID != m.c.cid || rec.Split == nil || *rec.Split != *m.split {
		return &elsewhereError{m.c.state.Load().version}
	}
	return nil
}

// copy copies all that is in the range, and then what has been written meanwhile, until little of that is
// left. It gives up to become faster than the writers when it has not come nearer to the end for a while: the
// gate will hold them up.
func (m *mover) copy(ctx context.Context) error {
	for at := layout.SlotFamily(m.from.scope, layout.FamilyItem); at.Start != nil; {
		if err := m.copySome(ctx, &at); err != nil {
			return err
		}
	}
	const patience = 8
	least := uint64(math.MaxUint64)
	for in := 0; in < patience; in++ {
		left, err := m.catchUp(ctx, stepKeys)
		if err != nil || left <= switchKeys {
			return err
		}
		if left < least {
			least, in = left, 0
		}
	}
	return nil
}

// copySome copies the first items of a range of keys, and takes them off the range; nothing is left of it
// when its start is nil.
func (m *mover) copySome(ctx context.Context, at *engine.Range) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := m.c.ds.view(ctx, func(r engine.Reader) error {
		it := r.Scan(*at, false)
		at.Start = nil
		for n := 0; it.Next(); n++ {
			if n == stepKeys || m.bytes >= stepBytes {
				at.Start = bytes.Clone(it.Key())
				break
			}
			rid, ok := layout.SlotKeyNumber(it.Key())
			if !ok {
				it.Close()
				return engine.ErrCorrupt
			}
			if err := m.copyItem(r, rid, it.Value()); err != nil {
				it.Close()
				return err
			}
		}
		return it.Close()
	})
	if err != nil {
		return err
	}
	return m.flush(ctx)
}

// catchUp copies up to most of the items and entries of logs that have been written since they were copied.
// left is about how many there are besides; 0 is exact where nobody can write.
func (m *mover) catchUp(ctx context.Context, most int) (left uint64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	rids := m.noted.take(most)
	err = m.c.ds.view(ctx, func(r engine.Reader) error {
		room := most - len(rids)
		for i, rid := range rids {
			if m.bytes >= stepBytes {
				m.noted.add(rids[i:])
				break
			}
			if err := m.copyItemAgain(r, rid); err != nil {
				return err
			}
		}
		for i := range splitLogs {
			behind, err := m.copyLog(r, i, &room)
			if err != nil {
				return err
			}
			left += behind
		}
		return nil
	})
	if err == nil {
		err = m.flush(ctx)
	}
	return left + uint64(m.noted.left()), err
}

// copyItem copies an item, of which nothing has been copied yet, with what goes with it. Its index entries
// are made by the present policy alone: in the new slots all documents are indexed by it, and their times to
// live count from what the container says now.
func (m *mover) copyItem(r engine.Reader, rid uint64, value []byte) error {
	value = bytes.Clone(value)
	item, err := m.c.decode(rid, value)
	if err != nil {
		return err
	}
	if life := m.lives.Of(&item.head, item.body); life != item.head.Life {
		item.head.Life = life
		value = append(item.head.Append(nil), item.body...)
	}
	feed, err := r.Get(layout.AppendSequenceKey(nil, m.from.scope, layout.FamilyFeed, item.head.Sequence))
	if isAbsent(err) {
		return engine.ErrCorrupt
	}
	if err != nil {
		return err
	}
	h := &m.halves[0]
	if !h.slot.holds(item.head.EPK) {
		h = &m.halves[1]
	}
	for _, e := range m.termsOf(h, item) {
		m.set(e.Key, e.Value)
	}
	if k := view.AppendTimeKey(nil, h.slot.scope, item.head.Life, item.rid); k != nil {
		m.set(k, nil)
	}
	m.set(layout.AppendSequenceKey(nil, h.slot.scope, layout.FamilyFeed, item.head.Sequence),
		bytes.Clone(feed))
	m.set(layout.AppendSlotKey(nil, h.slot.scope, layout.FamilyItem, item.rid), value)
	return nil
}

// copyItemAgain makes what the halves have of an item what the range has of it, which may be nothing.
func (m *mover) copyItemAgain(r engine.Reader, rid uint64) error {
	for i := range m.halves {
		if err := m.forget(r, m.halves[i].slot, rid); err != nil {
			return err
		}
	}
	v, err := r.Get(layout.AppendSlotKey(nil, m.from.scope, layout.FamilyItem, rid))
	if isAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return m.copyItem(r, rid, v)
}

// forget removes what has been copied of an item into a slot.
func (m *mover) forget(r engine.Reader, s *partition, rid uint64) error {
	key := layout.AppendSlotKey(nil, s.scope, layout.FamilyItem, rid)
	v, err := r.Get(key)
	if isAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	item, err := m.c.decode(rid, v)
	if err != nil {
		return err
	}
	plain := item.plain()
	list, err := view.StoredTerms(r, m.terms, s.scope, &plain)
	if err != nil {
		return err
	}
	for _, e := range list {
		m.remove(e.Key)
	}
	if k := view.AppendTimeKey(nil, s.scope, item.head.Life, item.rid); k != nil {
		m.remove(k)
	}
	m.remove(layout.AppendSequenceKey(nil, s.scope, layout.FamilyFeed, item.head.Sequence))
	m.remove(key)
	return nil
}

// termsOf makes the index entries of an item in a half, and the record of its shape where it is the first
// that has it.
func (m *mover) termsOf(h *half, item *stored) []index.Entry {
	plain := item.plain()
	list := view.AppendTerms(nil, m.terms, h.slot.scope, &plain)
	i := index.ShapeOf(list, layout.ScopeLen)
	if i < 0 {
		return list
	}
	name := shapeName(index.ShapeName(list[i], layout.ScopeLen))
	if _, known := h.shapes[name]; known || name == index.Unlisted() {
		return list
	}
	if len(h.shapes) < view.MaxShapes {
		h.shapes[name] = struct{}{}
		m.set(layout.ShapeRecordKey(h.slot.scope, name[:]), index.AppendShape(nil, list, layout.ScopeLen))
		return list
	}
	unlisted := index.Unlisted()
	copy(index.ShapeName(list[i], layout.ScopeLen), unlisted[:])
	return list
}

// errReindexed means that the copy has index entries of a policy that the container has no more.
var errReindexed = errors.New("store: the indexing policy has changed while a range was copied")
