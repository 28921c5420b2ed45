// Package sweep finds what the reaper must check: items that may have expired, by the two expiry indexes
// (step.go), items below a partition tombstone (tombstone.go), the last expiry before a clock is set back
// (expiry_search.go), and the entries of a log that are older than its retention (trim.go). It only reads.
// The store checks each candidate again in the transaction that purges it.
package sweep
