package store

import (
	"context"
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/sweep"
	"github.com/mayflydb/mayfly/store/internal/transaction"
)

// Expiry sinks: the items that expire in a container can be moved somewhere else, in the transaction that
// purges them. One kind of sink is the archive, a container of the same database (archive.go). Other kinds
// belong to other tenants of the host, which finds them by kind and name.

// expiredItemSink receives the expired items of one purge of a container, to store them elsewhere. It is
// created when the locks of the container and of the target are held. (host.ExpiredItemSinkTx is the same for
// targets of other tenants, such as queues.)
type expiredItemSink interface {
	// scopes returns the engine scopes (units of locking) that a transaction must lock, besides the
	// range's own, to move the expired items among the candidates.
	scopes(ctx context.Context, s *container.Partition, batch []sweep.ExpiryCandidate) ([][]byte, error)
	// begin begins the sink's part of transaction t, which has locked the engine scopes that the sink's
	// method scopes returned. It is called again if the transaction is repeated.
	begin(t *transaction.Tx) error
	// take moves a ghost (an expired item that is not purged yet) to the sink. It returns false if that
	// needs an engine scope that the transaction has not locked.
	take(ghost *transaction.StoredItem) (taken bool, err error)
	// finish ends the sink's part of the transaction: take is not called any more.
	finish()
	// leave releases the locks of the container and of the sink. committed reports whether the transaction
	// was committed.
	leave(committed bool)
}

// enterToPurge takes the locks of a purge: the container's gate, shared with other operations, and the locks
// of its expiry sink.
func (c *Container) enterToPurge(ctx context.Context) (st *container.State, h expiredItemSink, err error) {
	for {
		to := c.state.Load().Rec.Settings.ExpirySink()
		switch to.Kind {
		case "":
			st, _, err = c.enter(ctx)
			h = deleteOnlyExpirySink{c}
		case definition.SinkArchive:
			st, h, err = c.enterBoth(ctx, to.Name)
		default:
			st, h, err = c.enterWithOther(ctx, to)
		}
		if err != nil || st.Rec.Settings.ExpirySink() == to {
			return st, h, err
		}
		h.leave(false) // the settings have changed since
	}
}

// withMoved calls fn, in a view of the engine, with those items of the batch that have expired and have to be
// moved to the expiry sink. It does not call fn if there are none.
func (c *Container) withMoved(ctx context.Context, st *container.State, s *container.Partition,
	batch []sweep.ExpiryCandidate, fn func(r engine.Reader, items []*transaction.StoredItem) error) error {
	return c.ds.view(ctx, func(r engine.Reader) error {
		items, err := c.items.Moved(r, st, s, batch, c.moment())
		if err != nil || len(items) == 0 {
			return err
		}
		return fn(r, items)
	})
}

// deleteOnlyExpirySink is used for a container whose expired items are only deleted, and not moved to an
// archive or a queue (an expiry sink).
type deleteOnlyExpirySink struct{ c *Container }

func (deleteOnlyExpirySink) scopes(context.Context,
	*container.Partition, []sweep.ExpiryCandidate) ([][]byte, error) {
	return nil, nil
}
func (deleteOnlyExpirySink) begin(*transaction.Tx) error                { return nil }
func (deleteOnlyExpirySink) take(*transaction.StoredItem) (bool, error) { return true, nil }
func (deleteOnlyExpirySink) finish()                                    {}
func (h deleteOnlyExpirySink) leave(bool)                               { h.c.leave() }

// queueOrTopicExpirySink is an expiry sink that does not belong to the store but to another tenant of its
// host: a queue or topic.
type queueOrTopicExpirySink struct {
	host.ExpiredItemSinkTx
	c     *Container
	st    *container.State
	taken int // number of ghosts taken in the transaction
}

// enterWithOther takes the container's gate (its lock) and the expiry sink's locks, in the order of the
// tenants that own them.
func (c *Container) enterWithOther(ctx context.Context,
	to definition.ExpiredItemSinkReference) (*container.State, expiredItemSink, error) {
	q, err := c.ds.in.Sink(tenantName, to.Kind, to.Name)
	if err != nil {
		return nil, nil, &fault.Error{
			Code: fault.CodeUnavailable,
			Message: fmt.Sprintf(
				"The %s '%s', the expiry sink of '%s', is missing.",
				to.Kind,
				to.Name,
				c.name,
			),
			Hint: "clear onExpire in the container's settings", Err: err,
		}
	}
	h := &queueOrTopicExpirySink{c: c}
	if q.First {
		if h.ExpiredItemSinkTx, err = q.Enter(ctx); err != nil {
			return nil, nil, err
		}
	}
	if h.st, _, err = c.enter(ctx); err != nil {
		if q.First {
			h.ExpiredItemSinkTx.Leave(false)
		}
		return nil, nil, err
	}
	if !q.First {
		if h.ExpiredItemSinkTx, err = q.Enter(ctx); err != nil {
			c.leave()
			return nil, nil, err
		}
	}
	return h.st, h, nil
}

// dead converts a ghost (an expired item that is not purged yet) to the form in which the expiry sink
// receives it.
func (h *queueOrTopicExpirySink) dead(ghost *transaction.StoredItem) host.ExpiredItem {
	at, _ := h.st.Policy().ExpiresAt(h.st.Life(&ghost.DecodedItem))
	from := h.c.d.ID() + "/" + h.c.name
	return host.ExpiredItem{From: from, ID: ghost.ID, Body: ghost.Body, ExpiredAt: time.Unix(at, 0)}
}

func (h *queueOrTopicExpirySink) scopes(ctx context.Context, s *container.Partition,
	batch []sweep.ExpiryCandidate) (
	scopes [][]byte, err error) {
	err = h.c.withMoved(ctx, h.st, s, batch, func(r engine.Reader, items []*transaction.StoredItem) error {
		dead := make([]host.ExpiredItem, len(items))
		for i, item := range items {
			dead[i] = h.dead(item)
		}
		scopes, err = h.Scopes(r, dead)
		return err
	})
	return scopes, err
}

func (h *queueOrTopicExpirySink) begin(t *transaction.Tx) error {
	h.taken = 0
	h.Begin(t.Txn)
	return nil
}

// take moves a ghost (an expired item that is not purged yet) to the place in another tenant that receives
// the container's expired items, such as a queue (the expiry sink). taken is false if the sink refuses the
// ghost. If that is the first ghost of the transaction, a new transaction would not help, and take fails.
func (h *queueOrTopicExpirySink) take(ghost *transaction.StoredItem) (taken bool, err error) {
	taken, err = h.Take(h.dead(ghost))
	switch {
	case taken:
		h.taken++
	case err == nil && h.taken == 0:
		to := h.st.Rec.Settings.ExpirySink()
		err = fault.New(fault.CodeUnavailable,
			fmt.Sprintf("The %s '%s' does not take what expires in the container '%s'.",
				to.Kind, to.Name, h.c.name))
	}
	return taken, err
}

func (h *queueOrTopicExpirySink) finish() { h.Finish() }

func (h *queueOrTopicExpirySink) leave(committed bool) {
	h.Leave(committed)
	h.c.leave()
}
