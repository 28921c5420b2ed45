// Package view reads message stores: the keys, counters, messages, locks and sessions of one queue,
// subscription or sub-queue, as an engine stores them. It holds no state. The consistency check and the
// transactions use the same functions.
package view
