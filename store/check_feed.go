package store

import (
	"bytes"
	"encoding/binary"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// checkFeed proves that an item has its entry in the latest-version feed, and its version where all are kept.
func (k *checker) checkFeed(s *slot, item *stored, bounds feedBounds) error {
	v, err := k.r.Get(layout.AppendSlotKey(nil, s.scope, layout.FamilyFeed, item.head.LSN))
	if isAbsent(err) {
		k.fault("item %q: no feed entry at LSN %d", item.id, item.head.LSN)
		return nil
	}
	if err != nil {
		return err
	}
	f, err := layout.DecodeFeed(v)
	if err != nil || f.RID != item.rid || f.TS < item.head.Life.TS || f.Last < item.head.LSN || f.Last >= bounds.ceiling ||
		!bytes.HasPrefix(item.head.EPK, f.EPK) {
		k.fault("item %q: the feed entry at LSN %d does not fit", item.id, item.head.LSN)
	}
	if k.st.retention() == 0 || item.head.LSN <= bounds.floor {
		return nil
	}
	return k.checkImage(s, item.rid, image{lsn: item.head.LSN, body: item.body})
}

// feedBounds are the LSNs that the entries of a slot's feeds lie between, both exclusive.
type feedBounds struct {
	floor   uint64 // of the versions; 0 where none is missing
	ceiling uint64
}

// checkImage proves that a version is there as somebody else knows it.
func (k *checker) checkImage(s *slot, rid uint64, i image) error {
	value, err := k.r.Get(layout.AppendSlotKey(nil, s.scope, layout.FamilyVersions, i.lsn))
	if isAbsent(err) {
		k.fault("range %s: the version at LSN %d is missing", s.id, i.lsn)
		return nil
	}
	if err != nil {
		return err
	}
	v, err := decodeVersion(value)
	if err != nil || v.rid != rid || v.kind != ChangeCreate && v.kind != ChangeReplace || len(i.body) > 0 && !bytes.Equal(v.body, i.body) {
		k.fault("range %s: the version at LSN %d does not fit", s.id, i.lsn)
	}
	return nil
}

// floor is the LSN of a slot's floor, 0 where it has none.
func (k *checker) floor(s *slot) (uint64, error) {
	it := k.r.Scan(layout.SlotFamily(s.scope, layout.FamilyVersions), false)
	var floor uint64
	if it.Next() {
		if v, err := decodeVersion(it.Value()); err == nil && v.kind == changeFloor {
			floor, _ = layout.SlotKeyNumber(it.Key())
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
		lsn, ok := layout.SlotKeyNumber(it.Key())
		v, err := decodeVersion(it.Value())
		switch {
		case k.st.retention() == 0:
			k.fault("range %s: there are versions, but the container keeps none", s.id)
			return it.Close()
		case !ok || err != nil:
			k.fault("range %s: a malformed version %x: %v", s.id, it.Key(), err)
			continue
		case lsn < bounds.floor || lsn >= bounds.ceiling || v.last < lsn || v.last >= bounds.ceiling || v.ts < ts:
			k.fault("range %s: the version at LSN %d is out of order", s.id, lsn)
		case v.kind == changeFloor && lsn != bounds.floor:
			k.fault("range %s: the floor at LSN %d is not the first version", s.id, lsn)
		}
		ts = v.ts
		if v.kind == changeFloor {
			continue
		}
		if !k.wholeVersion(s, &v) {
			k.fault("range %s: the version at LSN %d is malformed", s.id, lsn)
		}
		if v.previous.lsn > bounds.floor {
			if err := k.checkImage(s, v.rid, v.previous); err != nil {
				it.Close()
				return err
			}
		}
	}
	return it.Close()
}

// wholeVersion tells whether a version has what its kind must have, and lies in the range of its partition
// key.
func (k *checker) wholeVersion(s *slot, v *version) bool {
	key, err := decodeKey(v.pk)
	if err != nil || !bytes.Equal(appendEPK(nil, &k.c.def, key), v.epk) || !s.holds(v.epk) {
		return false
	}
	for _, body := range [][]byte{v.body, v.previous.body} {
		if len(body) > 0 && doc.Valid(body, doc.Limits{}) != nil {
			return false
		}
	}
	switch v.kind {
	case ChangeCreate:
		return len(v.body) > 0 && v.previous.lsn == 0 && v.id == ""
	case ChangeReplace:
		return len(v.body) > 0 && len(v.previous.body) > 0 && v.id == ""
	case ChangeDelete, ChangeExpire:
		return len(v.body) == 0 && v.previous.lsn > 0 && v.id != ""
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
		if h, _, err := layout.DecodeItem(value); err != nil || !bytes.HasSuffix(it.Key(), binary.BigEndian.AppendUint64(nil, h.LSN)) {
			k.fault("range %s: the feed entry %x belongs to no item", s.id, it.Key())
		}
	}
	return it.Close()
}
