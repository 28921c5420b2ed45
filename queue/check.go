package queue

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/internal/check"
	"github.com/mayflydb/mayfly/queue/internal/view"
)

// Check reads everything that queues and topics have stored and calls report for each violated invariant. It
// stops as soon as report returns false. While it runs, no entity is created or deleted. It returns an error
// only if it cannot read.
func (q *Queues) Check(ctx context.Context, report func(error) bool) error {
	m, err := q.dataset()
	if err != nil {
		return err
	}
	return m.checkMessages(ctx, report)
}

// Totals returns the number of entities and of messages in all of them. It changes nothing. Expired
// messages that have not been purged yet are counted.
func (q *Queues) Totals(ctx context.Context) (entities int, messages int64, err error) {
	m, err := q.dataset()
	if err != nil {
		return 0, 0, err
	}
	if err := m.learn(ctx); err != nil {
		return 0, 0, err
	}
	for _, e := range m.list() {
		one, err := m.entity(ctx, e)
		if err != nil {
			return 0, 0, err
		}
		entities++
		messages += one.Counts.Active + one.Counts.Scheduled + one.Counts.DeadLetter +
			one.Counts.TransferDeadLetter
	}
	return entities, messages, nil
}

// checkMessages calls report for each violated invariant of stored messages, in one snapshot, and for each
// key that belongs to no store. It stops as soon as report returns false. It returns an error only if it
// cannot read.
func (m *loadedEntities) checkMessages(ctx context.Context, report func(error) bool) error {
	if err := m.in.Catalog().Lock(ctx); err != nil { // so that the entities are those of the snapshot
		return wrap(err)
	}
	defer m.in.Catalog().Unlock()
	err := m.in.Engine().View(ctx, func(r engine.Reader) error {
		var stores []*view.MessageStore
		for _, s := range m.allStores() {
			stores = append(stores, &s.MessageStore)
			if stopped, err := check.Store(ctx, r, &s.MessageStore, report); err != nil || stopped {
				return err
			}
		}
		return check.Strays(ctx, r, stores, report)
	})
	return wrap(err)
}
