package posting

import (
	"encoding/binary"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// PrefixRIDIterator iterates over the rids of the keys with one prefix.
type PrefixRIDIterator struct {
	r      engine.Reader
	it     engine.Iterator // nil before the first call of Next or SeekGE
	prefix []byte          // with free capacity for a rid behind it
	rid    uint64
	valid  bool // rid is valid
}

// New returns a PrefixRIDIterator over the rids of the keys with a prefix. The slice must have free capacity
// for a rid behind the prefix, because SeekGE appends one to it. No iterator is opened before the first call
// of Next or SeekGE.
func New(r engine.Reader, prefix []byte) *PrefixRIDIterator {
	return &PrefixRIDIterator{r: r, prefix: prefix}
}

// walk returns the iterator and opens it on the first call.
func (p *PrefixRIDIterator) walk() engine.Iterator {
	if p.it == nil {
		p.it = p.r.Scan(engine.Prefix(p.prefix), false)
	}
	return p.it
}

// Next moves to the next rid. It returns false at the end or after an error.
func (p *PrefixRIDIterator) Next() bool { return p.setPosition(p.walk().Next()) }

// SeekGE moves to the first rid that is not before rid, in the order of the walk.
func (p *PrefixRIDIterator) SeekGE(rid uint64) bool {
	if p.valid && p.rid >= rid {
		return true
	}
	return p.setPosition(p.walk().SeekGE(binary.BigEndian.AppendUint64(p.prefix, rid)))
}

func (p *PrefixRIDIterator) setPosition(found bool) bool {
	if p.valid = found; found {
		p.rid = layout.KeyRID(p.it.Key())
	}
	return found
}

// RID returns the rid to which Next or SeekGE has moved.
func (p *PrefixRIDIterator) RID() uint64 { return p.rid }

// Close closes the iterator and returns its error.
func (p *PrefixRIDIterator) Close() error {
	if p.it == nil {
		return nil
	}
	return p.it.Close()
}

// EntryIterator iterates over index entries.
type EntryIterator struct {
	it  engine.Iterator
	key []byte // memory for keys; begins with the scope
}

// NewTerms returns an iterator over the index entries in a range of keys, in descending order if reverse is
// set.
func NewTerms(r engine.Reader, rg engine.Range, reverse bool) *EntryIterator {
	return &EntryIterator{r.Scan(rg, reverse), slices.Clone(rg.Start[:layout.ScopeLen])}
}

// Seek moves to the first entry at or after a key, in the order of the iteration.
func (t *EntryIterator) Seek(key []byte) bool {
	t.key = append(t.key[:layout.ScopeLen], key...)
	return t.it.SeekGE(t.key)
}

// Next moves to the next index entry and reports whether there is one.
func (t *EntryIterator) Next() bool { return t.it.Next() }

// Key returns the key of the current entry without the key prefix of the partition range.
func (t *EntryIterator) Key() []byte {
	k := t.it.Key()
	return k[layout.ScopeLen : len(k)-layout.RIDLen]
}

// Value returns the value of the current entry.
func (t *EntryIterator) Value() []byte { return t.it.Value() }

// RID returns the rid at the end of the current entry's key.
func (t *EntryIterator) RID() uint64 { return layout.KeyRID(t.it.Key()) }

// Close closes the iterator and returns its error.
func (t *EntryIterator) Close() error { return t.it.Close() }
