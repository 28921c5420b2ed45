// Package layout defines how the store's data is laid out in its engine: every key, and all values that
// are not JSON.
//
//	keys.go          all keys, drawn as boxes
//	parts.go         reading the parts of keys, for scans over a range of keys
//	key_arena.go     the memory in which a transaction builds its keys
//	rid.go           resource ids and etags: their numbers and their text
//	item_header.go   the header before an item's JSON, and the entries of the latest-version change feed
//	versions.go      the entries of the feed of all versions, and of the log of expiries
//
// The package only encodes and decodes. The store decides what is written and what a reader may see. The
// encodings are a format on disk: golden files of package store pin each of them.
//
// Decoding returns engine.ErrCorrupt for a value that cannot be read, and engine.ErrNewerFormat for a
// value of a later format.
package layout
