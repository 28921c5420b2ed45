package mayfly

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
	"github.com/mayflydb/mayfly/store/fault"
)

// Message is a message to send.
type Message struct {
	ID            string // see DropDuplicates; if empty, the message gets a random one
	Body          []byte
	ContentType   string
	Subject       string
	CorrelationID string
	ReplyTo       string
	Session       string         // id of the session of the message; required if the queue has WithSessions
	Properties    map[string]any // strings, bools, numbers and times; see Where
	TTL           time.Duration  // in whole milliseconds; if 0, the queue's MessageTTL applies
	At            time.Time      // scheduled time; before it, the message cannot be received. Zero: at once
}

func (m *Message) encode(now time.Time) (*message.Message, error) {
	out := message.New(m.Body)
	for slot, text := range map[message.PropertiesSectionField]string{
		message.MessageID: m.ID, message.ContentType: m.ContentType,
		message.Subject: m.Subject, message.CorrelationID: m.CorrelationID, message.ReplyTo: m.ReplyTo,
		message.GroupID: m.Session} {
		if !utf8.ValidString(text) {
			return nil, badRequest(fmt.Sprintf("%q in a message is not UTF-8", text), nil)
		}
		if text != "" {
			out.SetText(slot, text)
		}
	}
	switch {
	case m.TTL < 0 || m.TTL > 0 && m.TTL < time.Millisecond:
		return nil, badRequest("a message lives for at least a millisecond, not "+m.TTL.String(), nil)
	case m.TTL > 0:
		out.SetOwnTTL(m.TTL.Milliseconds(), now.UnixMilli())
	}
	if !m.At.IsZero() {
		out.SetScheduled(m.At.UnixMilli())
	}
	for name, v := range m.Properties {
		text := name
		switch own := v.(type) {
		case time.Time:
			v = wire.Timestamp(own.UnixMilli())
		case uint:
			v = uint64(own)
		case string:
			text += own
		}
		raw, err := wire.Append(nil, v)
		if err != nil || !utf8.ValidString(text) { // no receiver could decode it
			return nil, badRequest(fmt.Sprintf("a message cannot have the property %q = %#v", name, v), err)
		}
		out.Set(name, raw)
	}
	return out, nil
}

// ReceivedMessage is a message that was received or peeked. The receiver of a message settles it with
// Complete, Abandon, Defer or DeadLetter before the lock of the message ends. These methods return
// ErrLockLost if the lock has ended or the message has already been settled.
type ReceivedMessage struct {
	Message
	Number      int64     // sequence number, unique in the queue
	Deliveries  uint32    // number of earlier deliveries that failed
	Enqueued    time.Time // time at which the message arrived
	ExpiresAt   time.Time // zero: the message does not expire
	LockedUntil time.Time // zero after Peek and Take; the end of 9999 in a Session, whose own lock counts
	Reason      string    // of a dead letter: for example TTLExpiredException
	Description string    // of a dead letter: a longer text

	in    *Receiver
	token message.UUID
}

// The properties that hold the reason of a dead letter.
const (
	reasonProperty      = "DeadLetterReason"
	descriptionProperty = "DeadLetterErrorDescription"
)

func (in *Receiver) received(d *queue.Delivery) *ReceivedMessage {
	m, b := d.Message, &d.Broker
	body, ok := m.Data()
	if !ok {
		body = m.Body // an encoded AMQP value
	}
	r := &ReceivedMessage{in: in, token: d.Token, Number: b.SequenceNumber, Deliveries: b.DeliveryCount,
		Enqueued: moment(b.EnqueuedTime), ExpiresAt: moment(b.ExpiresAt), LockedUntil: moment(b.LockedUntil),
		Message: Message{ID: m.Text(message.MessageID), Body: body, ContentType: m.Text(message.ContentType),
			Subject: m.Text(message.Subject), CorrelationID: m.Text(message.CorrelationID),
			ReplyTo: m.Text(message.ReplyTo), Session: m.Text(message.GroupID), At: moment(m.Scheduled())}}
	if own := m.OwnTTL(); own != message.Absent {
		r.TTL = time.Duration(own) * time.Millisecond
	}
	for _, p := range m.Application {
		v, _, err := wire.Value(p.Value)
		if err != nil {
			continue // of an unknown type
		}
		if at, ok := v.(wire.Timestamp); ok {
			v = time.UnixMilli(int64(at)).UTC()
		}
		if r.Properties == nil {
			r.Properties = make(map[string]any, len(m.Application))
		}
		r.Properties[p.Name] = v
	}
	r.Reason, _ = r.Properties[reasonProperty].(string)
	r.Description, _ = r.Properties[descriptionProperty].(string)
	return r
}

// moment converts milliseconds since 1970 to a time; 0 gives the zero time.
func moment(ms int64) time.Time {
	if ms == message.Absent || ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Complete removes the message from the queue, because it has been processed.
func (r *ReceivedMessage) Complete(ctx context.Context) error {
	return r.settle(ctx, queue.SettlementRequest{Outcome: queue.Complete})
}

// Abandon unlocks the message, which is then delivered again. The delivery counts as failed.
func (r *ReceivedMessage) Abandon(ctx context.Context) error {
	return r.settle(ctx, queue.SettlementRequest{Outcome: queue.Abandon})
}

// Defer sets the message aside. After that it can be received only by its Number: see Receiver.Deferred. A
// deferral counts as a delivery. If it is the last delivery that the queue allows, the message becomes a dead
// letter.
func (r *ReceivedMessage) Defer(ctx context.Context) error {
	return r.settle(ctx, queue.SettlementRequest{Outcome: queue.Defer})
}

// DeadLetter moves the message to the dead letters, with a reason and a description.
func (r *ReceivedMessage) DeadLetter(ctx context.Context, reason, description string) error {
	return r.settle(
		ctx,
		queue.SettlementRequest{Outcome: queue.DeadLetter, Reason: &reason, Description: &description},
	)
}

// Renew renews the lock of the message, and returns the time at which the lock then ends. For a message of a
// session use Session.Renew.
func (r *ReceivedMessage) Renew(ctx context.Context) (until time.Time, err error) {
	err = r.in.db.retryAfterRestore(ctx, func() error {
		list, err := r.in.db.queues.RenewLocks(ctx, r.in.at, []message.UUID{r.token})
		if err == nil {
			until, r.LockedUntil = list[0], list[0]
		}
		return err
	})
	return until, err
}

func (r *ReceivedMessage) settle(ctx context.Context, s queue.SettlementRequest) error {
	return r.in.db.retryAfterRestore(ctx, func() error {
		return r.in.db.queues.Settle(ctx, r.in.at, r.token, s, nil)
	})
}

// ErrLockLost is returned if the lock of a message or a session has ended, or if the message has already been
// settled.
var ErrLockLost = errors.New("the lock is lost")

// ErrForbidden is returned if a queue, topic or subscription is disabled or full, or does not allow the
// operation.
var ErrForbidden = fault.ErrForbidden

// queueError translates an error of package queue; errors.As still finds the *entity.Error in it.
func queueError(err error) error {
	var own *entity.Error
	if !errors.As(err, &own) {
		return err
	}
	code := fault.CodeInternal
	switch own.Code {
	case entity.CodeMessageLockLost, entity.CodeSessionLockLost:
		return fmt.Errorf("%w: %w", ErrLockLost, err)
	case entity.CodeEntityNotFound, entity.CodeRuleNotFound, entity.CodeMessageNotFound:
		code = fault.CodeNotFound
	case entity.CodeEntityExists, entity.CodeRuleExists, entity.CodeSessionCannotBeLocked:
		code = fault.CodeConflict
	case entity.CodeEntityDisabled, entity.CodeQuotaExceeded, entity.CodeNotAllowed:
		code = fault.CodeForbidden
	case entity.CodeMessageTooLarge:
		code = fault.CodeTooLarge
	case entity.CodeArgument, entity.CodeArgumentOutOfRange, entity.CodeNotImplemented:
		code = fault.CodeBadRequest
	case entity.CodeTimeout:
		code = fault.CodeCanceled
	case entity.CodeServerBusy:
		code = fault.CodeThrottled
	case entity.CodeCancelled:
		code = fault.CodeUnavailable
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			code = fault.CodeCanceled
		}
	}
	return &fault.Error{Code: code, Message: own.Message, Err: err}
}
