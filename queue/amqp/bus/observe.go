package bus

import (
	"log/slog"
	"time"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

// Observation is what has been done with messages of one link at a time, for whoever measures a server.
type Observation struct {
	// Operation is send, receive, settle, or the operation of a request for management: renew-lock.
	Operation    string
	Entity       string // the path of what the messages lie in
	Messages     int
	Began, Ended time.Time // by the wall's clock; of a receive both are when the messages were taken
	// Failed is how many of the messages were refused, and Condition says why the first of them was.
	Failed    int
	Condition string
}

// observing begins an observation. What it returns ends it with the states that the client is told.
func (c *conn) observing(operation, path string, messages int) (end func([]frame.State)) {
	log := c.bus.o.Logger
	debug := messages > 0 && log.Enabled(c.ctx, slog.LevelDebug) // of a request manage.go logs more
	if c.bus.o.Observe == nil && !debug {
		return func([]frame.State) {}
	}
	o := Observation{Operation: operation, Entity: path, Messages: messages, Began: c.bus.o.Wall.Now()}
	return func(states []frame.State) {
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
