package bus

import (
	"net/http"
	"time"

	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

func (r *managementRequest) renewLock() (managementResponse, error) {
	tokens, err := r.tokens()
	if err != nil {
		return managementResponse{}, err
	}
	return r.withFaults(inject.RenewLock, r.endLocksOf(tokens), func() (managementResponse, error) {
		until, err := r.c.queues.RenewLocks(r.ctx, r.at, tokens)
		if err != nil {
			return managementResponse{}, err
		}
		list := make([]wire.Timestamp, len(until))
		for i, t := range until {
			list[i] = timestamp(t)
		}
		return managementResponse{body: wire.Map{{Key: "expirations", Value: wire.Timestamps(list)}}}, nil
	})
}

// maxPeek is the maximal number of messages in one response.
const maxPeek = 250

func (r *managementRequest) peek() (managementResponse, error) {
	from, err := r.integer("from-sequence-number", 0)
	if err != nil {
		return managementResponse{}, err
	}
	count, err := r.integer("message-count", 1)
	if err != nil {
		return managementResponse{}, err
	}
	if count < 1 {
		return managementResponse{}, r.argument("'message-count' is at least 1.")
	}
	session, err := r.text("session-id")
	if err != nil {
		return managementResponse{}, err
	}
	if session == nil { // some clients name only the link that holds the session
		if holder := r.holder(nil); holder != nil {
			if id, _, ok := holder.Session(); ok {
				session = &id
			}
		}
	}
	omit, _ := r.body.Get("omit-message-body")
	withoutBody, ok := omit.(bool)
	if !ok && omit != nil {
		return managementResponse{}, r.argument("'omit-message-body' is no boolean.")
	}
	list, err := r.c.queues.Peek(r.ctx, r.at,
		queue.PeekOptions{From: from, Max: int(min(count, maxPeek)), Session: session})
	if err != nil {
		return managementResponse{}, err
	}
	if len(list) == 0 {
		return managementResponse{status: http.StatusNoContent}, nil
	}
	out := make(wire.List, len(list))
	for i, d := range list {
		d.Broker.OmitBody = withoutBody
		out[i] = wire.Map{{Key: "message", Value: d.Message.AppendWire(nil, &d.Broker)}}
	}
	return managementResponse{body: wire.Map{{Key: "messages", Value: out}}}, nil
}

func (r *managementRequest) schedule() (managementResponse, error) {
	v, _ := r.body.Get("messages")
	all, ok := elements(v)
	if !ok {
		return managementResponse{}, r.argument("'messages' is no list.")
	}
	list := make([]*message.Message, len(all))
	for i, e := range all {
		entry, _ := e.(wire.Map)
		raw, _ := entry.Get("message")
		payload, ok := raw.([]byte)
		if !ok {
			return managementResponse{}, r.argument("A message to schedule is no binary.")
		}
		m, err := message.Parse(payload)
		if err != nil {
			return managementResponse{}, err
		}
		list[i] = m
	}
	partition := func() (string, error) { return r.c.queues.PartitionOf(r.at, list) }
	if _, err := partition(); err != nil {
		return managementResponse{}, err
	}
	tx, err := r.join(true, partition)
	if err != nil {
		return managementResponse{}, err
	}
	numbers, err := r.c.queues.Schedule(r.ctx, r.at, list, tx)
	if err != nil {
		return managementResponse{}, err
	}
	return managementResponse{body: wire.Map{{Key: "sequence-numbers", Value: wire.Longs(numbers)}}}, nil
}

func (r *managementRequest) cancelScheduled() (managementResponse, error) {
	numbers, err := r.numbers()
	if err != nil {
		return managementResponse{}, err
	}
	tx, err := r.join(true, noPartition)
	if err != nil {
		return managementResponse{}, err
	}
	return managementResponse{}, r.c.queues.CancelScheduled(r.ctx, r.at, numbers, tx)
}

// receiveAndDelete is the receiver-settle-mode that requests ReceiveAndDelete.
const receiveAndDelete = 0

func (r *managementRequest) receiveDeferred() (managementResponse, error) {
	numbers, err := r.numbers()
	if err != nil {
		return managementResponse{}, err
	}
	settle, err := r.integer("receiver-settle-mode", 1)
	if err != nil {
		return managementResponse{}, err
	}
	session, err := r.text("session-id")
	if err != nil {
		return managementResponse{}, err
	}
	mode := queue.PeekLock
	if settle == receiveAndDelete {
		mode = queue.ReceiveAndDelete
	}
	tx, err := r.join(false, noPartition)
	if err != nil {
		return managementResponse{}, err
	}
	if tx != nil {
		mode = queue.PeekLock // the commit deletes the messages
	}
	list, err := r.c.queues.ReceiveDeferred(r.ctx, r.at, numbers, mode, r.holder(session))
	if err != nil {
		return managementResponse{}, err
	}
	if tx != nil && settle == receiveAndDelete {
		for _, d := range list {
			if err := r.c.queues.Settle(r.ctx, r.at, d.Token,
				queue.SettlementRequest{Outcome: queue.Complete},
				tx); err != nil {
				return managementResponse{}, err
			}
		}
	}
	out := make(wire.List, len(list))
	for i, d := range list {
		entry := wire.Map{{Key: "lock-token", Value: d.Token}}
		out[i] = append(entry, wire.MapEntry{Key: "message", Value: d.Message.AppendWire(nil, &d.Broker)})
	}
	return managementResponse{body: wire.Map{{Key: "messages", Value: out}}}, nil
}

func (r *managementRequest) updateDisposition() (managementResponse, error) {
	tokens, err := r.tokens()
	if err != nil {
		return managementResponse{}, err
	}
	s, err := r.settlement()
	if err != nil {
		return managementResponse{}, err
	}
	return r.withFaults(settleOperations[s.Outcome], r.endLocksOf(tokens), func() (managementResponse,
		error) {
		for _, token := range tokens {
			tx, err := r.join(false, func() (string, error) {
				return r.c.queues.LockedPartition(r.ctx, r.at,
					token)
			})
			if err != nil {
				return managementResponse{}, err
			}
			if err := r.c.queues.Settle(r.ctx, r.at, token, s, tx); err != nil {
				return managementResponse{}, r.lockLost(err)
			}
		}
		return managementResponse{}, nil
	})
}

// lockLost converts CodeSessionLockLost to CodeMessageLockLost if this connection still holds the lock of the
// session: then only the message's lock can be lost. It returns other errors unchanged.
func (r *managementRequest) lockLost(err error) error {
	session, _ := r.text("session-id")
	if entity.ErrorCodeOf(err) != entity.CodeSessionLockLost || session == nil {
		return err
	}
	holder := r.holder(session)
	if holder == nil {
		return err
	}
	if _, _, held := holder.Session(); !held {
		return err
	}
	return &entity.Error{Code: entity.CodeMessageLockLost, Entity: r.at.String(), Err: err,
		Message: "The lock supplied is invalid. Either the lock expired, or the message has already been " +
			"removed from the queue."}
}

// settlement decodes the settlement in a request.
func (r *managementRequest) settlement() (s queue.SettlementRequest, err error) {
	status, err := r.mustText("disposition-status")
	if err != nil {
		return s, err
	}
	switch status {
	case "completed":
		s.Outcome = queue.Complete
	case "abandoned":
		s.Outcome = queue.Abandon
	case "suspended":
		s.Outcome = queue.DeadLetter
	case "defered", "deferred":
		s.Outcome = queue.Defer
	case "unlocked", "released":
		s.Outcome = queue.Release
	default:
		return s, r.argument("'" + status + "' is no status of a disposition.")
	}
	if s.Reason, err = r.text("deadletter-reason"); err == nil {
		s.Description, err = r.text("deadletter-description")
	}
	if v, there := r.body.Get("properties-to-modify"); err == nil && there && v != nil {
		m, ok := v.(wire.Map)
		if !ok {
			return s, r.argument("'properties-to-modify' is no map.")
		}
		s.Modify, err = properties(m)
	}
	return s, err
}

func (r *managementRequest) deleteMessages() (managementResponse, error) {
	count, err := r.integer("message-count", 1)
	if err != nil {
		return managementResponse{}, err
	}
	if count < 1 || count > 4000 {
		return managementResponse{}, r.argument("'message-count' is from 1 to 4000.")
	}
	before, err := r.integer("enqueued-time-utc", r.c.queues.Now().UnixMilli())
	if err != nil {
		return managementResponse{}, err
	}
	session, err := r.text("session-id")
	if err != nil {
		return managementResponse{}, err
	}
	n, err := r.c.queues.DeleteMessages(r.ctx, r.at, time.UnixMilli(before), int(count), session)
	if err != nil {
		return managementResponse{}, err
	}
	done := managementResponse{body: wire.Map{{Key: "message-count", Value: int32(n)}}}
	if n == 0 {
		done.status = http.StatusNoContent
	}
	return done, nil
}
