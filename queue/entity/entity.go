package entity

import (
	"math"
	"time"

	"github.com/mayflydb/mayfly/queue/rule"
)

// Forever is a duration without a limit. Its wire format is P10675199DT2H48M5.4775807S.
const Forever time.Duration = math.MaxInt64

// Status determines which operations an entity refuses.
type Status uint8

// The statuses of entities.
const (
	Active Status = iota
	Disabled
	SendDisabled
	ReceiveDisabled
)

// String returns the service's name of the status.
func (s Status) String() string {
	switch s {
	case Disabled:
		return "Disabled"
	case SendDisabled:
		return "SendDisabled"
	case ReceiveDisabled:
		return "ReceiveDisabled"
	}
	return "Active"
}

// ParseStatus parses Service Bus's name of a status. It fails with CodeArgument for any other text.
func ParseStatus(text string) (Status, error) {
	for s := Active; s <= ReceiveDisabled; s++ {
		if s.String() == text {
			return s, nil
		}
	}
	return 0, &Error{Code: CodeArgument, Message: "'" + text +
		"' is none of Active, Disabled, SendDisabled and ReceiveDisabled."}
}

// Properties are the properties of an entity that can be set. Those that do not apply to a kind of entity
// are ignored. A zero duration or size stands for the default.
type Properties struct {
	LockDuration     time.Duration // 5 s to 5 min
	MaxDeliveryCount int32
	// default and maximum time to live of messages; Forever: no limit
	DefaultTTL                 time.Duration
	DeadLetterOnExpiration     bool
	DeadLetterOnFilterErrors   bool          // subscriptions
	AutoDeleteOnIdle           time.Duration // 5 min or more; Forever: never
	RequiresDuplicateDetection bool          // cannot be changed
	DuplicateDetectionWindow   time.Duration // 20 s to 7 days
	RequiresSession            bool          // cannot be changed
	MaxSizeMB                  int32         // if partitioned, of all 16 partitions together
	MaxMessageKB               int32
	ForwardTo                  string // path or absolute address of a queue or topic
	ForwardDeadLettersTo       string // as ForwardTo
	// this property and those after it up to UserMetadata are stored but have no effect
	EnableBatchedOperations        bool
	EnablePartitioning             bool // cannot be changed
	EnableExpress                  bool
	SupportOrdering                bool
	AnonymousAccessible            bool
	FilteringBeforePublishing      bool
	EnableSubscriptionPartitioning bool
	UserMetadata                   string
	AuthorizationRules             []byte // the XML that the client sent
	Status                         Status // it has an effect
}

// MessageCounts are numbers of messages by state. Expired messages that have not been purged yet are
// included.
type MessageCounts struct {
	Active, Scheduled, DeadLetter, TransferDeadLetter int64 // Active includes locked and deferred ones
}

// Entity describes a queue, topic or subscription: its properties, and what it contains at the moment.
type Entity struct {
	Kind Kind
	// in the spelling of its creator; of a subscription for example "news/Subscriptions/all"
	Path       string
	Properties Properties
	Created    time.Time
	Updated    time.Time
	Accessed   time.Time // time of the last activity; zero for a queue or topic that had none
	Counts     MessageCounts
	Bytes      int64 // of all its messages

	Subscriptions      int // of a topic
	SQLFilters         int // of a topic
	CorrelationFilters int // of a topic
}

// Rule is a rule of a subscription: messages that match its filter are stored in the subscription, changed
// by its action.
type Rule struct {
	Name    string
	Filter  rule.Filter
	Action  rule.Action // the zero Action: none
	Created time.Time
}
