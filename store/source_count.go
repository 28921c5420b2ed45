package store

import (
	"bytes"
	"math"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// Count implements query.Counter: the keys of the scope, less those of the dead. Each document has one change
// feed entry, one point key and one posting of its partition key; whichever there is for the scope is
// counted.
func (s *source) Count() (n int64, ok bool) {
	if len(s.st.tombstones) > 0 || !s.st.lives.Settled() {
		return 0, false
	}
	var rg engine.Range
	switch {
	case s.sp.shared:
		return 0, false // the posting is shared with other ranges
	case s.sp.prefix != nil:
		rg = engine.Prefix(s.sp.prefix)
	case len(s.sp.min) > 0 || len(s.sp.max) > 0:
		rg = s.pointRange()
	default:
		rg = layout.SlotFamily(s.s.scope, layout.FamilyFeed)
	}
	dead, ok, err := s.countDead()
	if err == nil && ok {
		n, err = view.Count(s.r, rg, math.MaxInt64)
	}
	if err != nil {
		s.err = err
		return 0, false
	}
	return n - dead, ok
}

// pointRange is the point keys of the part of the slot that lies between the bounds of the scope.
func (s *source) pointRange() engine.Range {
	lo, hi := s.s.min, s.s.max
	if bytes.Compare(lo, s.sp.min) < 0 {
		lo = s.sp.min
	}
	if len(hi) == 0 || len(s.sp.max) > 0 && bytes.Compare(s.sp.max, hi) < 0 {
		hi = s.sp.max
	}
	return layout.PointsBetween(s.c.cid, lo, hi)
}

// Dead implements query.Census: the documents that have expired and are still there. Of a scope that is a
// part of the slot the index says nothing, nor does it where partition keys were deleted whole or while times
// to live are beginning to count from another property.
func (s *source) Dead(most int) (rids []uint64, ok bool, err error) {
	lo, hi := s.s.min, s.s.max
	inside := bytes.Compare(s.sp.min, lo) <= 0 &&
		(len(s.sp.max) == 0 || len(hi) > 0 && bytes.Compare(s.sp.max, hi) >= 0)
	if len(s.st.tombstones) > 0 || !s.st.lives.Settled() || !inside || s.sp.prefix != nil {
		return nil, false, nil
	}
	ok, err = s.eachDead(most, func(rid uint64) { rids = append(rids, rid) })
	slices.Sort(rids)
	return rids, ok, err
}

// countDead counts the documents of the scope that have expired and are still there; false where they are too
// many.
func (s *source) countDead() (dead int64, ok bool, err error) {
	ok, err = s.eachDead(view.MaxGhosts, func(uint64) { dead++ })
	return dead, ok, err
}

// eachDead calls fn for each document of the scope that has expired and is still there; false where more than
// most may have.
func (s *source) eachDead(most int, fn func(rid uint64)) (ok bool, err error) {
	inherit, due := s.st.policy().Cutoffs(s.now)
	looked := 0
	ok = true
	for _, f := range []struct {
		family byte
		cutoff int64
	}{{layout.FamilyWritten, inherit}, {layout.FamilyDeadline, due}} {
		prefix := layout.TimePrefix(s.s.scope, f.family)
		err = host.EachDue(s.r, prefix, f.cutoff, func(e host.Entry) (more bool, err error) {
			if looked++; looked > most {
				ok = false
				return false, nil
			}
			gone, err := s.dead(e.ID)
			if gone {
				fn(e.ID)
			}
			return true, err
		})
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// dead reports whether an item of the scope has expired.
func (s *source) dead(rid uint64) (bool, error) {
	if s.items == nil {
		s.items = s.r.Scan(layout.SlotFamily(s.s.scope, layout.FamilyItem), false)
	}
	key := layout.AppendSlotKey(nil, s.s.scope, layout.FamilyItem, rid)
	if !s.items.SeekGE(key) || !bytes.Equal(s.items.Key(), key) {
		return false, nil
	}
	h, body, err := layout.DecodeItem(s.items.Value())
	if err != nil {
		return false, err
	}
	in := s.sp.wants(h.EPK) && (s.sp.prefix == nil || s.inPartition(h, body))
	return in && s.st.expired(&h, body, s.now), nil
}
