package store

import (
	"context"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// draft is a document that has passed every check which needs no look at the store: it is made before any
// lock is taken.
type draft struct {
	place
	body  []byte
	own   ttl.Seconds
	terms *terms
}

// place says where an item lies: its key, and what the keys of the store are made of.
type place struct {
	id    string
	epk   []byte
	pk    []byte // ordered encoding of the full partition key
	point []byte // its point key
}

func (c *Container) place(pk PartitionKey, id string) place {
	buf := make([]byte, 0, 192+2*len(id))
	buf = appendEPK(buf, &c.def, pk)
	e := len(buf)
	buf = pk.appendOrdered(buf)
	p := len(buf)
	buf = appendPointKey(buf, c.cid, buf[:e], buf[e:p], id)
	return place{id: id, epk: buf[:e:e], pk: buf[e:p:p], point: buf[p:]}
}

// draft checks a document. wantID is the id that it must have, or empty.
func (c *Container) draft(given PartitionKey, wantID string, body []byte) (*draft, error) {
	parsed, err := doc.Parse(body, doc.Limits{})
	if err != nil {
		return nil, documentError(err)
	}
	id, err := ValidateItemID(parsed.ID)
	if err != nil {
		return nil, err
	}
	if wantID != "" && id != wantID {
		return nil, fail(CodeBadRequest, "The 'id' in the body does not match the id of the item that is addressed.")
	}
	own := ttl.Absent
	if parsed.TTL != nil {
		if own, err = ttl.ParseItem(parsed.TTL); err != nil {
			return nil, &Error{Code: CodeBadRequest, Message: err.Error(), Err: err}
		}
	}
	pk, err := c.def.keyOf(given, parsed.Body)
	if err != nil {
		return nil, err
	}
	d := &draft{place: c.place(pk, id), body: parsed.Body, own: own}
	st := c.state.Load()
	d.terms = makeTerms(st.terms, c.db.clock.now(), st.rangeOf(d.epk), d.body)
	return d, nil
}

func (d *draft) item() *stored {
	return &stored{head: header{epk: d.epk, life: ttl.Life{Own: d.own}}, body: d.body, id: d.id, pk: d.pk, terms: d.terms}
}

// update runs fn as one durable transaction in the slot of p. The receipt is filled as far as it went.
func (c *Container) update(ctx context.Context, p place, fn func(t *tx) error) (Receipt, error) {
	c.db.enter()
	defer c.db.leave()
	st, _, err := c.enter()
	if err != nil {
		return Receipt{}, err
	}
	defer c.gate.RUnlock()
	s := st.rangeOf(p.epk)
	var t tx
	_, err = c.db.eng.Update(ctx, [][]byte{s.scope}, func(txn engine.Txn) error {
		t.begin(txn, c, st, s)
		if err := fn(&t); err != nil {
			return err
		}
		t.finish()
		return nil
	})
	if err == nil {
		t.committed()
	}
	return Receipt{Range: s.id, LSN: c.db.eng.Horizon(s.scope), Charge: chargeFailure}, wrap(err)
}

// Create stores a new document. It fails with CodeConflict where a live item has its id or a unique key of its
// own partition key, and CodeBadRequest or CodePartitionKeyMismatch for a document or key that the service
// refuses. What has expired is not there: its id and its unique keys are free.
func (c *Container) Create(ctx context.Context, pk PartitionKey, body []byte, _ WriteOptions) (Item, Receipt, error) {
	d, err := c.draft(pk, "", body)
	if err != nil {
		return Item{}, c.refused(), err
	}
	item := d.item()
	r, err := c.update(ctx, d.place, func(t *tx) error { return t.create(d.point, item) })
	return c.written(d, item, nil, r, err)
}

// Upsert replaces the item of that id and partition key, or creates it; Receipt.Inserted tells which.
func (c *Container) Upsert(ctx context.Context, pk PartitionKey, body []byte, o WriteOptions) (Item, Receipt, error) {
	d, err := c.draft(pk, "", body)
	if err != nil {
		return Item{}, c.refused(), err
	}
	item := d.item()
	var old *stored
	r, err := c.update(ctx, d.place, func(t *tx) error {
		found, ghost, err := t.find(d.point)
		if old = found; err != nil {
			return err
		}
		if found == nil || ghost {
			old = nil
			return t.create(d.point, item)
		}
		if o.IfNoneMatch == "*" {
			return preconditionFailed()
		}
		return t.replace(found, item, o)
	})
	r.Inserted = err == nil && old == nil
	return c.written(d, item, old, r, err)
}

// Replace stores a new version of a live item: CodeNotFound where there is none, CodePreconditionFailed where
// o.IfMatch names another version. The id and the partition key of an item cannot change.
func (c *Container) Replace(ctx context.Context, pk PartitionKey, id string, body []byte, o WriteOptions) (Item, Receipt, error) {
	d, err := c.draft(pk, id, body)
	if err != nil {
		return Item{}, c.refused(), err
	}
	item := d.item()
	var old *stored
	r, err := c.update(ctx, d.place, func(t *tx) error {
		if old, err = t.mustFind(d.place); err != nil {
			return err
		}
		return t.replace(old, item, o)
	})
	return c.written(d, item, old, r, err)
}

// Delete removes a live item: CodeNotFound where there is none, CodePreconditionFailed where o.IfMatch names
// another version.
func (c *Container) Delete(ctx context.Context, pk PartitionKey, id string, o WriteOptions) (Receipt, error) {
	pk, err := c.def.fullKey(pk, id)
	if err != nil {
		return c.refused(), err
	}
	p := c.place(pk, id)
	var size int
	r, err := c.update(ctx, p, func(t *tx) error {
		old, err := t.mustFind(p)
		if err != nil {
			return err
		}
		if err := checkIfMatch(o.IfMatch, c.etag(old.head)); err != nil {
			return err
		}
		t.nextLSN()
		size = len(old.body)
		return t.del(old)
	})
	if err != nil {
		return r, err
	}
	r.Charge = chargeDelete(size)
	return r, nil
}

// written turns the outcome of a write into what its caller gets.
func (c *Container) written(d *draft, item, old *stored, r Receipt, err error) (Item, Receipt, error) {
	if err != nil {
		return Item{}, r, err
	}
	c.db.rids.put(d.point, item.rid)
	if c.diesSoon(item.head.life) {
		c.db.wakeReaper()
	}
	r.Charge = chargeWrite(len(item.body), old != nil)
	return Item{c: c, rid: item.rid, head: item.head, body: item.body, id: item.id}, r, nil
}

// diesSoon tells whether an item expires before the reaper would look at an idle range again of its own accord.
func (c *Container) diesSoon(l ttl.Life) bool {
	at, ok := c.state.Load().policy().ExpiresAt(l)
	return ok && at-l.TS <= reaperPatience
}

// reaperPatience is how long the reaper may leave a range alone in which nothing was due, in seconds.
const reaperPatience = 5

// refused is the receipt of a request that failed before it reached a range.
func (c *Container) refused() Receipt {
	id, lsn := c.Position("")
	return Receipt{Range: id, LSN: lsn, Charge: chargeFailure}
}

// mustFind finds a live item.
func (t *tx) mustFind(p place) (*stored, error) {
	item, ghost, err := t.find(p.point)
	if err != nil {
		return nil, err
	}
	if item == nil || ghost {
		return nil, itemNotFound()
	}
	return item, nil
}

func itemNotFound() error {
	return fail(CodeNotFound, "Entity with the specified id does not exist in the system.")
}

// create puts a new item. A ghost that is in the way, by its id or by a unique key, is purged in the same
// transaction.
func (t *tx) create(point []byte, item *stored) error {
	old, ghost, err := t.find(point)
	if err != nil {
		return err
	}
	if old != nil && !ghost {
		return fail(CodeConflict, "Resource with specified id or name already exists.")
	}
	if old != nil {
		if err := t.purge(old); err != nil {
			return err
		}
	}
	if err := t.claimUnique(item, nil); err != nil {
		return err
	}
	return t.put(nil, item)
}

// replace puts a new version of a live item.
func (t *tx) replace(old, item *stored, o WriteOptions) error {
	if err := checkIfMatch(o.IfMatch, t.c.etag(old.head)); err != nil {
		return err
	}
	item.rid = old.rid
	if err := t.claimUnique(item, old); err != nil {
		return err
	}
	item.head.life.LeaseUntil = old.head.life.LeaseUntil
	return t.put(old, item)
}

// claimUnique makes sure that no other live item holds one of item's unique keys.
func (t *tx) claimUnique(item, old *stored) error {
	for i := range t.c.uniques {
		k := t.st.spec.UniqueKeys.Values(appendUniquePrefix(nil, t.c.cid, item.pk, i), i, item.body)
		holder, ghost, err := t.find(k)
		if err != nil {
			return err
		}
		if holder == nil || old != nil && holder.rid == old.rid {
			continue
		}
		if !ghost {
			return fail(CodeConflict, "Resource with specified id, name, or unique index already exists.")
		}
		if err := t.purge(holder); err != nil {
			return err
		}
	}
	return nil
}

// purge removes a ghost.
func (t *tx) purge(ghost *stored) error {
	t.purged++
	return t.del(ghost)
}
