// Package pebble is the engine for one machine: it implements package engine with the embedded store
// github.com/cockroachdb/pebble/v2. In memory mode the same store runs on an in-memory file system, and
// writes no log, since nothing outlives the process: what is applied counts as durable.
//
// # How a transaction commits
//
// A scope has a holder, and only the holder runs closures in it. An Update on a free scope becomes its holder
// and runs its own closure. An Update on a held scope joins the scope's queue. Before the holder releases the
// scope, it runs the queued closures too, each in its own batch, which is applied without waiting for the
// disk. Then the holder releases the scope, so that the next group can run, and only then waits for the disk,
// once for its whole group: it writes one empty record with a sync, which covers everything logged before. So
// a single writer has no hand-over cost, and under load a group shares one sync while the next group forms.
// The package starts no goroutine: the goroutines that wait do the work.
//
// A transaction over several scopes locks them in byte order, runs outside of any group, and waits for its
// own sync. A scope that is named twice counts once; a transaction that names only one scope, even twice,
// runs as described above.
//
// # Visible, durable, and the horizon
//
// Each scope counts its applied commits, which are visible, and its durable commits. A barrier remembers the
// first count before it starts, and raises the second count to that value when it succeeds; so barriers may
// complete in any order. An Update that read something not yet durable waits for the disk even if it wrote
// nothing or failed, since its result depends on what it read. A View that has read such data calls Settle.
// Settle syncs the log itself and waits for no holder of the scope.
//
// # LSNs
//
// A scope issues LSNs below a durable ceiling (engine.CeilingKey). The ceiling is raised by a block at a
// time, inside a commit that happens while half a block is left, so that no writer waits for it. If a scope
// has no LSN left, as on its first use after Open, the ceiling is raised with its own sync. Close stores the
// exact next LSN, so a clean restart leaves no gap.
//
// # Compactions
//
// While the engine is only written to, compactions wait for several flushes, because one compaction of
// several tables writes less than one compaction of each. The first read starts those that wait, since it
// has to merge these tables otherwise. See compaction_scheduler.go.
//
// # When the disk fails
//
// Pebble ends the process if its log, its manifest or a directory cannot be written. A library must not do
// that. All files therefore go through a fence (fence_fs.go). The first such failure cuts off the disk:
// Pebble continues in memory as if nothing had happened, and every later Update fails with engine.ErrFailed.
// From that moment on, nothing is done that could harm the data on disk, nothing hangs, and Close works.
// Reads continue.
//
// Folders are checked before Pebble opens them (folder.go). Pebble would take a missing manifest for a new
// database and a damaged manifest for a shorter one, and would delete the tables that the manifest does not
// list.
//
// A disk that fills up is noticed earlier: below Options.DiskReserve an Update that writes fails with
// engine.ErrDiskFull. Writes succeed again when there is room. See disk.go.
//
// # Reading only
//
// With Options.ReadOnly, Pebble works on an overlay of the folder (overlay_fs.go): it reads from disk and
// writes to memory. So logs can be replayed, and the store can finish what a killed process left half-done,
// while the folder stays unchanged as evidence.
//
// # Snapshots
//
// A snapshot is a checkpoint in a folder below the data folder. Restoring it opens a linked copy as a second
// engine and moves a marker from the old data to the new data. See checkpoint.go, checkpoint_home.go and
// checkpoint_restore.go.
package pebble
