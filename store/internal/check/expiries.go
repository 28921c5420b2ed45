package check

import (
	"errors"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// checkExpiries checks the log of expiries of a range: the entries are in order and complete, their items
// have expired or do not exist any more, and no item has two entries.
func (k *checker) checkExpiries(s *view.PartitionRange, ceiling layout.WriteSequence) error {
	seen := make(map[uint64]bool)
	var ts int64
	it := k.r.Scan(layout.ScopeFamily(s.Scope, layout.FamilyExpired), false)
	for first := true; !k.stopped && it.Next(); first = false {
		seq := layout.KeySequence(it.Key())
		e, err := layout.DecodeExpiry(it.Value())
		switch {
		case !k.state.Logs:
			k.fault("range %s: there are expiries, but the container keeps no log of them", s.ID)
			return it.Close()
		case seq == 0 || err != nil:
			k.fault("range %s: a malformed expiry %x: %v", s.ID, it.Key(), err)
			continue
		case seq >= ceiling || e.Last < seq || e.Last >= ceiling || e.TS < ts || e.At > e.TS:
			k.fault("range %s: the expiry at %d is out of order", s.ID, seq)
		case e.Kind == layout.Floor && !first:
			k.fault("range %s: the floor at %d is not the first expiry", s.ID, seq)
		}
		ts = e.TS
		if e.Kind == layout.Floor {
			continue
		}
		if seen[e.RID] {
			k.fault("range %s: the item %x has expired twice", s.ID, e.RID)
		}
		seen[e.RID] = true
		if e.Kind != layout.Expired || len(e.Previous.Body) == 0 || !k.wholeVersion(s,
			&e.AllVersionsFeedEntry) ||
			jsondoc.Get(e.Previous.Body, layout.IDPath).Str() != e.ID {
			k.fault("range %s: the expiry at %d is malformed", s.ID, seq)
		}
		rid := e.RID
		k.read(layout.AppendScopeKey(nil, s.Scope, layout.FamilyItem, rid), func(value []byte) {
			if value == nil {
				return
			}
			if h, _, err := layout.DecodeItem(value); err == nil && !h.Announced {
				k.fault("range %s: the item %x is in the log of expiries and not marked", s.ID, rid)
			}
		})
		if err := k.readDueIfMany(); err != nil {
			it.Close()
			return err
		}
	}
	return errors.Join(it.Close(), k.readDue())
}
