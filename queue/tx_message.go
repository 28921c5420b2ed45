package queue

import (
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/content"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
)

// enqueue stores a message in an entity, active or scheduled. number is the sequence number by which the
// sender can cancel the message. It is 0 for a duplicate, which is dropped, and for a message that a topic
// publishes at once. A message with a scheduled time always has a number. Errors: CodeQuotaExceeded, and
// CodeEntityNotFound if the entity no longer exists.
func (w *messageTx) enqueue(e *entityState, a *validatedMessage) (number int64, err error) {
	p, err := w.partOf(e.stores[entity.Main])
	if err != nil {
		return 0, err
	}
	if err := w.checkQuota(e, int64(len(a.body))); err != nil {
		return 0, err
	}
	number, err = w.admit(p, a)
	if err != nil || number != 0 || a.due == 0 {
		return number, err
	}
	if a.number != 0 { // it was reserved
		return a.number, nil
	}
	p.Last++
	p.dirty = true
	return p.Last, nil
}

// admit stores a message unless it is a duplicate. The caller has checked the quota.
func (w *messageTx) admit(p *messageStoreTransactionPart, a *validatedMessage) (number int64, err error) {
	if dup, err := w.duplicate(p, a.id); dup || err != nil {
		return 0, err
	}
	h := a.MessageHeader
	if a.due > w.now {
		h.State, h.Due, h.Enqueued = layout.Scheduled, a.due, w.now
		if number = a.number; number == 0 {
			p.Last++
			number = p.Last
		}
		return number, w.put(p, number, &h, a.body)
	}
	h.Enqueued = w.now
	return w.store(p, &h, a.msg, a.body)
}

// duplicate reports whether duplicate detection is on and a message with the id has been accepted within the
// window.
func (w *messageTx) duplicate(p *messageStoreTransactionPart, id string) (bool, error) {
	props := p.e.properties.Load()
	if !props.RequiresDuplicateDetection {
		return false, nil
	}
	return w.seen(p, id, props.DuplicateDetectionWindow)
}

// store stores an active message in a queue or subscription, or publishes it to the subscriptions of a topic.
// It returns the sequence number of the stored message, 0 if the message was published or dead-lettered at
// once. body is the encoding of m.
func (w *messageTx) store(p *messageStoreTransactionPart, h *layout.MessageHeader, m *message.Message,
	body []byte) (number int64,
	err error) {
	if p.e.kind == entity.Topic {
		return 0, w.publishAll(p, h, m, body)
	}
	if _, has := m.SessionID(); !has && p.BySession { // it was forwarded or published, not sent
		return 0, w.storeDeadLetter(p, entity.DeadLetters, h, body, content.NewReason("Session id is null",
			"Session enabled entity doesn't allow a message whose session identifier is null."))
	}
	return w.insert(p, h, body)
}

// storeDeadLetter stores a message that an entity cannot accept or forward. It stores it, with the reason
// why, in the sub-queue in of that entity (p.e): its dead-letter queue or its transfer dead-letter queue.
func (w *messageTx) storeDeadLetter(p *messageStoreTransactionPart, in entity.SubQueue,
	h *layout.MessageHeader, body []byte,
	why content.DeadLetterReason) error {
	body, err := content.SetReason(body, why)
	if err != nil {
		return err
	}
	dead, err := w.partOf(p.e.stores[in])
	if err != nil {
		return err
	}
	p.Last++
	p.dirty = true
	h.State, h.Due = layout.Active, 0
	return w.put(dead, p.Last, h, body)
}

// insert stores an active message behind the others of its queue or subscription. Its time to live begins
// now.
func (w *messageTx) insert(p *messageStoreTransactionPart, h *layout.MessageHeader,
	body []byte) (number int64, err error) {
	h.State = layout.Active
	h.TTL = capTTL(h.TTL, p.e.properties.Load().DefaultTTL)
	p.Last++
	return p.Last, w.put(p, p.Last, h, body)
}

// arrive makes a scheduled message active. Its enqueued time is its due time. If the server was down at that
// time, it is the time of the server's start. done is false if another transaction must continue.
func (w *messageTx) arrive(s *inMemoryMessageStoreState, seq int64, due int64) (done bool, err error) {
	p, err := w.partOf(s)
	if err != nil {
		return false, err
	}
	h, ok, err := s.Header(w, seq)
	if err != nil {
		return false, err
	}
	if !ok || h.State != layout.Scheduled {
		return false, s.Corrupt(seq, "is due and not scheduled")
	}
	body, err := w.body(p, seq)
	if err != nil {
		return false, err
	}
	at := max(due, min(w.m.started, w.now))
	if p.e.kind == entity.Topic {
		return w.publishScheduled(p, seq, &h, at, body)
	}
	if err := w.take(p, seq, &h); err != nil {
		return false, err
	}
	h.Enqueued = at
	_, err = w.insert(p, &h, body)
	return true, err
}

// body reads the encoded sections that a message's sender wrote.
func (w *messageTx) body(p *messageStoreTransactionPart, seq int64) ([]byte, error) {
	return w.Get(p.Keys.Key(layout.FamilyBody, seq))
}

// checkQuota fails with CodeQuotaExceeded if an entity has no space for size more bytes. Messages in the
// subscriptions of a topic count against the topic.
func (w *messageTx) checkQuota(e *entityState, size int64) error {
	for _, s := range e.stores {
		if s == nil {
			continue
		}
		p, err := w.partOf(s)
		if err != nil {
			return err
		}
		size += p.Bytes
	}
	for _, c := range *e.children.Load() {
		for _, s := range c.stores {
			size += s.size.Load()
		}
	}
	if size > int64(e.properties.Load().MaxSizeMB)<<20 {
		return &entity.Error{Code: entity.CodeQuotaExceeded, Entity: e.path,
			Message: "The maximum entity size has been reached or exceeded."}
	}
	return nil
}

// modify sets application properties of a message.
func (w *messageTx) modify(p *messageStoreTransactionPart, seq int64, h *layout.MessageHeader,
	list []message.ApplicationProperty) error {
	if len(list) == 0 {
		return nil
	}
	body, err := w.body(p, seq)
	if err == nil {
		body, err = content.SetProperties(body, list)
	}
	if err != nil {
		return err
	}
	p.Bytes += int64(len(body)) - h.Size
	h.Size = int64(len(body))
	w.Set(p.Keys.Key(layout.FamilyBody, seq), body)
	w.rewrite(p, seq, h)
	return nil
}

// messageStateAfterLock is the state in which a message is left when its lock ends.
type messageStateAfterLock uint8

const (
	messageReady   messageStateAfterLock = iota // it can be received again
	messageKept                                 // it is deferred
	messageRemoved                              // it is no longer in its store
)

// returnMessage returns a message to its store after a failed delivery, and counts the delivery if counts is
// set. The message can then be received again, unless it is dead-lettered because of MaxDeliveryCount, or
// purged because it had expired at the time at. A deferred message stays deferred.
func (w *messageTx) returnMessage(p *messageStoreTransactionPart, seq int64, h *layout.MessageHeader,
	at int64, counts bool,
	list []message.ApplicationProperty) (messageStateAfterLock, error) {
	if err := w.modify(p, seq, h, list); err != nil {
		return messageRemoved, err
	}
	if counts && p.Sub == entity.Main { // deliveries of dead letters are not counted
		h.Count++
		w.rewrite(p, seq, h)
	}
	if h.State == layout.Deferred {
		return messageKept, nil
	}
	if p.expired(h, at) {
		return messageRemoved, w.lapse(p, seq, h)
	}
	if counts && p.exhausted(h) {
		return messageRemoved, w.exhaust(p, seq, h)
	}
	return messageReady, nil
}

// deferMessage defers a message, so that it can be received only by its sequence number. The deferral counts
// as a delivery. If the message has reached MaxDeliveryCount, it is dead-lettered instead.
func (w *messageTx) deferMessage(p *messageStoreTransactionPart, seq int64,
	h *layout.MessageHeader) (messageStateAfterLock, error) {
	if p.Sub == entity.Main {
		h.Count++
	}
	if p.exhausted(h) {
		return messageRemoved, w.exhaust(p, seq, h)
	}
	if h.State == layout.Active {
		if err := w.unlink(p, seq, h); err != nil {
			return messageRemoved, err
		}
	}
	h.State = layout.Deferred
	w.rewrite(p, seq, h)
	return messageKept, nil
}

// exhausted reports whether a message has reached its entity's MaxDeliveryCount. Deliveries of dead letters
// are not counted.
func (s *inMemoryMessageStoreState) exhausted(h *layout.MessageHeader) bool {
	return s.Sub == entity.Main && h.Count >= s.e.properties.Load().MaxDeliveryCount
}

// exhaust dead-letters a message that has reached MaxDeliveryCount.
func (w *messageTx) exhaust(p *messageStoreTransactionPart, seq int64, h *layout.MessageHeader) error {
	return w.deadLetter(p, seq, h, content.NewReason("MaxDeliveryCountExceeded", fmt.Sprintf(
		"Message could not be consumed after %d delivery attempts.", p.e.properties.Load().MaxDeliveryCount)))
}

// lapse ends an expired message: it is deleted, or dead-lettered if DeadLetterOnExpiration is set.
func (w *messageTx) lapse(p *messageStoreTransactionPart, seq int64, h *layout.MessageHeader) error {
	if p.e.properties.Load().DeadLetterOnExpiration {
		return w.deadLetter(p, seq, h,
			content.NewReason("TTLExpiredException", "The message expired and was dead lettered."))
	}
	return w.take(p, seq, h)
}

// deadLetter moves a message to the dead-letter queue of its entity; why becomes its dead-letter reason. The
// message keeps its sequence number. A message that is in that queue already, and cannot be forwarded from
// there, moves to the transfer dead-letter queue.
func (w *messageTx) deadLetter(p *messageStoreTransactionPart, seq int64, h *layout.MessageHeader,
	why content.DeadLetterReason) error {
	body, err := w.body(p, seq)
	if err != nil {
		return err
	}
	if body, err = content.SetReason(body, why); err != nil {
		return err
	}
	if err := w.take(p, seq, h); err != nil {
		return err
	}
	to := entity.DeadLetters
	if p.Sub == entity.DeadLetters {
		to = entity.TransferDeadLetters
	}
	dead, err := w.partOf(p.e.stores[to])
	if err != nil {
		return err
	}
	h.State, h.Due = layout.Active, 0
	return w.put(dead, seq, h, body)
}

// capTTL returns the time to live of a message in milliseconds, limited to the entity's default, which is
// also the maximum.
func capTTL(ttl int64, longest time.Duration) int64 {
	if d := millis(longest); d != host.Never && ttl != layout.NoTTL {
		return min(ttl, d)
	}
	return ttl
}

// millis converts a duration to milliseconds, rounded up. It returns host.Never for Forever.
func millis(d time.Duration) int64 {
	if d == entity.Forever {
		return host.Never
	}
	ms := d.Milliseconds()
	if d%time.Millisecond > 0 {
		ms++
	}
	return ms
}

// expires returns the millisecond at which a message of this store expires. It is host.Never for dead
// letters and for messages that are not active.
func (s *inMemoryMessageStoreState) expires(h *layout.MessageHeader) int64 {
	if s.Sub != entity.Main || h.State != layout.Active {
		return host.Never
	}
	return h.Deadline(millis(s.e.properties.Load().DefaultTTL))
}

func (s *inMemoryMessageStoreState) expired(h *layout.MessageHeader, at int64) bool {
	return s.expires(h) <= at
}
