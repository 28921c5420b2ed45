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

// A client identifies a container by its name, and learns late that a new one has that name. Three rules
// prevent it from mistaking a part of the new container's items for all of them:
//
//   - Under one name the id of a partition range never names two different spans of partition keys. A
//     container whose ranges are laid out like those of the last one of its name gets the same ids; any
//     other gets new ones: see assignRangeIDs. As long as the partition key definition is the same, an id
//     of a former container still names its span. A read by that id is served from the ranges that the span
//     has now, since some SDKs never recover from a response which says that the range is gone.
//   - A session token contains a version, which identifies its container: see SessionVersion. A token of a
//     former container is ignored. It is not refused because the SDK for .NET keeps such a token through
//     all of its retries, so a refusal would fail the operation for good.
//   - LSNs of the new container begin above those of the old: see beginAbove.
//
// A client that reads the ranges of a former container by its rid gets those of the container that has the
// name now, as children of the ranges that it has cached: see Successor. The SDK for .NET does this in
// gateway mode after a range is gone (410/1002), and fails the query if the answer is 404. It continues
// with the partition key definition that it has cached. Therefore a container with another definition is no
// successor: after a 404 the SDK reads the container again.

// readFormer reads the record of the dropped containers of a name. found is false if there is none.
func readFormer(t engine.Txn, key []byte) (former record.ContainerNameHistory, found bool, err error) {
	raw, err := t.Get(key)
	if isAbsent(err) {
		return former, false, nil
	}
	if err == nil {
		err = host.DecodeRecord(raw, &former)
	}
	return former, err == nil, err
}

// keepFormer stores the rid of a container that is being dropped, and the ids that its ranges have had.
func (c *Container) keepFormer(t engine.Txn) error {
	key := layout.FormerKey(c.d.ID(), c.name)
	former, _, err := readFormer(t, key)
	if err != nil {
		return err
	}
	if err := former.Add(c.RID(), &c.def, &c.state.Load().Rec); err != nil {
		return err
	}
	return host.SetRecord(t, key, former)
}

// Successor returns the container that now has the name of a dropped container, its database, and its
// ranges as children of the dropped container's ranges. rid is that of the dropped container. It fails with
// CodeNotFound if the rid is not one of the last 64 containers of a name, or if no container with
// the same partition key definition has the name.
func (db *DB) Successor(ctx context.Context, rid string) (*Database, *Container, PartitionRanges, error) {
	name, former, err := db.live().formerOf(ctx, rid)
	if err != nil {
		return nil, nil, PartitionRanges{}, err
	}
	database, id, _ := strings.Cut(name, "/") // neither has a slash in it
	d, err := db.Database(database)
	if err != nil {
		return nil, nil, PartitionRanges{}, err
	}
	c, err := d.Container(id)
	if err == nil && !c.def.Equal(&former.Key) {
		err = value.NotFound("container", rid)
	}
	if err != nil {
		return nil, nil, PartitionRanges{}, err
	}
	return d, c, c.Ranges().childrenOf(former.Ranges), nil
}

// formerOf finds a dropped container by its rid. name is its "database/container". found.Ranges also has the
// ranges of the containers that were later dropped under the same name, since a client that has cached this
// rid may have cached ids of their ranges.
func (ds *openDataset) formerOf(ctx context.Context,
	rid string) (name string, found record.DroppedContainer, err error) {
	err = ds.view(ctx, func(r engine.Reader) error {
		return host.ScanRecords(r, layout.KindFormer, func(key []byte,
			former record.ContainerNameHistory) error {
			i := slices.IndexFunc(
				former.Containers,
				func(c record.DroppedContainer) bool { return c.RID == rid },
			)
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

// childrenOf returns the set with the ids of dropped ranges (gone) added to the parents of each of its
// ranges, so that clients replace the dropped ranges in their caches by these. An id that a range of the set
// still has is not added, since that range is unchanged.
func (set PartitionRanges) childrenOf(gone []int) PartitionRanges {
	set.Ranges = slices.Clone(set.Ranges)
	var ids []string
	slices.Sort(gone)
	for _, id := range slices.Compact(gone) {
		text := strconv.Itoa(id)
		if !slices.ContainsFunc(set.Ranges, func(r PartitionRange) bool { return r.ID == text }) {
			ids = append(ids, text)
		}
	}
	for i, r := range set.Ranges {
		set.Ranges[i].Parents = slices.Concat(ids, r.Parents)
	}
	return set
}

// beginAbove makes the ranges of a new container begin above every LSN that a dropped container has issued.
// So a session token or a feed position of the old container is never ahead of the new one.
func beginAbove(t *host.CatalogTxn, rec record.Container) {
	gone := t.Highest()
	if gone == 0 {
		return
	}
	for _, r := range rec.Ranges {
		t.RaiseLSN(layout.RangeScope(rec.CID, r.Number), gone+1)
	}
}

// assignRangeIDs assigns ids to the ranges of a container that is being created. The ranges keep the ids
// that they have, unless an id may have named another span of keys in an earlier container of the same
// name; then all ranges get new ids. The caller holds the catalog's lock.
func (ds *openDataset) assignRangeIDs(t *host.CatalogTxn, database, id string,
	def *definition.PartitionKeyDefinition, rec *record.Container) error {
	former, found, err := readFormer(t.Txn, layout.FormerKey(database, id))
	if err != nil {
		return err
	}
	numbers := ds.in.Catalog()
	floor := int(numbers.Floor())
	if found {
		err = former.AssignIDs(def, rec, floor)
	} else {
		// If numbers begin above 1, the id 0 is reserved for undivided containers.
		rec.AssignFirstIDs(floor, len(rec.Ranges) == 1 && rec.Ranges[0].ID == 0 && numbers.BegunAbove())
	}
	t.RecordNumber(uint32(rec.NextRange - 1))
	return err
}
