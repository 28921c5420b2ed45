package store

import (
	"context"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// Offer is the throughput of a container, or of a database whose containers share it.
type Offer struct {
	ID          string // also its rid
	Resource    string // the _self of the database or container
	ResourceRID string
	ETag        string
	Timestamp   int64 // seconds since 1970
	Throughput  definition.Throughput
	// Pending reports whether the throughput has been raised and partition ranges are still being split for
	// it.
	Pending bool
}

func (cat *catalog) addOffer(o *record.Offer) {
	if o != nil {
		cat.offers = append(slices.Clone(cat.offers), *o)
	}
}

func (cat *catalog) dropOffers(which func(record.Offer) bool) {
	cat.offers = slices.DeleteFunc(slices.Clone(cat.offers), which)
}

// putOffer writes the record of a new offer. It does nothing for nil.
func putOffer(t engine.Txn, o *record.Offer, now int64) error {
	if o == nil {
		return nil
	}
	o.TS, o.LSN = now, t.NextLSN(host.CatalogScope())
	return host.SetRecord(t, layout.OfferKey(o.Num), o)
}

// hasOwnOffer reports whether a database has a throughput of its own, which its containers share. The
// caller holds the catalog's lock.
func (ds *openDataset) hasOwnOffer(d *Database) bool {
	return slices.ContainsFunc(ds.cat.offers, func(o record.Offer) bool {
		return o.Database == d.rec.Num &&
			o.CID == 0
	})
}

// isShared reports whether any container of the database has no throughput of its own and uses the
// database's.
func (ds *openDataset) isShared(database uint32) bool {
	ds.mu.RLock()
	containers := slices.Clone(ds.cat.containers)
	ds.mu.RUnlock()
	return slices.ContainsFunc(containers, func(c *Container) bool {
		return c.d.rec.Num == database && c.SharesThroughput()
	})
}

// SharesThroughput reports whether the container has no throughput of its own and uses its database's.
func (c *Container) SharesThroughput() bool {
	db := c.ds
	db.mu.RLock()
	defer db.mu.RUnlock()
	shared := false
	for _, o := range db.cat.offers {
		if o.CID != 0 && o.CID == c.cid {
			return false
		}
		shared = shared || o.CID == 0 && o.Database == c.d.rec.Num
	}
	return shared
}

// Offers returns all offers in order of creation.
func (db *DB) Offers() []Offer { return db.live().offers() }

func (ds *openDataset) offers() []Offer {
	ds.mu.RLock()
	defer ds.mu.RUnlock()
	offers := make([]Offer, 0, len(ds.cat.offers))
	for _, o := range ds.cat.offers {
		offers = append(offers, ds.renderOffer(o))
	}
	return offers
}

// renderOffer converts an offer's record to an Offer. The caller holds mu.
func (ds *openDataset) renderOffer(o record.Offer) Offer {
	out := Offer{ID: layout.OfferRIDText(o.Num), ETag: layout.ETagText(ds.incarnation, 3, o.LSN),
		Timestamp: o.TS, Throughput: o.Asked,
		Pending: ds.pending(o)}
	for _, c := range ds.cat.containers {
		if o.CID != 0 && c.cid == o.CID {
			out.Resource, out.ResourceRID = c.self(), c.RID()
		}
	}
	for _, d := range ds.cat.databases {
		if o.CID == 0 && d.rec.Num == o.Database {
			out.Resource, out.ResourceRID = "dbs/"+d.RID()+"/", d.RID()
		}
	}
	return out
}

// Offer returns the offer with the given id. It fails with CodeBadRequest if the id is malformed, and with
// CodeNotFound if there is none.
func (db *DB) Offer(id string) (Offer, error) { return db.live().offerByID(id) }

func (ds *openDataset) offerByID(id string) (Offer, error) {
	ds.mu.RLock()
	defer ds.mu.RUnlock()
	rec, err := ds.findOffer(id)
	if err != nil {
		return Offer{}, err
	}
	return ds.renderOffer(rec), nil
}

func (ds *openDataset) findOffer(id string) (record.Offer, error) {
	if _, ok := layout.ParseRID(id, 3); !ok {
		return record.Offer{}, value.BadRID(id)
	}
	for _, o := range ds.cat.offers {
		if layout.OfferRIDText(o.Num) == id {
			return o, nil
		}
	}
	return record.Offer{}, value.NotFound("offer", id)
}

// ReplaceOffer changes a throughput. As in Cosmos DB, a change between manual and autoscale fails with
// CodeBadRequest unless migrate is set. o.IfMatch is the offer's etag.
//
// If a container's throughput is raised, its partition ranges are split in the background until each
// carries at most 10,000 RU/s: see Offer.Pending. The number of ranges that the container was created with
// does not matter. If the throughput is lowered, the ranges stay.
func (db *DB) ReplaceOffer(ctx context.Context, id string, t definition.Throughput, migrate bool,
	o WriteOptions) (changed Offer, err error) {
	err = host.RetryMoved(func() (err error) {
		changed, err = db.live().replaceOffer(ctx, id, t, migrate, o)
		return err
	})
	return changed, err
}

func (ds *openDataset) replaceOffer(
	ctx context.Context, id string, t definition.Throughput, migrate bool, o WriteOptions,
) (Offer, error) {
	if err := t.Validate(); err != nil {
		return Offer{}, err
	}
	if err := ds.lockCatalog(ctx); err != nil {
		return Offer{}, err
	}
	defer ds.in.Catalog().Unlock()
	rec, err := ds.findOffer(id)
	if err != nil {
		return Offer{}, err
	}
	if err := value.CheckIfMatch(o.IfMatch, ds.renderOffer(rec).ETag); err != nil {
		return Offer{}, err
	}
	if err := rec.CheckChange(t, migrate); err != nil {
		return Offer{}, err
	}
	if t.Autoscale > definition.RangeThroughput && rec.CID == 0 && !ds.isShared(rec.Database) {
		return Offer{}, fault.New(fault.CodeBadRequest,
			"There are no collections using the shared database offer. "+
				"Please retry the scale operation after creating a collection that uses database offer")
	}
	rec.Ranges = rec.Target(t)
	rec.Asked = t
	err = ds.changeOffer(ctx, &rec,
		func(txn *host.CatalogTxn) error { return putOffer(txn, &rec, ds.stamp()) })
	if err != nil {
		return Offer{}, err
	}
	ds.splitter.Wake()
	ds.mu.RLock()
	defer ds.mu.RUnlock()
	return ds.renderOffer(rec), nil
}

// changeOffer runs the catalog transaction put, which writes an offer's record, and then updates the
// catalog in memory. The caller holds the catalog's lock.
func (ds *openDataset) changeOffer(ctx context.Context, rec *record.Offer,
	put func(*host.CatalogTxn) error) error {
	if err := ds.changeCatalog(ctx, put); err != nil {
		return err
	}
	ds.mu.Lock()
	defer ds.mu.Unlock()
	ds.cat.offers = slices.Clone(ds.cat.offers)
	for i := range ds.cat.offers {
		if ds.cat.offers[i].Num == rec.Num {
			ds.cat.offers[i] = *rec
		}
	}
	return nil
}
