// Package testdisk has the disks on which tests keep their data. A Disk is a file system in memory, on which
// the engine Pebble is opened. If the variable MAYFLY_TEST_ENGINE is "postgres", a Disk is a schema of the
// PostgreSQL database that MAYFLY_POSTGRES names, and the same tests run with the other engine:
//
//	disk := testdisk.New(t)
//	e, err := disk.Open(ctx)
//
// A test that is about one engine calls Pebble, which skips it for the other engine.
package testdisk
