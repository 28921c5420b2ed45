// Package crashdisk is a disk in memory for tests, which can be had as a crash would leave it at any moment.
//
// It is Pebble's vfs.MemFS, with a lock of its own around what that cannot do beside a CrashClone: three
// of its methods take a read lock again that they hold already, and wait for each other forever once a
// CrashClone waits in between (github.com/cockroachdb/pebble/pull/5993, not in a release of v2 yet). What
// is only one step of the disk goes on beside them, so a crash still comes between any two of those.
package crashdisk
