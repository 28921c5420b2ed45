package queue

import (
	"os"
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/testdisk"
)

// storedLocksTested reports whether the tests run with locks in keys, as in an engine that several servers
// share: MAYFLY_TEST_SHARED=1, or PostgreSQL.
func storedLocksTested(t testing.TB) bool {
	return os.Getenv("MAYFLY_TEST_SHARED") != "" || testdisk.Postgres(t)
}

// sharedEngine is an engine in memory that says that other servers have it open.
type sharedEngine struct{ testdisk.Engine }

func (sharedEngine) Shared() bool { return true }

var _ engine.SharedEngine = sharedEngine{}

// volatile skips a test of locks that are in memory.
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
