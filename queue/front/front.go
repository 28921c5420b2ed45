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

	"github.com/mayflydb/mayfly/ttl"
)

// Options configure a Server. AMQP and HTTP must be set.
type Options struct {
	// AMQP serves one connection until it or ctx ends. It calls idle when another connection may have the
	// place of this one, and when it may not any more: at its beginning it may.
	AMQP func(ctx context.Context, c net.Conn, idle func(bool)) error
	HTTP http.Handler
	// Admit lets requests in, for a WebSocket too; nil: all of them. Browsers lend their place in the network
	// to every page.
	Admit func(*http.Request) bool
	TLS   *tls.Config // nil: no connection is encrypted
	// Most is how many connections there may be; 0: any number. The one that has been idle for longest is
	// closed for one more; where none is idle more of them wait.
	Most   int
	Wall   ttl.Clock    // real time; nil is the system's
	Logger *slog.Logger // nil discards
}

// Server answers on as many listeners as it is given.
type Server struct {
	o      Options
	http   *http.Server
	handed *handed // connections of HTTP
	life   context.Context
	end    context.CancelFunc
	work   sync.WaitGroup
	places *places

	mu        sync.Mutex
	listeners []net.Listener
	closed    bool
	over      bool // no request begins any more
}

// New makes a server.
func New(o Options) *Server {
	if o.Wall == nil {
		o.Wall = ttl.Real{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{o: o, handed: newHanded()}
	s.life, s.end = context.WithCancel(context.Background())
	s.places = newPlaces(o.Most)
	s.http = &http.Server{Handler: http.HandlerFunc(s.serveHTTP), ReadHeaderTimeout: speakTime,
		ReadTimeout: bodyTime, WriteTimeout: answerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ConnContext: withConn, ConnState: watchState,
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug)}
	s.work.Go(func() { _ = s.http.Serve(s.handed) })
	return s
}

// Serve answers until the listener fails, or Shutdown closes it: nil then.
func (s *Server) Serve(ln net.Listener) error {
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
		p := s.places.take(c)
		if p == nil {
			_ = c.Close()
			return nil
		}
		s.work.Go(func() {
			defer p.leave()
			s.serve(c, p)
		})
	}
}

// acceptPause is how long nobody is let in after an Accept that has failed for want of descriptors.
const acceptPause = 50 * time.Millisecond

// pause waits a little after an error that may pass; false for one that does not.
func (s *Server) pause(err error) bool {
	var network net.Error
	if !errors.As(err, &network) || !isTransient(err) {
		return false
	}
	s.places.makeRoom()
	wait, stop := s.o.Wall.After(acceptPause)
	defer stop()
	select {
	case <-wait:
	case <-s.life.Done():
	}
	return true
}

// Shutdown lets nobody in any more, ends connections of AMQP by their protocol, and waits for requests of
// HTTP until ctx ends: they are broken off then, and the error is its.
func (s *Server) Shutdown(ctx context.Context) error {
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
	s.places.close()
	if err := s.http.Shutdown(ctx); err != nil {
		errs = append(errs, err, s.http.Close())
	}
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.work.Wait()
	return errors.Join(errs...)
}

// begin adds a request to what Shutdown waits for; false where that waits already.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.work.Add(1)
	}
	return !s.over
}
