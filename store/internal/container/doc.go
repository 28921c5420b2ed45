// Package container has the state of one container, as the store keeps it in memory.
//
// A State is immutable. It consists of the record of the container, values derived from it, and its
// tombstones. It determines whether an item has expired, which index entries documents have, in which
// range a partition key lies, and whether the id of a range is one of a former container of the same name.
// The store replaces a state as a whole, while nobody uses the container.
//
// A Partition is a partition key range. It lives as long as the range, through changes of the state. It
// has the values that change with reads and writes of the range: the position of the reaper, the known
// shapes of documents, the highest LSN that clients may have received.
//
// Several servers may have one engine open, each with its own states. Therefore a state has a version,
// which is also stored in the marks of the container's scopes (numbers that the engine stores for each
// scope). Current compares the two, and an operation with an outdated state fails with an
// OutdatedStateError and starts over with the stored one (version.go).
//
// LatestEventTimes are the latest times that are stored in a container, such as that of its last write. The
// clock of the container is never behind them.
package container
