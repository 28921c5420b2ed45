package store

import (
	"bytes"
	"encoding/binary"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// checkFeed proves that an item has its entry in the latest-version feed, and its version where all are kept.
func (k *checker) checkFeed(s *slot, item *stored, bounds feedBounds) error {
	v, err := k.r.Get(layout.AppendSequenceKey(nil, s.scope, layout.FamilyFeed, item.head.Sequence))
	if isAbsent(err) {
		k.fault("item %q: no feed entry at %d", item.id, item.head.Sequence)
		return nil
	}
	if err != nil {
		return err
	}
	f, err := layout.DecodeFeed(v)
	if err != nil || f.RID != item.rid || f.TS < item.head.Life.TS || f.Last < item.head.Sequence || f.Last >= bounds.ceiling ||
		!bytes.HasPrefix(item.head.EPK, f.EPK) {
		k.fault("item %q: the feed entry at %d does not fit", item.id, item.head.Sequence)
	}
	if k.st.retention() == 0 || item.head.Sequence <= bounds.floor {
		return nil
	}
	return k.checkImage(s, item.rid, layout.Image{Sequence: item.head.Sequence, Body: item.body})
}

// feedBounds are the sequences that the entries of a slot's feeds lie between, both exclusive.
type feedBounds struct {
	floor   layout.Sequence // of the versions; 0 where none is missing
	ceiling layout.Sequence
}

// checkImage proves that a version is there as somebody else knows it.
func (k *checker) checkImage(s *slot, rid uint64, i layout.Image) error {
	value, err := k.r.Get(layout.AppendSequenceKey(nil, s.scope, layout.FamilyVersions, i.Sequence))
	if isAbsent(err) {
		k.fault("range %s: the version at %d is missing", s.id, i.Sequence)
		return nil
	}
	if err != nil {
		return err
	}
	v, err := layout.DecodeVersion(value)
	if err != nil || v.RID != rid || ChangeKind(v.Kind) != ChangeCreate && ChangeKind(v.Kind) != ChangeReplace || len(i.Body) > 0 && !bytes.Equal(v.Body, i.Body) {
		k.fault("range %s: the version at %d does not fit", s.id, i.Sequence)
	}
	return nil
}

// floor is the sequence of a slot's floor, 0 where it has none.
func (k *checker) floor(s *slot) (layout.Sequence, error) {
	it := k.r.Scan(layout.SlotFamily(s.scope, layout.FamilyVersions), false)
	var floor layout.Sequence
	if it.Next() {
		if v, err := layout.DecodeVersion(it.Value()); err == nil && v.Kind == layout.Floor {
			floor = layout.KeySequence(it.Key())
		}
	}
	return floor, it.Close()
}

// checkVersions proves of the feed of all versions that its entries lie between their bounds and in the order
// of time, that each is whole, and that the versions that it names are there.
func (k *checker) checkVersions(s *slot, bounds feedBounds) error {
	var ts int64
	it := k.r.Scan(layout.SlotFamily(s.scope, layout.FamilyVersions), false)
	for !k.stopped && it.Next() {
		seq := layout.KeySequence(it.Key())
		v, err := layout.DecodeVersion(it.Value())
		switch {
		case k.st.retention() == 0:
			k.fault("range %s: there are versions, but the container keeps none", s.id)
			return it.Close()
		case seq == 0 || err != nil:
			k.fault("range %s: a malformed version %x: %v", s.id, it.Key(), err)
			continue
		case seq < bounds.floor || seq >= bounds.ceiling || v.Last < seq || v.Last >= bounds.ceiling || v.TS < ts:
			k.fault("range %s: the version at %d is out of order", s.id, seq)
		case v.Kind == layout.Floor && seq != bounds.floor:
			k.fault("range %s: the floor at %d is not the first version", s.id, seq)
		}
		ts = v.TS
		if v.Kind == layout.Floor {
			continue
		}
		if !k.wholeVersion(s, &v) {
			k.fault("range %s: the version at %d is malformed", s.id, seq)
		}
		if v.Previous.Sequence > bounds.floor {
			if err := k.checkImage(s, v.RID, v.Previous); err != nil {
				it.Close()
				return err
			}
		}
	}
	return it.Close()
}

// wholeVersion tells whether a version has what its kind must have, and lies in the range of its partition
// key.
func (k *checker) wholeVersion(s *slot, v *layout.Version) bool {
	key, err := decodeKey(v.PK)
	if err != nil || !bytes.Equal(definition.AppendEPK(nil, &k.c.def, key), v.EPK) || !s.holds(v.EPK) {
		return false
	}
	for _, body := range [][]byte{v.Body, v.Previous.Body} {
		if len(body) > 0 && doc.Valid(body, doc.Limits{}) != nil {
			return false
		}
	}
	switch ChangeKind(v.Kind) {
	case ChangeCreate:
		return len(v.Body) > 0 && v.Previous.Sequence == 0 && v.ID == ""
	case ChangeReplace:
		return len(v.Body) > 0 && len(v.Previous.Body) > 0 && v.ID == ""
	case ChangeDelete, ChangeExpire:
		return len(v.Body) == 0 && v.Previous.Sequence > 0 && v.ID != ""
	}
	return false
}

// findStrayFeed names the entries of the latest-version feed that no item has.
func (k *checker) findStrayFeed(s *slot) error {
	it := k.r.Scan(layout.SlotFamily(s.scope, layout.FamilyFeed), false)
	for !k.stopped && it.Next() {
		f, err := layout.DecodeFeed(it.Value())
		if err != nil {
			k.fault("range %s: a malformed feed entry %x", s.id, it.Key())
			continue
		}
		value, err := k.r.Get(layout.AppendSlotKey(nil, s.scope, layout.FamilyItem, f.RID))
		if err != nil && !isAbsent(err) {
			it.Close()
			return err
		}
		if h, _, err := layout.DecodeItem(value); err != nil || !bytes.HasSuffix(it.Key(), binary.BigEndian.AppendUint64(nil, uint64(h.Sequence))) {
			k.fault("range %s: the feed entry %x belongs to no item", s.id, it.Key())
		}
	}
	return it.Close()
}
