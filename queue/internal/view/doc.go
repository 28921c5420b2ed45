// Package view reads message stores: their keys, counters, messages, locks and sessions. It holds no state.
// The consistency check and the transactions use the same functions.
package view
