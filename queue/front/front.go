package front

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/internal/priority"
	"github.com/mayflydb/mayfly/ttl"
)

// Options configures a MultiProtocolServer. AMQP and HTTP must be set.
type Options struct {
	// AMQP serves one connection until the connection or ctx ends. It calls idle when the connection becomes
	// idle or busy. An idle connection may be closed to make room for another one. A new connection is idle.
	AMQP func(ctx context.Context, c net.Conn, idle func(bool)) error
	HTTP http.Handler
	// Admit reports whether a request is allowed; this includes WebSocket requests. If it is nil, all are
	// allowed. It protects against web pages: a browser sends the requests of any page, from within the
	// user's network.
	Admit func(*http.Request) bool
	TLS   *tls.Config // nil: TLS is not supported
	// Most is the maximal number of connections; 0: no limit. If it is reached, the connection that has been
	// idle for longest is closed to make room for a new one. If none is idle, new connections wait.
	Most   int
	Wall   ttl.Clock    // real time; nil: the system clock
	Logger *slog.Logger // nil discards
}

// MultiProtocolServer serves any number of listeners.
type MultiProtocolServer struct {
	o      Options
	http   *http.Server
	handed *httpConnListener // passes HTTP connections to http
	life   context.Context
	end    context.CancelFunc
	work   sync.WaitGroup
	limit  *connLimit
	// newConns limits how many new connections are served at a time.
	newConns *priority.TurnLimiter

	mu        sync.Mutex
	listeners []net.Listener
	closed    bool
	over      bool // no more requests are accepted
}

// New returns a MultiProtocolServer with the given options. It does not listen yet.
func New(o Options) *MultiProtocolServer {
	if o.Wall == nil {
		o.Wall = ttl.SystemClock{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &MultiProtocolServer{o: o, handed: newConnListener()}
	s.life, s.end = context.WithCancel(context.Background())
	s.limit, s.newConns = newConnLimit(o.Most), priority.NewConnTurnLimiter()
	s.http = &http.Server{Handler: http.HandlerFunc(s.serveHTTP), ReadHeaderTimeout: speakTime,
		ReadTimeout: bodyTime, WriteTimeout: answerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ConnContext: withConn, ConnState: watchState,
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug)}
	s.work.Go(func() { _ = s.http.Serve(s.handed) })
	return s
}

// Serve serves until the listener fails, or Shutdown closes it. In the latter case it returns nil.
func (s *MultiProtocolServer) Serve(ln net.Listener) error {
	s.mu.Lock()
	s.listeners = append(s.listeners, ln)
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return ln.Close()
	}
	for {
		c, err := ln.Accept()
		if err != nil {
			if s.life.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			if !s.pause(err) {
				return err
			}
			continue
		}
		p := s.limit.take(c)
		if p == nil {
			_ = c.Close()
			return nil
		}
		in := s.newConns.Accept(s.life, c)
		s.work.Go(func() {
			defer p.leave()
			s.serve(c, in, p)
		})
	}
}

// acceptPause is the pause after Accept has failed because there are no free file descriptors.
const acceptPause = 50 * time.Millisecond

// pause waits after a temporary error. It returns false for other errors.
func (s *MultiProtocolServer) pause(err error) bool {
	var network net.Error
	if !errors.As(err, &network) || !isTransient(err) {
		return false
	}
	s.limit.makeRoom()
	wait, stop := s.o.Wall.After(acceptPause)
	defer stop()
	select {
	case <-wait:
	case <-s.life.Done():
	}
	return true
}

// ErrStuck is returned by Shutdown if requests or operations do not end although they were aborted.
var ErrStuck = errors.New("operations on messages that were aborted do not end")

// breakOff is how long Shutdown waits for aborted requests and operations to end.
const breakOff = 2 * time.Second

// Shutdown stops accepting connections, closes AMQP connections with a close of the protocol, and waits for
// HTTP requests until ctx ends. Then it aborts these requests and returns the error of ctx. After Shutdown
// returns, nothing is running and the store may be closed, unless the error is ErrStuck.
func (s *MultiProtocolServer) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	var errs []error
	for _, ln := range s.listeners {
		if err := ln.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	s.mu.Unlock()
	s.end()
	s.limit.close()
	if err := s.http.Shutdown(ctx); err != nil {
		errs = append(errs, err, s.http.Close())
	}
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	if !s.ended(ctx) {
		errs = append(errs, ErrStuck)
	}
	return errors.Join(errs...)
}

// ended waits until all requests and operations have ended, at most until ctx ends and then for breakOff, a
// duration. It reports whether they have ended. If not, a goroutine that it has started goes on waiting for
// them.
func (s *MultiProtocolServer) ended(ctx context.Context) bool {
	idle := make(chan struct{})
	go func() {
		s.work.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return true
	case <-ctx.Done():
	}
	late, stop := s.o.Wall.After(breakOff)
	defer stop()
	select {
	case <-idle:
		return true
	case <-late:
		return false
	}
}

// begin registers a request that Shutdown must wait for. It returns false if Shutdown no longer accepts
// requests.
func (s *MultiProtocolServer) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.work.Add(1)
	}
	return !s.over
}
