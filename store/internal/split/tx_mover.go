package split

import (
	"bytes"
	"context"
	"errors"
	"math"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// A RangeCopier copies the keys of a partition range that is being split to its halves, the two new ranges,
// while clients read and write the old one. It copies all items once. Then it copies again those items that
// writers have recorded as changed. Nothing reads the copies before the switch to the halves. They are always
// a past state of the range's items; after a crash or a failure they are deleted.
//
// The keys of the whole container (p, k, u and b) are not changed. The items keep their rid, LSN and etag.
type RangeCopier struct {
	c       Container
	keys    *view.ItemKeyBuilder
	From    *view.PartitionRange
	Halves  [2]HalfRange
	Written *ConcurrentlyWrittenRIDs

	policy CopiedItemIndexAndTTLPolicy
	logs   [len(splitLogs)]logCopyProgress
	alone  bool // the caller holds the gate exclusively

	batch []keyWrite
	bytes int
}

// CopiedItemIndexAndTTLPolicy determines the index entries and the times to live of the items that a split
// copies to the two new partition ranges.
type CopiedItemIndexAndTTLPolicy struct {
	Terms *index.Indexer
	Lives view.LifetimeRules // the lives of the items in the halves
	Round uint32             // the IndexRound of the container's record; each round has its own policy
}

// HalfRange is one of the two partition ranges into which a range is split.
type HalfRange struct {
	view.PartitionRange
	Shapes map[DocumentShapeHash]struct{} // the shapes that have a record in the range
}

// DocumentShapeHash identifies a shape, the set of paths of a document, by its hash.
type DocumentShapeHash = [index.ShapeSize]byte

// Container is the container whose range is split, with the operations that the copying of the range needs.
type Container interface {
	View(ctx context.Context, fn func(engine.Reader) error) error
	// Write runs fn in one transaction over scopes (key prefixes). Unless alone is set, it holds the
	// container's gate (its lock) shared meanwhile, and fails with ErrReindexed if the indexing policy has
	// changed, that is, if the container's IndexRound is no longer round. If alone is set, the caller holds
	// the gate exclusively. Write also fails if the split has been undone or the container has been dropped.
	Write(ctx context.Context, round uint32, alone bool, scopes [][]byte, fn func(engine.Txn)) error
	Horizon(scope []byte) uint64
}

// logCopyProgress records how far a log (a feed of all versions, or a log of expiries) has been copied.
type logCopyProgress struct {
	// first is the first entry of the range's log at the last call of copyLog; last is the last entry that
	// has been copied. 0: none.
	first, last layout.WriteSequence
}

// keyWrite is one write to the new ranges: it sets a key, deletes a key, or deletes a key range.
type keyWrite struct {
	view.KeyValue
	deleted bool
	below   []byte // the end of the range; nil: a single key
}

// Limits of one step of a RangeCopier: the work between two checks of its context, in one snapshot and in
// one transaction. SwitchKeys and stepBytes also bound the work during which the container's gate (its
// lock) is held exclusively and writers wait.
const (
	stepKeys   = 512     // items and entries of logs
	SwitchKeys = 256     // like stepKeys, while the gate is held exclusively
	stepBytes  = 1 << 20 // of the written keys and values; the last item may exceed it
)

// NewRangeCopier returns a RangeCopier that splits the range from into halves. The container's record must
// already hold the ranges of the halves.
func NewRangeCopier(c Container, keys *view.ItemKeyBuilder, from *view.PartitionRange, halves [2]view.PartitionRange,
	p CopiedItemIndexAndTTLPolicy) *RangeCopier {
	m := &RangeCopier{c: c, keys: keys, From: from,
		Written: &ConcurrentlyWrittenRIDs{rids: make(map[uint64]struct{})}}
	for i, r := range halves {
		m.Halves[i].PartitionRange = r
	}
	m.begin(p)
	return m
}

// Round returns the number of the indexing policy by which the copied items are indexed. Each change of the
// container's policy raises the number, which is stored in its record as IndexRound.
func (m *RangeCopier) Round() uint32 { return m.policy.Round }

// begin sets the indexing policy by which the copies are indexed, and resets the progress of copying the
// logs.
func (m *RangeCopier) begin(p CopiedItemIndexAndTTLPolicy) {
	m.policy = p
	m.logs = [len(splitLogs)]logCopyProgress{}
	for i := range m.Halves {
		m.Halves[i].Shapes = make(map[DocumentShapeHash]struct{})
	}
}

// Restart deletes what was copied to the two halves of the range, and begins the copy again. From then on the
// items are copied with another indexing policy or other rules of their times to live, which p describes.
func (m *RangeCopier) Restart(ctx context.Context, p CopiedItemIndexAndTTLPolicy) error {
	m.begin(p)
	m.batch, m.bytes = m.batch[:0], 0
	for i := range m.Halves {
		m.removeAll(engine.Prefix(m.Halves[i].Scope))
	}
	return m.flush(ctx)
}

func (m *RangeCopier) set(key, value []byte) {
	m.batch = append(m.batch, keyWrite{KeyValue: view.KeyValue{Key: key, Value: value}})
	m.bytes += len(key) + len(value)
}

func (m *RangeCopier) remove(key []byte) {
	m.batch = append(m.batch, keyWrite{KeyValue: view.KeyValue{Key: key}, deleted: true})
	m.bytes += len(key)
}

func (m *RangeCopier) removeAll(r engine.Range) {
	m.batch = append(m.batch, keyWrite{KeyValue: view.KeyValue{Key: r.Start}, deleted: true, below: r.End})
}

// flush writes the batch in order, in as many transactions as needed. It does not wait for the disk, because
// the last step of the split waits for all writes. Each transaction takes the container's gate (its lock)
// separately, so a drop or a change of the container can happen between two of them.
func (m *RangeCopier) flush(ctx context.Context) error {
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

// write writes a part of the batch in one transaction over two engine scopes. The first scope is used by no
// other transaction, so it blocks no writer, and the LSN counters of the halves stay unused until Inherit
// sets them. The second scope, the catalog, lets it check that the split has not been undone. If it has been,
// nothing more may be written, because another split may use the same range numbers.
func (m *RangeCopier) write(ctx context.Context, part []keyWrite) error {
	scope := layout.ScopeFamily(m.Halves[1].Scope, layout.FamilyItem).Start
	scopes := [][]byte{scope, host.CatalogScope()}
	return m.c.Write(ctx, m.policy.Round, m.alone, scopes, func(t engine.Txn) {
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
	})
}

// Copy copies the whole range, and then the items that were written during the copy, until few of them are
// left. If their number has not decreased for several rounds, Copy returns all the same; Rest then copies
// what is left, while writers wait.
func (m *RangeCopier) Copy(ctx context.Context) error {
	for at := layout.ScopeFamily(m.From.Scope, layout.FamilyItem); at.Start != nil; {
		if err := m.copySome(ctx, &at); err != nil {
			return err
		}
	}
	const patience = 8
	least := uint64(math.MaxUint64)
	for in := 0; in < patience; in++ {
		left, err := m.catchUp(ctx, stepKeys)
		if err != nil || left <= SwitchKeys {
			return err
		}
		if left < least {
			least, in = left, 0
		}
	}
	return nil
}

// copySome copies the first items of a key range, and moves at.Start behind them. When nothing is left, it
// sets at.Start to nil.
func (m *RangeCopier) copySome(ctx context.Context, at *engine.Range) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := m.c.View(ctx, func(r engine.Reader) error {
		it := r.Scan(*at, false)
		at.Start = nil
		for n := 0; it.Next(); n++ {
			if n == stepKeys || m.bytes >= stepBytes {
				at.Start = bytes.Clone(it.Key())
				break
			}
			rid, ok := layout.ScopeKeyNumber(it.Key())
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

// Rest copies the remainder, but not more than SwitchKeys, since writers wait meanwhile. It returns the
// estimated number of entries that are still left. The caller holds the container's gate (its lock)
// exclusively.
func (m *RangeCopier) Rest(ctx context.Context) (left uint64, err error) {
	m.alone = true
	defer func() { m.alone = false }()
	return m.catchUp(ctx, SwitchKeys)
}

// catchUp copies up to most of the items and log entries that were written since they were last copied.
// left is the estimated number of the remaining ones; it is exact if it is 0 and nobody can write.
func (m *RangeCopier) catchUp(ctx context.Context, most int) (left uint64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	rids := m.Written.take(most)
	err = m.c.View(ctx, func(r engine.Reader) error {
		room := most - len(rids)
		for i, rid := range rids {
			if m.bytes >= stepBytes {
				m.Written.Add(rids[i:])
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
	return left + uint64(m.Written.count()), err
}

// copyItem copies an item that has no copy yet, with its index entries and its feed entry. The copy is
// indexed by the current policy only, and its time to live counts from the current ttlPropertyPath, because
// in the new ranges all documents follow the current policy.
func (m *RangeCopier) copyItem(r engine.Reader, rid uint64, value []byte) error {
	value = bytes.Clone(value)
	item, err := m.keys.Decode(rid, value)
	if err != nil {
		return err
	}
	if life := m.policy.Lives.Of(&item.Head, item.Body); life != item.Head.Life {
		item.Head.Life = life
		value = append(item.Head.Append(nil), item.Body...)
	}
	feed, err := r.Get(layout.AppendSequenceKey(nil, m.From.Scope, layout.FamilyFeed, item.Head.Sequence))
	if errors.Is(err, engine.ErrNotFound) {
		return engine.ErrCorrupt
	}
	if err != nil {
		return err
	}
	h := &m.Halves[0]
	if !h.Holds(item.Head.EPK) {
		h = &m.Halves[1]
	}
	for _, e := range m.termsOf(h, &item) {
		m.set(e.Key, e.Value)
	}
	if k := view.AppendTimeKey(nil, h.Scope, item.Head.Life, item.RID); k != nil {
		m.set(k, nil)
	}
	m.set(layout.AppendSequenceKey(nil, h.Scope, layout.FamilyFeed, item.Head.Sequence),
		bytes.Clone(feed))
	m.set(layout.AppendScopeKey(nil, h.Scope, layout.FamilyItem, item.RID), value)
	return nil
}

// copyItemAgain replaces the copy of an item by its current state in the range. If the item does not exist
// any more, it removes the copy.
func (m *RangeCopier) copyItemAgain(r engine.Reader, rid uint64) error {
	for i := range m.Halves {
		if err := m.forget(r, m.Halves[i].Scope, rid); err != nil {
			return err
		}
	}
	v, err := r.Get(layout.AppendScopeKey(nil, m.From.Scope, layout.FamilyItem, rid))
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return m.copyItem(r, rid, v)
}

// forget removes the copy of the item rid, with its keys, from one of the two new ranges of a split. scope is
// the key prefix of that range. It does nothing if there is no copy.
func (m *RangeCopier) forget(r engine.Reader, scope []byte, rid uint64) error {
	key := layout.AppendScopeKey(nil, scope, layout.FamilyItem, rid)
	v, err := r.Get(key)
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	item, err := m.keys.Decode(rid, v)
	if err != nil {
		return err
	}
	list, err := view.StoredTerms(r, m.policy.Terms, scope, &item)
	if err != nil {
		return err
	}
	for _, e := range list {
		m.remove(e.Key)
	}
	if k := view.AppendTimeKey(nil, scope, item.Head.Life, item.RID); k != nil {
		m.remove(k)
	}
	m.remove(layout.AppendSequenceKey(nil, scope, layout.FamilyFeed, item.Head.Sequence))
	m.remove(key)
	return nil
}

// termsOf returns the index entries of an item in a half. It adds the record of the item's shape (its set of
// paths) if the item is the first of its shape in the half.
func (m *RangeCopier) termsOf(h *HalfRange, item *view.DecodedItem) []index.Entry {
	list := view.AppendTerms(nil, m.policy.Terms, h.Scope, item)
	i := index.ShapeOf(list, layout.ScopeLen)
	if i < 0 {
		return list
	}
	name := DocumentShapeHash(index.ShapeName(list[i], layout.ScopeLen))
	if _, known := h.Shapes[name]; known || name == index.Unlisted() {
		return list
	}
	if len(h.Shapes) < view.MaxShapes {
		h.Shapes[name] = struct{}{}
		m.set(layout.ShapeRecordKey(h.Scope, name[:]), index.AppendShape(nil, list, layout.ScopeLen))
		return list
	}
	unlisted := index.Unlisted()
	copy(index.ShapeName(list[i], layout.ScopeLen), unlisted[:])
	return list
}

// ErrReindexed means that the copy contains index entries of a policy that is no longer the container's.
var ErrReindexed = errors.New("store: the indexing policy has changed while a range was copied")
