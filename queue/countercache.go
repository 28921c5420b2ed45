package queue

import "github.com/mayflydb/mayfly/queue/internal/layout"

// The counters of message stores are kept in memory if this server has the engine alone, so that a
// transaction need not read them. Why they may be: the transactions of a scope are serial, so only one
// transaction at a time reads or changes what is kept for a scope. Each transaction on messages takes an LSN
// of its scopes before it looks at the counters. LSNs grow by one, and those of a transaction that fails are
// issued again. Therefore, if the LSN is not the one behind the last LSN that was used, the last transaction
// failed, or another one came between: then nothing that is kept counts, and the engine is read.

// scopeState is the state of the scope of a queue or topic that transactions keep. A transaction over the
// scope guards it.
type scopeState struct {
	last uint64 // the LSN of the last transaction
	era  uint64 // counts the times at which what was kept became void; 0: nothing was ever kept
}

// keptCounters is the counters of a store as of the last transaction of its scope, valid in one era.
type keptCounters struct {
	layout.Counters
	era uint64
}

// scopeUse is the use of a scope by a transaction.
type scopeUse struct {
	top *entityState // the queue or topic
	lsn uint64       // that the transaction has taken
}

// useScope takes an LSN of an entity's scope, unless the transaction has one.
func (w *messageTx) useScope(top *entityState) {
	for _, u := range w.scopes {
		if u.top == top {
			return
		}
	}
	lsn, kept := w.NextLSN(top.scope), &top.kept
	if lsn != kept.last+1 || kept.era == 0 {
		kept.era++
		kept.last = lsn - 1
	}
	w.scopes = append(w.scopes, scopeUse{top, lsn})
}

// counters returns the counters of a store, or CodeEntityNotFound if the store does not exist any more.
func (w *messageTx) counters(s *messageStore) (layout.Counters, error) {
	if w.m.shared {
		return s.ReadCounters(w)
	}
	top := s.e.top()
	w.useScope(top)
	if s.kept.era == top.kept.era {
		return s.kept.Counters, nil
	}
	c, err := s.ReadCounters(w)
	if err == nil {
		s.kept = keptCounters{c, top.kept.era}
	}
	return c, err
}

// keepCounters keeps the counters that a transaction is about to commit.
func (w *messageTx) keepCounters(p *storePart) {
	if !w.m.shared {
		p.kept = keptCounters{p.Counters, p.e.top().kept.era}
	}
}

// keepScopes records the LSNs of a transaction that writes.
func (w *messageTx) keepScopes() {
	for _, u := range w.scopes {
		u.top.kept.last = u.lsn
	}
}

// dropKept makes void what is kept of an entity's scope, in a transaction over the scope that deletes keys of
// its stores.
func (e *entityState) dropKept() { e.top().kept.era++ }
