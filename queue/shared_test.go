package queue

import (
	"os"
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/testdisk"
)

// storedLocksTested reports whether the tests run with locks that are stored in the engine, as when
// several servers share it: with MAYFLY_TEST_SHARED=1, or on PostgreSQL.
func storedLocksTested(t testing.TB) bool {
	return os.Getenv("MAYFLY_TEST_SHARED") != "" || testdisk.Postgres(t)
}

// fakeSharedEngine is an engine in memory that reports that other servers have it open as well, although none
// has. Locks are therefore stored in it.
type fakeSharedEngine struct{ testdisk.Engine }

func (fakeSharedEngine) Shared() bool { return true }

var _ engine.SharedEngine = fakeSharedEngine{}

// volatile skips a test that needs locks in memory if the tests run with locks that are stored in the
// engine.
func volatile(t *testing.T) {
	t.Helper()
	if storedLocksTested(t) {
		t.Skip("locks are in keys")
	}
}

// clockMovedAfterCrash skips a test that moves the clock after a crash, if the engine is shared: a server
// that was killed counts as running for some seconds, and the clock of several servers cannot be moved.
func clockMovedAfterCrash(t *testing.T) {
	t.Helper()
	if storedLocksTested(t) {
		t.Skip("the server that was killed counts as running")
	}
}
