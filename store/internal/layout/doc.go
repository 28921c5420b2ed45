// Package layout is how a store's data lies in its engine: every key, and the values that are no JSON.
//
//	keys.go      all keys, drawn as boxes
//	parts.go     the parts of keys, for those who walk over them
//	room.go      where a transaction makes its keys
//	rid.go       resource ids and etags: their numbers, and how they are written
//	header.go    what stands before an item's JSON, and the entries of the latest-version change feed
//	versions.go  the entries of the feed of all versions, and of the log of expiries
//
// It knows bytes and nothing of their meaning: what is written when, and what a reader may see, is the
// store's. These bytes are a format on disk: golden files of package store pin each of them.
//
// A value that cannot be read is engine.ErrCorrupt, one of a later format engine.ErrNewerFormat.
package layout
