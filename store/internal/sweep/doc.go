// Package sweep finds what the reaper is to look at: items that may have expired, by the two indexes of
// expiry (look.go), and the last death before a clock is set back (deaths.go). It only reads; package store
// judges each candidate again in the transaction that purges it.
package sweep
