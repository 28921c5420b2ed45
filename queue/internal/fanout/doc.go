// Package fanout finds the rules of a topic's subscriptions that may match a message. It has an index over
// the filters, and a type MessageView, the form of a message on which rules are evaluated.
package fanout
