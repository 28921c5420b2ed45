package bus

import (
	"log/slog"
	"time"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

// ObservedMessageOperation describes one operation on messages of a link, for metrics.
type ObservedMessageOperation struct {
	// Operation is send, receive, settle, or the name of a management operation, such as renew-lock.
	Operation    string
	Entity       string // the path of the entity
	Messages     int
	Began, Ended time.Time // by the wall clock; for a receive both are the time when the messages were taken
	// Failed is the number of refused messages. Condition is the condition of the first of them.
	Failed    int
	Condition string
}

// observing begins to measure an operation on messages, for Options.Observe and the log. The caller calls
// end with the states that were sent to the client.
func (c *conn) observing(operation, path string, messages int) (end func([]frame.DeliveryState)) {
	log := c.bus.o.Logger
	debug := messages > 0 && log.Enabled(c.ctx, slog.LevelDebug) // manage.go logs requests in more detail
	if c.bus.o.Observe == nil && !debug {
		return func([]frame.DeliveryState) {}
	}
	o := ObservedMessageOperation{Operation: operation, Entity: path, Messages: messages,
		Began: c.bus.o.Wall.Now()}
	return func(states []frame.DeliveryState) {
		o.Ended = c.bus.o.Wall.Now()
		why := ""
		for _, s := range states {
			if r, ok := s.(*frame.Rejected); ok && r.Error != nil {
				if o.Failed++; o.Failed == 1 {
					o.Condition, why = string(r.Error.Condition), r.Error.Description
				}
			}
		}
		if o.Failed > 0 && debug {
			log.Debug("messages were refused", "operation", operation, "entity", path, "messages", o.Failed,
				"condition", o.Condition, "description", why)
		}
		if c.bus.o.Observe != nil {
			c.bus.o.Observe(o)
		}
	}
}
