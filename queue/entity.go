package queue

import (
	"context"
	"math"
	"time"

	"github.com/mayflydb/mayfly/queue/rule"
)

// Forever is the duration that stands for no limit: the wire's P10675199DT2H48M5.4775807S.
const Forever time.Duration = math.MaxInt64

// Status says what an entity refuses.
type Status uint8

// The statuses.
const (
	Active Status = iota
	Disabled
	SendDisabled
	ReceiveDisabled
)

// Properties are what the owner of an entity can set. What a kind does not have is ignored for it; a zero value
// of a duration or size stands for the default.
type Properties struct {
	LockDuration                   time.Duration // 5 s to 5 min
	MaxDeliveryCount               int32
	DefaultTTL                     time.Duration // of messages: default and ceiling; Forever: neither
	DeadLetterOnExpiration         bool
	DeadLetterOnFilterErrors       bool          // subscriptions
	AutoDeleteOnIdle               time.Duration // 5 min or more; Forever: never
	RequiresDuplicateDetection     bool          // cannot be changed
	DuplicateDetectionWindow       time.Duration // 20 s to 7 days
	RequiresSession                bool          // cannot be changed
	MaxSizeMB                      int32
	MaxMessageKB                   int32
	ForwardTo                      string // the path of a queue or topic
	ForwardDeadLettersTo           string
	EnableBatchedOperations        bool // from here on: stored and told, without effect
	EnablePartitioning             bool // cannot be changed
	EnableExpress                  bool
	SupportOrdering                bool
	AnonymousAccessible            bool
	FilteringBeforePublishing      bool
	EnableSubscriptionPartitioning bool
	UserMetadata                   string
	AuthorizationRules             []byte // as the client has written them
	Status                         Status // has effect
}

// Defaults are the properties of a new entity of a kind where its owner sets none.
func Defaults(kind Kind) Properties { return Properties{} }

// Counts are messages by what they are. What has expired and is not purged yet may be among them.
type Counts struct {
	Active, Scheduled, DeadLetter, TransferDeadLetter int64 // Active: visible, locked and deferred
}

// Entity is an entity with what is known of it.
type Entity struct {
	Kind       Kind
	Path       string // as its owner has spelled it; of a subscription "news/Subscriptions/all"
	Properties Properties
	Created    time.Time
	Updated    time.Time
	Accessed   time.Time // last activity
	Counts     Counts
	Bytes      int64 // of all its messages

	Subscriptions      int // of a topic
	SQLFilters         int // of a topic
	CorrelationFilters int // of a topic
}

// Rule is a rule of a subscription.
type Rule struct {
	Name    string
	Filter  rule.Filter
	Action  rule.Action // the zero Action: none
	Created time.Time
}

// Create makes an entity; path of a subscription is "topic/Subscriptions/name". A subscription begins with the
// given rules; with none of them it has "$Default", which takes everything. Errors: CodeEntityExists, also for the
// other kind; CodeEntityNotFound for the topic; CodeArgument, CodeArgumentOutOfRange.
func (q *Queues) Create(ctx context.Context, kind Kind, path string, p Properties, rules ...Rule) (Entity, error) {
	return Entity{}, &Error{Code: CodeNotImplemented}
}

// Update sets the properties of an entity. Locks that are held on its messages are lost.
func (q *Queues) Update(ctx context.Context, path string, p Properties) (Entity, error) {
	return Entity{}, &Error{Code: CodeNotImplemented}
}

// Get is one entity with its counts. It is no activity.
func (q *Queues) Get(ctx context.Context, path string) (Entity, error) {
	return Entity{}, &Error{Code: CodeNotImplemented}
}

// List is the queues, the topics, or the subscriptions of a topic (Subscription), in the order of their names:
// top of them behind skip. topic is "" but for subscriptions.
func (q *Queues) List(ctx context.Context, kind Kind, topic string, skip, top int) ([]Entity, error) {
	return nil, &Error{Code: CodeNotImplemented}
}

// Delete deletes an entity with all that is in it, and detaches its receivers.
func (q *Queues) Delete(ctx context.Context, path string) error {
	return &Error{Code: CodeNotImplemented}
}

// CreateRule adds a rule to a subscription. Rules concern messages that arrive later.
func (q *Queues) CreateRule(ctx context.Context, subscription string, r Rule) (Rule, error) {
	return Rule{}, &Error{Code: CodeNotImplemented}
}

// UpdateRule replaces a rule.
func (q *Queues) UpdateRule(ctx context.Context, subscription string, r Rule) (Rule, error) {
	return Rule{}, &Error{Code: CodeNotImplemented}
}

// DeleteRule deletes a rule.
func (q *Queues) DeleteRule(ctx context.Context, subscription, name string) error {
	return &Error{Code: CodeNotImplemented}
}

// Rules are the rules of a subscription by name: top of them behind skip.
func (q *Queues) Rules(ctx context.Context, subscription string, skip, top int) ([]Rule, error) {
	return nil, &Error{Code: CodeNotImplemented}
}
