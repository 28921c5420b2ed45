package scan

import (
	"bytes"
	"math"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// Count returns the number of documents in the scope. It counts keys and subtracts the expired documents.
// Each document has one change feed entry, one point key and one posting of its partition key; Count uses
// the kind of key that matches the scope. ok is false if keys cannot give the number.
func (s *DocumentSource) Count() (n int64, ok bool) {
	if len(s.State.Tombstones) > 0 || !s.State.Lives.Settled() {
		return 0, false
	}
	var rg engine.Range
	switch {
	case s.Span.Shared:
		return 0, false // the posting is shared with other ranges
	case s.Span.Prefix != nil:
		rg = engine.Prefix(s.Span.Prefix)
	case len(s.Span.Min) > 0 || len(s.Span.Max) > 0:
		rg = s.pointRange()
	default:
		rg = layout.ScopeFamily(s.Range.Scope, layout.FamilyFeed)
	}
	dead, ok, err := s.countDead()
	if err == nil && ok {
		n, err = view.Count(s.Reader, rg, math.MaxInt64)
	}
	if err != nil {
		s.err = err
		return 0, false
	}
	return n - dead, ok
}

// InsertsBetween implements query.InsertCountEstimator: it returns the number of transactions of the range
// between those that inserted the two documents.
func (s *DocumentSource) InsertsBetween(first, last uint64) uint64 {
	return layout.WriteSequence(last).LSN() - layout.WriteSequence(first).LSN()
}

// pointRange returns the range of the point keys (the keys by which items are found by id) of those items
// of the partition range whose effective partition keys lie between the bounds of the scope.
func (s *DocumentSource) pointRange() engine.Range {
	lo, hi := s.Range.Min, s.Range.Max
	if bytes.Compare(lo, s.Span.Min) < 0 {
		lo = s.Span.Min
	}
	if len(hi) == 0 || len(s.Span.Max) > 0 && bytes.Compare(s.Span.Max, hi) < 0 {
		hi = s.Span.Max
	}
	return layout.PointsBetween(s.State.Keys.CID, lo, hi)
}

// Dead returns the rids of the documents of the scope that have expired and are not purged yet, if at most
// most documents of the range have. ok is false if the expiry index cannot answer: the scope is only a part
// of the range and not one logical partition, whole partition keys were deleted, or times to live are being
// changed to count from another property.
func (s *DocumentSource) Dead(most int) (rids []uint64, ok bool, err error) {
	lo, hi := s.Range.Min, s.Range.Max
	inside := bytes.Compare(s.Span.Min, lo) <= 0 &&
		(len(s.Span.Max) == 0 || len(hi) > 0 && bytes.Compare(s.Span.Max, hi) >= 0)
	if len(s.State.Tombstones) > 0 || !s.State.Lives.Settled() ||
		s.Span.Prefix == nil && !inside || s.Span.Shared {
		return nil, false, nil
	}
	ok, err = s.eachDead(most, s.contains, func(rid uint64) { rids = append(rids, rid) })
	slices.Sort(rids)
	return rids, ok, err
}

// countDead counts the documents of the scope that have expired and are not purged yet; ok is false if
// there are too many to check.
func (s *DocumentSource) countDead() (dead int64, ok bool, err error) {
	ok, err = s.eachDead(view.MaxGhosts, s.contains, func(uint64) { dead++ })
	return dead, ok, err
}

// eachDead calls fn for each document of the range that has expired and is not purged yet, and for which in
// returns true. ok is false if more than most documents would have to be checked.
func (s *DocumentSource) eachDead(most int, in func(layout.ItemHeader, []byte) bool,
	fn func(rid uint64)) (ok bool,
	err error) {
	inherit, due := s.State.Policy.Cutoffs(s.State.Now)
	looked := 0
	ok = true
	for _, f := range []struct {
		family byte
		cutoff int64
	}{{layout.FamilyWritten, inherit}, {layout.FamilyDeadline, due}} {
		prefix := layout.TimePrefix(s.Range.Scope, f.family)
		err = host.EachDue(s.Reader, prefix, f.cutoff, func(e host.DeadlineIndexEntry) (more bool,
			err error) {
			if looked++; looked > most {
				ok = false
				return false, nil
			}
			gone, err := s.isExpired(e.ID, in)
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

// contains reports whether an item, given as its header and body, is in the scope.
func (s *DocumentSource) contains(h layout.ItemHeader, body []byte) bool {
	return s.Span.Contains(h.EPK) && (s.Span.Prefix == nil || s.inPartition(h, body))
}

// isAnywhere returns true for each item of the range, also for those outside the scope.
func isAnywhere(layout.ItemHeader, []byte) bool { return true }

// isExpired reports whether the item with this rid has expired and in returns true for it.
func (s *DocumentSource) isExpired(rid uint64, in func(layout.ItemHeader, []byte) bool) (bool, error) {
	if s.items == nil {
		s.items = s.Reader.Scan(layout.ScopeFamily(s.Range.Scope, layout.FamilyItem), false)
	}
	s.key = layout.AppendScopeKey(s.key[:0], s.Range.Scope, layout.FamilyItem, rid)
	if !s.items.SeekGE(s.key) || !bytes.Equal(s.items.Key(), s.key) {
		return false, nil
	}
	h, body, err := layout.DecodeItem(s.items.Value())
	if err != nil {
		return false, err
	}
	return in(h, body) && s.State.Expired(&h, body), nil
}
