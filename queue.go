package mayfly

import (
	"context"
	"strconv"
	"time"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/rule"
	"github.com/mayflydb/mayfly/store/fault"
)

// Queue is a queue of messages. A handle stays valid as long as the store is open, even after a Restore or
// after the queue has been deleted and created again.
type Queue struct {
	Outbox
	Inbox
}

// Topic distributes the messages sent to it to its subscriptions.
type Topic struct{ Outbox }

// Subscription receives the messages of a topic that match its rules.
type Subscription struct{ Inbox }

// QueueOption is an option for creating a queue, a topic or a subscription. An option that does not apply to
// the kind is ignored. The rules, the limits and the defaults are Azure Service Bus's.
type QueueOption func(*queueConfig) error

type queueConfig struct {
	entity.Properties
	rules []entity.Rule
}

// MessageTTL sets the time to live of messages without their own, and the maximum for the others. Without it
// messages do not expire.
func MessageTTL(d time.Duration) QueueOption {
	return QueueSpec(func(p *entity.Properties) { p.DefaultTTL = d })
}

// LockFor sets how long a received message stays locked: 5 seconds to 5 minutes, by default a minute.
func LockFor(d time.Duration) QueueOption {
	return QueueSpec(func(p *entity.Properties) { p.LockDuration = d })
}

// MaxDeliveries sets after how many failed deliveries a message becomes a dead letter: by default 10.
func MaxDeliveries(n int32) QueueOption {
	return QueueSpec(func(p *entity.Properties) { p.MaxDeliveryCount = n })
}

// DeadLetterExpired turns expired messages into dead letters. Without it they are deleted.
func DeadLetterExpired() QueueOption {
	return QueueSpec(func(p *entity.Properties) { p.DeadLetterOnExpiration = true })
}

// WithSessions requires each message to belong to a session. One receiver at a time can lock a session: see
// Inbox.Session.
func WithSessions() QueueOption {
	return QueueSpec(func(p *entity.Properties) { p.RequiresSession = true })
}

// DropDuplicates drops a message whose ID was already sent within a time: 20 seconds to 7 days.
func DropDuplicates(within time.Duration) QueueOption {
	return QueueSpec(func(p *entity.Properties) {
		p.RequiresDuplicateDetection, p.DuplicateDetectionWindow = true, within
	})
}

// ForwardTo forwards messages to an existing queue or topic.
func ForwardTo(path string) QueueOption {
	return QueueSpec(func(p *entity.Properties) { p.ForwardTo = path })
}

// DeleteWhenIdle deletes the queue when it has not been used for a time, of at least 5 minutes.
func DeleteWhenIdle(d time.Duration) QueueOption {
	return QueueSpec(func(p *entity.Properties) { p.AutoDeleteOnIdle = d })
}

// QueueSpec changes the properties in package queue's own terms.
func QueueSpec(change func(*entity.Properties)) QueueOption {
	return func(q *queueConfig) error {
		change(&q.Properties)
		return nil
	}
}

// Where admits only messages to a subscription that match a condition in SQL, over the sender's properties
// and the system's (such as sys.Label): "priority > 3 AND sys.Label = 'new'". With several conditions, a
// message must match one of them.
func Where(condition string) QueueOption {
	return func(q *queueConfig) error {
		filter, err := rule.SQL(condition)
		if err != nil {
			return inputError(err)
		}
		q.rules = append(q.rules, entity.Rule{Name: "where-" + strconv.Itoa(len(q.rules)+1), Filter: filter})
		return nil
	}
}

// Queue opens a queue by its path, and creates it if it does not exist. An existing queue stays unchanged:
// the options only describe a new one. It returns ErrConflict if the path is a topic's.
func (db *DB) Queue(ctx context.Context, path string, opts ...QueueOption) (*Queue, error) {
	e, err := db.entity(ctx, entity.Queue, path, opts)
	if err != nil {
		return nil, err
	}
	return &Queue{Outbox{db, entity.Address{Entity: e.Path}}, Inbox{db, entity.Address{Entity: e.Path}}}, nil
}

// Topic opens or creates a topic, as Queue does for a queue. It returns ErrConflict if the path is a queue's.
func (db *DB) Topic(ctx context.Context, path string, opts ...QueueOption) (*Topic, error) {
	e, err := db.entity(ctx, entity.Topic, path, opts)
	if err != nil {
		return nil, err
	}
	return &Topic{Outbox{db, entity.Address{Entity: e.Path}}}, nil
}

// Subscription opens or creates a subscription of the topic, as DB.Queue does for a queue. It receives the
// messages that are sent after its creation.
func (t *Topic) Subscription(ctx context.Context, name string, opts ...QueueOption) (*Subscription, error) {
	e, err := t.db.entity(ctx, entity.Subscription, t.at.Entity+"/Subscriptions/"+name, opts)
	if err != nil {
		return nil, err
	}
	return &Subscription{Inbox{t.db, entity.Address{Entity: e.Path}}}, nil
}

// entity opens an entity, or creates it.
func (db *DB) entity(ctx context.Context, kind entity.Kind, path string,
	opts []QueueOption) (entity.Entity, error) {
	q := queueConfig{Properties: entity.Defaults(kind)}
	for _, opt := range opts {
		if err := opt(&q); err != nil {
			return entity.Entity{}, err
		}
	}
	var e entity.Entity
	err := db.retryAfterRestore(ctx, func() (err error) {
		e, err = db.queues.Create(ctx, kind, path, q.Properties, q.rules...)
		if entity.CodeOf(err) != entity.CodeEntityExists {
			return err
		}
		if there, missing := db.queues.Get(ctx, path); missing == nil && there.Kind == kind {
			e, err = there, nil
		}
		return err
	})
	return e, err
}

// retryAfterRestore runs fn, and runs it once more if it has met a restore, which undoes everything of the
// first call. It returns this package's errors.
func (db *DB) retryAfterRestore(ctx context.Context, fn func() error) error {
	for {
		before, err := db.db.Incarnation(ctx)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return canceled(ctx)
		}
		if err = queueError(fn()); !db.restored(ctx, before, &err) {
			return err
		}
	}
}

// restored reports whether a call that began in the incarnation before has failed with err because of a
// restore. If ctx ends while it waits for the restore, it sets err to the error of ctx.
func (db *DB) restored(ctx context.Context, before uint32, err *error) bool {
	if fault.ErrorCode(*err) != fault.CodeUnavailable {
		return false
	}
	now, unknown := db.db.Incarnation(ctx)
	if unknown != nil && ctx.Err() != nil {
		*err = canceled(ctx)
	}
	return unknown == nil && now != before
}

// DeleteQueue deletes a queue, a topic with its subscriptions, or a subscription ("topic/Subscriptions/name")
// with all messages. It returns ErrNotFound if there is none.
func (db *DB) DeleteQueue(ctx context.Context, path string) error {
	return db.retryAfterRestore(ctx, func() error { return db.queues.Delete(ctx, path) })
}

// Queues returns the underlying queues, which have all features in Service Bus's terms.
func (db *DB) Queues() *queue.Queues { return db.queues }

// Outbox sends messages to a queue or a topic.
type Outbox struct {
	db *DB
	at entity.Address
}

// Send stores messages, all or none of them, before it returns. Messages with an At arrive then. It returns
// ErrNotFound if the queue has been deleted, ErrTooLarge if the messages are over 256 KB, and ErrForbidden if
// the queue is disabled or full.
func (o *Outbox) Send(ctx context.Context, messages ...Message) error {
	list, err := o.encode(messages)
	if err != nil {
		return err
	}
	return o.db.retryAfterRestore(ctx, func() error { return o.db.queues.Send(ctx, o.at, list, nil) })
}

// Schedule is Send for messages that each have an At. It returns the numbers by which Cancel cancels them.
func (o *Outbox) Schedule(ctx context.Context, messages ...Message) (numbers []int64, err error) {
	list, err := o.encode(messages)
	if err != nil {
		return nil, err
	}
	err = o.db.retryAfterRestore(ctx, func() (err error) {
		numbers, err = o.db.queues.Schedule(ctx, o.at, list, nil)
		return err
	})
	return numbers, err
}

// Cancel cancels scheduled messages that have not arrived, all or none. It returns ErrNotFound if one has
// arrived.
func (o *Outbox) Cancel(ctx context.Context, numbers ...int64) error {
	return o.db.retryAfterRestore(ctx,
		func() error { return o.db.queues.CancelScheduled(ctx, o.at, numbers, nil) })
}

func (o *Outbox) encode(messages []Message) ([]*message.Message, error) {
	list := make([]*message.Message, len(messages))
	for i := range messages {
		var err error
		if list[i], err = messages[i].encode(o.db.queues.Now()); err != nil {
			return nil, err
		}
	}
	return list, nil
}
