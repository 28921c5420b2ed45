// Package view reads message stores: their keys, counters, messages, locks and sessions. It holds no state,
// so that the consistency check and transactions read by the same code.
package view
