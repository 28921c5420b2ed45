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

// Queue is a queue of messages. A Queue stays valid as long as the store is open, even after a Restore, and
// after the queue has been deleted and created again.
type Queue struct {
	Sender
	Receiver
}

// Topic sends each message to all of its subscriptions whose conditions match.
type Topic struct{ Sender }

// Subscription receives the messages of a topic that match the conditions of the subscription.
type Subscription struct{ Receiver }

// QueueOption is an option for creating a queue, a topic or a subscription. An option that the kind of object
// does not have is ignored. The rules, the limits and the defaults are those of Azure Service Bus.
type QueueOption func(*queueConfig) error

// queueConfig collects the options of a new queue, topic or subscription.
type queueConfig struct {
	entity.Properties
	rules []entity.Rule
}

// MessageTTL sets the time to live of messages that have none of their own. It is also the maximum for all
// messages. Without this option, messages without their own time to live do not expire.
func MessageTTL(d time.Duration) QueueOption {
	return QueueSpec(func(p *entity.Properties) { p.DefaultTTL = d })
}

// LockFor sets how long a received message stays locked, from 5 seconds to 5 minutes. Default: 1 minute.
func LockFor(d time.Duration) QueueOption {
	return QueueSpec(func(p *entity.Properties) { p.LockDuration = d })
}

// MaxDeliveries sets the number of failed deliveries after which a message becomes a dead letter. Default:
// 10.
func MaxDeliveries(n int32) QueueOption {
	return QueueSpec(func(p *entity.Properties) { p.MaxDeliveryCount = n })
}

// DeadLetterExpired makes expired messages dead letters. Without this option they are deleted.
func DeadLetterExpired() QueueOption {
	return QueueSpec(func(p *entity.Properties) { p.DeadLetterOnExpiration = true })
}

// WithSessions makes a queue or subscription require that each message belongs to a session. Only one
// receiver at a time can lock a session: see Receiver.Session.
func WithSessions() QueueOption {
	return QueueSpec(func(p *entity.Properties) { p.RequiresSession = true })
}

// DropDuplicates makes a queue or topic drop a message if a message with the same ID was sent within this
// time before. The time is from 20 seconds to 7 days.
func DropDuplicates(within time.Duration) QueueOption {
	return QueueSpec(func(p *entity.Properties) {
		p.RequiresDuplicateDetection, p.DuplicateDetectionWindow = true, within
	})
}

// ForwardTo makes a queue or subscription forward its messages to an existing queue or topic.
func ForwardTo(path string) QueueOption {
	return QueueSpec(func(p *entity.Properties) { p.ForwardTo = path })
}

// DeleteWhenIdle makes the store delete a queue, topic or subscription that has not been used for the
// duration d, at least 5 minutes.
func DeleteWhenIdle(d time.Duration) QueueOption {
	return QueueSpec(func(p *entity.Properties) { p.AutoDeleteOnIdle = d })
}

// QueueSpec changes the properties of a queue, topic or subscription in the terms of package queue.
func QueueSpec(change func(*entity.Properties)) QueueOption {
	return func(q *queueConfig) error {
		change(&q.Properties)
		return nil
	}
}

// Where makes a subscription receive only messages that match a condition. Without it, the subscription
// receives all messages of the topic. The condition is in the SQL of Service Bus: "priority > 3 AND sys.Label
// = 'new'". It can use the Properties of a message by their names, and system properties such as sys.Label,
// the Subject. If the option is used several times, a message must match at least one of the conditions.
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

// Queue opens the queue with this path. If it does not exist, Queue creates it. The options apply only to a
// new queue; an existing one stays unchanged. Queue returns ErrConflict if there is a topic with this path.
func (db *DB) Queue(ctx context.Context, path string, opts ...QueueOption) (*Queue, error) {
	e, err := db.entity(ctx, entity.Queue, path, opts)
	if err != nil {
		return nil, err
	}
	return &Queue{Sender{db, entity.Address{Entity: e.Path}}, Receiver{db, entity.Address{Entity: e.Path}}},
		nil
}

// Topic opens the topic with this path. If it does not exist, Topic creates it. The options apply only to a
// new topic; an existing one stays unchanged. Topic returns ErrConflict if there is a queue with this path.
func (db *DB) Topic(ctx context.Context, path string, opts ...QueueOption) (*Topic, error) {
	e, err := db.entity(ctx, entity.Topic, path, opts)
	if err != nil {
		return nil, err
	}
	return &Topic{Sender{db, entity.Address{Entity: e.Path}}}, nil
}

// Subscription opens the subscription of the topic with this name. If it does not exist, Subscription creates
// it; it receives the messages that are sent after that. The options apply only to a new subscription; an
// existing one stays unchanged.
func (t *Topic) Subscription(ctx context.Context, name string, opts ...QueueOption) (*Subscription, error) {
	e, err := t.db.entity(ctx, entity.Subscription, t.at.Entity+"/Subscriptions/"+name, opts)
	if err != nil {
		return nil, err
	}
	return &Subscription{Receiver{t.db, entity.Address{Entity: e.Path}}}, nil
}

// entity opens the queue, topic or subscription with this path, or creates it if it does not exist.
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
		if entity.ErrorCodeOf(err) != entity.CodeEntityExists {
			return err
		}
		if there, missing := db.queues.Get(ctx, path); missing == nil && there.Kind == kind {
			e, err = there, nil
		}
		return err
	})
	return e, err
}

// retryAfterRestore runs fn. If fn failed because of a restore, which has undone everything that fn did, it
// runs fn once more. It returns errors of this package.
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

// restored reports whether a call has failed with *err because a snapshot was restored while it ran.
// before identifies the content of the store when the call began (DB.Incarnation of package store), which
// a restore changes. If ctx ends while restored waits for the end of the restore, it sets *err to the
// error of ctx.
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

// DeleteQueue deletes a queue, a topic with its subscriptions, or a subscription, whose path is
// "topic/Subscriptions/name", with all messages. It returns ErrNotFound if it does not exist.
func (db *DB) DeleteQueue(ctx context.Context, path string) error {
	return db.retryAfterRestore(ctx, func() error { return db.queues.Delete(ctx, path) })
}

// Queues returns the underlying value of package queue, which has all features in the terms of Service Bus.
func (db *DB) Queues() *queue.Queues { return db.queues }

// Sender sends messages to a queue or a topic.
type Sender struct {
	db *DB
	at entity.Address
}

// Send stores the messages, all or none of them. They are durable when Send returns. It returns ErrNotFound
// if the queue or topic has been deleted, ErrTooLarge if the messages have more than 256 KB, and ErrForbidden
// if the queue or topic is disabled or full.
func (o *Sender) Send(ctx context.Context, messages ...Message) error {
	list, err := o.encode(messages)
	if err != nil {
		return err
	}
	return o.db.retryAfterRestore(ctx, func() error { return o.db.queues.Send(ctx, o.at, list, nil) })
}

// Schedule works like Send, but each message must have a scheduled time At, and Schedule returns the sequence
// numbers, by which Cancel can delete the messages.
func (o *Sender) Schedule(ctx context.Context, messages ...Message) (numbers []int64, err error) {
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

// Cancel deletes scheduled messages, all or none of them. It returns ErrNotFound if the scheduled time of one
// of them has come, or if it does not exist.
func (o *Sender) Cancel(ctx context.Context, numbers ...int64) error {
	return o.db.retryAfterRestore(ctx,
		func() error { return o.db.queues.CancelScheduled(ctx, o.at, numbers, nil) })
}

func (o *Sender) encode(messages []Message) ([]*message.Message, error) {
	list := make([]*message.Message, len(messages))
	for i := range messages {
		var err error
		if list[i], err = messages[i].encode(o.db.queues.Now()); err != nil {
			return nil, err
		}
	}
	return list, nil
}
