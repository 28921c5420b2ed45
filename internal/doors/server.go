package doors

import (
	"context"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// Server returns a door that behaves like the engine of a server which shares a PostgreSQL database with
// other servers. Unlike the result of Door, it implements engine.Shared, engine.Teller and engine.Notifier:
// it reports the time of the database after each call, and the commits of other servers.
//
// clock is the clock of the database. The server learns its time only from these reports.
func (s *Shared) Server(clock ttl.Clock) engine.Engine {
	return &server{door: s.Door().(*door), clock: clock}
}

// server is a door that behaves like the engine of one of several servers: see Shared.Server.
type server struct {
	*door
	clock ttl.Clock

	mu   sync.Mutex
	told time.Time // guarded by mu
}

// Shared reports that other processes may have the data open at the same time.
func (s *server) Shared() bool { return true }

// Told returns the latest time of the database's clock that a call has reported, or the zero time.
func (s *server) Told() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told
}

// tell reads the database's clock. It records the time for Told, and returns it in microseconds since 1970,
// to be reported with the result of a call.
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
	if err == nil {
		s.shared.report(scopes)
	}
	return at, err
}

// Await requests reports of commits in scopes: see engine.Notifier.
func (s *server) Await(_ context.Context, scopes [][]byte) error {
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	if s.shared.awaited == nil {
		s.shared.awaited = make(map[string]bool)
	}
	for _, scope := range scopes {
		s.shared.awaited[string(scope)] = true
	}
	return nil
}

// Listen calls fn for each report of a commit until ctx ends: see engine.Notifier.
func (s *server) Listen(ctx context.Context, fn func(scope []byte)) {
	s.shared.mu.Lock()
	if s.shared.listen == nil {
		s.shared.listen = make(map[*server]func([]byte))
	}
	s.shared.listen[s] = fn
	s.shared.mu.Unlock()
	<-ctx.Done()
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	delete(s.shared.listen, s)
}

// report notifies the servers of a commit in scopes.
func (s *Shared) report(scopes [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, scope := range scopes {
		for _, fn := range s.listen {
			if s.awaited[string(scope)] {
				fn(scope)
			}
		}
	}
}

func (s *server) Get(ctx context.Context, scope, key []byte) ([]byte, engine.Position, error) {
	now := s.tell()
	v, at, err := s.door.Get(ctx, scope, key)
	at.Now = now
	return v, at, err
}

// timedReader is a Reader whose positions have the time of the database.
type timedReader struct {
	engine.Reader
	now int64
}

func (r timedReader) Positions(scopes [][]byte) ([]engine.Position, error) {
	return timed(r.Reader, scopes, r.now)
}

// timedTxn is a Txn whose positions have the time of the database.
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
