package store

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// A client knows a container by its name, and learns late that there is a new one of that name. Three rules
// keep it from taking a part of the new one's items for all of them:
//
//   - Under one name the id of a partition range never names two different spans of partition keys. A
//     container that is laid out as the last one of its name was has the same ids; any other has new ones:
//     nameRanges. As long as the partition key definition is the same, an id of a former container still
//     names its span: a read by it is served from the ranges that the span has now, since some SDKs never
//     recover from the answer that the range is gone.
//   - A session token names the container that it was given for, by a version: SessionVersion. That of a
//     former one is passed over. The SDK for .NET keeps such a token through all of its retries, so that to
//     refuse it would fail an operation that nothing speaks against.
//   - LSNs of the new container begin above those of the old: beginAbove.
//
// A client that reads the ranges of a former container by its rid is given those of the container that has
// the name now, as children of the ranges that it knows: Successor. The SDK for .NET asks so in gateway mode
// after a range is gone (410/1002), and fails the query where the answer is 404. It goes on with the
// definition of the partition key that it knows, so that a container with another one is no successor: 404
// sends the SDK to read the container again.

// mostFormer is how many former containers of one name have a successor.
const mostFormer = 64

// maxFormer is how many ranges of former containers are kept under a name.
const maxFormer = 256

// keepFormer notes, as a container is dropped, its rid and which ids its ranges have had.
func (c *Container) keepFormer(t engine.Txn) error {
	rec := &c.state.Load().rec
	key := layout.FormerKey(c.d.ID(), c.name)
	var former record.Former
	raw, err := t.Get(key)
	if err == nil {
		err = host.DecodeRecord(raw, &former)
	} else if isAbsent(err) {
		err = nil
	}
	if err != nil {
		return err
	}
	gone := record.FormerContainer{RID: c.RID(), Key: c.def}
	former.First, former.Next = rec.Ranges[0].ID, max(rec.NextRange, record.HighestID(rec.Ranges)+1)
	former.Spans = slices.Clone(rec.Former)
	for _, r := range rec.Ranges {
		former.First = min(former.First, r.ID)
		former.Spans = append(former.Spans, record.FormerRange{ID: r.ID, Min: r.Min, Max: r.Max})
		gone.Ranges = append(append(gone.Ranges, r.ID), r.Parents...)
	}
	former.Containers = append(former.Containers, gone)
	former.Containers = former.Containers[max(len(former.Containers)-mostFormer, 0):]
	former.Spans = former.Spans[max(len(former.Spans)-maxFormer, 0):]
	if former.Layout, err = record.LayoutOf(&c.def, rec.Ranges); err != nil {
		return err
	}
	return host.SetRecord(t, key, former)
}

// Successor returns the container that has the name now of a container which is gone, with its database,
// and its ranges as children of those that the former one had. rid is that of the former container. It fails
// with CodeNotFound where the rid is not one of the last mostFormer containers of a name, or where no
// container with the same partition key definition has the name.
func (db *DB) Successor(ctx context.Context, rid string) (*Database, *Container, RangeSet, error) {
	name, former, err := db.live().formerOf(ctx, rid)
	if err != nil {
		return nil, nil, RangeSet{}, err
	}
	database, id, _ := strings.Cut(name, "/") // neither has a slash in it
	d, err := db.Database(database)
	if err != nil {
		return nil, nil, RangeSet{}, err
	}
	c, err := d.Container(id)
	if err == nil && !c.def.Equal(&former.Key) {
		err = value.NotFound("container", rid)
	}
	if err != nil {
		return nil, nil, RangeSet{}, err
	}
	return d, c, c.Ranges().childrenOf(former.Ranges), nil
}

// formerOf finds a former container and the names of its database and of it, divided by a slash. Its ranges
// have the ids of those of the former containers after it, too: a client that has been given a successor's
// ranges keeps them under the rid that it knows.
func (ds *dataset) formerOf(ctx context.Context, rid string) (name string, found record.FormerContainer,
	err error) {
	err = ds.view(ctx, func(r engine.Reader) error {
		return host.ScanRecords(r, layout.KindFormer, func(key []byte, former record.Former) error {
			i := slices.IndexFunc(former.Containers, func(c record.FormerContainer) bool { return c.RID == rid })
			if i < 0 {
				return ctx.Err()
			}
			found = former.Containers[i]
			for _, c := range former.Containers[i+1:] {
				found.Ranges = append(found.Ranges, c.Ranges...)
			}
			var err error
			name, err = layout.CatalogName(key)
			return err
		})
	})
	if err == nil && name == "" {
		err = value.NotFound("container", rid)
	}
	return name, found, err
}

// childrenOf is the set with ranges that are gone among the parents of each range. A range that has the id of
// one of them is the same as before, and no child.
func (set RangeSet) childrenOf(gone []int) RangeSet {
	set.Ranges = slices.Clone(set.Ranges)
	var ids []string
	slices.Sort(gone)
	for _, id := range slices.Compact(gone) {
		text := strconv.Itoa(id)
		if !slices.ContainsFunc(set.Ranges, func(r Range) bool { return r.ID == text }) {
			ids = append(ids, text)
		}
	}
	for i, r := range set.Ranges {
		set.Ranges[i].Parents = slices.Concat(ids, r.Parents)
	}
	return set
}

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
func (ds *dataset) nameRanges(t *host.Change, database, id string,
	def *definition.PartitionKeyDefinition, rec *record.Container) error {
	var former record.Former
	raw, err := t.Get(layout.FormerKey(database, id))
	switch {
	case isAbsent(err):
		err = nil
		floor := int(ds.in.Catalog().Floor())
		// where numbers began above 1, the id 0 is that of undivided containers
		whole := len(rec.Ranges) == 1 && rec.Ranges[0].ID == 0 && ds.in.Catalog().BegunAbove()
		if floor > 0 && !whole {
			record.Renumber(rec, floor)
		}
	case err == nil:
		if err := host.DecodeRecord(raw, &former); err != nil {
			return err
		}
		if err = ds.nameAgain(def, rec, former); err == nil {
			rec.Former = former.SpansFor(def, rec.Ranges)
		}
	}
	rec.NextRange = max(former.Next, record.HighestID(rec.Ranges)+1)
	t.NoteNumber(uint32(rec.NextRange - 1))
	return err
}

// nameAgain is nameRanges for a name that a container has had before.
func (ds *dataset) nameAgain(def *definition.PartitionKeyDefinition, rec *record.Container,
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
	record.Renumber(rec, max(former.Next, int(ds.in.Catalog().Floor())))
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

// inFormer replaces the id of a former container's range in a scope by the span that the id stands for, cut
// to the bounds that the scope has. A scope with another id, or with a partition key, is returned as it is.
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
