package rule

import "strings"

// SystemProperty is a property of messages that Service Bus defines and rules name with the prefix sys,
// such as sys.Label.
type SystemProperty uint8

// The system properties. An action can set those from the first up to To.
const (
	ContentType SystemProperty = iota + 1
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

// systemNames returns the names of the system properties, indexed by SystemProperty.
func systemNames() []string {
	return []string{"", "ContentType", "CorrelationId", "Label", "MessageId", "ReplyTo", "ReplyToSessionId",
		"SessionId",
		"To", "PartitionKey", "EnqueuedTimeUtc", "TimeToLive", "ScheduledEnqueueTimeUtc", "SequenceNumber",
		"DeliveryCount"}
}

// String returns the property's name in expressions.
func (s SystemProperty) String() string { return systemNames()[s] }

func systemNamed(name string) (SystemProperty, bool) {
	if strings.EqualFold(name, "Subject") {
		return Label, true
	}
	for i, n := range systemNames() {
		if i > 0 && strings.EqualFold(n, name) {
			return SystemProperty(i), true
		}
	}
	return 0, false
}

// Message is a message on which a filter is evaluated.
type Message interface {
	// System returns a system property, or Null if the message does not have it.
	System(SystemProperty) Value
	// User returns an application property, or Missing if there is none. Case is ignored in the name.
	User(name string) Value
}

// EditableMessage is a message that an action changes.
type EditableMessage interface {
	Message
	// SetSystem sets a system property to a Text. Null removes the property.
	SetSystem(SystemProperty, Value)
	// SetUser sets an application property. Null removes it. An existing property keeps the spelling of its
	// name.
	SetUser(name string, v Value)
}
