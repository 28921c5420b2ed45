// Package check checks that the keys of a container agree with each other.
//
//	check.go      items and the keys that exist because of them
//	due.go        reads the keys that items must have, many at once
//	index.go      index entries and shape records
//	feed.go       the latest-version feed and the feed of all versions
//	expiries.go   the log of expiries
//	slots.go      keys with the number of a range that does not exist
//	orphans.go    keys of containers that are not in the catalog
//
// The package checks one state of a container over a snapshot that was taken under that state. It reports
// each violation as text for people. It only reads.
package check
