// Package fanout finds the rules of a topic's subscriptions that may match a message. It has an index over
// their filters, and the view of a message on which rules are evaluated.
package fanout
