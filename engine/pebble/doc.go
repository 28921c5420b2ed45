// Package pebble is the engine on one machine: the contract of package engine kept by the embedded store
// github.com/cockroachdb/pebble/v2. Memory mode is the same store on an in-memory file system.
//
// # How a transaction commits
//
// A scope has a holder, and only the holder runs closures in it. Who calls Update on a free scope becomes its
// holder and runs its own closure; who finds it held queues up. Before the holder leaves it runs the closures
// that have queued up meanwhile, each as a batch of its own that is applied without waiting for the disk.
// Then it gives the scope away, so that the next group can run, and only now waits for the disk, once for its
// whole group: one empty record with a sync, which covers all that was logged before it. So a lone writer
// pays no hand-over, and under load a group shares one sync while the next group forms. There is no goroutine
// in this package; whoever waits, works.
//
// A transaction over several scopes takes them in byte order, runs alone, and waits by itself. A scope that
// is named twice counts once, so that a transaction that names no other goes the way of the lone one.
//
// # Visible, durable, and the horizon
//
// Each scope counts its commits twice: those applied (and so visible) and those durable. A barrier remembers
// the first count before it starts and raises the second to it when it succeeds, so barriers may complete in
// any order. An Update that read what is not durable yet waits too, even where it wrote nothing or failed,
// since its answer tells of it. A reader who has seen such a thing asks Settle, which syncs the log by
// itself: it waits for nobody who holds the scope.
//
// # LSNs
//
// A scope issues LSNs below a ceiling that is durable (engine.CeilingKey). The ceiling is moved by a block at
// a time, inside a commit that happens while half a block is left, so that nobody waits for it; where a scope
// runs dry, as on its first use after Open, it is moved with a sync of its own. Close writes the exact next
// LSN back, so a clean restart leaves no gap.
//
// # When the disk fails
//
// Pebble ends the process when its log, its manifest or a directory cannot be written. A library must not.
// All files therefore go through a fence (fence.go): the first such failure cuts the disk off, Pebble goes on
// against memory as if nothing had happened, and every Update from then on gets engine.ErrFailed. Nothing
// that could harm what is on disk is done after that moment, nothing hangs, and Close works. Reads go on.
//
// Folders are looked at before Pebble opens them (folder.go), since Pebble takes a lost or damaged manifest
// for a new or a shorter one, and deletes the tables that it no longer knows of.
//
// A disk that fills up is noticed before that: below Options.DiskReserve an Update that would write gets
// engine.ErrDiskFull, and goes through again when there is room. See disk.go.
//
// # Reading only
//
// With Options.ReadOnly Pebble works on an overlay of the folder (overlay.go): it reads the disk and writes
// to memory. So its logs can be replayed, and the store above can finish what a kill has left half-done,
// while the folder and the evidence in it stay.
//
// # Snapshots
//
// A snapshot is a checkpoint in a folder below the data folder. Restoring one opens a linked copy of it as a
// second engine and moves a marker from the data of the one to that of the other. See checkpoint.go,
// checkpoint_home.go and checkpoint_restore.go.
package pebble
