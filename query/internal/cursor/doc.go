// Package cursor holds the positions that pages of a query go on from.
//
// A Bookmark is what a cursor holds: the form of the query, the position of the last row, and how much of
// OFFSET and LIMIT is left. Encode and Decode write and read it with a hash of the query and its scope,
// so that the cursor of another query is refused. The position over several sources is a Progress: one mark
// for each Span of keys, so that it stays valid when a source is divided.
//
// A cursor holds nothing of the documents but the key of the last row, and is good after writes, in another
// process, and after any time. The package knows no plan and reads no source.
package cursor
