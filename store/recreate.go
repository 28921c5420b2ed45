package store

import (
	"slices"
	"strconv"

	"github.com/mayflydb/mayfly/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
)

// A client knows a container by its name, and learns late that there is a new one of that name. Three rules
// keep it from taking a part of the new one's items for all of them:
//
//   - Under one name the id of a partition range never names two different spans of partition keys. A
//     container that is laid out as the last one of its name was has the same ids; any other has new ones:
//     nameRanges. An id of a former container still names its span: a read by it is served from the ranges
//     that the span has now, since some SDKs never recover from the answer that the range is gone.
//   - A session token names the container that it was given for, by a version: SessionVersion. That of a
//     former one is passed over. The SDK for .NET keeps such a token through all of its retries, so that to
//     refuse it would fail an operation that nothing speaks against.
//   - LSNs of the new container begin above those of the old: beginAbove.

// beginAbove makes the ranges of a new container begin above every LSN that a container which is gone has
// issued: what a client has seen of the old one, by a session token or as a position in the change feed, is
// then no future of the new one's.
func beginAbove(t *host.Change, rec record.Container) {
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
	def *definition.PartitionKeyDefinition, rec *record.Container) error {
	var former record.Former
	raw, err := t.Get(layout.FormerKey(database, id))
	switch {
	case isAbsent(err):
		err = nil
		floor := int(db.in.Catalog().Floor())
		// where numbers began above 1, the id 0 is that of undivided containers
		whole := len(rec.Ranges) == 1 && rec.Ranges[0].ID == 0 && db.in.Catalog().BegunAbove()
		if floor > 0 && !whole {
			record.Renumber(rec, floor)
		}
	case err == nil:
		if err := host.DecodeRecord(raw, &former); err != nil {
			return err
		}
		if err = db.nameAgain(def, rec, former); err == nil {
			rec.Former = slices.DeleteFunc(former.Ranges, func(f record.FormerRange) bool {
				return slices.ContainsFunc(rec.Ranges, func(r record.Range) bool { return r.ID == f.ID })
			})
		}
	}
	rec.NextRange = max(former.Next, record.HighestID(rec.Ranges)+1)
	t.NoteNumber(uint32(rec.NextRange - 1))
	return err
}

// nameAgain is nameRanges for a name that a container has had before.
func (db *resident) nameAgain(def *definition.PartitionKeyDefinition, rec *record.Container,
	former record.Former) error {
	same := slices.Clone(rec.Ranges)
	if isFresh(rec.Ranges) {
		for i := range same {
			same[i].ID = former.First + i
		}
	}
	now, err := record.LayoutOf(def, same)
	if now == former.Layout {
		rec.Ranges = same
		return err
	}
	record.Renumber(rec, max(former.Next, int(db.in.Catalog().Floor())))
	return err
}

// isFresh reports whether ranges have the ids that newRanges gives.
func isFresh(ranges []record.Range) bool {
	for i, r := range ranges {
		if r.ID != i {
			return false
		}
	}
	return true
}

// formerSpan returns the bounds of a range of a former container of the name, in hexadecimal. ok reports
// whether there is one of this id.
func (st *containerState) formerSpan(id string) (from, to string, ok bool) {
	for _, f := range st.rec.Former {
		if strconv.Itoa(f.ID) == id {
			return f.Min, f.Max, true
		}
	}
	return "", "", false
}

// inFormer replaces the id of a former container's range in a scope by the span that the id stands for, cut to
// the bounds that the scope has. A scope with another id, or with a partition key, is returned as it is.
func (st *containerState) inFormer(s Scope) Scope {
	if s.Range == "" || !s.Partition.IsZero() || st.rangeByID(s.Range) != nil {
		return s
	}
	from, to, ok := st.formerSpan(s.Range)
	if !ok {
		return s
	}
	s.Range = ""
	s.MinEPK = max(s.MinEPK, from)
	if s.MaxEPK == "" || s.MaxEPK == definition.MaxEPK || to != definition.MaxEPK && to < s.MaxEPK {
		s.MaxEPK = to
	}
	return s
}

// knowsRange reports whether a range of the container, or of a former one of its name, has the id.
func (st *containerState) knowsRange(id string) bool {
	_, _, former := st.formerSpan(id)
	return former || st.rangeByID(id) != nil
}

// liesIn reports whether a partition key lies in the range that has the id, or in the span that the id stood
// for in a former container of the name.
func (st *containerState) liesIn(epk []byte, id string) bool {
	if s := st.rangeByID(id); s != nil {
		return s.holds(epk)
	}
	from, to, ok := st.formerSpan(id)
	at := definition.EPKHex(epk)
	return ok && from <= at && (to == definition.MaxEPK || at < to)
}
