// Package fanout decides which rules of a topic's subscriptions may match a message: an index over their
// filters, and the message as rules see it.
package fanout
