package transaction

import "sync"

// TransactionPool reuses transactions, since each has memory for the keys and entries that it builds. The
// zero TransactionPool is ready to use. It is safe for concurrent use.
type TransactionPool struct{ free sync.Pool }

// maxKept is the maximum capacity of each buffer that a transaction in the pool keeps: in bytes for the
// buffer of a value, in elements for a list of keys.
const maxKept = 16 << 10

// Get returns a transaction that has not begun. The caller gives it back by Put; it need not if it panics.
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
