package failover

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// settled is the number of acknowledged operations on documents, and as many on messages, for which a test
// waits before and after it causes a failure.
const settled = 100

// gapLimit records the longest time between two acknowledged operations of clients since the previous round,
// and fails the test if it is more than limit. round is the number of the round, from 0.
func (l *combinedWorkload) gapLimit(round int, limit time.Duration) {
	l.t.Helper()
	gap := l.gaps()
	l.result.gap, l.result.limit = max(l.result.gap, gap), limit
	l.t.Logf("round %d: nothing was acknowledged for %v", round+1, gap.Round(time.Millisecond))
	if gap > limit {
		l.t.Errorf("round %d: nothing was acknowledged for %v, the limit is %v", round+1, gap, limit)
	}
}

// TestDatabaseCrash kills PostgreSQL under load and starts it again. Clients must continue within 15
// seconds.
func TestDatabaseCrash(t *testing.T) {
	n := rounds(t)
	d := newPostgresServer(t, newFolder(t))
	l := newWorkload(t, 2, d.url(), d.url())
	for round := range n {
		l.progress(settled)
		l.gaps()
		d.crash(t)
		d.start(t)
		l.progress(settled)
		l.gapLimit(round, 15*time.Second)
	}
	l.finish()
}

// TestServerCrash kills one of three Mayfly servers under load. The clients of the others must continue,
// and the killed server is started again.
func TestServerCrash(t *testing.T) {
	n := rounds(t) * 5
	d := newPostgresServer(t, newFolder(t))
	l := newWorkload(t, 3, d.url(), d.url())
	for round := range n {
		l.progress(settled)
		s := l.servers[round%len(l.servers)]
		l.gaps()
		must(t, s.Kill())
		l.progress(settled)
		l.gapLimit(round, 10*time.Second)
		must(t, s.Start(t.Context()))
	}
	l.finish()
}

// TestServerStopped suspends one of two Mayfly servers by SIGSTOP while it may hold locks in the database.
// The other one must wait for them only until the database ends the transactions. Then the first one
// resumes.
func TestServerStopped(t *testing.T) {
	n := rounds(t)
	d := newPostgresServer(t, newFolder(t))
	l := newWorkload(t, 2, d.url(), d.url())
	for round := range n {
		l.progress(settled)
		l.gaps()
		must(t, l.servers[0].Signal(syscall.SIGSTOP))
		l.progress(10 * settled)
		l.gapLimit(round, 8*time.Second)
		must(t, l.servers[0].Signal(syscall.SIGCONT))
		l.progress(settled)
	}
	l.finish()
}

// TestNoStandby makes PostgreSQL wait for a synchronous standby that does not exist. Commits then wait,
// and clients must be told that the outcome of their write is unknown.
func TestNoStandby(t *testing.T) {
	n := rounds(t)
	d := newPostgresServer(t, newFolder(t))
	l := newWorkload(t, 2, d.url(), d.url())
	for round := range n {
		l.progress(settled)
		l.gaps()
		before := l.documents.unknown.Load()
		d.exec(t, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
		d.exec(t, "SELECT pg_reload_conf()")
		eventually(t, time.Minute, "a writer hears that an outcome is unknown", func() bool {
			return l.documents.unknown.Load() > before
		})
		d.exec(t, "ALTER SYSTEM RESET synchronous_standby_names")
		d.exec(t, "SELECT pg_reload_conf()")
		l.progress(settled)
		l.gapLimit(round, 45*time.Second)
	}
	l.finish()
}

// TestDefinitionsAtOnce checks that a container that was created or recreated through one server can at
// once be used through another, also by concurrent requests.
func TestDefinitionsAtOnce(t *testing.T) {
	n := rounds(t) * 10
	d := newPostgresServer(t, newFolder(t))
	servers := startServers(t, 2, d.url())
	db, err := servers[0].client(t).NewDatabase("db")
	must(t, err)
	other, err := servers[1].client(t).NewDatabase("db")
	must(t, err)
	for round := range n {
		id := fmt.Sprintf("c%d", round)
		_, err := db.CreateContainer(t.Context(), azcosmos.ContainerProperties{ID: id,
			PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2}}, nil)
		must(t, err)
		c, err := other.NewContainer(id)
		must(t, err)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				_, err := c.CreateItem(t.Context(), azcosmos.NewPartitionKeyString("a"),
					fmt.Appendf(nil, `{"id":"%d","pk":"a"}`, i), nil)
				if err != nil {
					t.Errorf("%s: %v", id, err)
				}
			})
		}
		all.Wait()
		_, err = c.ReadItem(t.Context(), azcosmos.NewPartitionKeyString("a"), "0", nil)
		must(t, err)
		recreate(t, db, id)
		_, err = c.CreateItem(t.Context(), azcosmos.NewPartitionKeyString("a"),
			[]byte(`{"id":"0","pk":"a"}`), nil)
		must(t, err)
	}
}

// recreate deletes a container and creates it again.
func recreate(t *testing.T, db *azcosmos.DatabaseClient, id string) {
	t.Helper()
	c, err := db.NewContainer(id)
	must(t, err)
	_, err = c.Delete(t.Context(), nil)
	must(t, err)
	_, err = db.CreateContainer(t.Context(), azcosmos.ContainerProperties{ID: id,
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2}}, nil)
	must(t, err)
}

// TestStopWithoutDatabase checks that a server that is told to stop ends within 15 seconds while the
// database hangs or is gone.
func TestStopWithoutDatabase(t *testing.T) {
	rounds(t)
	const limit = 15 * time.Second
	for name, lose := range map[string]func(d *postgresServer){
		"no standby": func(d *postgresServer) {
			d.exec(t, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
			d.exec(t, "SELECT pg_reload_conf()")
		},
		"frozen": func(d *postgresServer) { must(t, signalAll(d.run.cmd.Process.Pid, syscall.SIGSTOP)) },
		"gone":   func(d *postgresServer) { d.crash(t) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newPostgresServer(t, newFolder(t))
			l := newWorkload(t, 1, d.url(), d.url())
			l.progress(settled)
			lose(d)
			began := time.Now()
			err := l.servers[0].Stop()
			t.Logf("the server has ended after %v: %v", time.Since(began).Round(time.Millisecond), err)
			if l.servers[0].Running() || time.Since(began) > limit {
				t.Errorf("the server has not ended within %v:\n%s", limit, l.servers[0].Output())
			}
		})
	}
}
