package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// Check reads the whole store and calls report for each violation of what must always hold; it stops early
// where report returns false. It proves, for one snapshot of each container, that items and their keys in
// every family are one to one:
//
//	item (d) <-> point key (p), partition postings (k), feed entry (f), deadline (w or x, neither for ttl -1), unique keys (u),
//	             index entries (i, o)
//
// While documents are being indexed anew, an item must have the entries that all policies give it by which it
// may be indexed, and may have those that any of them does. Where a container keeps all versions (v), the
// item's own is among them, and so is each version that another follows, back to the end of what is kept.
// Check proves further that every item lies in the slot that its partition key hashes to, is well-formed JSON
// and younger than its slot's LSN ceiling, and that no key belongs to no container and to no range. The error
// returned is that of reading; a violation is no error of Check.
func (db *DB) Check(ctx context.Context, report func(error) bool) error {
	return db.live().check(ctx, report)
}

func (db *resident) check(ctx context.Context, report func(error) bool) error {
	db.mu.RLock()
	containers := db.cat.containers
	db.mu.RUnlock()
	for _, c := range containers {
		ck := checker{c: c, report: report}
		if err := c.view(ctx, ck.run); err != nil && fault.ErrorCode(err) != fault.CodeOwnerNotFound {
			return wrap(err)
		}
		if ck.stopped {
			return nil
		}
	}
	return wrap(db.view(ctx, func(r engine.Reader) error {
		if err := checkStrays(r, report); err != nil {
			return err
		}
		return checkResources(r, report)
	}))
}

// checker checks one container over one snapshot.
type checker struct {
	c       *Container
	st      *containerState
	r       engine.Reader
	report  func(error) bool
	stopped bool

	items, deadlines int64
	terms            int64 // index entries of the present slot's items
}

func (k *checker) fault(format string, args ...any) {
	if !k.stopped {
		k.stopped = !k.report(fmt.Errorf("container %s/%s: "+format, append([]any{k.c.d.ID(), k.c.name}, args...)...))
	}
}

func (k *checker) run(st *containerState, _ int64, r engine.Reader) error {
	k.r, k.st = r, st
	k.checkSettings()
	if err := k.checkSlots(); err != nil || k.stopped {
		return err
	}
	for _, s := range k.st.ranges {
		if err := k.checkSlot(s); err != nil || k.stopped {
			return err
		}
	}
	// Every key that an item must have is there; where there are no more keys than that, there are no others.
	want := map[byte]int64{
		layout.FamilyPoint:     k.items,
		layout.FamilyPartition: k.items * int64(k.c.def.Levels()),
		layout.FamilyUnique:    k.items * int64(k.c.uniques),
	}
	for _, family := range []byte{layout.FamilyPoint, layout.FamilyPartition, layout.FamilyUnique} {
		n, err := countKeys(r, layout.ContainerFamily(k.c.cid, family), never)
		if err != nil {
			return err
		}
		if n != want[family] {
			k.fault("%d keys in family %c, but its items have %d", n, family, want[family])
			if err := k.findStrangers(family); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *checker) checkSlot(s *slot) error {
	before, deadlines := k.items, k.deadlines
	k.terms = 0
	var bounds feedBounds
	var err error
	if bounds.ceiling, err = k.ceiling(s); err != nil {
		return err
	}
	if bounds.floor, err = k.floor(s); err != nil {
		return err
	}
	it := k.r.Scan(layout.SlotFamily(s.scope, layout.FamilyItem), false)
	for !k.stopped && it.Next() {
		if err := k.checkItem(s, it.Key(), it.Value(), bounds); err != nil {
			it.Close()
			return err
		}
	}
	if err := it.Close(); err != nil || k.stopped {
		return err
	}
	for _, f := range []struct {
		family byte
		want   int64
	}{{layout.FamilyFeed, k.items - before}, {layout.FamilyWritten, -1}, {layout.FamilyDeadline, -1}} {
		n, err := countKeys(k.r, layout.SlotFamily(s.scope, f.family), never)
		if err != nil {
			return err
		}
		if f.want < 0 {
			deadlines += n
		} else if n != f.want {
			k.fault("range %s: %d feed entries for %d items", s.id, n, f.want)
			if err := k.findStrayFeed(s); err != nil {
				return err
			}
		}
	}
	if deadlines != k.deadlines {
		k.fault("range %s: %d entries in the expiry indexes for %d mortal items", s.id, deadlines, k.deadlines)
	}
	if err := k.checkVersions(s, bounds); err != nil {
		return err
	}
	if err := k.checkExpiries(s, bounds.ceiling); err != nil {
		return err
	}
	return k.checkIndex(s)
}

// ceiling is the first sequence that the slot has not been allowed to take.
func (k *checker) ceiling(s *slot) (layout.Sequence, error) {
	n, err := engine.Ceiling(k.r, s.scope)
	if errors.Is(err, engine.ErrCorrupt) {
		k.fault("range %s: a malformed LSN ceiling", s.id)
		return 0, nil
	}
	return layout.FirstOf(n), err
}

func (k *checker) checkItem(s *slot, key, value []byte, bounds feedBounds) error {
	rid, ok := layout.SlotKeyNumber(key)
	if !ok {
		k.fault("range %s: a malformed item key %x", s.id, key)
		return nil
	}
	k.items++
	if err := doc.Valid(value[min(len(value), bodyStart(value)):], storedLimits); err != nil {
		k.fault("item %x: %w", rid, err)
		return nil
	}
	item, err := k.c.decode(rid, bytes.Clone(value))
	if err != nil {
		k.fault("item %x: %w", rid, err)
		return nil
	}
	pk := k.c.def.Extract(item.body)
	if epk := definition.AppendEPK(nil, &k.c.def, pk); !bytes.Equal(epk, item.head.EPK) || !s.holds(epk) {
		k.fault("item %q: its partition key does not hash into range %s", item.id, s.id)
	}
	if item.head.Sequence >= bounds.ceiling || layout.RIDBorn(rid) > item.head.Sequence && layout.RIDSlot(rid) == item.head.Slot {
		k.fault("item %q: written at %d, born %x, ceiling %d", item.id, item.head.Sequence, rid, bounds.ceiling)
	}
	t := tx{c: k.c, st: k.st, s: s}
	for _, e := range t.entries(nil, item) {
		if err := k.expect(item, e); err != nil {
			return err
		}
	}
	if item.head.Life.Own != ttl.Never {
		k.deadlines++
	}
	if item.head.Announced && !k.st.policy().Expired(item.head.Life, k.c.moment()) {
		k.fault("item %q: it is in the log of expiries and alive", item.id)
	}
	if err := k.checkTerms(s, item); err != nil {
		return err
	}
	return k.checkFeed(s, item, bounds)
}

// bodyStart is where the JSON begins in a stored value.
func bodyStart(value []byte) int {
	if len(value) < layout.HeaderFixed {
		return len(value)
	}
	return layout.HeaderFixed + int(value[layout.HeaderFixed-1])
}

func (k *checker) expect(item *stored, e entry) error {
	v, err := k.r.Get(e.key)
	switch {
	case isAbsent(err):
		k.fault("item %q: the key %x is missing", item.id, e.key)
		return nil
	case err != nil:
		return err
	case !bytes.Equal(v, e.value):
		k.fault("item %q: the key %x leads to %x", item.id, e.key, v)
	}
	return nil
}

// findStrangers names the keys of a family that no item has.
func (k *checker) findStrangers(family byte) error {
	it := k.r.Scan(layout.ContainerFamily(k.c.cid, family), false)
	for !k.stopped && it.Next() {
		rid, ok := layout.NumberOf(it.Value())
		if family == layout.FamilyPartition && len(it.Key()) > layout.RIDLen {
			rid, ok = binary.BigEndian.Uint64(it.Key()[len(it.Key())-layout.RIDLen:]), true
		}
		if !ok {
			k.fault("a malformed key %x", it.Key())
			continue
		}
		mine, err := k.hasEntry(rid, it.Key())
		if err != nil {
			it.Close()
			return err
		}
		if !mine {
			k.fault("the key %x belongs to no item", it.Key())
		}
	}
	return it.Close()
}

func (k *checker) hasEntry(rid uint64, key []byte) (bool, error) {
	for _, s := range k.st.ranges {
		v, err := k.r.Get(layout.AppendSlotKey(nil, s.scope, layout.FamilyItem, rid))
		if isAbsent(err) {
			continue
		}
		if err != nil {
			return false, err
		}
		item, err := k.c.decode(rid, v)
		if err != nil {
			return false, nil
		}
		t := tx{c: k.c, st: k.st, s: s}
		for _, e := range t.entries(nil, item) {
			if bytes.Equal(e.key, key) {
				return true, nil
			}
		}
	}
	return false, nil
}

// checkStrays looks for keys of containers that the catalog does not know and that are not being erased.
func checkStrays(r engine.Reader, report func(error) bool) error {
	known := make(map[uint32]bool)
	err := host.ScanRecords(r, layout.KindContainer, func(_ []byte, rec containerRecord) error {
		known[rec.CID] = true
		return nil
	})
	if err != nil {
		return err
	}
	it := r.Scan(engine.Range{Start: layout.AppendCID(nil, layout.CIDBit)}, false)
	more := it.Next()
	for more && len(it.Key()) >= layout.CIDLen {
		cid := binary.BigEndian.Uint32(it.Key())
		if !known[cid] {
			if _, err := r.Get(layout.DropKey(cid)); isAbsent(err) && !report(fmt.Errorf("keys of a container %x that does not exist", cid)) {
				break
			}
		}
		end := layout.ContainerRange(cid).End
		if end == nil {
			break
		}
		more = it.SeekGE(end)
	}
	return it.Close()
}
