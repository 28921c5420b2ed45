package sharedengine

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// Server returns a handle (an Engine value for one of the stores that share the engine) that behaves like the
// engine of a server which shares a PostgreSQL database with other servers. Unlike the result of Handle, it
// implements engine.SharedEngine, engine.DatabaseTimeReporter and engine.CommitNotifier: it reports the time
// of the database after each call, and the commits of other servers.
//
// clock is the clock of the database. The server learns its time only from these reports.
func (s *SharedEngine) Server(clock ttl.Clock) engine.Engine {
	return &serverEngineHandle{ClockReportingEngine: WithClock(s.Handle().(*engineHandle), clock), shared: s}
}

// serverEngineHandle is a handle on a shared engine in memory that behaves like the engine of one of several
// servers over a PostgreSQL database: see SharedEngine.Server.
type serverEngineHandle struct {
	*ClockReportingEngine
	shared *SharedEngine
}

// Shared reports that other processes may have the data open at the same time.
func (s *serverEngineHandle) Shared() bool { return true }

// Update runs fn as one transaction in scopes, as engine.Engine does, and reports the commit to the other
// servers.
func (s *serverEngineHandle) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	at, err := s.ClockReportingEngine.Update(ctx, scopes, fn, ahead...)
	if err == nil {
		s.shared.report(scopes)
	}
	return at, err
}

// Await requests reports of the commits of other servers in the given engine scopes: see
// engine.CommitNotifier.
func (s *serverEngineHandle) Await(_ context.Context, scopes [][]byte) error {
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

// Listen calls fn for each report of a commit until ctx ends: see engine.CommitNotifier.
func (s *serverEngineHandle) Listen(ctx context.Context, fn func(scope []byte)) {
	s.shared.mu.Lock()
	if s.shared.listen == nil {
		s.shared.listen = make(map[*serverEngineHandle]func([]byte))
	}
	s.shared.listen[s] = fn
	s.shared.mu.Unlock()
	<-ctx.Done()
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	delete(s.shared.listen, s)
}

// report notifies the servers of a commit in scopes.
func (s *SharedEngine) report(scopes [][]byte) {
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
