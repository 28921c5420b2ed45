// Package check proves that the keys of a container agree with each other.
//
//	check.go     items and the keys that exist because they do
//	index.go     index entries and the records of shapes
//	feed.go      the latest-version feed and the feed of all versions
//	expiries.go  the log of expiries
//	slots.go     keys in slots that no range has
//	strays.go    keys of containers that nobody knows
//
// It judges one state of a container over a snapshot that was made under it, and reports each violation in
// words for people. It reads everything and changes nothing.
package check
