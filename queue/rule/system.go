package rule

import "strings"

// System is a property that the service knows.
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

// systemNames are the names, in the order of the numbers.
func systemNames() []string {
	return []string{"", "ContentType", "CorrelationId", "Label", "MessageId", "ReplyTo", "ReplyToSessionId",
		"SessionId",
		"To", "PartitionKey", "EnqueuedTimeUtc", "TimeToLive", "ScheduledEnqueueTimeUtc", "SequenceNumber",
		"DeliveryCount"}
}

// String is the name that the property has in expressions.
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

// Message is what a filter looks at.
type Message interface {
	// System is a property of the service's; Null where the message has none.
	System(System) Value
	// User is a property of the sender's, whose name has no case; Missing where there is none.
	User(name string) Value
}

// Editable is what an action changes.
type Editable interface {
	Message
	// SetSystem sets a property to a Text; Null takes it away.
	SetSystem(System, Value)
	// SetUser sets a property, which keeps its spelling where it is there; Null takes it away.
	SetUser(name string, v Value)
}
