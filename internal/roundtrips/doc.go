// Package roundtrips counts the round trips that an operation would need if the engine were remote.
//
// A CountingEngine passes all calls to the engine that it wraps, and counts the round trips that a remote
// engine without local data would need. The model:
//
//   - A Get, a GetMany, a Horizon and a Settle take one trip each. So does the beginning of an Update, which
//     locks its scopes, and its commit, which waits for the disk. A View begins with its first read, and a
//     failing Update is rolled back without waiting: both are free. The positions of an Update's scopes, and
//     the keys that it reads ahead, are returned by its beginning and its commit.
//   - Keys that a View or an Update has read or written are cached: reading one again is free, because the
//     state is the same.
//   - A Scan takes one trip for each page of rows (see engine.ScanPageSizer); the first page is read by the first
//     call of Next. A Skip takes one trip. A SeekGE takes one trip, unless its row is in the page, or its
//     key exists and was read ahead.
//   - The engine counts as shared by several servers. The first use of a scope takes one more trip.
//
// A RecordingProxy counts the round trips of the engine for PostgreSQL on its connections, to compare them
// with these.
//
// The package is for tests: a table of round trips by operation is a golden file.
package roundtrips
