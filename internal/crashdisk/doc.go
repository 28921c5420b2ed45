// Package crashdisk is a disk in memory for tests. At any time a copy can be made that is in the state in
// which a crash would leave the disk.
//
// It is Pebble's vfs.MemFS with a lock around the operations that may not run during a CrashClone: three of
// its methods take a read lock twice, and deadlock if a CrashClone waits in between
// (github.com/cockroachdb/pebble/pull/5993, not in a release of v2 yet). Operations that are a single step
// of the disk are not locked, so a crash can happen between any two of them.
package crashdisk
