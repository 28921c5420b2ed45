package entity

import (
	"math"
	"time"

	"github.com/mayflydb/mayfly/queue/rule"
)

// Forever is the duration without a limit, on the wire P10675199DT2H48M5.4775807S.
const Forever time.Duration = math.MaxInt64

// Status determines which operations an entity refuses.
type Status uint8

// The statuses.
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

// ParseStatus parses a status, or returns CodeArgument.
func ParseStatus(text string) (Status, error) {
	for s := Active; s <= ReceiveDisabled; s++ {
		if s.String() == text {
			return s, nil
		}
	}
	return 0, &Error{Code: CodeArgument, Message: "'" + text +
		"' is none of Active, Disabled, SendDisabled and ReceiveDisabled."}
}

// Properties are the settable properties of an entity. Properties that a kind does not have are ignored. A
// zero duration or size means the default.
type Properties struct {
	LockDuration                   time.Duration // 5 s to 5 min
	MaxDeliveryCount               int32
	DefaultTTL                     time.Duration // of messages: default and maximum; Forever: no limit
	DeadLetterOnExpiration         bool
	DeadLetterOnFilterErrors       bool          // subscriptions
	AutoDeleteOnIdle               time.Duration // 5 min or more; Forever: never
	RequiresDuplicateDetection     bool          // cannot be changed
	DuplicateDetectionWindow       time.Duration // 20 s to 7 days
	RequiresSession                bool          // cannot be changed
	MaxSizeMB                      int32         // of all 16 partitions together if partitioned
	MaxMessageKB                   int32
	ForwardTo                      string // path or absolute address of a queue or topic
	ForwardDeadLettersTo           string // as ForwardTo
	EnableBatchedOperations        bool   // this one and those up to UserMetadata are stored without effect
	EnablePartitioning             bool   // cannot be changed
	EnableExpress                  bool
	SupportOrdering                bool
	AnonymousAccessible            bool
	FilteringBeforePublishing      bool
	EnableSubscriptionPartitioning bool
	UserMetadata                   string
	AuthorizationRules             []byte // the XML that the client sent
	Status                         Status // it has an effect
}

// Counts are numbers of messages by state. Expired messages that have not been purged yet are included.
type Counts struct {
	Active, Scheduled, DeadLetter, TransferDeadLetter int64 // Active includes locked and deferred ones
}

// Entity describes an entity.
type Entity struct {
	Kind       Kind
	Path       string // in the spelling of its creator; of a subscription "news/Subscriptions/all"
	Properties Properties
	Created    time.Time
	Updated    time.Time
	Accessed   time.Time // last activity; zero for a queue or topic without any
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
