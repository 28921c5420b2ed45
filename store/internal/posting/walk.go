package posting

import (
	"encoding/binary"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// Walk walks the rids behind one prefix.
type Walk struct {
	r      engine.Reader
	it     engine.Iterator // nil before the first step
	prefix []byte          // with room for a rid
	rid    uint64
	on     bool // it stands on rid
}

// New is a walk over the rids behind a prefix, which must have room for a rid. It costs nothing before its
// first step.
func New(r engine.Reader, prefix []byte) *Walk { return &Walk{r: r, prefix: prefix} }

// walk is the iterator, opened when it is first needed.
func (p *Walk) walk() engine.Iterator {
	if p.it == nil {
		p.it = p.r.Scan(engine.Prefix(p.prefix), false)
	}
	return p.it
}

// Next implements query.Postings.
func (p *Walk) Next() bool { return p.stand(p.walk().Next()) }

// SeekGE implements query.Postings.
func (p *Walk) SeekGE(rid uint64) bool {
	if p.on && p.rid >= rid {
		return true
	}
	return p.stand(p.walk().SeekGE(binary.BigEndian.AppendUint64(p.prefix, rid)))
}

func (p *Walk) stand(found bool) bool {
	if p.on = found; found {
		p.rid = layout.KeyRID(p.it.Key())
	}
	return found
}

// RID implements query.Postings.
func (p *Walk) RID() uint64 { return p.rid }

// Close implements query.Postings.
func (p *Walk) Close() error {
	if p.it == nil {
		return nil
	}
	return p.it.Close()
}

// Terms walks index entries.
type Terms struct {
	it  engine.Iterator
	key []byte // scratch that begins with the scope
}

// NewTerms is a walk over the index entries of a range.
func NewTerms(r engine.Reader, rg engine.Range, reverse bool) *Terms {
	return &Terms{r.Scan(rg, reverse), slices.Clone(rg.Start[:layout.ScopeLen])}
}

// Seek implements query.Seeker.
func (t *Terms) Seek(key []byte) bool {
	t.key = append(t.key[:layout.ScopeLen], key...)
	return t.it.SeekGE(t.key)
}

// Next implements query.Terms.
func (t *Terms) Next() bool { return t.it.Next() }

// Key implements query.Terms.
func (t *Terms) Key() []byte {
	k := t.it.Key()
	return k[layout.ScopeLen : len(k)-layout.RIDLen]
}

// Value implements query.Terms.
func (t *Terms) Value() []byte { return t.it.Value() }

// RID implements query.Terms.
func (t *Terms) RID() uint64 { return layout.KeyRID(t.it.Key()) }

// Close implements query.Terms.
func (t *Terms) Close() error { return t.it.Close() }
