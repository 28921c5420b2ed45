package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/racetest"
)

// outcomeRecordingClient runs test operations and records which were acknowledged and which have an unknown
// outcome. Each operation adds one to a sum in its scope and stores a key of its own with the LSN that it
// got.
type outcomeRecordingClient struct {
	mu           sync.Mutex
	acknowledged map[string]uint64 // keys of operations, and their LSNs
	unknown      map[string]bool
}

// run runs one operation in a scope of e and records its outcome. name is the name of its key.
func (a *outcomeRecordingClient) run(e *Engine, scope, name string) {
	key := scope + "/" + name
	var lsn uint64
	_, err := e.Update(ctx, [][]byte{[]byte(scope)}, func(tx engine.Txn) error {
		sum := uint64(0)
		v, err := tx.Get([]byte(scope + "/sum"))
		switch {
		case err == nil:
			sum = binary.BigEndian.Uint64(v)
		case !errors.Is(err, engine.ErrNotFound):
			return err
		}
		lsn = tx.NextLSN([]byte(scope))
		tx.Set([]byte(scope+"/sum"), binary.BigEndian.AppendUint64(nil, sum+1))
		tx.Set([]byte(key), binary.BigEndian.AppendUint64(nil, lsn))
		return nil
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil:
		a.acknowledged[key] = lsn
	case errors.Is(err, engine.ErrUnknownOutcome):
		a.unknown[key] = true
	}
}

// check compares the keys and sums in the database with the recorded outcomes: no acknowledged operation
// is lost, none was carried out twice, and no LSN is missing or used twice.
func (a *outcomeRecordingClient) check(t *testing.T, e *Engine, scopes []string) {
	t.Helper()
	for _, scope := range scopes {
		lsns, sum := map[uint64]string{}, uint64(0)
		err := e.View(ctx, func(r engine.Reader) error {
			it := r.Scan(engine.Prefix([]byte(scope+"/")), false)
			for it.Next() {
				n := binary.BigEndian.Uint64(it.Value())
				if key := string(it.Key()); key == scope+"/sum" {
					sum = n
				} else if other := lsns[n]; other != "" {
					t.Errorf("%s and %s have LSN %d", key, other, n)
				} else {
					lsns[n] = key
				}
			}
			return it.Close()
		})
		if err != nil {
			t.Fatal(err)
		}
		if sum != uint64(len(lsns)) {
			t.Errorf("%s: %d operations, the sum is %d", scope, len(lsns), sum)
		}
		for n := uint64(1); n <= uint64(len(lsns)); n++ {
			if lsns[n] == "" {
				t.Errorf("%s: LSN %d is missing among %d", scope, n, len(lsns))
			}
		}
		for key, lsn := range a.acknowledged {
			if strings.HasPrefix(key, scope+"/") && lsns[lsn] != key {
				t.Errorf("%s is lost: its LSN %d is that of %q", key, lsn, lsns[lsn])
			}
		}
	}
	t.Logf("%d acknowledged, %d unknown", len(a.acknowledged), len(a.unknown))
}

// play runs operations by several concurrent writers, spread over the engines and over three scopes. Each
// writer runs the given number of rounds. It returns the recorded outcomes and the scopes.
func play(t *testing.T, engines []*Engine, rounds int) (*outcomeRecordingClient, []string) {
	t.Helper()
	a := &outcomeRecordingClient{acknowledged: map[string]uint64{}, unknown: map[string]bool{}}
	scopes := []string{"a", "b", "c"}
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for n := range rounds {
				a.run(engines[w%len(engines)], scopes[(w+n)%len(scopes)], fmt.Sprintf("%d-%d", w, n))
			}
		})
	}
	writers.Wait()
	return a, scopes
}

// TestRetryAfterFailedCommit makes a quarter of all commits fail, and checks that the functions of the
// Updates run again and no operation is lost or carried out twice.
func TestRetryAfterFailedCommit(t *testing.T) {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(1, 1))
	e := newTestSchema(t).open(Options{rerun: func() bool {
		mu.Lock()
		defer mu.Unlock()
		return rng.IntN(4) == 0
	}})
	defer closing(t, e)
	a, scopes := play(t, []*Engine{e}, racetest.Fewer(60, 3))
	a.check(t, e, scopes)
	if len(a.acknowledged) != 8*racetest.Fewer(60, 3) {
		t.Errorf("%d operations are acknowledged", len(a.acknowledged))
	}
}

// TestTwoEngines runs operations on two Engines over one schema, as two servers would, and checks that
// none is lost or carried out twice.
func TestTwoEngines(t *testing.T) {
	d := newTestSchema(t)
	e, f := d.open(Options{}), d.open(Options{})
	defer closing(t, e)
	defer closing(t, f)
	a, scopes := play(t, []*Engine{e, f}, racetest.Fewer(60, 3))
	a.check(t, e, scopes)
	if len(a.acknowledged) != 8*racetest.Fewer(60, 3) {
		t.Errorf("%d operations are acknowledged", len(a.acknowledged))
	}
}

// TestConcurrentOpenOfNewDatabase opens a new database by several Engines at the same moment, and checks that
// all succeed.
func TestConcurrentOpenOfNewDatabase(t *testing.T) {
	d := newTestSchema(t)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			e, err := Open(ctx, Options{URL: d.url, Schema: d.schema, AllowUnsafe: true, Writers: 1,
				Readers: 1, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Error(err)
				return
			}
			closing(t, e)
		})
	}
	all.Wait()
}

// TestViewInsideUpdate checks that a View may contain an Update that contains a View, even with the fewest
// possible connections, without a deadlock.
func TestViewInsideUpdate(t *testing.T) {
	e := newTestSchema(t).open(Options{Writers: 1, Readers: 2})
	defer closing(t, e)
	err := e.View(ctx, func(r engine.Reader) error {
		if _, err := r.Get([]byte("a/1")); !errors.Is(err, engine.ErrNotFound) {
			return fmt.Errorf("an absent key: %w", err)
		}
		put(t, e, func(tx engine.Txn) {
			tx.Set([]byte("a/1"), []byte("x"))
			if err := e.View(ctx, func(r engine.Reader) error {
				_, err := r.Get([]byte("a/1"))
				return err
			}); !errors.Is(err, engine.ErrNotFound) {
				t.Errorf("what is not committed: %v", err)
			}
		})
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestConnectionsEndedByServer makes the server end all connections repeatedly while writers write, and
// checks that no operation is lost or carried out twice.
func TestConnectionsEndedByServer(t *testing.T) {
	d := newTestSchema(t)
	config, err := pgx.ParseConfig(d.url)
	if err != nil {
		t.Fatal(err)
	}
	name := "mayfly-" + d.schema
	other := *d
	other.url += separator(d.url) + "application_name=" + name
	e := other.open(Options{})
	defer closing(t, e)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		c, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = c.Close(ctx) }()
		for {
			pause(ctx, 5*time.Millisecond)
			select {
			case <-stop:
				return
			default:
			}
			_, err := c.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE application_name = $1 AND random() < 0.1`, name)
			if err != nil {
				t.Error(err)
				return
			}
		}
	}()
	a, scopes := play(t, []*Engine{e}, racetest.Fewer(200, 4))
	close(stop)
	<-stopped
	a.check(t, e, scopes)
}

func separator(url string) string {
	if strings.Contains(url, "?") {
		return "&"
	}
	return "?"
}

// TestLostRequestsAndResponses runs writers through a proxy that loses requests and responses, and checks
// that no operation is lost or carried out twice. In one case the server commits only after the client has
// asked for the outcome.
func TestLostRequestsAndResponses(t *testing.T) {
	d := newTestSchema(t)
	config, err := pgx.ParseConfig(d.url)
	if err != nil {
		t.Fatal(err)
	}
	quiet := d.open(Options{})
	defer closing(t, quiet)
	p := newProxy(t, fmt.Sprintf("%s:%d", config.Host, config.Port))
	o := Options{
		URL: fmt.Sprintf(
			"postgres://%s@%s/%s?sslmode=disable",
			config.User,
			p.listener.Addr(),
			config.Database,
		),
		Schema:      d.schema,
		AllowUnsafe: true,
		Logger:      slog.New(slog.DiscardHandler),
	}
	var e *Engine
	for try := 0; e == nil; try++ {
		if e, err = Open(ctx, o); err != nil && (try == 5 || !errors.Is(err, engine.ErrUnavailable)) {
			t.Fatal(err)
		}
	}
	a, scopes := play(t, []*Engine{e}, racetest.Fewer(100, 4))
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	p.close()
	a.check(t, quiet, scopes)
	if t.Logf("%d cuts", p.cuts); p.cuts == 0 {
		t.Error("nothing was cut")
	}
}

// TestOpenRefuses checks that Open returns different errors for a database that does not exist, an unknown
// user, an invalid URL, and unsafe settings.
func TestOpenRefuses(t *testing.T) {
	d := newTestSchema(t)
	for url, want := range map[string]error{
		"mysql://localhost":                        ErrURL,
		"postgres://%zz":                           ErrURL,
		"postgres://127.0.0.1:1/x?sslmode=disable": engine.ErrUnavailable,
	} {
		if _, err := Open(ctx, Options{URL: url}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", url, err, want)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Open(ended, Options{URL: d.url, Schema: d.schema}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	e := d.open(Options{})
	closing(t, e)
	d.exec("UPDATE " + quote(d.schema) + ".mayfly_meta SET version = 99")
	if _, err := Open(ctx, Options{URL: d.url, Schema: d.schema, AllowUnsafe: true}); !errors.Is(
		err,
		engine.ErrNewerFormat,
	) {
		t.Errorf("a newer schema: %v", err)
	}
}
