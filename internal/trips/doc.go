// Package trips counts the round trips that an operation would need if the engine were remote.
//
// An Engine passes all calls to the engine that it wraps, and counts the round trips that a remote engine
// without local data would need. The model:
//
//   - A Get, a GetMany, a Horizon and a Settle take one trip each. So does the beginning of an Update, which
//     locks its scopes, and its commit, which waits for the disk. A View begins with its first read, and a
//     failing Update is rolled back without waiting: both are free. The positions of an Update's scopes, and
//     the keys that it reads ahead, are returned by its beginning and its commit.
//   - Keys that a View or an Update has read or written are cached: to Get one again is free, because both see
//     one state.
//   - A Scan takes one trip for each batch of rows; the first batch is read by the first move. A SeekGE takes
//     one trip. If the caller has given the expected number of rows, the batch has that size, and a SeekGE
//     within the batch is free. A SeekGE to an existing key that was read ahead is free, too.
//
// The package is for tests: a table of round trips by operation is a golden file.
package trips
