// Package sweep finds the items that the reaper must check: items that may have expired, by the two
// expiry indexes (look.go), and the last expiry before a clock is set back (deaths.go). It only reads.
// Package store checks each candidate again in the transaction that purges it.
package sweep
