package queue

import (
	"context"
	"slices"
	"sync"

	"github.com/mayflydb/mayfly/queue/entity"
)

const (
	// maxTransaction is how many milliseconds a transaction can be open.
	maxTransaction = 120_000
	// maxOperations is how many messages it can send and settle.
	maxOperations = 100
	// maxSent is how many bytes the messages may have that it sends.
	maxSent = entity.MaxMessageKB << 10
)

// Transaction collects operations, which happen together at Commit, or not at all: sends, settlements,
// messages that are scheduled or cancelled, states of sessions. Its methods may be called from any goroutine.
type Transaction struct {
	m     *dataset
	until int64 // millisecond in which it ends by itself

	mu    sync.Mutex // guards what follows; taken before those of stores
	ended bool
	count int // messages
	bytes int // of messages that are sent
	steps []txStep
}

// txStep is one operation of a transaction.
type txStep interface {
	// entities are whom it concerns.
	entities() []*entityState
	// apply does it. It may be called more than once.
	apply(w *work) error
	// end is told once how the transaction has ended: nil where what was applied is durable.
	end(err error)
}

// Begin begins a transaction. It ends by Commit, Rollback, or by itself after two minutes.
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

// add adds an operation that concerns so many messages and sends so many bytes.
func (t *Transaction) add(messages, size int, step txStep) error {
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
	for _, step := range steps {
		for _, e := range step.entities() {
			scopes = append(scopes, e.scope)
		}
	}
	if len(scopes) == 0 {
		return nil
	}
	err := t.m.update(ctx, scopes, func(w *work) error {
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

// giveUp ends steps of which nothing was done.
func giveUp(steps []txStep) {
	for _, step := range steps {
		step.end(transactionEnded())
	}
}

func transactionEnded() error {
	return &entity.Error{Code: entity.CodeNotAllowed, Message: "The transaction has ended."}
}

// watch sees to it that a transaction ends in its time.
func (t *timers) watch(tx *Transaction) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = append(t.open, tx)
	t.wakeUp()
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
