// Package split copies a partition range to its two halves while clients read and write the range.
// Package store decides when the copy is complete and switches to the halves.
//
//	tx_mover.go   RangeCopier: copies items, and again those that writers have noted (written_rids.go)
//	tx_logs.go    the same for the feed of all versions and the log of expiries
//	middle.go     finds the EPK at which a range is split
package split
