// Package cursor holds the positions at which pages of a query resume.
//
// A PagePosition is the content of a cursor: the form of the query, the position of the last row, and what is
// left of OFFSET and LIMIT. Encode and Decode write and read it with a hash of the query and its scope, so
// that the cursor of another query is refused. The position over several sources is a
// MultiSourceReadProgress: one mark for each SourceKeyRange of keys, so that it stays valid when a source is
// divided.
//
// A cursor holds no data of the documents except the key of the last row. It stays valid after writes and in
// another process, and never expires. The package does not depend on plans and reads no source.
package cursor
