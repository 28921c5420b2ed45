package queue

// Kind is what an entity is.
type Kind uint8

// The kinds.
const (
	Queue Kind = iota + 1
	Topic
	Subscription
)

// Sub is one of the message stores of a queue or subscription.
type Sub uint8

// The message stores.
const (
	Main Sub = iota
	DeadLetters
	TransferDeadLetters
)

// Address names a message store, or a topic.
type Address struct {
	Entity string // "orders", "news/Subscriptions/all": spelled as the client has it, compared without case
	Sub    Sub
}

// ParseAddress reads an address in any of the forms that clients use: with or without a scheme and host, a
// leading slash, and in any case of "Subscriptions" and of the names of sub-queues. management tells that it
// ended in "/$management". It fails with CodeArgument. It does not look whether the entity exists.
func ParseAddress(text string) (a Address, management bool, err error) {
	return Address{Entity: text}, false, nil
}

// String is the address in its canonical spelling: "orders/$DeadLetterQueue".
func (a Address) String() string { return a.Entity }

// Subscription splits the name of a subscription's entity; ok is false for one of a queue or topic.
func (a Address) Subscription() (topic, name string, ok bool) { return "", "", false }
