// Package entity holds the nouns of Service Bus as plain values: queues, topics and subscriptions with their
// properties, the addresses that name them, durations as the wire writes them, values of rules in AMQP's
// types, and the one error type of queues. It keeps no state and reaches no store: protocols, configuration
// files and the laboratory use it without the broker.
//
// An Address names a message store or a topic: "orders", "news/Subscriptions/all",
// "orders/$DeadLetterQueue". ParseAddress reads every spelling that clients use and checks no more than the
// form; whether the entity exists is the broker's answer.
package entity
