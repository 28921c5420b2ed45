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

// Queue is a queue of messages, which are sent to it and received from it. A handle stays good as long as the
// store is open: through a Restore, and when the queue is deleted and made again.
type Queue struct {
	Outbox
	Inbox
}

// Topic hands what is sent to it to its subscriptions.
type Topic struct{ Outbox }

// Subscription receives the messages of a topic that its rules let in.
type Subscription struct{ Inbox }

// QueueOption says how a queue, a topic or a subscription is made. What a kind does not have is ignored for
// it. The rules, the bounds and the defaults are Azure Service Bus's.
type QueueOption func(*queueing) error

type queueing struct {
	entity.Properties
	rules []entity.Rule
}

// MessageTTL is how long messages live that say nothing themselves, and the most that others do. Without it
// messages stay.
func MessageTTL(d time.Duration) QueueOption {
	return QueueSpec(func(p *entity.Properties) { p.DefaultTTL = d })
}

// LockFor is how long a receiver has a message for itself: 5 seconds to 5 minutes, a minute by default.
func LockFor(d time.Duration) QueueOption {
	return QueueSpec(func(p *entity.Properties) { p.LockDuration = d })
}

// MaxDeliveries is how many deliveries may fail before a message is a dead letter: 10 by default.
func MaxDeliveries(n int32) QueueOption {
	return QueueSpec(func(p *entity.Properties) { p.MaxDeliveryCount = n })
}

// DeadLetterExpired makes dead letters of messages that expire. Without it they are gone.
func DeadLetterExpired() QueueOption {
	return QueueSpec(func(p *entity.Properties) { p.DeadLetterOnExpiration = true })
}

// WithSessions makes each message belong to a session, which one receiver at a time has: see Inbox.Session.
func WithSessions() QueueOption {
	return QueueSpec(func(p *entity.Properties) { p.RequiresSession = true })
}

// DropDuplicates drops a message whose ID was sent within a time before: 20 seconds to 7 days.
func DropDuplicates(within time.Duration) QueueOption {
	return QueueSpec(func(p *entity.Properties) {
		p.RequiresDuplicateDetection, p.DuplicateDetectionWindow = true, within
	})
}

// ForwardTo sends messages on to a queue or a topic, which must be there.
func ForwardTo(path string) QueueOption {
	return QueueSpec(func(p *entity.Properties) { p.ForwardTo = path })
}

// DeleteWhenIdle deletes the queue when nobody has used it for a time, of at least 5 minutes.
func DeleteWhenIdle(d time.Duration) QueueOption {
	return QueueSpec(func(p *entity.Properties) { p.AutoDeleteOnIdle = d })
}

// QueueSpec changes the properties in package queue's own terms.
func QueueSpec(change func(*entity.Properties)) QueueOption {
	return func(q *queueing) error {
		change(&q.Properties)
		return nil
	}
}

// Where lets only those messages into a subscription that meet a condition in SQL, over the properties of
// their senders and, as sys.Label and the like, those of the system: "priority > 3 AND sys.Label = 'new'".
// Where there are several, a message that meets one of them comes in.
func Where(condition string) QueueOption {
	return func(q *queueing) error {
		filter, err := rule.SQL(condition)
		if err != nil {
			return refused(err)
		}
		q.rules = append(q.rules, entity.Rule{Name: "where-" + strconv.Itoa(len(q.rules)+1), Filter: filter})
		return nil
	}
}

// Queue opens a queue by its path, and makes it where it is not there. One that is there stays as it is: the
// options say what a new one is like. ErrConflict: the path is a topic's.
func (db *DB) Queue(ctx context.Context, path string, opts ...QueueOption) (*Queue, error) {
	e, err := db.entity(ctx, entity.Queue, path, opts)
	if err != nil {
		return nil, err
	}
	return &Queue{Outbox{db, entity.Address{Entity: e.Path}}, Inbox{db, entity.Address{Entity: e.Path}}}, nil
}

// Topic opens a topic as Queue opens a queue. ErrConflict: the path is a queue's.
func (db *DB) Topic(ctx context.Context, path string, opts ...QueueOption) (*Topic, error) {
	e, err := db.entity(ctx, entity.Topic, path, opts)
	if err != nil {
		return nil, err
	}
	return &Topic{Outbox{db, entity.Address{Entity: e.Path}}}, nil
}

// Subscription opens a subscription of the topic by its name, as DB.Queue opens a queue. It gets what is sent
// after it was made.
func (t *Topic) Subscription(ctx context.Context, name string, opts ...QueueOption) (*Subscription, error) {
	e, err := t.db.entity(ctx, entity.Subscription, t.at.Entity+"/Subscriptions/"+name, opts)
	if err != nil {
		return nil, err
	}
	return &Subscription{Inbox{t.db, entity.Address{Entity: e.Path}}}, nil
}

// entity opens or makes one.
func (db *DB) entity(ctx context.Context, kind entity.Kind, path string,
	opts []QueueOption) (entity.Entity, error) {
	q := queueing{Properties: entity.Defaults(kind)}
	for _, opt := range opts {
		if err := opt(&q); err != nil {
			return entity.Entity{}, err
		}
	}
	var e entity.Entity
	err := db.asking(ctx, func() (err error) {
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

// asking asks the store or the queues something by fn, and once more where that has met a restore: nothing of
// it is left then. The error is this package's.
func (db *DB) asking(ctx context.Context, fn func() error) error {
	for {
		before, err := db.db.Incarnation(ctx)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return canceled(ctx)
		}
		if err = ofQueue(fn()); !db.restored(ctx, before, &err) {
			return err
		}
	}
}

// restored reports whether a call that began in an incarnation has failed with err because of a restore.
// Where ctx ends while that is under way, err is that.
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
// with all messages. ErrNotFound: there is none.
func (db *DB) DeleteQueue(ctx context.Context, path string) error {
	return db.asking(ctx, func() error { return db.queues.Delete(ctx, path) })
}

// Queues are the queues behind the door, which have everything in Service Bus's own terms.
func (db *DB) Queues() *queue.Queues { return db.queues }

// Outbox is where messages are sent: a queue or a topic.
type Outbox struct {
	db *DB
	at entity.Address
}

// Send stores messages, all or none of them, before it returns. Those with a time to arrive wait until then.
// ErrNotFound: the queue is gone. ErrTooLarge: they are over 256 KB. ErrForbidden: it is disabled, or full.
func (o *Outbox) Send(ctx context.Context, messages ...Message) error {
	list, err := o.encode(messages)
	if err != nil {
		return err
	}
	return o.db.asking(ctx, func() error { return o.db.queues.Send(ctx, o.at, list, nil) })
}

// Schedule is Send of messages that each have a time to arrive, and returns the numbers by which Cancel takes
// them back.
func (o *Outbox) Schedule(ctx context.Context, messages ...Message) (numbers []int64, err error) {
	list, err := o.encode(messages)
	if err != nil {
		return nil, err
	}
	err = o.db.asking(ctx, func() (err error) {
		numbers, err = o.db.queues.Schedule(ctx, o.at, list, nil)
		return err
	})
	return numbers, err
}

// Cancel takes scheduled messages back that have not arrived, all or none. ErrNotFound: one of them has.
func (o *Outbox) Cancel(ctx context.Context, numbers ...int64) error {
	return o.db.asking(ctx, func() error { return o.db.queues.CancelScheduled(ctx, o.at, numbers, nil) })
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
