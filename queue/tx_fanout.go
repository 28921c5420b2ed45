package queue

import (
	"errors"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/content"
	"github.com/mayflydb/mayfly/queue/internal/fanout"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/rule"
)

// publish copies a message to the matching subscriptions of a topic, in the order of the subscriptions'
// catalog numbers. It skips those with a number below h.Count, which have their copies already. h contains
// the message's enqueued time and the sender's time to live. body is the encoding of m. If the copies do not
// fit into one transaction, next is the number of the first subscription that has no copy yet; otherwise it
// is 0.
func (w *messageTx) publish(topic *entityState, h *layout.MessageHeader, m *message.Message,
	body []byte) (next int32, err error) {
	copied := *h
	copied.Count = 0
	def := topic.properties.Load().DefaultTTL
	if copied.TTL = capTTL(copied.TTL, def); copied.TTL == layout.NoTTL && millis(def) != host.Never {
		copied.TTL = millis(def) // the copy keeps this time to live if the topic's default changes
	}
	for _, c := range topic.fanOut().Match(m, &copied) {
		number := int32(c.To.number)
		if number < h.Count {
			continue
		}
		if w.moved >= maxMoved {
			return number, nil
		}
		p, err := w.partOf(c.To.stores[entity.Main])
		if entity.ErrorCodeOf(err) == entity.CodeEntityNotFound {
			continue // the subscription is being deleted
		}
		if err == nil {
			err = w.copy(p, c, copied, m, body)
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// publishAll publishes a message. If the copies do not fit into one transaction, the message is also stored
// in the topic as scheduled and due at once, until the remaining subscriptions have their copies. In the
// remaining subscriptions, later messages may arrive before it.
func (w *messageTx) publishAll(p *messageStoreTransactionPart, h *layout.MessageHeader, m *message.Message,
	body []byte) error {
	next := w.firstOfMany(p.e, h, m, body)
	if next == 0 {
		var err error
		if next, err = w.publish(p.e, h, m, body); err != nil || next == 0 {
			return err
		}
	}
	rest := *h
	rest.State, rest.Due, rest.Count = layout.Scheduled, h.Enqueued, next
	p.Last++
	return w.put(p, p.Last, &rest, body)
}

// firstOfMany returns the number of the first subscription that gets a copy of the message, if several get
// one and the message is so large that each copy needs its own transaction. It returns 0 if one transaction
// can write all copies.
func (w *messageTx) firstOfMany(topic *entityState, h *layout.MessageHeader, m *message.Message,
	body []byte) int32 {
	if len(body) < maxMoved {
		return 0
	}
	if list := topic.fanOut().Match(m, h); len(list) > 1 {
		return int32(list[0].To.number)
	}
	return 0
}

// publishScheduled publishes a scheduled message. at becomes its enqueued time. done is false if another
// transaction must continue.
func (w *messageTx) publishScheduled(
	p *messageStoreTransactionPart,
	seq int64,
	h *layout.MessageHeader,
	at int64,
	body []byte,
) (done bool, err error) {
	m, err := content.Parse(body)
	if err != nil {
		return false, err
	}
	published := *h
	// an unscheduled message that has not been copied to all subscriptions yet: see publishAll
	if h.Due <= h.Enqueued {
		published.Due = 0
	}
	published.Enqueued = at
	if h.Count, err = w.publish(p.e, &published, m, body); err != nil {
		return false, err
	}
	if h.Count > 0 {
		w.rewrite(p, seq, h)
		return false, nil
	}
	return true, w.take(p, seq, h)
}

// copy stores the copies for one subscription: one for all matching rules without an action, and one for
// each matching rule with an action. If the action of a rule fails, there is no copy for that rule; if
// DeadLetterOnFilterErrors is set, the message is then stored once in the dead-letter queue of the
// subscription.
func (w *messageTx) copy(p *messageStoreTransactionPart, c *fanout.Recipient[*entityState],
	h layout.MessageHeader,
	m *message.Message,
	body []byte) error {
	if c.Plain {
		plain := h
		if _, err := w.store(p, &plain, m, body); err != nil {
			return err
		}
	}
	var failed *content.DeadLetterReason
	for _, r := range c.Actions {
		acted, why := c.To.applyAction(r, m, &h)
		if why != nil && failed == nil {
			failed = why
		}
		if why != nil {
			continue
		}
		own := h
		own.Session, _ = acted.SessionID()
		if _, err := w.store(p, &own, acted, acted.AppendStored(nil)); err != nil {
			return err
		}
	}
	if failed == nil || !p.e.properties.Load().DeadLetterOnFilterErrors {
		return nil
	}
	return w.storeDeadLetter(p, entity.DeadLetters, &h, body, *failed)
}

// applyAction returns a copy of a message that a rule's action has changed, or the reason why the action
// failed.
func (e *entityState) applyAction(r *entity.Rule, m *message.Message,
	h *layout.MessageHeader) (acted *message.Message, why *content.DeadLetterReason) {
	acted = m.Clone()
	err := r.Action.Run(&fanout.MessageView{Message: acted, Header: h})
	if err == nil {
		acted.SetString("RuleName", r.Name)
		err = content.Check(&e.topic.stores[entity.Main].MessageStore, acted)
	}
	if err == nil {
		return acted, nil
	}
	failed := content.NewReason("RuleActionException", err.Error())
	var known *rule.ActionError
	switch {
	case errors.As(err, &known):
		failed = content.NewReason(known.Exception, known.Message)
	case entity.ErrorCodeOf(err) == entity.CodeMessageTooLarge:
		failed = content.NewReason("HeaderSizeExceeded", "The size quota for this stream has been exceeded.")
	}
	return nil, &failed
}
