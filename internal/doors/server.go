package doors

import (
	"context"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// Server is a door of a server that shares its database with others. Its engine says so, and tells the
// database's time with its answers.
//
// clock is the clock of the database. Its time reaches the server with answers only.
func (s *Shared) Server(clock ttl.Clock) engine.Engine {
	return &server{door: s.Door().(*door), clock: clock}
}

// server implements engine.Engine, engine.Getter, engine.Shared and engine.Teller.
type server struct {
	*door
	clock ttl.Clock

	mu   sync.Mutex
	told time.Time // guarded by mu
}

// Shared implements engine.Shared.
func (s *server) Shared() bool { return true }

// Told implements engine.Teller.
func (s *server) Told() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told
}

// tell reads the database's clock for an answer.
func (s *server) tell() int64 {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.After(s.told) {
		s.told = now
	}
	return now.UnixMicro()
}

func (s *server) View(ctx context.Context, fn func(engine.Reader) error) error {
	now := s.tell()
	return s.door.View(ctx, func(r engine.Reader) error { return fn(timedReader{r, now}) })
}

func (s *server) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) (at []engine.Position, err error) {
	var now int64
	at, err = s.door.Update(ctx, scopes, func(t engine.Txn) error {
		now = s.tell()
		return fn(timedTxn{t, now})
	}, ahead...)
	for i := range at {
		at[i].Now = now
	}
	return at, err
}

func (s *server) Get(ctx context.Context, scope, key []byte) ([]byte, engine.Position, error) {
	now := s.tell()
	v, at, err := s.door.Get(ctx, scope, key)
	at.Now = now
	return v, at, err
}

type timedReader struct {
	engine.Reader
	now int64
}

func (r timedReader) Positions(scopes [][]byte) ([]engine.Position, error) {
	return timed(r.Reader, scopes, r.now)
}

type timedTxn struct {
	engine.Txn
	now int64
}

func (t timedTxn) Positions(scopes [][]byte) ([]engine.Position, error) {
	return timed(t.Txn, scopes, t.now)
}

func timed(r engine.Reader, scopes [][]byte, now int64) ([]engine.Position, error) {
	at, err := r.Positions(scopes)
	for i := range at {
		at[i].Now = now
	}
	return at, err
}
