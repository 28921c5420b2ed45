package front

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/mayflydb/mayfly/internal/peekconn"
	"github.com/mayflydb/mayfly/internal/priority"
)

// The first bytes of a connection by which its protocol is detected.
const (
	recordHandshake = 0x16
	headerAMQP      = 'A'
)

const (
	// speakTime is the time limit for a client's first byte, for a TLS handshake, and for the header of a
	// request.
	speakTime = 30 * time.Second
	// bodyTime is the time limit for reading the body of an HTTP request. A handler that accepts larger
	// bodies extends it.
	bodyTime = time.Minute
	// answerTime is the time limit from a request to the end of its response. It includes the time that a
	// receiver waits for a message.
	answerTime = 5 * time.Minute
	// idleTime is how long an HTTP connection may be without a request.
	idleTime = 2 * time.Minute
	// maxHeader is the maximal size of a request's header in bytes.
	maxHeader = 64 << 10
)

// serve detects the protocol of a connection and serves it until it ends. in is the same connection as raw.
// Until the protocol is detected, its reads wait for a turn, so that few new connections are served at a
// time.
func (s *MultiProtocolServer) serve(raw net.Conn, in *priority.AcceptedConn, p *connPermit) {
	stop := s.closeWith(raw)
	defer stop()
	defer in.Leave()
	defer raw.Close()
	_ = raw.SetDeadline(s.o.Wall.Now().Add(speakTime))
	c := &sniffedConn{Conn: peekconn.New(in)}
	first, err := c.First()
	if err == nil && first == recordHandshake && s.o.TLS != nil {
		secure := tls.Server(c, s.o.TLS)
		defer secure.Close()
		if err = secure.HandshakeContext(s.life); err == nil {
			c = &sniffedConn{Conn: peekconn.New(secure), secure: true}
			first, err = c.First()
		}
	}
	if err != nil {
		return
	}
	in.Establish()
	_ = raw.SetDeadline(time.Time{})
	if first == headerAMQP {
		stop() // the AMQP connection ends with a close of the protocol
		if err := s.o.AMQP(s.life, c, p.setIdle); err != nil {
			s.o.Logger.Error("an AMQP connection failed", "error", err)
		}
		return
	}
	stop() // http.Server ends it
	s.handed.pass(c, p)
}

// closeWith makes the server close a connection when the server stops. The caller calls stop if the
// connection ends before that.
func (s *MultiProtocolServer) closeWith(c net.Conn) (stop func()) {
	ended := make(chan struct{})
	var once sync.Once
	s.work.Go(func() {
		select {
		case <-s.life.Done():
			_ = c.Close()
		case <-ended:
		}
	})
	return func() { once.Do(func() { close(ended) }) }
}

// sniffedConn is a connection whose protocol has been detected.
type sniffedConn struct {
	*peekconn.Conn
	secure bool // within TLS
}

// Resumes reports whether a Write that has timed out can be continued with the remaining bytes: true for
// plain TCP, false for TLS. Package amqp calls it.
func (c *sniffedConn) Resumes() bool {
	in, plain := c.Conn.Conn.(*priority.AcceptedConn)
	if plain {
		_, plain = in.Conn.(*net.TCPConn)
	}
	return plain
}

// httpConnListener is a net.Listener that accepts the connections detected as HTTP.
type httpConnListener struct {
	conns chan *httpConn
	done  chan struct{}
	once  sync.Once
}

func newConnListener() *httpConnListener {
	return &httpConnListener{conns: make(chan *httpConn), done: make(chan struct{})}
}

// httpConn is an HTTP connection that signals when it is closed. Until then it counts as open in
// connLimit.
type httpConn struct {
	*sniffedConn
	place  *connPermit
	closed chan struct{}
	once   sync.Once
}

// Close implements net.Conn: it closes the connection and signals that to httpConnListener.pass, which waits
// for it.
func (c *httpConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.sniffedConn.Close()
}

// pass passes a connection to the HTTP server and waits until it is closed.
func (h *httpConnListener) pass(c *sniffedConn, p *connPermit) {
	own := &httpConn{sniffedConn: c, place: p, closed: make(chan struct{})}
	select {
	case h.conns <- own:
		<-own.closed
	case <-h.done:
	}
}

// Accept implements net.Listener: it returns the next connection whose protocol was detected as HTTP.
func (h *httpConnListener) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener: it ends Accept with an error.
func (h *httpConnListener) Close() error {
	h.once.Do(func() { close(h.done) })
	return nil
}

// Addr implements net.Listener. It returns an empty address, because the listener has no port of its own.
func (h *httpConnListener) Addr() net.Addr { return &net.TCPAddr{} }

// isTransient reports whether an error of Accept is temporary: there are no free file descriptors, or the
// client has disconnected.
func isTransient(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		errors.Is(err, syscall.ECONNABORTED)
}

// connContextKey is the key under which the context of a request holds the connection.
type connContextKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connContextKey{}, c)
}

// watchState is the ConnState hook of the http.Server. It marks a connection as idle while it has no active
// request.
func watchState(c net.Conn, state http.ConnState) {
	if own, ok := c.(*httpConn); ok && (state == http.StateActive || state == http.StateIdle) {
		own.place.setIdle(state == http.StateIdle)
	}
}
