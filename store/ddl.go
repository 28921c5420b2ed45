package store

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/transaction"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/ttl"
)

// Containers returns the database's containers in order of creation.
func (d *Database) Containers() []*Container {
	d.ds.mu.RLock()
	defer d.ds.mu.RUnlock()
	return slices.Clone(d.containers)
}

// Container returns the container with the given id. It fails with CodeNotFound if there is none.
func (d *Database) Container(id string) (*Container, error) {
	d.ds.mu.RLock()
	c := d.byName[id]
	d.ds.mu.RUnlock()
	if c == nil || c.state.Load().Dropped { // dropped by another server, and not removed here yet
		return nil, value.NotFound("container", id)
	}
	return c, nil
}

// ContainerByRID returns the container with the given resource id. It fails with CodeBadRequest if rid is
// malformed, and with CodeNotFound if this database has no such container.
func (d *Database) ContainerByRID(rid string) (*Container, error) {
	b, ok := layout.ParseRID(rid, 8)
	if !ok {
		return nil, value.BadRID(rid)
	}
	d.ds.mu.RLock()
	c := d.ds.cat.cids[layout.ContainerOfRID(b)]
	d.ds.mu.RUnlock()
	if c == nil || c.d != d || c.RID() != rid || c.state.Load().Dropped {
		return nil, value.NotFound("container", rid)
	}
	return c, nil
}

// CreateContainer creates a container. Zero fields of spec get Cosmos DB's defaults. A container without a
// throughput of its own gets 400 RU/s, unless its database shares a throughput. CreateContainer fails with
// CodeConflict if the id is taken, with CodeBadRequest for a definition that Cosmos DB refuses, and with
// CodeOwnerNotFound if the database has been dropped.
func (d *Database) CreateContainer(ctx context.Context, spec definition.ContainerSpec,
	t definition.Throughput) (*Container, error) {
	return d.CreateContainerWith(ctx, spec, ContainerOptions{Throughput: t})
}

// CreateContainerWith creates a container with further options, such as its number of partition ranges.
// Defaults and errors are those of CreateContainer.
func (d *Database) CreateContainerWith(ctx context.Context, spec definition.ContainerSpec,
	o ContainerOptions) (c *Container, err error) {
	err = host.RetryMoved(func() (err error) {
		c, err = d.createContainer(ctx, spec, o)
		return err
	})
	return c, err
}

func (d *Database) createContainer(ctx context.Context, spec definition.ContainerSpec,
	o ContainerOptions) (*Container, error) {
	t := o.Throughput
	if err := checkRanges(o.Ranges); err != nil {
		return nil, err
	}
	spec.EnsureDefaults()
	invalid := cmp.Or(spec.Validate(), t.Validate())
	if invalid != nil && !errors.Is(invalid, definition.ErrEncryptionPath) {
		return nil, invalid
	}
	db := d.ds
	if err := db.lockCatalog(ctx); err != nil {
		return nil, err
	}
	defer db.in.Catalog().Unlock()
	if err := d.checkNew(&spec, invalid); err != nil {
		return nil, err
	}
	shared := t.IsZero() && db.hasOwnOffer(d)
	if t.IsZero() {
		t = definition.Throughput{Manual: definition.DefaultThroughput}
	}
	var offer *record.Offer
	var rec record.Container
	err := db.changeCatalog(ctx, func(txn *host.CatalogTxn) error {
		now := d.clock.Seconds()
		var err error
		ranges := db.newRanges(&spec.PartitionKey, o.Ranges, t, shared, now)
		if rec, err = d.newRecord(txn, &spec, ranges, now); err != nil {
			return err
		}
		if offer = nil; !shared {
			offer = &record.Offer{Num: txn.Number(), Database: d.rec.Num, CID: rec.CID, Asked: t}
		}
		if err := putOffer(txn, offer, db.stamp()); err != nil {
			return err
		}
		return host.SetRecord(txn, layout.ContainerKey(d.rec.Num, spec.ID), rec)
	})
	if err != nil {
		return nil, err
	}
	c, err := newContainer(d, rec, spec)
	if err != nil {
		return nil, classify.ToFault(err)
	}
	c.state.Load().Version = container.FirstVersion // nobody else has the container yet
	c.recordTime(container.MarkSettings, rec.TS)
	db.publish(c, offer)
	return c, nil
}

// checkNew fails if the database has been dropped, if the container's id is taken, or if one of its
// encryption keys does not exist. invalid is the result of validating the spec; a missing key is reported
// before it. The caller holds the catalog's lock.
func (d *Database) checkNew(spec *definition.ContainerSpec, invalid error) error {
	if live, err := d.ds.database(d.ID()); err != nil || live != d {
		return fault.New(fault.CodeOwnerNotFound, "The database '"+d.ID()+"' does not exist.")
	}
	if invalid != nil {
		return cmp.Or(d.checkEncryptionKeys(spec.ClientEncryption), invalid)
	}
	if _, err := d.Container(spec.ID); err == nil {
		return value.AlreadyExists("container", spec.ID)
	}
	return d.checkEncryptionKeys(spec.ClientEncryption)
}

// publish adds a new container, and its offer if it has one, to the catalog in memory.
func (ds *openDataset) publish(c *Container, offer *record.Offer) {
	ds.mu.Lock()
	ds.cat.add(c)
	ds.cat.addOffer(offer)
	ds.mu.Unlock()
	ds.db.catalogWatch.Notify()
	c.lintDefault()
}

// newRecord returns the record of a container that is being created, and prepares its ranges in the same
// transaction. The caller holds the catalog's lock.
func (d *Database) newRecord(txn *host.CatalogTxn, spec *definition.ContainerSpec,
	ranges []record.PartitionRange,
	now int64) (rec record.Container, err error) {
	db := d.ds
	rec = record.Container{
		CID: txn.Number() | layout.CIDBit, TS: now, LSN: txn.NextLSN(host.CatalogScope()),
		Spec: spec.AppendJSON(nil), Recent: container.KeepsRecency(spec), Backup: db.db.backup.Load(),
		Policy: ttl.Policy{Default: spec.DefaultTTL, ChangedAt: now},
		Basis:  definition.PathKey(spec.TTLPropertyPath), Ranges: ranges,
	}
	rec.RangeLSN, rec.Version = rec.LSN, db.newVersion(rec.CID)
	if err := db.assignRangeIDs(txn, d.ID(), spec.ID, &spec.PartitionKey, &rec); err != nil {
		return rec, err
	}
	beginAbove(txn, rec)
	for _, r := range rec.Ranges {
		txn.SetMark(layout.RangeScope(rec.CID, r.Number), db.ownMark(container.FirstVersion))
	}
	return rec, nil
}

// checkEncryptionKeys fails if the database lacks an encryption key that the policy names. Checking once is
// enough, since a policy never changes and clients cannot delete keys. The caller holds the catalog's lock.
func (d *Database) checkEncryptionKeys(p *definition.ClientEncryptionPolicy) error {
	if p == nil {
		return nil
	}
	keys := record.FamilyOf(KindEncryptionKey, d.rec.Num)
	for _, path := range p.IncludedPaths {
		if path.KeyID != "" && d.ds.cat.resources.Find(keys, path.KeyID) == nil {
			return fault.New(fault.CodeBadRequest, "ClientEncryptionKey with id '["+path.KeyID+
				"]' does not exist.")
		}
	}
	return nil
}

// newRanges returns the partition ranges of a new container. Their number is n, or Options.Ranges if n is
// 0, or the number that the throughput needs if both are 0. A container that shares its database's
// throughput (shared) then has one.
func (ds *openDataset) newRanges(
	def *definition.PartitionKeyDefinition, n int, t definition.Throughput, shared bool,
	now int64) []record.PartitionRange {
	if n == 0 {
		n = ds.opts.Ranges
	}
	if n == 0 {
		n = 1
		if !shared {
			n = min(t.Ranges(), layout.MaxRanges)
		}
	}
	bounds := definition.SplitRanges(def, n)
	recs := make([]record.PartitionRange, n)
	for i := range recs {
		recs[i] = record.PartitionRange{ID: i, Number: uint16(i), Min: bounds[i], Max: bounds[i+1], TS: now}
	}
	return recs
}

// ReplaceContainer changes a container's settings. A changed DefaultTTL or TTLPropertyPath applies at once
// to all items, whatever their number; an item that had expired under the old values stays expired. The
// partition key, the unique keys and the client encryption policy cannot change: CodeBadRequest. o.IfMatch
// is the container's etag.
func (d *Database) ReplaceContainer(ctx context.Context, id string, spec definition.ContainerSpec,
	o WriteOptions) (*Container, error) {
	for {
		c, err := d.replaceContainer(ctx, id, spec, o)
		if err == nil {
			return c, nil
		}
		if c == nil {
			return nil, err
		}
		if again, err := c.afterSplit(ctx, err); !again {
			return nil, err
		}
	}
}

// replaceContainer replaces the definition of a container. It fails, instead of waiting, if another server is
// splitting a range of the container. If the change fails, it returns the container with the error, so that
// the caller can wait; it returns nil if there is no container with this id or the catalog cannot be locked.
func (d *Database) replaceContainer(ctx context.Context, id string, spec definition.ContainerSpec,
	o WriteOptions) (*Container, error) {
	db := d.ds
	if err := db.lockCatalog(ctx); err != nil {
		return nil, err
	}
	defer db.in.Catalog().Unlock()
	c, err := d.Container(id)
	if err != nil {
		return nil, err
	}
	if err := c.againLocked(ctx, func() error { return c.replaceSpec(ctx, spec, o) }); err != nil {
		return c, err
	}
	container.Raise(&c.used, c.moment())
	db.in.WakeReaper()
	db.reindexer.Wake()
	c.lintDefault()
	return c, nil
}

// replaceSpec is the part of ReplaceContainer that depends on the state of the container. The caller
// repeats it if the state has changed. The caller holds the catalog's lock.
func (c *Container) replaceSpec(ctx context.Context, spec definition.ContainerSpec, o WriteOptions) error {
	if err := value.CheckIfMatch(o.IfMatch, c.Info().ETag); err != nil {
		return err
	}
	old := c.state.Load().Spec
	if err := spec.CheckReplace(old); err != nil {
		return err
	}
	spec.PartitionKey, spec.UniqueKeys = old.PartitionKey, old.UniqueKeys
	spec.EnsureDefaults()
	if err := spec.ValidateRest(); err != nil {
		return err
	}
	return c.change(ctx, func(st container.State, now int64) (container.State, error) {
		next := st
		next.Spec, next.Vectors = spec, spec.Vectors()
		next.Rec.TS = now
		next.Rec.Spec = spec.AppendJSON(nil)
		st.SetPolicy(&next, now)
		if err := c.changeIndex(ctx, &next, &st); err != nil {
			return st, err
		}
		switchFeed := transaction.SwitchVersions(&st, &next, now)
		err := c.commitRecord(ctx, &st, &next, func(t engine.Txn) error {
			if err := st.CheckEmpty(t, &next); err != nil {
				return err
			}
			next.Rec.LSN = t.NextLSN(host.CatalogScope())
			switchFeed(t)
			return host.SetRecord(t, layout.ContainerKey(c.d.rec.Num, c.name), next.Rec)
		})
		for _, s := range st.Ranges {
			s.Rescan.Store(true)
			if err == nil && next.Rec.IndexRound != st.Rec.IndexRound {
				s.Reindexed.Store(0)
			}
		}
		return next, err
	})
}

// DeleteContainer drops a container and everything in it at once: one deletion of its key range frees the
// space. It fails with CodeNotFound if there is none, with CodePreconditionFailed if o.IfMatch is another
// etag, and with CodeConflict while the container is the archive of another one of the database.
func (d *Database) DeleteContainer(ctx context.Context, id string, o WriteOptions) error {
	db := d.ds
	if err := db.lockCatalog(ctx); err != nil {
		return err
	}
	defer db.in.Catalog().Unlock()
	c, err := d.Container(id)
	if err != nil {
		return err
	}
	return c.againLocked(ctx, func() error {
		if err := value.CheckIfMatch(o.IfMatch, c.Info().ETag); err != nil {
			return err
		}
		return d.drop(ctx, c, c.checkDrop)
	})
}

// drop drops a container unless check fails. It calls check once no operation is running in the container
// any more. The caller holds the catalog's lock.
func (d *Database) drop(ctx context.Context, c *Container, check func() error) error {
	db := d.ds
	err := closeAll(ctx, []*Container{c}, func() error {
		if err := check(); err != nil {
			return err
		}
		return db.commitDrop(ctx, []*Container{c}, func(t *host.CatalogTxn) error {
			t.RecordHighest(highest([]*Container{c}))
			return dropContainerRecords(t, []*Container{c}, db.cat.offers)
		})
	})
	if err != nil {
		return err
	}
	db.mu.Lock()
	db.cat.removeContainers([]*Container{c})
	db.mu.Unlock()
	db.db.catalogWatch.Notify()
	db.eraseAll(ctx, []*Container{c})
	return nil
}
