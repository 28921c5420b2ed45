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

// A Mover copies what lies in the slot of a partition range that is being split into those of its halves,
// while the range is read and written: once over all items, and then again what its writers have noted.
// Nobody reads the copies before the moment of the split. What is in them is always what the range had at
// some moment; a crash or a failure throws them away whole.
//
// The keys that are not in a slot (p, k, u and b) stay as they are, and so do the items themselves: rid, LSN,
// etag, all.
type Mover struct {
	c      Container
	keys   *view.Keys
	From   *view.Range
	Halves [2]Half
	Noted  *Notes

	policy Policy
	logs   [len(splitLogs)]movedLog
	alone  bool // the caller has shut the gate

	batch []change
	bytes int
}

// Policy is what the entries in the halves are made by.
type Policy struct {
	Terms *index.Indexer
	Lives view.Lives // that the items have in the halves
	Round uint32     // of the container's record: entries of another one are of another policy
}

// Half is one of the two ranges that are being made.
type Half struct {
	view.Range
	Shapes map[Shape]struct{} // that have a record in it
}

// Shape is the name of a shape.
type Shape = [index.ShapeSize]byte

// Container is the container of the range that is split.
type Container interface {
	View(ctx context.Context, fn func(engine.Reader) error) error
	// Write runs one transaction in scopes, inside the gate unless the caller has shut it. It fails with
	// ErrReindexed where the container's round is another one, and where the split is undone or the container
	// is gone.
	Write(ctx context.Context, round uint32, alone bool, scopes [][]byte, fn func(engine.Txn)) error
	Horizon(scope []byte) uint64
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

// What a mover does in one go: between two looks at its context, in one view, in one transaction. SwitchKeys
// and stepBytes bound what it does while it holds the gate, too.
const (
	stepKeys   = 512     // items and entries of logs
	SwitchKeys = 256     // the same, with the gate shut
	stepBytes  = 1 << 20 // of the keys and values that it writes; the last item may exceed it
)

// NewMover prepares the splitting of a range into halves, whose numbers the container's record has.
func NewMover(c Container, keys *view.Keys, from *view.Range, halves [2]view.Range, p Policy) *Mover {
	m := &Mover{c: c, keys: keys, From: from, Noted: &Notes{rids: make(map[uint64]struct{})}}
	for i, r := range halves {
		m.Halves[i].Range = r
	}
	m.begin(p)
	return m
}

// Round is that of the policy by which the halves are made.
func (m *Mover) Round() uint32 { return m.policy.Round }

// begin makes the mover go by an indexing policy. Nothing is copied yet.
func (m *Mover) begin(p Policy) {
	m.policy = p
	m.logs = [len(splitLogs)]movedLog{}
	for i := range m.Halves {
		m.Halves[i].Shapes = make(map[Shape]struct{})
	}
}

// Restart throws the copies away, to begin anew by another policy.
func (m *Mover) Restart(ctx context.Context, p Policy) error {
	m.begin(p)
	m.batch, m.bytes = m.batch[:0], 0
	for i := range m.Halves {
		m.removeAll(engine.Prefix(m.Halves[i].Scope))
	}
	return m.flush(ctx)
}

func (m *Mover) set(key, value []byte) {
	m.batch = append(m.batch, change{Entry: view.Entry{Key: key, Value: value}})
	m.bytes += len(key) + len(value)
}

func (m *Mover) remove(key []byte) {
	m.batch = append(m.batch, change{Entry: view.Entry{Key: key}, deleted: true})
	m.bytes += len(key)
}

func (m *Mover) removeAll(r engine.Range) {
	m.batch = append(m.batch, change{Entry: view.Entry{Key: r.Start}, deleted: true, below: r.End})
}

// flush writes the batch in order, in as many transactions as it takes, without waiting for the disk: the
// moment of the split waits for all of it. It is in the gate, for each transaction anew, so that a container
// that is being dropped or changed is so before it or after it.
func (m *Mover) flush(ctx context.Context) error {
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
func (m *Mover) write(ctx context.Context, part []change) error {
	scope := layout.SlotFamily(m.Halves[1].Scope, layout.FamilyItem).Start
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

// Copy copies all that is in the range, and then what has been written meanwhile, until little of that is
// left. It gives up to become faster than the writers when it has not come nearer to the end for a while: the
// gate will hold them up.
func (m *Mover) Copy(ctx context.Context) error {
	for at := layout.SlotFamily(m.From.Scope, layout.FamilyItem); at.Start != nil; {
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

// copySome copies the first items of a range of keys, and takes them off the range; nothing is left of it
// when its start is nil.
func (m *Mover) copySome(ctx context.Context, at *engine.Range) error {
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

// Rest copies what is left, if that is not more than the locks may be held for, and returns about how much is
// left besides. The caller has shut the gate.
func (m *Mover) Rest(ctx context.Context) (left uint64, err error) {
	m.alone = true
	defer func() { m.alone = false }()
	return m.catchUp(ctx, SwitchKeys)
}

// catchUp copies up to most of the items and entries of logs that have been written since they were copied.
// left is about how many there are besides; 0 is exact where nobody can write.
func (m *Mover) catchUp(ctx context.Context, most int) (left uint64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	rids := m.Noted.take(most)
	err = m.c.View(ctx, func(r engine.Reader) error {
		room := most - len(rids)
		for i, rid := range rids {
			if m.bytes >= stepBytes {
				m.Noted.Add(rids[i:])
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
	return left + uint64(m.Noted.left()), err
}

// copyItem copies an item, of which nothing has been copied yet, with what goes with it. Its index entries
// are made by the present policy alone: in the new slots all documents are indexed by it, and their times to
// live count from what the container says now.
func (m *Mover) copyItem(r engine.Reader, rid uint64, value []byte) error {
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
	m.set(layout.AppendSlotKey(nil, h.Scope, layout.FamilyItem, item.RID), value)
	return nil
}

// copyItemAgain makes what the halves have of an item what the range has of it, which may be nothing.
func (m *Mover) copyItemAgain(r engine.Reader, rid uint64) error {
	for i := range m.Halves {
		if err := m.forget(r, m.Halves[i].Scope, rid); err != nil {
			return err
		}
	}
	v, err := r.Get(layout.AppendSlotKey(nil, m.From.Scope, layout.FamilyItem, rid))
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return m.copyItem(r, rid, v)
}

// forget removes what has been copied of an item into a half.
func (m *Mover) forget(r engine.Reader, scope []byte, rid uint64) error {
	key := layout.AppendSlotKey(nil, scope, layout.FamilyItem, rid)
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

// termsOf makes the index entries of an item in a half, and the record of its shape where it is the first
// that has it.
func (m *Mover) termsOf(h *Half, item *view.Item) []index.Entry {
	list := view.AppendTerms(nil, m.policy.Terms, h.Scope, item)
	i := index.ShapeOf(list, layout.ScopeLen)
	if i < 0 {
		return list
	}
	name := Shape(index.ShapeName(list[i], layout.ScopeLen))
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

// ErrReindexed means that the copy has index entries of a policy that the container has no more.
var ErrReindexed = errors.New("store: the indexing policy has changed while a range was copied")
