package queue

import "github.com/mayflydb/mayfly/queue/internal/layout"

// If no other server has the engine open, the counters of message stores are kept in memory, so that a
// transaction need not read them. This is correct for two reasons. First, the transactions of a scope are
// serial, so only one transaction at a time reads or changes what is kept for a scope. Second, each
// transaction on messages takes an LSN (log sequence number) of its scopes before it uses the counters. LSNs
// grow by one, and those of a failed transaction are issued again. If the LSN does not follow the last one
// that was used, the last transaction has failed or another one has run in between. The kept counters are
// then void, and the transaction reads them from the engine.

// counterCacheValidity tells, for the engine scope of a queue or topic, whether the message counters cached
// in memory are still those in the engine. Transactions on a scope run one after the other, so only one of
// them uses the value at a time.
type counterCacheValidity struct {
	last uint64 // the LSN of the last transaction
	era  uint64 // raised when the kept counters become void; 0: none were ever kept
}

// cachedCounters holds a message store's counters as its last transaction has left them. They are valid only
// while their era equals that of the engine scope, which is raised whenever all cached counters of the scope
// become invalid (counterCacheValidity.era).
type cachedCounters struct {
	layout.MessageStoreCounters
	era uint64
}

// transactionScopeLSN records the LSN that a transaction has taken in the engine scope of a queue or topic.
type transactionScopeLSN struct {
	top *entityState // the queue or topic
	lsn uint64       // the LSN that the transaction has taken
}

// useScope assigns the transaction an LSN in the engine scope of a queue or topic, once per transaction. If
// this LSN does not follow the last one that was used here, the last transaction has failed or another one
// has written in between. Then useScope makes the counters cached in memory for the scope invalid.
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
	w.scopes = append(w.scopes, transactionScopeLSN{top, lsn})
}

// counters returns the message counters of a message store (a queue, a subscription or one of their
// sub-queues), from memory if they are valid there. It fails with CodeEntityNotFound if the store no longer
// exists.
func (w *messageTx) counters(s *inMemoryMessageStoreState) (layout.MessageStoreCounters, error) {
	if w.m.shared {
		return s.ReadCounters(w)
	}
	top := s.e.top()
	w.useScope(top)
	if s.kept.era == top.kept.era {
		return s.kept.MessageStoreCounters, nil
	}
	c, err := s.ReadCounters(w)
	if err == nil {
		s.kept = cachedCounters{c, top.kept.era}
	}
	return c, err
}

// keepCounters keeps in memory the counters that a transaction is about to commit.
func (w *messageTx) keepCounters(p *messageStoreTransactionPart) {
	if !w.m.shared {
		p.kept = cachedCounters{p.MessageStoreCounters, p.e.top().kept.era}
	}
}

// keepScopes records, for each scope of a transaction that writes, the LSN that the transaction has taken. If
// the next transaction takes another LSN than the one after it, something else has written to the scope, and
// the counters in memory are invalid.
func (w *messageTx) keepScopes() {
	for _, u := range w.scopes {
		u.top.kept.last = u.lsn
	}
}

// dropKept invalidates the cached counters of all message stores in the engine scope of this entity, so that
// they are read from the engine again. It is called in a transaction on that scope that deletes keys of the
// stores.
func (e *entityState) dropKept() { e.top().kept.era++ }
