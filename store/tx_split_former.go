package store

import (
	"bytes"
	"context"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// Former versions let the lower half of a range keep its slot, and removed what had moved to the upper half
// piece by piece after the moment of the split. A crash on the way left both in the slot, as the container's
// record says.

// endFormerSplit removes from the slot of a lower half what it does not hold. It is called by Open, before
// anybody else: the removal of an item takes its own key last, so that all of it can be done again.
func (c *Container) endFormerSplit(ctx context.Context, st containerState) error {
	i := slices.IndexFunc(st.ranges, func(s *slot) bool { return s.number == st.rec.Split.From })
	if i < 0 {
		return engine.ErrCorrupt
	}
	s := st.ranges[i]
	families := []byte{layout.FamilyItem}
	for _, l := range splitLogs {
		families = append(families, l.family)
	}
	for _, family := range families {
		for at := layout.SlotFamily(s.scope, family); at.Start != nil; {
			if err := c.removeMoved(ctx, &st, s, family, &at); err != nil {
				return err
			}
		}
	}
	st.rec.Split = nil
	err := c.setContainer(ctx, st.rec)
	if err == nil {
		c.state.Store(&st)
	}
	return err
}

// removeMoved removes what has moved of the first keys of a range of them, and takes those off the range.
func (c *Container) removeMoved(ctx context.Context, st *containerState, s *slot, family byte, at *engine.Range) error {
	var next []byte
	_, err := c.db.eng.Update(ctx, [][]byte{s.scope}, func(t engine.Txn) error {
		t.Relax()
		next = nil
		var gone [][]byte
		it := t.Scan(*at, false)
		for n, size := 0, 0; it.Next(); n++ {
			if n == stepKeys || size >= stepBytes {
				next = bytes.Clone(it.Key())
				break
			}
			keys, err := c.movedKeys(t, st, s, family, it.Key(), it.Value())
			if err != nil {
				it.Close()
				return err
			}
			for _, k := range keys {
				size += len(k)
			}
			gone = append(gone, keys...)
		}
		for _, k := range gone {
			t.Delete(k)
		}
		return it.Close()
	})
	at.Start = next
	return err
}

// movedKeys are the keys that go with an item or an entry of a log which has moved; none where it has not.
func (c *Container) movedKeys(r engine.Reader, st *containerState, s *slot, family byte, key, value []byte) (gone [][]byte, err error) {
	own := bytes.Clone(key)
	for _, l := range splitLogs {
		if l.family == family {
			if epk, err := l.epk(value); err != nil || epk == nil || s.holds(epk) {
				return nil, err
			}
			return [][]byte{own}, nil
		}
	}
	rid, ok := layout.SlotKeyNumber(key)
	if !ok {
		return nil, engine.ErrCorrupt
	}
	item, err := c.decode(rid, bytes.Clone(value))
	if err != nil || s.holds(item.head.EPK) {
		return nil, err
	}
	for _, x := range append([]*index.Indexer{st.terms}, st.olders...) {
		terms, err := storedTerms(r, x, s, item)
		if err != nil {
			return nil, err
		}
		for _, e := range terms {
			gone = append(gone, e.Key)
		}
	}
	if k := timeKey(nil, s.scope, item); k != nil {
		gone = append(gone, k)
	}
	return append(gone, layout.AppendSlotKey(nil, s.scope, layout.FamilyFeed, item.head.LSN), own), nil
}
