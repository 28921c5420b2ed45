package entity

import (
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

// String names the status as the service does.
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

// ParseStatus reads a status that an owner can set: CodeArgument for others.
func ParseStatus(text string) (Status, error) {
	for s := Active; s <= ReceiveDisabled; s++ {
		if s.String() == text {
			return s, nil
		}
	}
	return 0, &Error{Code: CodeArgument, Message: "'" + text +
		"' is none of Active, Disabled, SendDisabled and ReceiveDisabled."}
}

// Properties are what the owner of an entity can set. What a kind does not have is ignored for it; a zero
// value of a duration or size stands for the default.
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
	MaxSizeMB                      int32         // of all 16 partitions of a partitioned entity
	MaxMessageKB                   int32
	ForwardTo                      string // path or absolute address of a queue or topic
	ForwardDeadLettersTo           string // the same; see TargetPath
	EnableBatchedOperations        bool   // from here on: stored and told, without effect
	EnablePartitioning             bool   // cannot be changed
	EnableExpress                  bool
	SupportOrdering                bool
	AnonymousAccessible            bool
	FilteringBeforePublishing      bool
	EnableSubscriptionPartitioning bool
	UserMetadata                   string
	AuthorizationRules             []byte // as the client has written them
	Status                         Status // has effect
}

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
