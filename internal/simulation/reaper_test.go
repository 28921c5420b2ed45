package simulation_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/simulation/database"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// purgeDelay is the longest time from the expiry of a document to its purge if the server that purges is
// killed: its lease ends within 10 seconds, another server finds that within 3 seconds and then purges.
const purgeDelay = 14 * time.Second

// killableServer is a simulated server, with documents but no queues, whose engine can be killed.
type killableServer struct {
	engine *database.Engine
	host   *host.Host
	db     *store.DB
	killed bool
}

// newKillableServer opens a server with the given name on the simulated database data. It fails the test if
// the server cannot be opened.
func newKillableServer(ctx context.Context, t *testing.T, data *database.Database,
	name string) *killableServer {
	t.Helper()
	s := &killableServer{engine: data.Open(name, ttl.SystemClock{})}
	var err error
	if s.db, err = store.New(store.Options{}); err != nil {
		t.Fatal(err)
	}
	if s.host, err = host.Open(ctx, s.engine, host.Options{}, s.db.Tenant()); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *killableServer) close(t *testing.T) {
	t.Helper()
	if err := s.host.Close(); err != nil && !s.killed {
		t.Error(err)
	}
}

// container returns the single container of the test.
func (s *killableServer) container(t *testing.T) *store.Container {
	t.Helper()
	d, err := s.db.Database("d")
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Container("c")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// createOnly creates the single container of the test.
func (s *killableServer) createOnly(ctx context.Context, t *testing.T) {
	t.Helper()
	spec, _, err := definition.ParseContainerSpec(
		[]byte(`{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":-1}`), true)
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.db.CreateDatabase(ctx, "d", definition.Throughput{})
	if err == nil {
		_, err = d.CreateContainer(ctx, spec, definition.Throughput{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// reaperOwner returns the index of the server that holds the lease of the reaper.
func reaperOwner(ctx context.Context, t *testing.T, servers []*killableServer) int {
	t.Helper()
	owner := slices.IndexFunc(servers, func(s *killableServer) bool {
		list, err := s.db.Servers(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(list, func(s store.RunningServerInfo) bool {
			return s.Self && slices.Contains(s.Leases, "reaper")
		})
	})
	if owner < 0 {
		t.Fatal("no server has the lease of the reaper")
	}
	return owner
}

// passTime waits for simulated time.
func passTime(d time.Duration) {
	passed, _ := ttl.SystemClock{}.After(d)
	<-passed
}

// TestReaperIsKilled kills the server that holds the reaper's lease. It checks that an expired document is
// not returned from the second of its expiry on, and that another server purges it within purgeDelay.
func TestReaperIsKilled(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			cryptotest.SetGlobalRandom(t, seed)
			synctest.Test(t, func(t *testing.T) { killReaper(t, seed) })
		})
	}
}

func killReaper(t *testing.T, seed uint64) {
	ctx, clock := context.Background(), ttl.SystemClock{} // the simulated time
	data := database.New(database.Options{Clock: clock, Seed: seed, Network: network()})
	defer data.Wait()
	var servers []*killableServer
	for n := range 3 {
		s := newKillableServer(ctx, t, data, fmt.Sprint("server-", n))
		defer s.close(t)
		if servers = append(servers, s); n == 0 {
			s.createOnly(ctx, t)
		}
	}
	// The documents expire one after the other, before and after the server is killed.
	type document struct {
		key     store.ItemKey
		expires time.Time
	}
	var documents []document
	partition, err := definition.ParsePartitionKey([]byte(`["p"]`))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 10 {
		key, lives := store.ItemKey{Partition: partition, ID: fmt.Sprint(n)}, 12+n
		it, _, err := servers[0].container(t).Upsert(ctx, partition,
			fmt.Appendf(nil, `{"id":"%d","pk":"p","ttl":%d}`, n, lives), store.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, document{key, time.Unix(it.Timestamp()+int64(lives), 0)})
	}
	passTime(11*time.Second + time.Duration(seed)*500*time.Millisecond)
	owner := reaperOwner(ctx, t, servers)
	servers[owner].engine.Kill()
	servers[owner].killed = true
	killed := clock.Now()
	survivor := servers[(owner+1)%len(servers)].container(t)
	slowest := time.Duration(0)
	for _, d := range documents {
		passTime(d.expires.Sub(clock.Now()))
		_, _, err := survivor.Read(ctx, partition, d.key.ID, store.ReadOptions{})
		if err == nil || fault.ErrorCode(err) != fault.CodeNotFound {
			t.Errorf("document %s %v after it has expired: %v", d.key.ID, clock.Now().Sub(d.expires), err)
		}
		limited, cancel := context.WithDeadline(ctx, d.expires.Add(purgeDelay))
		_, err = survivor.Wait(limited, store.ItemConditionWaitRequest{For: store.WaitPurged, Key: d.key})
		cancel()
		if err != nil {
			t.Errorf("document %s is not purged %v after it has expired: %v", d.key.ID, purgeDelay, err)
		}
		slowest = max(slowest, clock.Now().Sub(d.expires))
	}
	t.Logf("killed %v before the first expiry; a document was purged at most %v after it has expired",
		documents[0].expires.Sub(killed), slowest)
}
