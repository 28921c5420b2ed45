package doors

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// Server returns the door of a server that shares its database with other servers. Unlike Door, it
// implements engine.Shared, it reports the time of the database after each call, and it reports the commits
// of other servers.
//
// clock is the clock of the database. The server learns its time only from these reports.
func (s *Shared) Server(clock ttl.Clock) engine.Engine {
	return &server{Timed: WithClock(s.Door().(*door), clock), shared: s}
}

// server implements engine.Engine, engine.Getter, engine.Shared, engine.Teller and engine.Notifier.
type server struct {
	*Timed
	shared *Shared
}

// Shared implements engine.Shared.
func (s *server) Shared() bool { return true }

// Update implements engine.Engine.
func (s *server) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.Position, error) {
	at, err := s.Timed.Update(ctx, scopes, fn, ahead...)
	if err == nil {
		s.shared.report(scopes)
	}
	return at, err
}

// Await implements engine.Notifier.
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

// Listen implements engine.Notifier.
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
