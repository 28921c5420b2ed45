// Package entity defines the concepts of Service Bus as plain values: queues, topics and subscriptions with
// their properties, addresses, durations in their wire format, conversions between values of rules and AMQP,
// and the error type of queues. It has no state and accesses no store. The packages of the protocols, of
// configuration files and of Mayfly's own HTTP API use it without package queue.
//
// An Address names a message store or a topic: "orders", "news/Subscriptions/all",
// "orders/$DeadLetterQueue". ParseAddress accepts every spelling that clients use. It checks only the form,
// not whether the entity exists.
package entity
