package queue

import (
	"context"
	"slices"
	"sync"

	"github.com/mayflydb/mayfly/queue/entity"
)

const (
	// maxTransaction is how many milliseconds a transaction can stay open.
	maxTransaction = 120_000
	// maxOperations is the maximal number of messages that a transaction can send and settle.
	maxOperations = 100
	// maxSent is the maximal total size, in bytes, of all messages that one transaction sends.
	maxSent = entity.MaxMessageKB << 10
)

// Transaction collects operations that Commit applies together or not at all: sends, settlements, scheduling
// and canceling of messages, and changes of session state. Its methods are safe for concurrent use.
type Transaction struct {
	m     *loadedEntities
	until int64 // millisecond at which it is rolled back

	mu    sync.Mutex // guards the following fields; locked before mutexes of stores
	ended bool
	count int // messages
	bytes int // of messages that are sent
	steps []transactionStep
}

// transactionStep is one operation of a transaction.
type transactionStep interface {
	// entities returns the entities that the step changes.
	entities() []*entityState
	// apply makes the step's changes as a part of the transaction w. It may be called more than once.
	apply(w *messageTx) error
	// end is called once: with nil if the changes are durable, otherwise with the error that has ended the
	// transaction.
	end(err error)
}

// Begin starts a transaction. It ends with Commit or Rollback; after two minutes it is rolled back.
func (q *Queues) Begin(ctx context.Context) (*Transaction, error) {
	m, err := q.dataset()
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

// add adds a step to the transaction. messages is the number of messages, size the bytes that the step
// sends.
func (t *Transaction) add(messages, size int, step transactionStep) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ended || t.until <= t.m.in.Clock().Millis():
		return transactionEnded()
	case step.entities()[0].m != t.m:
		return &entity.Error{
			Code:    entity.CodeCancelled,
			Message: "The data has been restored since the transaction began.",
		}
	case t.count+messages > maxOperations:
		return &entity.Error{
			Code:    entity.CodeQuotaExceeded,
			Message: "A transaction has at most 100 messages.",
		}
	case t.bytes+size > maxSent:
		return &entity.Error{
			Code:    entity.CodeQuotaExceeded,
			Message: "The messages of a transaction have at most 100 MB.",
		}
	}
	t.count += messages
	t.bytes += size
	t.steps = append(t.steps, step)
	return nil
}

// Commit applies all steps durably and atomically. If it fails, none of them is applied.
func (t *Transaction) Commit(ctx context.Context) error {
	steps, ok := t.finish()
	if !ok {
		return transactionEnded()
	}
	if t.until <= t.m.in.Clock().Millis() {
		endUnapplied(steps)
		return transactionEnded()
	}
	var scopes [][]byte
	for _, step := range steps {
		for _, e := range step.entities() {
			scopes = append(scopes, e.scope)
		}
	}
	if len(scopes) == 0 {
		return nil
	}
	err := t.m.update(ctx, scopes, func(w *messageTx) error {
		for _, step := range steps {
			if err := step.apply(w); err != nil {
				return err
			}
		}
		return nil
	})
	for _, step := range steps {
		step.end(err)
	}
	return err
}

// Rollback discards the transaction. Messages that it would have settled stay locked.
func (t *Transaction) Rollback() {
	if steps, ok := t.finish(); ok {
		endUnapplied(steps)
	}
}

// finish marks the transaction as ended. ok is true only for the first call.
func (t *Transaction) finish() (steps []transactionStep, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return nil, false
	}
	t.ended = true
	t.m.timers.unwatch(t)
	return t.steps, true
}

// endUnapplied ends the steps of a transaction that was not committed. Each step releases what it holds, such
// as reservations of messages.
func endUnapplied(steps []transactionStep) {
	for _, step := range steps {
		step.end(transactionEnded())
	}
}

func transactionEnded() error {
	return &entity.Error{Code: entity.CodeNotAllowed, Message: "The transaction has ended."}
}

// watch makes the timers roll a transaction back when its time is over.
func (t *messageDueTimeScheduler) watch(tx *Transaction) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = append(t.open, tx)
	t.WakeUp()
}

// unwatch removes a transaction that has ended from the open transactions whose time limits the scheduler
// watches.
func (t *messageDueTimeScheduler) unwatch(tx *Transaction) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.open, tx); i >= 0 {
		t.open = slices.Delete(t.open, i, i+1)
	}
}

// overdue returns the transactions whose time is over. The caller holds the mutex.
func (t *messageDueTimeScheduler) overdue(now int64) (list []*Transaction) {
	for _, tx := range t.open {
		if tx.until <= now {
			list = append(list, tx)
		}
	}
	return list
}
