package failover

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestDatabaseDiskFull fills the disk of the database under load. Writes must be refused, no acknowledged
// write may be lost, and clients must continue when there is room again.
func TestDatabaseDiskFull(t *testing.T) {
	n := rounds(t)
	dir := newFolder(t)
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=256m"); err != nil {
		t.Skipf("no file system can be mounted: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	must(t, os.Chown(dir, nobody, nobody))
	d := newPostgresServer(t, dir)
	l := newWorkload(t, 2, d.url(), d.url())
	for range n {
		l.progress(settled)
		fill(t, filepath.Join(dir, "filler"))
		full := l.documents.full.Load()
		eventually(t, 2*time.Minute, "a writer hears that the disk is full", func() bool {
			l.failOnFaults()
			return l.documents.full.Load() > full
		})
		must(t, os.Remove(filepath.Join(dir, "filler")))
		if _, err := d.query("SELECT 1"); err != nil { // it may have lost its own logs
			d.crash(t)
			d.start(t)
		}
		l.progress(settled)
	}
	l.finish()
}

// fill writes a file until there is no more room.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	must(t, err)
	defer f.Close()
	for piece := make([]byte, 1<<20); len(piece) > 0; {
		if _, err := f.Write(piece); err != nil {
			piece = piece[:len(piece)/2]
		}
	}
}
