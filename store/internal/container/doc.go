// Package container has the state of one container, as the store keeps it in memory.
//
// A State is immutable: the record of the container, what is derived from it, and its tombstones. It decides
// by plain values: whether an item has expired, which index entries documents have, in which range a
// partition key lies, and whether a range of a former container of the name is meant. The store replaces a
// state as a whole, while nobody uses the container.
//
// A Partition is a partition key range. It lives as long as the range, through changes of the state. It has
// what changes with the work on the range: the position of the reaper, the known shapes of documents, the
// highest LSN that clients may have seen.
//
// Several stores may be open over one engine, each with its own states. Therefore a state has a version,
// which is also stored in the marks of the container's scopes: Current compares the two, and an operation
// with an outdated state fails with an ElsewhereError and starts over with the stored one (version.go).
//
// Marks are the latest moments that are stored in a container; its clock is never behind them.
package container
