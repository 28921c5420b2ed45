package store

import (
	"slices"

	"github.com/mayflydb/mayfly/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// A client knows a container by its name, and learns late that there is a new one of that name. Three rules
// keep it from taking a part of the new one's items for all of them:
//
//   - Under one name the id of a partition range never names two different spans of partition keys. A
//     container that is laid out as the last one of its name was has the same ids; any other has new ones:
//     nameRanges.
//   - A session token names the container that it was given for, by a version: SessionVersion. That of a
//     former one is passed over. The SDK for .NET keeps such a token through all of its retries, so that to
//     refuse it would fail an operation that nothing speaks against.
//   - LSNs of the new container begin above those of the old: beginAbove.

// beginAbove makes the ranges of a new container begin above every LSN that a container which is gone has
// issued: what a client has seen of the old one, by a session token or as a position in the change feed, is
// then no future of the new one's.
func beginAbove(t *host.Change, rec containerRecord) {
	gone := t.Highest()
	if gone == 0 {
		return
	}
	for _, r := range rec.Ranges {
		t.RaiseLSN(layout.SlotScope(rec.CID, r.Slot), gone+1)
	}
}

// nameRanges gives the ranges of a container that is being made their ids: those that they have, unless these
// can have named other spans under the container's name; then new ones. The caller holds the catalog's lock.
func (db *resident) nameRanges(t *host.Change, database, id string,
	def *definition.PartitionKeyDefinition, rec *containerRecord) error {
	var former formerRecord
	raw, err := t.Get(layout.FormerKey(database, id))
	switch {
	case isAbsent(err):
		err = nil
		floor := int(db.in.Catalog().Floor())
		// where numbers began above 1, the id 0 is that of undivided containers
		whole := len(rec.Ranges) == 1 && rec.Ranges[0].ID == 0 && db.in.Catalog().BegunAbove()
		if floor > 0 && !whole {
			renumber(rec, floor)
		}
	case err == nil:
		if err := host.DecodeRecord(raw, &former); err != nil {
			return err
		}
		err = db.nameAgain(def, rec, former)
	}
	rec.NextRange = max(former.Next, highestID(rec.Ranges)+1)
	t.NoteNumber(uint32(rec.NextRange - 1))
	return err
}

// nameAgain is nameRanges for a name that a container has had before.
func (db *resident) nameAgain(def *definition.PartitionKeyDefinition, rec *containerRecord,
	former formerRecord) error {
	same := slices.Clone(rec.Ranges)
	if isFresh(rec.Ranges) {
		for i := range same {
			same[i].ID = former.First + i
		}
	}
	now, err := layoutOf(def, same)
	if now == former.Layout {
		rec.Ranges = same
		return err
	}
	renumber(rec, max(former.Next, int(db.in.Catalog().Floor())))
	return err
}

// isFresh reports whether ranges have the ids that newRanges gives.
func isFresh(ranges []rangeRecord) bool {
	for i, r := range ranges {
		if r.ID != i {
			return false
		}
	}
	return true
}

// renumber gives ranges ids in a row. They have no parents under these names.
func renumber(rec *containerRecord, first int) {
	rec.Ranges = slices.Clone(rec.Ranges)
	for i := range rec.Ranges {
		rec.Ranges[i].ID, rec.Ranges[i].Parents = first+i, nil
	}
}
