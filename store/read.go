package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/transaction"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// Read returns a live item. It fails with CodeNotFound if there is none or it has expired, with
// CodeNotModified if o.IfNoneMatch matches the item's etag, and with CodeSessionNotAvailable if o.Session
// is ahead of the store. If the container's partition key is /id and pk is zero, the key is taken from the
// id.
func (c *Container) Read(ctx context.Context, pk definition.PartitionKey, id string,
	o ReadOptions) (Item, OperationReceipt, error) {
	c.beginUse()
	defer c.endUse()
	pk, err := c.def.FullKey(pk, id)
	if err == nil && id == "" {
		err = transaction.ItemNotFound()
	}
	if err != nil {
		return Item{}, c.refused(), err
	}
	if err := c.checkPositions(ctx, o.Session); err != nil {
		return Item{}, c.refused(), err
	}
	p := c.items.Locate(pk, id)
	var it Item
	var position uint64
	var s *container.Partition
	for again := true; again; {
		st, now, _, gone := c.stateAndTime(ctx)
		if gone != nil {
			return Item{}, OperationReceipt{}, gone
		}
		s = st.RangeOf(p.EPK)
		if err := c.checkSession(s, o.Session); err != nil {
			return Item{}, c.receipt(s, value.ChargeNotFound), err
		}
		it, position, err = c.get(ctx, st, s, p, now)
		if again, err = c.refreshed(ctx, err); !again {
			again = err != nil && c.moved(p, s)
		}
	}
	if err != nil {
		return Item{}, c.receipt(s, value.ChargeNotFound), classify.ToFault(err)
	}
	r := OperationReceipt{Range: s.ID, LSN: position, Charge: value.ChargeRead(len(it.Body()))}
	return it, r, transaction.CheckIfNoneMatch(o.IfNoneMatch, it)
}

func (c *Container) receipt(s *container.Partition, charge float64) OperationReceipt {
	return OperationReceipt{Range: s.ID, LSN: c.position(s), Charge: charge}
}

// position returns the highest LSN of a range that a read or a commit has shown to be durable. For a range
// that has been split it stays at the last LSN before the split, because clients use the range's session
// tokens for both halves.
func (c *Container) position(s *container.Partition) uint64 {
	lsn := s.Shown.Load()
	if lsn == 0 {
		lsn = s.Show(c.ds.eng.Horizon(s.Scope))
	}
	return s.Clamp(lsn)
}

// settled waits until everything that a read has shown of a range is durable, and returns the range's
// position. at is the position that came with the read. seen is the highest LSN that the read has shown, 0
// if unknown.
func (c *Container) settled(ctx context.Context, s *container.Partition, at engine.LSNScopeStatus,
	seen uint64) (uint64, error) {
	if !at.Settled {
		if err := c.ds.settle(ctx, s.Scope, seen); err != nil {
			return 0, err
		}
		at.LSN = c.ds.eng.Horizon(s.Scope)
	}
	return s.Show(at.LSN), nil
}

// moved reports whether p does not lie in range s any more, because s has been split.
func (c *Container) moved(p transaction.EncodedItemKey, s *container.Partition) bool {
	return c.state.Load().RangeOf(p.EPK) != s
}

// get reads one item without a lock and without a snapshot. A rid is never reused, so a rid from the cache
// leads to the right item or to none; in the latter case get reads the point key again. The result, an item
// or its absence, is durable. position is the position of the range at that moment. If the range has been
// split since, the caller must ignore an error and read again.
func (c *Container) get(ctx context.Context, st *container.State, s *container.Partition,
	p transaction.EncodedItemKey, now int64) (it Item, position uint64, err error) {
	var key [layout.ScopeLen + 1 + layout.RIDLen]byte
	if rid := c.ds.rids.Get(p.Point); rid != 0 {
		v, at, err := c.ds.get(ctx, s.Scope, layout.AppendScopeKey(key[:0], s.Scope, layout.FamilyItem, rid))
		if err == nil && p.Named(v) {
			return c.answer(ctx, st, s, p, pointReadResult{rid, v, at}, now)
		}
		if err != nil && !isAbsent(err) {
			return Item{}, 0, err
		}
	}
	for range maxLookups {
		v, at, err := c.ds.get(ctx, s.Scope, p.Point)
		if isAbsent(err) {
			return Item{}, 0, c.absent(ctx, st, s, at)
		}
		if err != nil {
			return Item{}, 0, err
		}
		if err := st.Current(at.Mark); err != nil {
			return Item{}, 0, err
		}
		rid, ok := layout.NumberOf(v)
		if !ok {
			return Item{}, 0, engine.ErrCorrupt
		}
		v, at, err = c.ds.get(ctx, s.Scope, layout.AppendScopeKey(key[:0], s.Scope, layout.FamilyItem, rid))
		if isAbsent(err) && c.moved(p, s) {
			return Item{}, 0, transaction.ItemNotFound()
		}
		if isAbsent(err) || err == nil && !p.Named(v) {
			continue // it was deleted or renamed between the two reads
		}
		if err != nil {
			return Item{}, 0, err
		}
		c.ds.rids.Put(p.Point, rid)
		return c.answer(ctx, st, s, p, pointReadResult{rid, v, at}, now)
	}
	return Item{}, 0, fmt.Errorf("%w: the id %q names an item that is not there", engine.ErrCorrupt, p.ID)
}

// maxLookups is how often a point read tries again because its item was deleted and created anew between
// its two reads. After that, the point key is considered corrupt.
const maxLookups = 1000

// pointReadResult is the result of a point read: the stored value of an item.
type pointReadResult struct {
	rid   uint64
	value []byte
	at    engine.LSNScopeStatus
}

func (c *Container) answer(ctx context.Context, st *container.State, s *container.Partition,
	p transaction.EncodedItemKey, f pointReadResult, now int64) (Item, uint64, error) {
	if err := st.Current(f.at.Mark); err != nil {
		return Item{}, 0, err
	}
	h, body, err := layout.DecodeItem(f.value)
	if err != nil {
		return Item{}, 0, err
	}
	now = c.momentOf(now, f.at)
	if st.Expired(&h, body, now) || st.Tombstoned(h, func() []byte { return p.PK }) {
		return Item{}, 0, c.absent(ctx, st, s, f.at)
	}
	var seen uint64
	if h.Range == s.Number {
		seen = h.Sequence.LSN()
	}
	if seen <= f.at.LSN && h.Life.LeaseUntil <= now { // a lease has no LSN
		f.at.Settled = true
	}
	position, err := c.settled(ctx, s, f.at, seen)
	return value.NewItem((*containerCallbacksAdapter)(c), f.rid, h, body, p.ID), s.Clamp(position), err
}

// absent returns the error for an item that does not exist in the range s at the position at. Before that it
// waits until everything that the read has seen is durable, so that a crash cannot revoke the answer.
func (c *Container) absent(ctx context.Context, st *container.State, s *container.Partition,
	at engine.LSNScopeStatus) error {
	if err := st.Current(at.Mark); err != nil {
		return err
	}
	if _, err := c.settled(ctx, s, at, 0); err != nil {
		return err
	}
	return transaction.ItemNotFound()
}

// ReadMany reads items by their keys, in the order of keys. Items that do not exist are left out.
func (c *Container) ReadMany(ctx context.Context, keys []ItemKey,
	o ReadOptions) ([]Item, OperationReceipt, error) {
	items := make([]Item, 0, len(keys))
	total := c.refused()
	total.Charge = 0
	for _, k := range keys {
		it, r, err := c.Read(ctx, k.Partition, k.ID, ReadOptions{Session: o.Session})
		if err != nil && fault.ErrorCode(err) != fault.CodeNotFound {
			return nil, r, err
		}
		total.Range, total.LSN = r.Range, r.LSN
		total.Charge += r.Charge
		if err == nil {
			items = append(items, it)
		}
	}
	total.Charge = value.RoundCharge(max(total.Charge, value.ChargeNotFound))
	return items, total, nil
}

// ResolveRID returns the key of the item with the given resource id. It fails with CodeBadRequest if rid
// does not name an item of this container, and with CodeNotFound if there is no such item.
func (c *Container) ResolveRID(ctx context.Context, rid string) (ItemKey, error) {
	b, ok := layout.ParseRID(rid, 16)
	if !ok || string(b[:8]) != string(layout.ContainerRIDBytes(c.d.rec.Num, c.cid)) || b[15]>>4 != 0 {
		return ItemKey{}, value.BadRID(rid)
	}
	for {
		st, now, _, err := c.stateAndTime(ctx)
		if err != nil {
			return ItemKey{}, err
		}
		k, err := c.resolve(ctx, st, now, binary.LittleEndian.Uint64(b[8:]))
		again, err := c.refreshed(ctx, err)
		if again {
			continue
		}
		if err == nil || slices.Equal(st.Ranges, c.state.Load().Ranges) { // else a range was split
			return k, err
		}
	}
}

// ResolveRIDIn returns the key of the item with the given resource id, for a client that also names the
// item's partition by pk. The key is checked as if the item were addressed by its id: CodeBadRequest if it is
// missing but required, CodePartitionKeyMismatch if it is incomplete or too long, CodeNotFound if it is the
// key of another partition.
//
// If the item exists, the receipt is zero. If it does not, the receipt is that of the named partition's
// range, and o.Session is checked against that range.
func (c *Container) ResolveRIDIn(ctx context.Context, pk definition.PartitionKey, rid string,
	o ReadOptions) (ItemKey, OperationReceipt, error) {
	key, err := c.ResolveRID(ctx, rid)
	if err != nil && fault.ErrorCode(err) != fault.CodeNotFound {
		return ItemKey{}, OperationReceipt{}, err
	}
	sent, bad := c.def.FullKey(pk, key.ID)
	switch {
	case bad != nil:
		return ItemKey{}, OperationReceipt{}, bad
	case err != nil || !c.def.Matches(sent, key.Partition):
		r, err := c.absentFrom(ctx, sent, o)
		return ItemKey{}, r, err
	}
	return key, OperationReceipt{}, nil
}

// absentFrom returns the receipt and the error of a read of an item that does not exist in its partition:
// CodeNotFound, or the error of a session token that this store cannot satisfy.
func (c *Container) absentFrom(ctx context.Context, pk definition.PartitionKey,
	o ReadOptions) (OperationReceipt, error) {
	if err := c.checkPositions(ctx, o.Session); err != nil {
		return c.refused(), err
	}
	st, _, _, err := c.stateAndTime(ctx)
	if err != nil {
		return OperationReceipt{}, err
	}
	s := st.RangeOf(c.items.Locate(pk, "").EPK)
	if err := c.checkSession(s, o.Session); err != nil {
		return c.receipt(s, value.ChargeNotFound), err
	}
	return c.receipt(s, value.ChargeNotFound), transaction.ItemNotFound()
}

func (c *Container) resolve(ctx context.Context, st *container.State, now int64, n uint64) (ItemKey, error) {
	for _, s := range st.Ranges {
		v, at, err := c.ds.get(ctx, s.Scope, layout.AppendScopeKey(nil, s.Scope, layout.FamilyItem, n))
		if err != nil && !isAbsent(err) {
			return ItemKey{}, classify.ToFault(err)
		}
		if err := st.Current(at.Mark); err != nil {
			return ItemKey{}, err
		}
		if _, serr := c.settled(ctx, s, at, 0); serr != nil {
			return ItemKey{}, serr
		}
		if err != nil {
			continue
		}
		item, err := c.items.Decode(n, v)
		if err != nil {
			return ItemKey{}, classify.ToFault(err)
		}
		t := transaction.Tx{State: st, Now: c.momentOf(now, at)}
		if !t.Live(item) {
			break
		}
		return ItemKey{Partition: c.def.Extract(item.Body), ID: item.ID}, nil
	}
	return ItemKey{}, transaction.ItemNotFound()
}
