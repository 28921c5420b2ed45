package queue

import (
	"context"
	"slices"
	"sync"
)

const (
	// maxTransaction is how many milliseconds a transaction can be open.
	maxTransaction = 120_000
	// maxOperations is how many messages it can send and settle.
	maxOperations = 100
	// maxSent is how many bytes the messages may have that it sends.
	maxSent = maxMessageKB << 10
)

// Transaction collects sends and settlements, which happen together at Commit, or not at all. Its methods
// may be called from any goroutine.
type Transaction struct {
	m     *resident
	until int64 // millisecond in which it ends by itself

	mu    sync.Mutex // guards what follows; taken before those of stores
	ended bool
	count int // messages
	bytes int // of messages that are sent
	steps []txStep
}

// txStep is one send, or one settlement.
type txStep struct {
	e        *entity // whom it concerns
	arrivals []arrival

	s     *messageStore // of a settlement; nil: it is a send
	claim *claim
	how   Settlement
	what  after
}

// Begin begins a transaction. It ends by Commit, Rollback, or by itself after two minutes.
func (q *Queues) Begin(ctx context.Context) (*Transaction, error) {
	m, err := q.resident()
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, wrap(ctx.Err())
	}
	t := &Transaction{m: m, until: m.in.Clock().Millis() + maxTransaction}
	m.timers.watch(t)
	return t, nil
}

// settle adds a settlement, whose lock is the transaction's from now on.
func (t *Transaction) settle(s *messageStore, c *claim, how Settlement) error {
	err := t.add(1, 0, txStep{e: s.e, s: s, claim: c, how: how})
	if err != nil {
		s.endSettle(c, back, err)
	}
	return err
}

// send adds messages that have been accepted.
func (t *Transaction) send(e *entity, list []arrival, size int) error {
	return t.add(len(list), size, txStep{e: e, arrivals: list})
}

func (t *Transaction) add(messages, size int, step txStep) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ended || t.until <= t.m.in.Clock().Millis():
		return transactionEnded()
	case step.e.m != t.m:
		return &Error{Code: CodeCancelled, Message: "The data has been restored since the transaction began."}
	case t.count+messages > maxOperations:
		return &Error{Code: CodeQuotaExceeded, Message: "A transaction has at most 100 messages."}
	case t.bytes+size > maxSent:
		return &Error{Code: CodeQuotaExceeded, Message: "The messages of a transaction have at most 100 MB."}
	}
	t.count += messages
	t.bytes += size
	t.steps = append(t.steps, step)
	return nil
}

// Commit makes all of it happen, durably and in one step, or nothing: the error says why.
func (t *Transaction) Commit(ctx context.Context) error {
	steps, ok := t.finish()
	if !ok {
		return transactionEnded()
	}
	if t.until <= t.m.in.Clock().Millis() {
		giveUp(steps)
		return transactionEnded()
	}
	var scopes [][]byte
	for i := range steps {
		scopes = append(scopes, steps[i].e.scope)
	}
	if len(scopes) == 0 {
		return nil
	}
	err := t.m.update(ctx, scopes, func(w *work) error {
		for i := range steps {
			if err := w.step(&steps[i]); err != nil {
				return err
			}
		}
		return nil
	})
	for i := range steps {
		if steps[i].s != nil {
			steps[i].s.endSettle(steps[i].claim, steps[i].what, err)
		}
	}
	return err
}

// step does one step of a transaction.
func (w *work) step(step *txStep) (err error) {
	if step.s == nil {
		_, err = w.enqueueAll(step.e, step.arrivals)
		return err
	}
	step.what, err = w.settle(step.s, step.claim, &step.how)
	return err
}

// Rollback gives it up: messages that it would have settled stay locked.
func (t *Transaction) Rollback() {
	if steps, ok := t.finish(); ok {
		giveUp(steps)
	}
}

// finish ends the transaction, for one caller.
func (t *Transaction) finish() (steps []txStep, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return nil, false
	}
	t.ended = true
	t.m.timers.unwatch(t)
	return t.steps, true
}

// giveUp gives the locks back to those who had them.
func giveUp(steps []txStep) {
	for _, step := range steps {
		if step.s != nil {
			step.s.endSettle(step.claim, back, transactionEnded())
		}
	}
}

func transactionEnded() error {
	return &Error{Code: CodeNotAllowed, Message: "The transaction has ended."}
}

// watch sees to it that a transaction ends in its time.
func (t *timers) watch(tx *Transaction) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = append(t.open, tx)
	t.ring()
}

// unwatch forgets one that has ended.
func (t *timers) unwatch(tx *Transaction) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.open, tx); i >= 0 {
		t.open = slices.Delete(t.open, i, i+1)
	}
}

// overdue are the transactions whose time is over. The caller holds the mutex.
func (t *timers) overdue(now int64) (list []*Transaction) {
	for _, tx := range t.open {
		if tx.until <= now {
			list = append(list, tx)
		}
	}
	return list
}
