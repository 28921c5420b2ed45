package check

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/ttl"
)

// Container checks the stored keys of a container. r is a snapshot, and state the container's state at that
// time. It checks that each item has the keys that it must have in every family, and that there are no other
// keys. It calls report for each violation. If report returns false, Container stops and returns more =
// false. limits are the limits of size and depth of stored documents. The returned error is a read error.
func Container(state *view.ContainerAtTime, limits jsondoc.Limits, r engine.Reader,
	report func(error) bool) (
	more bool, err error) {
	k := checker{state: state, limits: limits, r: r, report: report}
	err = k.run()
	return !k.stopped, err
}

// checker checks one container over one snapshot.
type checker struct {
	state   *view.ContainerAtTime
	limits  jsondoc.Limits // limits of stored documents
	r       engine.Reader
	report  func(error) bool
	stopped bool

	due              []deferredRead // keys that items must have and that have not been read yet
	dueBytes         int            // size of the items in due
	items, deadlines int64
	terms            int64 // index entries of the items of the range that is being checked
}

func (k *checker) fault(format string, args ...any) {
	if !k.stopped {
		args = append([]any{k.state.Database, k.state.Name}, args...)
		k.stopped = !k.report(fmt.Errorf("container %s/%s: "+format, args...))
	}
}

func (k *checker) run() error {
	if err := k.checkRangeNumbers(); err != nil || k.stopped {
		return err
	}
	for i := range k.state.Ranges {
		s := &k.state.Ranges[i]
		if err := k.checkRange(s); err != nil || k.stopped {
			return err
		}
	}
	// At this point, every key that an item must have exists. So if the counts are equal, there are no
	// other keys.
	want := map[byte]int64{
		layout.FamilyPoint:     k.items,
		layout.FamilyPartition: k.items * int64(k.state.Keys.Def.Levels()),
		layout.FamilyUnique:    k.items * int64(k.state.Keys.Unique.Len()),
	}
	for _, family := range []byte{layout.FamilyPoint, layout.FamilyPartition, layout.FamilyUnique} {
		n, err := view.Count(k.r, layout.ContainerFamily(k.state.Keys.CID, family), view.Never)
		if err != nil {
			return err
		}
		if n != want[family] {
			k.fault("%d keys in family %c, but its items have %d", n, family, want[family])
			if err := k.findOrphans(family); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *checker) checkRange(s *view.PartitionRange) error {
	before, deadlines := k.items, k.deadlines
	k.terms = 0
	var bounds feedSequenceBounds
	var err error
	if bounds.ceiling, err = k.ceiling(s); err != nil {
		return err
	}
	if bounds.floor, err = k.floor(s); err != nil {
		return err
	}
	it := k.r.Scan(layout.ScopeFamily(s.Scope, layout.FamilyItem), false)
	for !k.stopped && it.Next() {
		if err := k.checkItem(s, it.Key(), it.Value(), bounds); err != nil {
			it.Close()
			return err
		}
	}
	if err := errors.Join(it.Close(), k.readDue()); err != nil || k.stopped {
		return err
	}
	for _, f := range []struct {
		family byte
		want   int64
	}{{layout.FamilyFeed, k.items - before}, {layout.FamilyWritten, -1}, {layout.FamilyDeadline, -1}} {
		n, err := view.Count(k.r, layout.ScopeFamily(s.Scope, f.family), view.Never)
		if err != nil {
			return err
		}
		if f.want < 0 {
			deadlines += n
		} else if n != f.want {
			k.fault("range %s: %d feed entries for %d items", s.ID, n, f.want)
			if err := k.findOrphanFeed(s); err != nil {
				return err
			}
		}
	}
	if deadlines != k.deadlines {
		k.fault("range %s: %d entries in the expiry indexes for %d mortal items",
			s.ID, deadlines, k.deadlines)
	}
	if err := k.checkVersions(s, bounds); err != nil {
		return err
	}
	if err := k.checkExpiries(s, bounds.ceiling); err != nil {
		return err
	}
	return k.checkIndex(s)
}

// ceiling returns the first sequence that a partition range must not issue yet. All sequences stored in the
// range must be lower.
func (k *checker) ceiling(s *view.PartitionRange) (layout.WriteSequence, error) {
	n, err := engine.Ceiling(k.r, s.Scope)
	if errors.Is(err, engine.ErrCorrupt) {
		k.fault("range %s: a malformed LSN ceiling", s.ID)
		return 0, nil
	}
	return layout.FirstOf(n), err
}

func (k *checker) checkItem(s *view.PartitionRange, key, value []byte, bounds feedSequenceBounds) error {
	rid, ok := layout.ScopeKeyNumber(key)
	if !ok {
		k.fault("range %s: a malformed item key %x", s.ID, key)
		return nil
	}
	k.items++
	_, body, err := layout.DecodeItem(value)
	if err == nil {
		err = jsondoc.Valid(body, k.limits)
	}
	if err != nil {
		k.fault("item %x: %w", rid, err)
		return nil
	}
	read, err := k.state.Keys.Decode(rid, bytes.Clone(value))
	if err != nil {
		k.fault("item %x: %w", rid, err)
		return nil
	}
	item := &read
	pk := k.state.Keys.Def.Extract(item.Body)
	epk := definition.AppendEPK(nil, &k.state.Keys.Def, pk)
	if !bytes.Equal(epk, item.Head.EPK) || !s.Holds(epk) {
		k.fault("item %q: its partition key does not hash into range %s", item.ID, s.ID)
	}
	written := item.Head.Sequence
	if written >= bounds.ceiling || layout.RIDCreated(rid) > written &&
		layout.RIDRange(rid) == item.Head.Range {
		k.fault("item %q: written at %d, born %x, ceiling %d", item.ID, written, rid, bounds.ceiling)
	}
	for _, e := range k.entries(s, item) {
		k.expect(item, e)
	}
	k.checkBase(item)
	if item.Head.Life.Own != ttl.Never {
		k.deadlines++
	}
	if item.Head.Announced &&
		!k.state.Policy.Expired(k.state.Lives.Of(&item.Head, item.Body), k.state.Now) {
		k.fault("item %q: it is in the log of expiries and alive", item.ID)
	}
	if err := k.checkTerms(s, item); err != nil {
		return err
	}
	k.checkFeed(s, item, bounds)
	k.dueBytes += len(value)
	return k.readDueIfMany()
}

// checkBase checks the second from which an item's time to live counts: the stored second must equal the one
// in the document, at the container's ttlPropertyPath. It does not check items that were written under an
// earlier ttlPropertyPath.
func (k *checker) checkBase(item *view.DecodedItem) {
	l := k.state.Lives.Of(&item.Head, item.Body)
	if base, based := k.state.Lives.Basis.Of(item.Body); !l.Ended && (l.Based != based || l.Base != base) {
		k.fault("item %q: its time to live counts from %d (%v), not from %d (%v)", item.ID, l.Base, l.Based,
			base, based)
	}
}

// expect checks that the key e.Key of an item exists and has the value e.Value. The key is read later,
// together with others: see readDue.
func (k *checker) expect(item *view.DecodedItem, e view.KeyValue) {
	k.read(e.Key, func(v []byte) {
		switch {
		case v == nil:
			k.fault("item %q: the key %x is missing", item.ID, e.Key)
		case !bytes.Equal(v, e.Value):
			k.fault("item %q: the key %x leads to %x", item.ID, e.Key, v)
		}
	})
}

// entries returns the keys that an item must have.
func (k *checker) entries(s *view.PartitionRange, item *view.DecodedItem) []view.KeyValue {
	var room layout.KeyArena
	return k.state.Keys.AppendEntries(nil, &room, s.Scope, item)
}

// findOrphans reports the keys of a family (a kind of key) that belong to no item.
func (k *checker) findOrphans(family byte) error {
	it := k.r.Scan(layout.ContainerFamily(k.state.Keys.CID, family), false)
	for !k.stopped && it.Next() {
		rid, ok := layout.NumberOf(it.Value())
		if family == layout.FamilyPartition && len(it.Key()) > layout.RIDLen {
			rid, ok = layout.KeyRID(it.Key()), true
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
	for i := range k.state.Ranges {
		s := &k.state.Ranges[i]
		v, err := k.r.Get(layout.AppendScopeKey(nil, s.Scope, layout.FamilyItem, rid))
		if errors.Is(err, engine.ErrNotFound) {
			continue
		}
		if err != nil {
			return false, err
		}
		item, err := k.state.Keys.Decode(rid, v)
		if err != nil {
			return false, nil
		}
		for _, e := range k.entries(s, &item) {
			if bytes.Equal(e.Key, key) {
				return true, nil
			}
		}
	}
	return false, nil
}
