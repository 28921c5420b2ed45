package entity

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind is a kind of entity.
type Kind uint8

// The kinds of entities.
const (
	Queue Kind = iota + 1
	Topic
	Subscription
)

// String returns the service's name of the kind.
func (k Kind) String() string {
	switch k {
	case Queue:
		return "Queue"
	case Topic:
		return "Topic"
	}
	return "Subscription"
}

// SubQueue selects one of the message stores of a queue or subscription: the main store or a dead-letter
// queue.
type SubQueue uint8

// The message stores of a queue or subscription: its own messages, its dead letters, and its transfer dead
// letters.
const (
	Main SubQueue = iota
	DeadLetters
	TransferDeadLetters
)

// Address names a message store (a queue, a subscription, or one of their sub-queues) or a topic.
type Address struct {
	// Entity is the path of the entity, such as "orders" or "news/Subscriptions/all". It is in the client's
	// spelling except for the word "Subscriptions". Case is ignored in comparisons.
	Entity string
	Sub    SubQueue
}

const (
	subscriptionsWord = "/Subscriptions/"
	managementWord    = "/$management"
)

// subWords are the suffixes of sub-queue addresses, the longest first.
var subWords = [...]struct {
	word string
	sub  SubQueue
}{{"/$Transfer/$DeadLetterQueue", TransferDeadLetters}, {"/$DeadLetterQueue", DeadLetters}}

// The maximal lengths of names in characters.
const (
	maxPath = 260
	maxName = 50 // of a subscription or rule
)

// ParseAddress parses an address in any form that clients use: with or without a scheme and host, with a
// leading slash, and with any case of "Subscriptions" and of the names of sub-queues. management reports
// whether the address ended in "/$management". It fails with CodeArgument. It does not check whether the
// entity exists.
func ParseAddress(text string) (a Address, management bool, err error) {
	path := text
	if _, rest, found := strings.Cut(text, "://"); found {
		_, path, _ = strings.Cut(rest, "/")
	}
	path = strings.Trim(path, "/")
	if path, management = cutSuffixFold(path, managementWord); path == "" ||
		strings.EqualFold(path, managementWord[1:]) {
		return a, management, &Error{Code: CodeArgument, Message: "The address '" + text +
			"' names no entity."}
	}
	for _, w := range subWords {
		if rest, found := cutSuffixFold(path, w.word); found {
			path, a.Sub = rest, w.sub
			break
		}
	}
	if len(path) > 2*maxPath || !utf8.ValidString(path) {
		return Address{}, management, &Error{Code: CodeArgument,
			Message: "The address is malformed, or too long."}
	}
	if topic, name, ok := SplitSubscription(path); ok {
		path = SubscriptionPath(topic, name)
	}
	a.Entity = path
	return a, management, nil
}

// ParseDestination parses the address of a queue or topic that messages are sent to. Its errors are those of
// ParseAddress, and CodeNotAllowed for a management node. It does not check whether the entity exists.
func ParseDestination(text string) (Address, error) {
	a, management, err := ParseAddress(text)
	if err == nil && management {
		err = &Error{Code: CodeNotAllowed, Entity: a.String(),
			Message: "Messages can be sent to queues and topics alone."}
	}
	return a, err
}

func cutSuffixFold(s, suffix string) (before string, found bool) {
	at := len(s) - len(suffix)
	if at < 0 || !strings.EqualFold(s[at:], suffix) {
		return s, false
	}
	return s[:at], true
}

// SplitSubscription splits the path of a subscription. ok is false if the path is not that of a
// subscription. Case is ignored in "Subscriptions".
func SplitSubscription(path string) (topic, name string, ok bool) {
	last := strings.LastIndexByte(path, '/')
	if last < 0 {
		return "", "", false
	}
	topic, ok = cutSuffixFold(path[:last+1], subscriptionsWord)
	return topic, path[last+1:], ok && topic != "" && path[last+1:] != ""
}

// String returns the address in canonical spelling: "orders/$DeadLetterQueue".
func (a Address) String() string {
	for _, w := range subWords {
		if w.sub == a.Sub {
			return a.Entity + w.word
		}
	}
	return a.Entity
}

// Subscription splits the path of a subscription; ok is false for the path of a queue or topic.
func (a Address) Subscription() (topic, name string, ok bool) { return SplitSubscription(a.Entity) }

// TopLevel returns the path of the queue or topic that the address belongs to, in lower case. It is the same
// for all subscriptions of a topic and for all sub-queues of a queue.
func (a Address) TopLevel() string {
	if topic, _, ok := a.Subscription(); ok {
		return strings.ToLower(topic)
	}
	return strings.ToLower(a.Entity)
}

// SubscriptionPath returns the path of a subscription.
func SubscriptionPath(topic, name string) string { return topic + subscriptionsWord + name }

// NameError is wrapped by the *Error for a name that Service Bus does not allow.
type NameError struct{ Name string }

func (e *NameError) Error() string { return "'" + e.Name + "'" + e.Reason() }

// Reason returns Service Bus's error text for an invalid name. The text is to follow the name, which it does
// not contain.
func (e *NameError) Reason() string {
	return " contains character(s) that is not allowed by Service Bus. Entity segments can contain only " +
		"letters, numbers, periods (.), hyphens (-), and underscores (_). " + HelpLink
}

// HelpLink is the end of Service Bus's error texts about the management of entities.
const HelpLink = "To know more visit https://aka.ms/sbResourceMgrExceptions."

// CheckName checks the name of a new entity or rule. It consists of letters, digits, '.', '-' and '_' and,
// if slashes is set, of several such segments separated by slashes. The segments "." and ".." are refused
// because no URL can contain them. "Subscriptions" is refused after another segment because it addresses a
// subscription.
func CheckName(what, name string, slashes bool) error {
	most := maxName
	if slashes {
		most = maxPath
	}
	if n := utf8.RuneCountInString(name); n == 0 || n > most {
		return &Error{Code: CodeArgumentOutOfRange, Entity: name, Message: "SubCode=40000. The name of a " +
			what +
			" has from 1 to " + strconv.Itoa(most) + " characters."}
	}
	first := true
	for segment := range strings.SplitSeq(name, "/") {
		if segment == "" || segment == "." || segment == ".." || strings.ContainsFunc(segment, isForbidden) ||
			!first && !slashes {
			err := &NameError{name}
			return &Error{Code: CodeArgument, Entity: name, Message: "SubCode=40000. " + err.Error(),
				Err: err}
		}
		if !first && strings.EqualFold(segment, "subscriptions") {
			return &Error{Code: CodeArgument, Entity: name, Message: "SubCode=40000. The path '" + name +
				"' of a " +
				what + " has a segment 'Subscriptions', which stands for the subscriptions of a topic."}
		}
		first = false
	}
	return nil
}

// isForbidden reports whether a character is not allowed in a segment of a name.
func isForbidden(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '-' &&
		c != '_'
}
