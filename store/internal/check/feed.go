package check

import (
	"bytes"
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// checkFeed checks that an item has its entry in the latest-version feed and, if the container keeps all
// versions, its entry in the feed of all versions.
func (k *checker) checkFeed(s *view.PartitionRange, item *view.DecodedItem, bounds feedSequenceBounds) {
	seq := item.Head.Sequence
	k.read(layout.AppendSequenceKey(nil, s.Scope, layout.FamilyFeed, seq), func(value []byte) {
		if value == nil {
			k.fault("item %q: no feed entry at %d", item.ID, seq)
			return
		}
		f, err := layout.DecodeFeed(value)
		if err != nil || f.RID != item.RID || f.TS < item.Head.Life.TS || f.Last < seq ||
			f.Last >= bounds.ceiling || !bytes.HasPrefix(item.Head.EPK, f.EPK) {
			k.fault("item %q: the feed entry at %d does not fit", item.ID, seq)
		}
	})
	if k.state.Versions > 0 && seq > bounds.floor {
		k.checkImage(s, item.RID, layout.PreviousImage{Sequence: seq, Body: item.Body})
	}
}

// feedSequenceBounds are the exclusive bounds of the sequences of a range's feed entries.
type feedSequenceBounds struct {
	floor   layout.WriteSequence // of the feed of all versions; 0: no version has been removed
	ceiling layout.WriteSequence
}

// checkImage checks that the feed of all versions contains i, a version of the item.
func (k *checker) checkImage(s *view.PartitionRange, rid uint64, i layout.PreviousImage) {
	k.read(layout.AppendSequenceKey(nil, s.Scope, layout.FamilyVersions, i.Sequence), func(value []byte) {
		if value == nil {
			k.fault("range %s: the version at %d is missing", s.ID, i.Sequence)
			return
		}
		v, err := layout.DecodeVersion(value)
		if err != nil || v.RID != rid || v.Kind != layout.Created && v.Kind != layout.Replaced ||
			len(i.Body) > 0 && !bytes.Equal(v.Body, i.Body) {
			k.fault("range %s: the version at %d does not fit", s.ID, i.Sequence)
		}
	})
}

// floor returns the sequence of the floor of a partition range, or 0 if there is none. The floor is the
// entry in the feed of all versions that stands for all older entries, which have been removed.
func (k *checker) floor(s *view.PartitionRange) (layout.WriteSequence, error) {
	it := k.r.Scan(layout.ScopeFamily(s.Scope, layout.FamilyVersions), false)
	var floor layout.WriteSequence
	if it.Next() {
		if v, err := layout.DecodeVersion(it.Value()); err == nil && v.Kind == layout.Floor {
			floor = layout.KeySequence(it.Key())
		}
	}
	return floor, it.Close()
}

// checkVersions checks the feed of all versions: each entry lies between the bounds, is not older than the
// entry before it, is complete, and names a previous version that exists.
func (k *checker) checkVersions(s *view.PartitionRange, bounds feedSequenceBounds) error {
	var ts int64
	it := k.r.Scan(layout.ScopeFamily(s.Scope, layout.FamilyVersions), false)
	for !k.stopped && it.Next() {
		seq := layout.KeySequence(it.Key())
		v, err := layout.DecodeVersion(it.Value())
		switch {
		case k.state.Versions == 0:
			k.fault("range %s: there are versions, but the container keeps none", s.ID)
			return it.Close()
		case seq == 0 || err != nil:
			k.fault("range %s: a malformed version %x: %v", s.ID, it.Key(), err)
			continue
		case seq < bounds.floor || seq >= bounds.ceiling || v.Last < seq || v.Last >= bounds.ceiling ||
			v.TS < ts:
			k.fault("range %s: the version at %d is out of order", s.ID, seq)
		case v.Kind == layout.Floor && seq != bounds.floor:
			k.fault("range %s: the floor at %d is not the first version", s.ID, seq)
		}
		ts = v.TS
		if v.Kind == layout.Floor {
			continue
		}
		if !k.wholeVersion(s, &v) {
			k.fault("range %s: the version at %d is malformed", s.ID, seq)
		}
		if v.Previous.Sequence > bounds.floor {
			// The iterator owns v.
			k.checkImage(s, v.RID, layout.PreviousImage{Sequence: v.Previous.Sequence,
				Body: bytes.Clone(v.Previous.Body)})
			k.dueBytes += len(v.Previous.Body)
			if err := k.readDueIfMany(); err != nil {
				it.Close()
				return err
			}
		}
	}
	return errors.Join(it.Close(), k.readDue())
}

// wholeVersion reports whether a version has the fields that its kind requires and a partition key that
// lies in the range.
func (k *checker) wholeVersion(s *view.PartitionRange, v *layout.AllVersionsFeedEntry) bool {
	key, err := definition.DecodeOrdered(v.PK)
	if err != nil {
		return false
	}
	epk := definition.AppendEPK(nil, &k.state.Keys.Def, key)
	if !bytes.Equal(epk, v.EPK) || !s.Holds(epk) {
		return false
	}
	for _, body := range [][]byte{v.Body, v.Previous.Body} {
		if len(body) > 0 && jsondoc.Valid(body, jsondoc.Limits{}) != nil {
			return false
		}
	}
	switch v.Kind {
	case layout.Created:
		return len(v.Body) > 0 && v.Previous.Sequence == 0 && v.ID == ""
	case layout.Replaced:
		return len(v.Body) > 0 && len(v.Previous.Body) > 0 && v.ID == ""
	case layout.Deleted, layout.Expired:
		return len(v.Body) == 0 && v.Previous.Sequence > 0 && v.ID != ""
	}
	return false
}

// findOrphanFeed reports the entries of the latest-version feed that belong to no item.
func (k *checker) findOrphanFeed(s *view.PartitionRange) error {
	it := k.r.Scan(layout.ScopeFamily(s.Scope, layout.FamilyFeed), false)
	for !k.stopped && it.Next() {
		f, err := layout.DecodeFeed(it.Value())
		if err != nil {
			k.fault("range %s: a malformed feed entry %x", s.ID, it.Key())
			continue
		}
		value, err := k.r.Get(layout.AppendScopeKey(nil, s.Scope, layout.FamilyItem, f.RID))
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			it.Close()
			return err
		}
		h, _, err := layout.DecodeItem(value)
		if err != nil || h.Sequence != layout.KeySequence(it.Key()) {
			k.fault("range %s: the feed entry %x belongs to no item", s.ID, it.Key())
		}
	}
	return it.Close()
}
