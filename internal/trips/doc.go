// Package trips counts what an operation would cost on an engine at the far end of a network.
//
// An Engine passes all calls on to the engine that it wraps, and counts the round trips that an engine would
// make which keeps no data on this machine. Its model is plain:
//
//   - A Get, a GetMany, a Horizon, a Settle is one trip. So is the begin of an Update, which locks its scopes,
//     and so is its commit, which waits for the disk. A View begins with its first read, and an Update that
//     fails is given up without waiting: both cost nothing. The positions of an Update's scopes come with its
//     begin and its commit, and so do the keys that it is told to read ahead.
//   - What a function of a View or an Update has read or written it knows: to Get it again costs nothing, since
//     it reads one state.
//   - A Scan costs a trip for each batch of rows, the first one when it is first moved; a SeekGE costs one.
//     Where the caller has said how many rows it expects a batch is so large, and a SeekGE inside of it is
//     free. So is one to a key that is there and that has been brought ahead.
//
// The package is for tests: a table of round trips by operation is a golden file.
package trips
