package bus

import (
	"context"

	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// Package inject implements fault rules; this file applies them to operations on messages. Sending,
// receiving or settling one message is one operation. A request to renew or settle several locks is one
// operation as well.

// meet returns the fault that the fault rules select for an operation on the entity with this path, if any.
// If the fault comes before the operation, meet waits for the fault's delay and returns true as now: the
// fault takes the place of the operation, which must not be carried out.
func (c *conn) meet(op inject.OperationKind, path string) (hit inject.MatchedFault, now bool) {
	hit = c.bus.o.Faults.Match(inject.IncomingOperation{Operation: op, Entity: path})
	now, err := hit.BeforeOperation(c.ctx, c.bus.o.Wall)
	return hit, now && err == nil // if the connection ended during the delay, the operation is carried out
}

// isFaultAfter reports whether the fault comes after the operation. If so, it first waits for the fault's
// delay.
func (c *conn) isFaultAfter(hit *inject.MatchedFault) (now bool) {
	now, err := hit.AfterOperation(c.ctx, c.bus.o.Wall)
	return now && err == nil
}

// applyFault applies a fault to a link and returns the error for its client.
func (c *conn) applyFault(l *amqp.Link, hit *inject.MatchedFault, path string) error {
	c.bus.o.Logger.Debug("a fault was injected", "rule", hit.Rule, "fault", hit.Fault.String(),
		"entity", path, "link", l.Name())
	switch hit.Fault {
	case inject.Drop:
		l.Break()
	case inject.Detach:
		l.Detach(c.detached(hit, path))
	case inject.LockLost:
		return &entity.Error{Code: entity.CodeMessageLockLost, Entity: path,
			Message: "The lock supplied is invalid. Either the lock expired, or the message has already " +
				"been removed from the queue." + onDemand(hit)}
	}
	return &entity.Error{Code: entity.CodeCancelled, Entity: path,
		Message: "The link is gone." + onDemand(hit)}
}

func onDemand(hit *inject.MatchedFault) string {
	return " This is a fault on demand, by the rule '" + hit.Rule + "' of /_mayfly/faults."
}

// detached returns the error with which a fault detaches a link.
func (c *conn) detached(hit *inject.MatchedFault, path string) *frame.Error {
	return c.asError(&frame.Error{Condition: frame.CondDetachForced,
		Description: "The link is force detached by the broker." + onDemand(hit)}, path)
}

// withFaults runs an operation, with the fault that applies before or after it. lose is called if the fault
// is the loss of a lock. rule is the id of the fault rule that applied; "": none.
func (c *conn) withFaults(op inject.OperationKind, l *amqp.Link, path string, do func() frame.DeliveryState,
	lose func()) (state frame.DeliveryState, rule string) {
	hit, now := c.meet(op, path)
	if now {
		if hit.Fault == inject.LockLost {
			lose()
		}
	} else {
		state := do()
		if !c.isFaultAfter(&hit) {
			return state, hit.Rule
		}
	}
	return &frame.Rejected{Error: c.asError(c.applyFault(l, &hit, path), path)}, hit.Rule
}

// withFaults runs do, which carries out a management operation of the kind op, together with the fault that
// the fault rules select for it, if any. A fault before the operation replaces it; a fault after the
// operation replaces its response. If the fault is the loss of a lock, withFaults calls lose instead of do.
func (r *managementRequest) withFaults(op inject.OperationKind, lose func(),
	do func() (managementResponse, error)) (managementResponse, error) {
	hit, now := r.c.meet(op, r.at.String())
	r.rule, r.faultOperation = hit.Rule, op
	switch {
	case now && hit.Fault == inject.LockLost:
		lose()
	case !now:
		done, err := do()
		if err != nil || !r.c.isFaultAfter(&hit) {
			return done, err
		}
	}
	return managementResponse{}, r.c.applyFault(r.link, &hit, r.at.String())
}

// endLocksOf returns a function that ends the locks with these tokens, for a fault rule that makes locks
// lost.
func (r *managementRequest) endLocksOf(tokens []message.UUID) func() {
	return func() {
		for _, token := range tokens {
			r.c.loseLock(r.ctx, r.at, token)
		}
	}
}

// settleOperations maps the outcomes of a settlement, such as Complete, to the operations by which fault
// rules select requests.
var settleOperations = map[queue.SettlementOutcome]inject.OperationKind{queue.Complete: inject.Complete,
	queue.Abandon: inject.Abandon, queue.Release: inject.Abandon, queue.Defer: inject.Defer,
	queue.DeadLetter: inject.DeadLetter}

// loseLock makes a message available again and counts a delivery, as when a lock lapses.
func (c *conn) loseLock(ctx context.Context, at entity.Address, token message.UUID) {
	// If Settle fails, the lock has been lost already.
	_ = c.queues.Settle(ctx, at, token, queue.SettlementRequest{Outcome: queue.Abandon}, nil)
}

// loseLock ends the lock of a received message. If the receiver has a session, it ends the link with the
// loss of the session lock instead.
func (n *entityMessageSource) loseLock(ctx context.Context, token message.UUID) {
	id, _, ok := n.r.Session()
	if !ok {
		n.c.loseLock(ctx, n.at, token)
		return
	}
	n.link.Detach(n.c.asError(sessionLost(id, n.at.String()), n.at.String()))
}

func sessionLost(id, path string) *entity.Error {
	return &entity.Error{Code: entity.CodeSessionLockLost, Entity: path,
		Message: "The session lock of '" + id + "' has expired: accept a new session."}
}

// applyFaults applies fault rules to received messages, and returns the messages to send. A message with a
// fault before the operation is released, and so are all messages after a fault. An error ends the link.
func (n *entityMessageSource) applyFaults(out []amqp.OutgoingMessage) ([]amqp.OutgoingMessage, error) {
	if !n.c.bus.o.Faults.Armed() {
		n.recordReceived(out, nil, nil)
		return out, nil
	}
	for i := range out {
		hit, now := n.c.meet(inject.Receive, n.at.String())
		sent := i
		if !now {
			if !n.c.isFaultAfter(&hit) {
				continue
			}
			sent++
		}
		n.Release(out[sent:])
		if hit.Fault == inject.Drop {
			n.link.Break()
		}
		failed := n.c.detached(&hit, n.at.String())
		n.recordReceived(out[:sent], &hit, failed)
		return out[:sent], failed
	}
	n.recordReceived(out, nil, nil)
	return out, nil
}
