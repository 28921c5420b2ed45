package store

import (
	"context"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/resource"
	"github.com/mayflydb/mayfly/store/internal/work"
)

// removeDatabase removes a database and its containers from the catalog. The caller holds mu.
func (cat *catalog) removeDatabase(d *Database, containers []*Container, families []record.OwnerAndKind) {
	cat.remove(containers)
	cat.resources.Forget(families)
	delete(cat.names, d.rec.ID)
	cat.databases = work.Without(cat.databases, d)
	cat.dropOffers(func(o record.Offer) bool { return o.Database == d.rec.Num })
}

// removeContainers removes containers of one database and their throughput from the catalog. The caller
// holds mu.
func (cat *catalog) removeContainers(list []*Container) {
	cat.remove(list)
	cat.dropOffers(func(o record.Offer) bool {
		return slices.ContainsFunc(list, func(c *Container) bool { return o.CID == c.cid })
	})
}

// announce writes a drop record, in the catalog transaction t, for each container that is about to be copied.
// If a crash interrupts the copy, Open finds the record and erases what was copied.
func (b *forkedDatabase) announce(t *host.CatalogTxn) {
	for _, c := range b.containers {
		t.Set(layout.DropKey(c.cid), []byte("{}"))
	}
}

// raiseLSNs raises the LSN of every copied range above all LSNs that clients can have received from the
// replaced containers and from containers dropped before. A feed reader that continues from such an LSN then
// misses nothing. The copied ranges are not in the catalog yet, so nobody else uses them.
func (b *forkedDatabase) raiseLSNs(ctx context.Context, replaced []*Container) error {
	first := max(b.db.in.Catalog().Highest(), highest(replaced)) + 1
	for _, c := range b.containers {
		for _, s := range c.state.Load().Ranges {
			_, err := b.db.eng.Update(ctx, [][]byte{s.Scope}, func(t engine.Txn) error {
				t.Relax() // durable before the transaction that makes it reachable
				t.RaiseLSN(s.Scope, first)
				t.SetMark(s.Scope, container.FirstVersion)
				return nil
			})
			if err != nil {
				return classify.ToFault(err)
			}
		}
	}
	return nil
}

// commit adds the copy to the catalog: it writes the records of the copied database and of its containers in
// one transaction. The same transaction drops the containers in replaced, and the Cosmos database of the same
// name that the copy replaces, if there is one. The caller holds the catalog's lock.
func (b *forkedDatabase) commit(ctx context.Context, replaced []*Container) error {
	return b.db.commitDrop(ctx, replaced, func(t *host.CatalogTxn) error {
		if err := dropContainerRecords(t, replaced, b.db.cat.offers); err != nil {
			return err
		}
		if b.old != nil {
			dropDatabaseRecords(t, b.old, b.db.cat.offers)
		}
		t.RecordHighest(highest(replaced))
		now := b.db.stamp()
		if err := b.commitDatabase(t, now); err != nil {
			return err
		}
		for _, c := range b.containers {
			if err := b.commitContainer(t, c); err != nil {
				return err
			}
		}
		for _, o := range b.offers {
			if err := putOffer(t, o, now); err != nil {
				return err
			}
		}
		for _, f := range b.families {
			for _, rec := range f.records {
				rec.TS, rec.LSN = now, t.NextLSN(host.CatalogScope())
				resource.Put(t, f.OwnerAndKind, nil, rec)
			}
		}
		return nil
	})
}

// commitDatabase writes the record and the clock of the copied database, unless the copy goes into an
// existing database.
func (b *forkedDatabase) commitDatabase(t *host.CatalogTxn, now int64) error {
	if b.into != nil {
		return nil
	}
	b.d.rec.TS, b.d.rec.LSN = now, t.NextLSN(host.CatalogScope())
	if err := host.SetRecord(t, layout.DatabaseKey(b.as), b.d.rec); err != nil {
		return err
	}
	return b.d.clock.Keep(t)
}

// commitContainer writes a container's record. All of its ranges count as created with the container, because
// the ranges from which they were split are not part of the copy.
func (b *forkedDatabase) commitContainer(t *host.CatalogTxn, c *Container) error {
	st := *c.state.Load()
	st.Version = container.FirstVersion
	st.Rec.LSN = t.NextLSN(host.CatalogScope())
	st.Rec.RangeLSN = st.Rec.LSN
	st.Rec.Ranges = slices.Clone(st.Rec.Ranges)
	for i := range st.Rec.Ranges {
		st.Rec.Ranges[i].LSN = 0
	}
	st.Rec.Version = b.db.newVersion(c.cid)
	if err := b.db.assignRangeIDs(t, b.as, c.name, &c.def, &st.Rec); err != nil {
		return err
	}
	st.Ranges = slices.Clone(st.Ranges)
	for i, s := range st.Ranges {
		if s.Rec.ID == st.Rec.Ranges[i].ID {
			continue
		}
		var err error
		if st.Ranges[i], err = container.NewPartition(c.cid, st.Rec.Ranges[i]); err != nil {
			return err
		}
	}
	c.state.Store(&st)
	t.Delete(layout.DropKey(c.cid))
	return host.SetRecord(t, layout.ContainerKey(b.d.rec.Num, c.name), st.Rec)
}
