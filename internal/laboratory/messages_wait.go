package laboratory

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/queue/entity"
)

type waitMessagesRequest struct {
	EntityPath
	MessageStoreSelector
	Until   string `json:"until" enum:"empty,messages" missing:"The body must have 'until': 'empty' or 'messages'."`
	Count   int64  `json:"count,omitempty" minimum:"1" maximum:"1000000000" default:"1" description:"With 'messages': the number of messages to wait for."`
	Timeout int64  `json:"timeout,omitempty" minimum:"1" maximum:"600" default:"30" description:"Seconds to wait at most."`
	WaitTimeLimiter
	_ struct{} `takes:"wait takes %" additionalProperties:"false"`
}

// waitForMessages responds when an entity is in the requested state, or with 408 after in.Timeout seconds of
// real time.
func (l *Laboratory) waitForMessages(ctx context.Context, in *waitMessagesRequest) (MessagingEntity, error) {
	if in.Until != "empty" && in.Until != "messages" {
		return MessagingEntity{}, route.BadRequest("'until' must be 'empty' or 'messages'.")
	}
	patient, end := in.WaitTimeLimiter.wait(ctx, time.Duration(in.Timeout)*time.Second)
	defer end()
	e, err := in.queues.Await(patient, in.Entity, func(e entity.Entity) bool {
		n := e.Counts.Active
		switch {
		case in.DeadLetters:
			n = e.Counts.DeadLetter
		case in.Until == "empty":
			n += e.Counts.Scheduled
		}
		return in.Until == "empty" && n == 0 || in.Until == "messages" && n >= in.Count
	})
	if err != nil && l.draining() {
		return MessagingEntity{}, route.Unavailable("The server is shutting down.")
	}
	return entityOf(e), ofQueues(err)
}
