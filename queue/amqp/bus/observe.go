package bus

import (
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
func (c *conn) observing(operation, entity string, messages int) (end func([]frame.State)) {
	if c.bus.o.Observe == nil {
		return func([]frame.State) {}
	}
	o := Observation{Operation: operation, Entity: entity, Messages: messages, Began: c.bus.o.Wall.Now()}
	return func(states []frame.State) {
		o.Ended = c.bus.o.Wall.Now()
		for _, s := range states {
			if r, ok := s.(*frame.Rejected); ok && r.Error != nil {
				if o.Failed++; o.Failed == 1 {
					o.Condition = string(r.Error.Condition)
				}
			}
		}
		c.bus.o.Observe(o)
	}
}
