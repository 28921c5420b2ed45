package transaction

import "sync"

// TransactionPool reuses transactions, since each has memory for the keys and entries that it builds. The
// zero TransactionPool is ready to use. It is safe for concurrent use.
type TransactionPool struct{ free sync.Pool }

// maxKept is the maximum capacity, in bytes of a value and in number of keys, that a transaction in the
// pool keeps.
const maxKept = 16 << 10

// Get returns a transaction that has not begun. Unless it panics, the caller passes it to Put.
func (p *TransactionPool) Get() *Tx {
	if t, ok := p.free.Get().(*Tx); ok {
		return t
	}
	return new(Tx)
}

// Put returns a transaction to the pool. Nothing may use the transaction afterwards.
func (p *TransactionPool) Put(t *Tx) {
	clear(t.feed)
	clear(t.history)
	clear(t.changed)
	if cap(t.value) > maxKept {
		t.value = nil
	}
	if cap(t.changed) > maxKept {
		t.changed = nil
	}
	*t = Tx{feed: t.feed[:0], history: t.history[:0], changed: t.changed[:0], shapes: t.shapes[:0],
		listed: t.listed[:0], mem: t.mem, value: t.value[:0]}
	p.free.Put(t)
}
