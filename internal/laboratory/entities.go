package laboratory

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
)

// Entity is a queue, a topic or a subscription.
type Entity struct {
	Kind        string `json:"kind" enum:"queue,topic,subscription"`
	Path        string `json:"path" description:"Of a subscription: topic/Subscriptions/name."`
	Status      string `json:"status"`
	Active      int64  `json:"active" description:"Messages that are visible, locked or deferred."`
	Scheduled   int64  `json:"scheduled"`
	DeadLetters int64  `json:"deadLetters"`
	Bytes       int64  `json:"bytes"`

	LockDuration           string    `json:"lockDuration,omitempty" description:"As XML Schema has it: PT1M."`
	MaxDeliveryCount       int32     `json:"maxDeliveryCount,omitempty"`
	DefaultTimeToLive      string    `json:"defaultTimeToLive,omitempty" description:"None: for ever."`
	DeadLetterOnExpiration bool      `json:"deadLetterOnExpiration"`
	RequiresSession        bool      `json:"requiresSession"`
	DetectsDuplicates      bool      `json:"detectsDuplicates"`
	DuplicatesWithin       string    `json:"duplicatesWithin,omitempty" description:"For how long ids are remembered."`
	MaxSizeMegabytes       int32     `json:"maxSizeMegabytes,omitempty"`
	ForwardTo              string    `json:"forwardTo,omitempty"`
	ForwardDeadLettersTo   string    `json:"forwardDeadLettersTo,omitempty"`
	AutoDeleteOnIdle       string    `json:"autoDeleteOnIdle,omitempty" description:"None: never."`
	Created                time.Time `json:"created"`
	Accessed               time.Time `json:"accessed" description:"When it was used last."`
}

// Entities is a list of them.
type Entities struct {
	Entities []Entity `json:"entities" nullable:"false"`
}

// limited is a duration; empty for none.
func limited(d time.Duration) string {
	if d == entity.Forever || d == 0 {
		return ""
	}
	return entity.FormatDuration(d)
}

func entityOf(e entity.Entity) Entity {
	p := e.Properties
	if e.Accessed.IsZero() {
		e.Accessed = e.Created
	}
	return Entity{Kind: strings.ToLower(e.Kind.String()), Path: e.Path, Status: p.Status.String(),
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

// InQueues is the part of a request that needs queues.
type InQueues struct {
	queues *queue.Queues
}

func (in *InQueues) find(l *Laboratory, _ echo.Context) error {
	if in.queues = l.opt.Queues; in.queues == nil {
		return notFound("This server has no queues.")
	}
	return nil
}

// InEntity is the part of a request that names an entity in its path.
type InEntity struct {
	Entity string `path:"entity" description:"The entity's path, in which a slash is written as %2F."`
	queues *queue.Queues
	entity entity.Entity
}

func (in *InEntity) find(l *Laboratory, ec echo.Context) (err error) {
	if in.Entity, err = pathParam(ec, "entity"); err != nil {
		return err
	}
	if in.queues = l.opt.Queues; in.queues == nil {
		return notFound("This server has no queues.")
	}
	in.entity, err = in.queues.Get(ec.Request().Context(), in.Entity)
	return ofQueues(err)
}

// ofQueues is an error of the queues as the laboratory's.
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
	return &Error{status, own.Message}
}

// allEntities is more than there can be.
const allEntities = 1 << 30

func (l *Laboratory) listEntities(ctx context.Context, in *InQueues) (Entities, error) {
	list, err := entitiesIn(ctx, in.queues)
	if err != nil {
		return Entities{}, ofQueues(err)
	}
	out := Entities{make([]Entity, len(list))}
	for i, e := range list {
		out.Entities[i] = entityOf(e)
	}
	return out, nil
}

// entitiesIn are the queues, and the topics, each before its subscriptions.
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
		if entity.CodeOf(err) == entity.CodeEntityNotFound && err != nil {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		all = append(append(all, t), below...)
	}
	return all, nil
}

func (l *Laboratory) getEntity(_ context.Context, in *InEntity) (Entity, error) {
	return entityOf(in.entity), nil
}

func (l *Laboratory) deleteEntity(ctx context.Context, in *InEntity) (none, error) {
	return none{}, ofQueues(in.queues.Delete(ctx, in.Entity))
}

func ofQueueing() []route {
	const entity = root + "/entities/{entity}"
	return []route{
		on(get, root+"/entities", "All queues, topics and subscriptions",
			(*Laboratory).listEntities).failing(404),
		on(post, root+"/entities", "Make a queue, a topic or a subscription", (*Laboratory).createEntity).
			answering(http.StatusCreated).failing(404, 409),
		on(get, entity, "A queue, a topic or a subscription", (*Laboratory).getEntity).failing(404),
		on(patch, entity, "Change some settings of an entity; null puts one back to its default",
			(*Laboratory).patchEntity).failing(404),
		on(del, entity, "Delete an entity with all that is in it", (*Laboratory).deleteEntity).failing(404),
		on(post, entity+"/send", "Send a message", (*Laboratory).sendMessage).
			answering(http.StatusCreated).failing(404),
		on(post, entity+"/receive", "Take messages out of an entity",
			(*Laboratory).takeMessages).failing(404),
		on(post, entity+"/peek", "Look at messages, and at when and why they die",
			(*Laboratory).peekMessages).
			failing(404),
		on(post, entity+"/sessions", "The sessions of an entity that have messages",
			(*Laboratory).listSessions).
			failing(404),
		on(post, entity+"/query", "Query the messages of an entity, as documents",
			(*Laboratory).queryMessages).
			failing(404, 408),
		on(post, entity+"/resubmit", "Send dead letters again to where they died", (*Laboratory).resubmit).
			failing(404),
		on(post, entity+"/delete", "Delete messages by their numbers", (*Laboratory).deleteMessages).
			failing(404),
		on(put, entity+"/session-state", "Set the state of a session; an empty one clears it",
			(*Laboratory).setSessionState).failing(404, 409),
		on(post, entity+"/purge", "Delete the messages of an entity that nobody has locked",
			(*Laboratory).purgeMessages).
			failing(404),
		on(post, entity+"/wait", "Wait until an entity is empty, or has so many messages",
			(*Laboratory).waitForMessages).
			failing(404, 408, 503),
		on(get, entity+"/forecast", "When messages of an entity expire",
			(*Laboratory).forecastMessages).failing(404),
	}
}
