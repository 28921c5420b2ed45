// Package split copies a partition range that is being split into its two halves, while it is read and
// written. Package store decides when that is done, and switches to the halves.
//
//	tx_mover.go  Mover: copies items, again those that writers have noted (notes.go)
//	tx_logs.go   the same for the feed of all versions and the log of expiries
//	middle.go    where a range is split
package split
