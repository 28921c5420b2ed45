package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// The containers. In the first, each document has its own time to live or none. In the second, the expiry
// depends on the container's default, which is changed from time to time. The third has unique keys.
const (
	ownTTL     = "own"
	defaultTTL = "default"
	uniqueKeys = "unique"
)

var containers = []string{ownTTL, defaultTTL, uniqueKeys}

// partitions is the number of partition keys in a container. Clients share them.
const partitions = 12

// documentHistories has the histories of all documents, as known to their clients. Each document is written
// by one client only, one operation at a time; all clients read it.
type documentHistories struct {
	w  *RunningSimulation
	mu sync.Mutex // guards the following fields and the documents
	of map[docKey]*documentHistory
	// groups maps a container and a partition key to its documents, in the order in which they were first
	// written.
	groups map[string][]*documentHistory
	// taken maps a container, a range and an LSN to the document whose write has this LSN.
	taken map[string]string
	feeds []*changeFeedReader
}

// docKey identifies a document: its container, partition key and id.
type docKey struct{ container, partition, id string }

// documentHistory records the versions of one document that its client has written.
type documentHistory struct {
	docKey
	last    int                // the number of the last version
	base    documentVersion    // the last version that is known to have been stored
	open    []*documentVersion // later versions whose outcome is not known, oldest first
	waiting bool               // the newest of open is being written
}

// documentVersion is the version of a document that one write creates.
type documentVersion struct {
	n        int       // 0: there is no document yet
	unique   string    // value of the unique key
	absent   bool      // the document does not exist
	deadline int64     // the second at which it expires; 0: unknown or never
	ttl      int64     // its own; 0: none
	fixed    bool      // only its own ttl determines its expiry
	seen     bool      // a reader has received it
	start    time.Time // when the write began
	settled  time.Time // when it became known that it was stored
	// gone is the time at which a read first found the document absent. No later read may return this
	// version. Zero: no read has.
	gone time.Time
}

func (d *documentHistories) init(w *RunningSimulation) {
	d.w, d.of, d.taken = w, make(map[docKey]*documentHistory), make(map[string]string)
	d.groups = make(map[string][]*documentHistory)
}

// create creates the database and the containers of the simulation.
func (d *documentHistories) create(ctx context.Context, s *simulatedMayflyServer) error {
	db, err := s.db.CreateDatabase(ctx, databaseName, definition.Throughput{})
	for _, name := range containers {
		more := map[string]string{ownTTL: `,"defaultTtl":-1`, defaultTTL: `,"defaultTtl":20`,
			uniqueKeys: `,"defaultTtl":-1,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}`}[name]
		var spec definition.ContainerSpec
		if err == nil {
			spec, _, err = definition.ParseContainerSpec(fmt.Appendf(nil,
				`{"id":%q,"partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}%s}`, name, more), true)
		}
		if err == nil {
			o := store.ContainerOptions{Ranges: max(d.w.config.Ranges, 1)}
			_, err = db.CreateContainerWith(ctx, spec, o)
		}
	}
	return err
}

// partitionName returns the value of a partition key by its number.
func partitionName(n int) string { return fmt.Sprintf("p%d", n) }

func partitionKey(pk string) definition.PartitionKey {
	key, _ := definition.ParsePartitionKey(fmt.Appendf(nil, "[%q]", pk)) // a plain text is valid
	return key
}

// storedDocument is the content of a document, as JSON.
type storedDocument struct {
	ID  string `json:"id"`
	PK  string `json:"pk"`
	N   int    `json:"n"`
	U   string `json:"u,omitempty"`
	TTL int64  `json:"ttl,omitempty"`
}

// write creates documents of one client and writes, deletes and reads them in random order, until ctx
// ends.
func (d *documentHistories) write(ctx context.Context, c *client) {
	var own []*documentHistory
	for c.think(ctx, 300*time.Millisecond) {
		if n := c.rng.IntN(10); n < 4 || len(own) == 0 {
			c.made++
			key := docKey{containers[c.rng.IntN(len(containers))],
				partitionName(c.rng.IntN(partitions)), fmt.Sprintf("%s-%d", c.name, c.made)}
			own = append(own, d.add(key))
			if len(own) > 12 {
				own = own[1:]
			}
		}
		doc := own[c.rng.IntN(len(own))]
		switch n := c.rng.IntN(10); {
		case doc.last == 0 || n < 2:
			d.put(c, doc, "create")
		case n < 5:
			d.put(c, doc, "replace")
		case n < 7:
			d.put(c, doc, "upsert")
		case n < 8:
			d.delete(c, doc)
		default:
			d.get(c, doc)
		}
	}
}

func (d *documentHistories) add(key docKey) *documentHistory {
	d.mu.Lock()
	defer d.mu.Unlock()
	doc := &documentHistory{docKey: key, base: documentVersion{absent: true}}
	d.of[key] = doc
	d.groups[groupOf(key)] = append(d.groups[groupOf(key)], doc)
	return doc
}

func groupOf(key docKey) string { return key.container + "/" + key.partition }

// begin records that a client begins to write the next version of a document, and returns that version.
func (d *documentHistories) begin(doc *documentHistory, v documentVersion) *documentVersion {
	d.mu.Lock()
	defer d.mu.Unlock()
	doc.last++
	v.n, v.start = doc.last, d.w.now()
	doc.open = append(doc.open, &v)
	doc.waiting = true
	return &v
}

// end records the outcome of a write: it was stored, it was not stored, or this is unknown. lost says that
// the client has got no response.
func (d *documentHistories) end(doc *documentHistory, v *documentVersion, err error, lost bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	doc.waiting = false
	switch {
	case err == nil && !lost:
		doc.settle(v, d.w.now())
	case !lost && !unknown(err):
		doc.open = doc.open[:len(doc.open)-1]
		if v.seen {
			d.w.violate("%v has shown version %d, whose write failed with %v", doc.docKey, v.n, err)
		}
	}
}

// settle records at the time now that the version v has certainly been stored: it becomes the known version
// of the document, and writes before it are no longer open.
func (doc *documentHistory) settle(v *documentVersion, now time.Time) {
	for i, o := range doc.open {
		if o == v {
			doc.base, doc.open = *v, doc.open[i+1:]
			doc.base.settled = now
			return
		}
	}
}

// unknown reports whether a write may have been stored although it failed.
func unknown(err error) bool {
	return errors.Is(err, fault.ErrCanceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled)
}

// mayBeAbsent reports whether the document may have been absent at a moment before to. The caller holds mu.
func (doc *documentHistory) mayBeAbsent(to time.Time) bool {
	for _, v := range append([]*documentVersion{&doc.base}, doc.open...) {
		deadline := v.deadline
		if deadline == 0 && v.ttl > 0 {
			deadline = v.start.Unix() + v.ttl
		}
		if v.absent || !v.gone.IsZero() || !v.fixed || deadline > 0 && to.Unix() >= deadline {
			return true
		}
	}
	return false
}

// mayExist reports whether the document may have existed at a moment after from. The caller holds mu.
func (doc *documentHistory) mayExist(from time.Time) bool {
	for _, v := range append([]*documentVersion{&doc.base}, doc.open...) {
		gone := !v.gone.IsZero() && v.gone.Before(from)
		if !v.absent && !gone && (v.deadline == 0 || from.Unix() < v.deadline) {
			return true
		}
	}
	return false
}

// put creates, replaces or upserts a document, according to how, and records and checks the outcome.
func (d *documentHistories) put(c *client, doc *documentHistory, how string) {
	v := documentVersion{fixed: doc.container != defaultTTL}
	if v.fixed && c.rng.IntN(3) > 0 {
		v.ttl = 1 + c.rng.Int64N(15)
	}
	body := storedDocument{ID: doc.id, PK: doc.partition, TTL: v.ttl}
	if doc.container == uniqueKeys {
		v.unique = fmt.Sprintf("u%d", c.rng.IntN(30))
		body.U = v.unique
	}
	w := d.begin(doc, v)
	body.N = w.n
	text, _ := json.Marshal(body) // a plain struct
	var item store.Item
	var at store.OperationReceipt
	what := fmt.Sprintf("%s %v %s", how, doc.docKey, text)
	err, lost := c.call(what, func(ctx context.Context, s *simulatedMayflyServer) error {
		con, err := s.container(ctx, doc.container)
		if err != nil {
			return err
		}
		pk := partitionKey(doc.partition)
		switch how {
		case "create":
			item, at, err = con.Create(ctx, pk, text, store.WriteOptions{})
		case "replace":
			item, at, err = con.Replace(ctx, pk, doc.id, text, store.WriteOptions{})
		default:
			item, at, err = con.Upsert(ctx, pk, text, store.WriteOptions{})
		}
		return err
	})
	if err == nil && !lost {
		if w.ttl > 0 {
			w.deadline = item.Timestamp() + w.ttl
		}
		d.own(doc, at.Range, item.LSN())
	}
	d.end(doc, w, err, lost)
	if !lost {
		d.judge(doc, w, how, err)
	}
}

// judge reports a violation if the result err of a write to doc is impossible, given what is known of the
// document. v is the version that was to be written, how the kind of write, such as "create".
func (d *documentHistories) judge(doc *documentHistory, v *documentVersion, how string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.w.now()
	switch {
	case err == nil:
		d.checkUnique(doc, v)
	case errors.Is(err, fault.ErrConflict) && how == "create" && doc.container != uniqueKeys:
		if !doc.mayExist(v.start) {
			d.w.violate("%v was created twice: version %d is refused, but there is none", doc.docKey, v.n)
		}
	case errors.Is(err, fault.ErrNotFound) && how == "replace":
		if !doc.mayBeAbsent(now) {
			d.w.violate("%v is lost: version %d cannot replace version %d", doc.docKey, v.n, doc.base.n)
		}
	case fault.ErrorCode(err) == fault.CodeInternal && !unknown(err):
		d.w.violate("%s of %v fails with %v", how, doc.docKey, err)
	}
}

// checkUnique checks that no other document has the unique key of a stored version. The caller holds mu.
func (d *documentHistories) checkUnique(doc *documentHistory, v *documentVersion) {
	if v.unique == "" {
		return
	}
	now := d.w.now().Unix()
	if v.deadline > 0 && now >= v.deadline {
		return
	}
	for _, other := range d.groups[groupOf(doc.docKey)] {
		b := other.base
		ended := b.absent || !b.gone.IsZero() || b.ttl > 0 && (b.deadline == 0 || now >= b.deadline)
		if other != doc && len(other.open) == 0 && b.unique == v.unique && !ended {
			d.w.violate("%v and %v have the same unique key %s", doc.docKey, other.docKey, v.unique)
		}
	}
}

// own records the LSN (log sequence number) of a stored version, and checks that no other write in the
// range has it.
func (d *documentHistories) own(doc *documentHistory, rangeID string, lsn uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := fmt.Sprintf("%s/%s/%d", doc.container, rangeID, lsn)
	mine := fmt.Sprintf("%v@%d", doc.docKey, doc.last)
	if other, ok := d.taken[key]; ok {
		d.w.violate("LSN %s belongs to %s and to %s", key, other, mine)
	}
	d.taken[key] = mine
}

// delete deletes a document, and records and checks the outcome.
func (d *documentHistories) delete(c *client, doc *documentHistory) {
	v := d.begin(doc, documentVersion{absent: true, fixed: true})
	err, lost := c.call(fmt.Sprintf("delete %v", doc.docKey),
		func(ctx context.Context, s *simulatedMayflyServer) error {
			con, err := s.container(ctx, doc.container)
			if err == nil {
				_, err = con.Delete(ctx, partitionKey(doc.partition), doc.id, store.WriteOptions{})
			}
			return err
		})
	d.end(doc, v, err, lost)
	if !lost && errors.Is(err, fault.ErrNotFound) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if !doc.mayBeAbsent(d.w.now()) {
			d.w.violate("%v is lost: it cannot be deleted", doc.docKey)
		}
	}
}

// split splits a range of a container.
func (d *documentHistories) split(c *client) {
	name := containers[c.rng.IntN(len(containers))]
	n := c.rng.Uint64()
	_, _ = c.call("split "+name, func(ctx context.Context, s *simulatedMayflyServer) error {
		con, err := s.container(ctx, name)
		if err != nil {
			return err
		}
		ranges := con.Ranges().Ranges
		_, err = con.Split(ctx, ranges[n%uint64(len(ranges))].ID, "")
		return err
	})
}

// changePolicy changes the default time to live of a container.
func (d *documentHistories) changePolicy(c *client) {
	next := []ttl.Seconds{ttl.Never, 5, 20, 60}[c.rng.IntN(4)]
	_, _ = c.call(fmt.Sprintf("default ttl %d", next),
		func(ctx context.Context, s *simulatedMayflyServer) error {
			con, err := s.container(ctx, defaultTTL)
			if err != nil {
				return err
			}
			db, err := s.db.Database(databaseName)
			if err != nil {
				return err
			}
			spec := con.Info().Spec
			spec.DefaultTTL = next
			_, err = db.ReplaceContainer(ctx, defaultTTL, spec, store.WriteOptions{})
			return err
		})
}
