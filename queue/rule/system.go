package rule

import "strings"

// System is a system property.
type System uint8

// The system properties. Those up to To can be set by an action.
const (
	ContentType System = iota + 1
	CorrelationID
	Label
	MessageID
	ReplyTo
	ReplyToSessionID
	SessionID
	To
	PartitionKey
	EnqueuedTime
	TimeToLive
	ScheduledEnqueueTime
	SequenceNumber
	DeliveryCount
)

// systemNames returns the names, indexed by System.
func systemNames() []string {
	return []string{"", "ContentType", "CorrelationId", "Label", "MessageId", "ReplyTo", "ReplyToSessionId",
		"SessionId",
		"To", "PartitionKey", "EnqueuedTimeUtc", "TimeToLive", "ScheduledEnqueueTimeUtc", "SequenceNumber",
		"DeliveryCount"}
}

// String returns the property's name in expressions.
func (s System) String() string { return systemNames()[s] }

func systemNamed(name string) (System, bool) {
	if strings.EqualFold(name, "Subject") {
		return Label, true
	}
	for i, n := range systemNames() {
		if i > 0 && strings.EqualFold(n, name) {
			return System(i), true
		}
	}
	return 0, false
}

// Message is the message that a filter is evaluated on.
type Message interface {
	// System returns a system property, or Null if the message does not have it.
	System(System) Value
	// User returns an application property, or Missing if there is none. Names are compared without case.
	User(name string) Value
}

// Editable is the message that an action changes.
type Editable interface {
	Message
	// SetSystem sets a property to a Text; Null removes it.
	SetSystem(System, Value)
	// SetUser sets a property; Null removes it. An existing property keeps the spelling of its name.
	SetUser(name string, v Value)
}
