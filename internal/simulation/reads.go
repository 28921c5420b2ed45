package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
)

// read reads documents of all clients until ctx ends.
func (d *documentHistories) read(ctx context.Context, c *client) {
	for c.think(ctx, 200*time.Millisecond) {
		if c.rng.IntN(3) == 0 {
			d.query(c, containers[c.rng.IntN(len(containers))], partitionName(c.rng.IntN(partitions)))
			continue
		}
		if doc := d.any(c); doc != nil {
			d.get(c, doc)
		}
	}
}

// any returns a random document, which depends only on the seed.
func (d *documentHistories) any(c *client) *documentHistory {
	d.mu.Lock()
	defer d.mu.Unlock()
	writer := 1 + c.rng.IntN(max(d.w.config.Writers, 1))
	for range 20 {
		id := fmt.Sprintf("client-%d-%d", writer, 1+c.rng.IntN(60))
		key := docKey{containers[c.rng.IntN(len(containers))], partitionName(c.rng.IntN(partitions)), id}
		if doc := d.of[key]; doc != nil {
			return doc
		}
	}
	return nil
}

// get reads a document and checks that the result is allowed.
func (d *documentHistories) get(c *client, doc *documentHistory) {
	start := d.w.now()
	var item store.Item
	err, lost := c.call(fmt.Sprintf("read %v", doc.docKey),
		func(ctx context.Context, s *simulatedMayflyServer) error {
			con, err := s.container(ctx, doc.container)
			if err == nil {
				item, _, err = con.Read(ctx, partitionKey(doc.partition), doc.id, store.ReadOptions{})
			}
			return err
		})
	switch {
	case lost:
	case errors.Is(err, fault.ErrNotFound):
		d.observe(doc.docKey, 0, start)
	case err == nil:
		var found storedDocument
		if err := json.Unmarshal(item.Body(), &found); err != nil {
			d.w.violate("%v is %s", doc.docKey, item.Body())
		}
		d.observe(doc.docKey, found.N, start)
	case fault.ErrorCode(err) == fault.CodeInternal && !unknown(err):
		d.w.violate("a read of %v fails with %v", doc.docKey, err)
	}
}

// query reads all documents of a partition key by a query, and reports a violation if the result is
// impossible, given the writes so far.
func (d *documentHistories) query(c *client, container, partition string) {
	start := d.w.now()
	found := make(map[docKey]int)
	before := d.keysOf(container, partition)
	err, lost := c.call("query "+container+" "+partition,
		func(ctx context.Context, s *simulatedMayflyServer) error {
			con, err := s.container(ctx, container)
			if err != nil {
				return err
			}
			req := store.QueryRequest{Text: "SELECT c.id, c.n FROM c WHERE c.n > 0"}
			req.Scope.Partition = partitionKey(partition)
			for row, err := range con.Rows(ctx, req) {
				if err != nil {
					return err
				}
				var one storedDocument
				if err := json.Unmarshal(row, &one); err != nil {
					return err
				}
				found[docKey{container, partition, one.ID}] = one.N
			}
			return nil
		})
	if lost || err != nil {
		if !lost && fault.ErrorCode(err) == fault.CodeInternal && !unknown(err) {
			d.w.violate("a query of %s fails with %v", container, err)
		}
		return
	}
	for _, key := range before {
		d.observe(key, found[key], start)
	}
}

// keysOf returns the names of the documents of a partition key.
func (d *documentHistories) keysOf(container, partition string) (list []docKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, doc := range d.groups[groupOf(docKey{container: container, partition: partition})] {
		list = append(list, doc.docKey)
	}
	return list
}

// observe checks the result of a read of a document that began at start. n is the number of the version
// that was read, or 0 for none. observe records it, since every later read must return this version or a
// newer one.
func (d *documentHistories) observe(key docKey, n int, start time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	doc, now := d.of[key], d.w.now()
	before := doc.base.settled.Before(start) // the known version was stored before the read began
	switch {
	case n == 0:
		if before && !doc.mayBeAbsent(now) {
			d.w.violate("%v is lost: nothing is there, but version %d was stored", key, doc.base.n)
		}
		if before && doc.base.gone.IsZero() {
			doc.base.gone = now
		}
	case n < doc.base.n:
		if before {
			d.w.violate("%v has version %d again, version %d was stored", key, n, doc.base.n)
		}
	case n == doc.base.n:
		d.observeBase(doc, start)
	default:
		d.observeOpen(doc, n, now)
	}
}

// observeBase is called when a read has returned the last version that is known to have been stored. It
// checks that this is allowed, for example that the version had not expired before the read. The caller holds
// mu.
func (d *documentHistories) observeBase(doc *documentHistory, start time.Time) {
	b := &doc.base
	switch {
	case b.absent:
		d.w.violate("%v is there, but it was deleted", doc.docKey)
	case !b.gone.IsZero() && b.gone.Before(start):
		d.w.violate("%v is there again: version %d had gone", doc.docKey, b.n)
	case b.deadline > 0 && start.Unix() >= b.deadline:
		d.w.violate("%v is there %d seconds after its end", doc.docKey, start.Unix()-b.deadline)
	}
}

// observeOpen records that a version was stored whose outcome was unknown, because a read has returned it.
// The caller holds mu.
func (d *documentHistories) observeOpen(doc *documentHistory, n int, now time.Time) {
	for _, v := range doc.open {
		if v.n != n || v.absent {
			continue
		}
		v.seen = true
		if !doc.waiting || v.n != doc.last { // otherwise its writer will learn the outcome
			doc.settle(v, now)
		}
		return
	}
	d.w.violate("%v has version %d, which was not stored", doc.docKey, n)
}

// feedItem records an item of a change feed, and checks that its document occurs once, with its last
// version.
func (d *documentHistories) feedItem(container string, item store.Item, found map[docKey]int) {
	var one storedDocument
	if err := json.Unmarshal(item.Body(), &one); err != nil {
		d.w.violate("the feed of %s contains %s", container, item.Body())
		return
	}
	key := docKey{container, one.PK, one.ID}
	if n, ok := found[key]; ok {
		d.w.violate("the feed of %s contains %v twice, as version %d and %d", container, key, n, one.N)
	}
	found[key] = one.N
}
