package queue

import (
	"github.com/mayflydb/mayfly/host"
	"github.com/mayflydb/mayfly/queue/message"
)

// publish copies a message to the subscriptions of a topic whose rules want it. h has its life so far: when
// it was enqueued, and what its sender wants. body is m, encoded.
func (w *work) publish(topic *entity, h *header, m *message.Message, body []byte) error {
	copied := *h
	def := topic.properties.Load().DefaultTTL
	if copied.TTL = capTTL(copied.TTL, def); copied.TTL == noTTL && millis(def) != host.Never {
		copied.TTL = millis(def) // it is the copy's own from now on
	}
	for _, c := range topic.fanOut().match(m, &copied) {
		p, err := w.in(c.to.stores[Main])
		if CodeOf(err) == CodeEntityNotFound {
			continue // it is being deleted
		}
		if err == nil {
			err = w.copy(p, c, copied, m, body)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copy stores what one subscription gets of a message.
func (w *work) copy(p *part, c *chosen, h header, m *message.Message, body []byte) error {
	if c.plain {
		plain := h
		if _, err := w.store(p, &plain, m, body); err != nil {
			return err
		}
	}
	failed := c.failed
	for _, r := range c.acting {
		acted, why := act(r, m, &h)
		if why != nil {
			failed = append(failed, *why)
			continue
		}
		own := h
		own.Session, _ = acted.SessionID()
		if _, err := w.store(p, &own, acted, acted.AppendStored(nil)); err != nil {
			return err
		}
	}
	if len(failed) == 0 || !p.e.properties.Load().DeadLetterOnFilterErrors {
		return nil
	}
	return w.bury(p, &h, body, failed[0])
}

// act is a copy of a message on which a rule's action has been carried out; why tells that it could not be.
func act(r *Rule, m *message.Message, h *header) (acted *message.Message, why *reason) {
	acted = m.Clone()
	if err := (&view{acted, h}).apply(r.Action); err != nil {
		failed := because("RuleActionException", err.Error())
		return nil, &failed
	}
	acted.SetString("RuleName", r.Name)
	if acted.PropertiesSize() > maxProperties {
		failed := because("HeaderSizeExceeded", "The size quota for this stream has been exceeded.")
		return nil, &failed
	}
	return acted, nil
}
