package laboratory

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
)

// MessagingEntity is a queue, a topic or a subscription.
type MessagingEntity struct {
	Kind        string `json:"kind" enum:"queue,topic,subscription"`
	Path        string `json:"path" description:"Path; of a subscription: topic/Subscriptions/name."`
	Status      string `json:"status"`
	Active      int64  `json:"active" description:"Number of visible, locked and deferred messages."`
	Scheduled   int64  `json:"scheduled" description:"Number of scheduled messages."`
	DeadLetters int64  `json:"deadLetters" description:"Number of dead letters."`
	Bytes       int64  `json:"bytes" description:"Size of all messages."`

	LockDuration           string `json:"lockDuration,omitempty" description:"Duration such as PT1M."`
	MaxDeliveryCount       int32  `json:"maxDeliveryCount,omitempty"`
	DefaultTimeToLive      string `json:"defaultTimeToLive,omitempty" description:"Duration such as P14D; absent: unlimited."`
	DeadLetterOnExpiration bool   `json:"deadLetterOnExpiration"`
	RequiresSession        bool   `json:"requiresSession"`
	DetectsDuplicates      bool   `json:"detectsDuplicates"`

	DuplicatesWithin string `json:"duplicatesWithin,omitempty" description:"Duplicate detection window."`

	MaxSizeMegabytes     int32     `json:"maxSizeMegabytes,omitempty"`
	ForwardTo            string    `json:"forwardTo,omitempty"`
	ForwardDeadLettersTo string    `json:"forwardDeadLettersTo,omitempty"`
	AutoDeleteOnIdle     string    `json:"autoDeleteOnIdle,omitempty" description:"Duration such as PT5M; absent: never."`
	Created              time.Time `json:"created"`
	Accessed             time.Time `json:"accessed" description:"Time of the last use."`
}

// Entities is a list of entities.
type Entities struct {
	Entities []MessagingEntity `json:"entities" nullable:"false"`
}

// limited formats a duration; it returns "" for an unlimited one.
func limited(d time.Duration) string {
	if d == entity.Forever || d == 0 {
		return ""
	}
	return entity.FormatDuration(d)
}

func entityOf(e entity.Entity) MessagingEntity {
	p := e.Properties
	if e.Accessed.IsZero() {
		e.Accessed = e.Created
	}
	return MessagingEntity{Kind: strings.ToLower(e.Kind.String()), Path: e.Path, Status: p.Status.String(),
		Active: e.Counts.Active, Scheduled: e.Counts.Scheduled,
		DeadLetters: e.Counts.DeadLetter + e.Counts.TransferDeadLetter, Bytes: e.Bytes,
		LockDuration: limited(p.LockDuration), MaxDeliveryCount: p.MaxDeliveryCount,
		DefaultTimeToLive: limited(p.DefaultTTL), DeadLetterOnExpiration: p.DeadLetterOnExpiration,
		RequiresSession: p.RequiresSession, DetectsDuplicates: p.RequiresDuplicateDetection,
		DuplicatesWithin: limited(p.DuplicateDetectionWindow), MaxSizeMegabytes: p.MaxSizeMB,
		ForwardTo:            queue.TargetPath(p.ForwardTo),
		ForwardDeadLettersTo: queue.TargetPath(p.ForwardDeadLettersTo),
		AutoDeleteOnIdle:     limited(p.AutoDeleteOnIdle), Created: e.Created, Accessed: e.Accessed}
}

// QueuesRequiredRequestPart is the part of a request that requires a server with queues.
type QueuesRequiredRequestPart struct {
	queues *queue.Queues
}

// Find implements route.RequestPartDecoder: it fails with a 404 if the server has no queues.
func (in *QueuesRequiredRequestPart) Find(l *Laboratory, _ echo.Context) error {
	if in.queues = l.opt.Queues; in.queues == nil {
		return route.NotFound("This server has no queues.")
	}
	return nil
}

// EntityPath is the part of a request that names an entity in its path.
type EntityPath struct {
	Entity string `path:"entity" description:"Path of the entity, with %2F instead of slashes."`
	queues *queue.Queues
	entity entity.Entity
}

// Find implements route.RequestPartDecoder: it looks up the entity that the request's path names.
func (in *EntityPath) Find(l *Laboratory, ec echo.Context) (err error) {
	if in.Entity, err = route.PathParam(ec, "entity"); err != nil {
		return err
	}
	if in.queues = l.opt.Queues; in.queues == nil {
		return route.NotFound("This server has no queues.")
	}
	in.entity, err = in.queues.Get(ec.Request().Context(), in.Entity)
	return ofQueues(err)
}

// ofQueues converts an error of package queue to a *route.Error, or to another error that the server can
// send.
func ofQueues(err error) error {
	var own *entity.Error
	if !errors.As(err, &own) {
		return err
	}
	status := 0
	switch own.Code {
	case entity.CodeEntityNotFound, entity.CodeRuleNotFound, entity.CodeMessageNotFound:
		status = http.StatusNotFound
	case entity.CodeEntityExists, entity.CodeRuleExists, entity.CodeSessionCannotBeLocked:
		status = http.StatusConflict
	case entity.CodeMessageLockLost, entity.CodeSessionLockLost:
		status = http.StatusGone
	case entity.CodeEntityDisabled, entity.CodeQuotaExceeded:
		status = http.StatusForbidden
	case entity.CodeMessageTooLarge,
		entity.CodeArgument,
		entity.CodeArgumentOutOfRange,
		entity.CodeNotAllowed,
		entity.CodeNotImplemented:
		status = http.StatusBadRequest
	case entity.CodeTimeout:
		status = http.StatusRequestTimeout
	case entity.CodeServerBusy, entity.CodeCancelled:
		status = http.StatusServiceUnavailable
	default:
		if own.Err != nil {
			return own.Err
		}
		return err
	}
	return &route.Error{Status: status, Message: own.Message}
}

// allEntities is a limit above any number of entities.
const allEntities = 1 << 30

func (l *Laboratory) listEntities(ctx context.Context, in *QueuesRequiredRequestPart) (Entities, error) {
	list, err := entitiesIn(ctx, in.queues)
	if err != nil {
		return Entities{}, ofQueues(err)
	}
	out := Entities{make([]MessagingEntity, len(list))}
	for i, e := range list {
		out.Entities[i] = entityOf(e)
	}
	return out, nil
}

// entitiesIn returns the queues, then the topics, each followed by its subscriptions.
func entitiesIn(ctx context.Context, queues *queue.Queues) ([]entity.Entity, error) {
	all, err := queues.List(ctx, entity.Queue, "", 0, allEntities)
	if err != nil {
		return nil, err
	}
	topics, err := queues.List(ctx, entity.Topic, "", 0, allEntities)
	if err != nil {
		return nil, err
	}
	for _, t := range topics {
		below, err := queues.List(ctx, entity.Subscription, t.Path, 0, allEntities)
		if entity.ErrorCodeOf(err) == entity.CodeEntityNotFound && err != nil {
			continue // deleted since List
		}
		if err != nil {
			return nil, err
		}
		all = append(append(all, t), below...)
	}
	return all, nil
}

func (l *Laboratory) getEntity(_ context.Context, in *EntityPath) (MessagingEntity, error) {
	return entityOf(in.entity), nil
}

func (l *Laboratory) deleteEntity(ctx context.Context, in *EntityPath) (route.NoBody, error) {
	return route.NoBody{}, ofQueues(in.queues.Delete(ctx, in.Entity))
}
