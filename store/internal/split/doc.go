// Package split copies a partition range to its two halves while clients read and write the range. Package
// store decides when the copy is complete and switches to the halves.
//
//	tx_mover.go            RangeCopier: copies items, and again those that writers have recorded as changed
//	concurrent_writes.go   the items that writers have changed during the copy
//	tx_logs.go             copies the feed of all versions and the log of expiries
//	middle.go              finds the EPK at which a range is split
package split
