// Package sweep finds what the reaper must check: items that may have expired, by the two expiry indexes
// (sweep_step.go), items deleted by a partition tombstone (tombstone.go), and the entries of a log that are
// older than its retention (trim.go). It also finds the last expiry, behind which a clock cannot be set back
// (expiry_search.go). It only reads. The store checks each candidate again in the transaction that purges it.
package sweep
