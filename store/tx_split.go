package store

import (
	"bytes"
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
)

// A mover moves items from the slot of a partition range that is being split into a slot of their own: first it copies what goes
// with them, then, when the other slot is the one that is read, it removes it here. Nobody reads or writes the container meanwhile,
// so that neither has to be one transaction. Both are done again after a crash: a copy is thrown away whole, and a removal
// takes an item's own key last.
//
// The keys that are not in a slot (p, k, u and b) stay as they are, and so do the items themselves: rid, LSN, etag, all.
type mover struct {
	ctx    context.Context
	c      *Container
	st     *containerState
	lower  *slot // the half that keeps the slot
	upper  *slot // the half that moves; nil where only the removal is left to do
	shapes map[shapeName]struct{}

	batch []change
	bytes int
}

// change is a key to be set, or to be deleted where deleted says so.
type change struct {
	entry
	deleted bool
}

const (
	moveBytes = 4 << 20 // of keys and values that are written at once
	moveLook  = 4096    // keys that are looked at in one view
)

func (m *mover) set(key, value []byte) { m.add(change{entry: entry{key, value}}) }

func (m *mover) remove(key []byte) { m.add(change{entry{key, nil}, true}) }

func (m *mover) add(ch change) {
	m.batch = append(m.batch, ch)
	m.bytes += len(ch.key) + len(ch.value)
}

// flush writes the batch in order, in as many transactions as it takes, without waiting for the disk.
func (m *mover) flush() error {
	for rest := m.batch; len(rest) > 0; {
		n, size := 0, 0
		for n < len(rest) && (n == 0 || size < moveBytes) {
			size += len(rest[n].key) + len(rest[n].value)
			n++
		}
		_, err := m.c.db.eng.Update(m.ctx, [][]byte{m.lower.scope}, func(t engine.Txn) error {
			for _, ch := range rest[:n] {
				if ch.deleted {
					t.Delete(ch.key)
				} else {
					t.Set(ch.key, ch.value)
				}
			}
			t.Relax()
			return nil
		})
		if err != nil {
			return err
		}
		rest = rest[n:]
	}
	clear(m.batch)
	m.batch, m.bytes = m.batch[:0], 0
	return nil
}

// over calls fn for each key of a family in the shared slot. What fn adds to the batch is written now and then.
func (m *mover) over(family byte, fn func(r engine.Reader, key, value []byte) error) error {
	rg := slotFamily(m.lower.scope, family)
	for more := true; more; {
		more = false
		err := m.c.db.eng.View(m.ctx, func(r engine.Reader) error {
			it := r.Scan(rg, false)
			for n := 0; it.Next(); n++ {
				if n == moveLook || m.bytes >= moveBytes {
					rg.Start, more = bytes.Clone(it.Key()), true
					break
				}
				if err := fn(r, it.Key(), it.Value()); err != nil {
					it.Close()
					return err
				}
			}
			return it.Close()
		})
		if err == nil {
			err = m.flush()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// items is over for the items that move.
func (m *mover) items(fn func(r engine.Reader, item *stored, value []byte) error) error {
	return m.over(famItem, func(r engine.Reader, key, value []byte) error {
		rid, ok := slotKeyNumber(key)
		if !ok {
			return engine.ErrCorrupt
		}
		head, _, err := decodeItem(value)
		if err != nil || m.lower.holds(head.epk) {
			return err
		}
		value = bytes.Clone(value)
		item, err := m.c.decode(rid, value)
		if err != nil {
			return err
		}
		return fn(r, item, value)
	})
}

// copy writes what goes with the moving items into their new slot. Their index entries are made by the present policy alone:
// in the new slot all documents are indexed by it.
func (m *mover) copy() error {
	m.shapes = make(map[shapeName]struct{})
	err := m.items(func(r engine.Reader, item *stored, value []byte) error {
		feed, err := r.Get(appendSlotKey(nil, m.lower.scope, famFeed, item.head.lsn))
		if isAbsent(err) {
			return engine.ErrCorrupt
		}
		if err != nil {
			return err
		}
		for _, e := range m.termsOf(item) {
			m.set(e.Key, e.Value)
		}
		if k := timeKey(nil, m.upper.scope, item); k != nil {
			m.set(k, nil)
		}
		m.set(appendSlotKey(nil, m.upper.scope, famFeed, item.head.lsn), bytes.Clone(feed))
		m.set(appendSlotKey(nil, m.upper.scope, famItem, item.rid), value)
		return nil
	})
	if err != nil {
		return err
	}
	for _, l := range splitLogs {
		err := m.over(l.family, func(_ engine.Reader, key, value []byte) error {
			lsn, ok := slotKeyNumber(key)
			if !ok {
				return engine.ErrCorrupt
			}
			epk, err := l.epk(value)
			if err == nil && (epk == nil || !m.lower.holds(epk)) { // a floor is one in both
				m.set(appendSlotKey(nil, m.upper.scope, l.family, lsn), bytes.Clone(value))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// splitLogs are the families that are ordered by LSN alone and whose entries go with their partition keys.
var splitLogs = [...]struct {
	family byte
	epk    func(value []byte) ([]byte, error)
}{{famVersions, versionEPK}, {famExpired, expiryEPK}}

// termsOf makes the index entries of an item in the new slot, and the record of its shape where it is the first that has it.
func (m *mover) termsOf(item *stored) []index.Entry {
	list := makeTerms(m.st.terms, item.head.life.TS, m.upper, item.body).entries
	setRID(list, item.rid)
	i := index.ShapeOf(list, scopeLen)
	if i < 0 {
		return list
	}
	name := shapeName(index.ShapeName(list[i], scopeLen))
	if _, known := m.shapes[name]; known || name == index.Unlisted() {
		return list
	}
	if len(m.shapes) < maxShapes {
		m.shapes[name] = struct{}{}
		m.set(shapeRecordKey(m.upper.scope, name[:]), index.AppendShape(nil, list, scopeLen))
		return list
	}
	unlisted := index.Unlisted()
	copy(index.ShapeName(list[i], scopeLen), unlisted[:])
	return list
}

// removeMoved removes from the shared slot all that the lower half does not hold.
func (m *mover) removeMoved() error {
	err := m.items(func(r engine.Reader, item *stored, _ []byte) error {
		for _, x := range append([]*index.Indexer{m.st.terms}, m.st.olders...) {
			terms, err := storedTerms(r, x, m.lower, item)
			if err != nil {
				return err
			}
			for _, e := range terms {
				m.remove(e.Key)
			}
		}
		if k := timeKey(nil, m.lower.scope, item); k != nil {
			m.remove(k)
		}
		m.remove(appendSlotKey(nil, m.lower.scope, famFeed, item.head.lsn))
		m.remove(appendSlotKey(nil, m.lower.scope, famItem, item.rid))
		return nil
	})
	if err != nil {
		return err
	}
	for _, l := range splitLogs {
		err := m.over(l.family, func(_ engine.Reader, key, value []byte) error {
			epk, err := l.epk(value)
			if err == nil && epk != nil && !m.lower.holds(epk) {
				m.remove(bytes.Clone(key))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// inherit gives the new slot what the shared one has recorded of itself. Its LSNs start where those of the other may have come
// to: what is born later has the higher one in both.
func (m *mover) inherit(t engine.Txn) error {
	first, err := engine.Ceiling(t, m.lower.scope)
	if err != nil {
		return err
	}
	if first > 0 {
		t.RaiseLSN(m.upper.scope, first)
	}
	for _, key := range []func(scope []byte) []byte{sweptKey, leasedKey} {
		v, err := t.Get(key(m.lower.scope))
		if err == nil {
			t.Set(key(m.upper.scope), v)
		} else if !isAbsent(err) {
			return err
		}
	}
	t.Set(indexedKey(m.upper.scope), formatReindexed(m.st.rec.IndexRound, allReindexed))
	return nil
}
