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

	"github.com/mayflydb/mayfly/internal/peek"
)

// First bytes.
const (
	recordHandshake = 0x16
	headerAMQP      = 'A'
)

const (
	// speakTime is how long a client may take to say its first word, to end a handshake, and for the head
	// of a request.
	speakTime = 30 * time.Second
	// bodyTime is how long a request of HTTP may take to its end. A handler that lets a larger body in
	// extends it.
	bodyTime = time.Minute
	// answerTime is how long an answer may take from its request on, the time of a receiver that waits
	// included.
	answerTime = 5 * time.Minute
	// idleTime is how long a connection of HTTP may be without a request.
	idleTime = 2 * time.Minute
	// maxHeader is how many bytes the head of a request may have.
	maxHeader = 64 << 10
)

// serve finds out what a connection speaks, and returns when that has ended.
func (s *Server) serve(raw net.Conn, p *place) {
	stop := s.closeWith(raw)
	defer stop()
	defer raw.Close()
	_ = raw.SetDeadline(s.o.Wall.Now().Add(speakTime))
	c := &accepted{Conn: peek.New(raw)}
	first, err := c.First()
	if err == nil && first == recordHandshake && s.o.TLS != nil {
		secure := tls.Server(c, s.o.TLS)
		defer secure.Close()
		if err = secure.HandshakeContext(s.life); err == nil {
			c = &accepted{Conn: peek.New(secure), secure: true}
			first, err = c.First()
		}
	}
	if err != nil {
		return
	}
	_ = raw.SetDeadline(time.Time{})
	if first == headerAMQP {
		stop() // it ends by its own protocol
		if err := s.o.AMQP(s.life, c, p.setIdle); err != nil {
			s.o.Logger.Error("a connection of AMQP failed", "error", err)
		}
		return
	}
	stop() // http.Server knows what to do at the end
	s.handed.hand(c, p)
}

// closeWith closes a connection when the server ends, until stop.
func (s *Server) closeWith(c net.Conn) (stop func()) {
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

// accepted is a connection whose protocol is known.
type accepted struct {
	*peek.Conn
	secure bool // inside of TLS
}

// handed is a listener of the connections that have turned out to be HTTP.
type handed struct {
	conns chan *handedConn
	done  chan struct{}
	once  sync.Once
}

func newHanded() *handed { return &handed{conns: make(chan *handedConn), done: make(chan struct{})} }

// handedConn reports when it is closed: until then it has its place among the connections.
type handedConn struct {
	*accepted
	place  *place
	closed chan struct{}
	once   sync.Once
}

// Close implements net.Conn.
func (c *handedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.accepted.Close()
}

// hand gives a connection to HTTP and waits until that has closed it.
func (h *handed) hand(c *accepted, p *place) {
	own := &handedConn{accepted: c, place: p, closed: make(chan struct{})}
	select {
	case h.conns <- own:
		<-own.closed
	case <-h.done:
	}
}

// Accept implements net.Listener.
func (h *handed) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (h *handed) Close() error {
	h.once.Do(func() { close(h.done) })
	return nil
}

// Addr implements net.Listener.
func (h *handed) Addr() net.Addr { return &net.TCPAddr{} }

// isTransient tells errors of Accept that pass: there are no descriptors left, or a client has gone already.
func isTransient(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		errors.Is(err, syscall.ECONNABORTED)
}

// connKey is where a request's context holds its connection.
type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// watchState is told by net/http what becomes of a connection: one on which no request is under way is idle.
func watchState(c net.Conn, state http.ConnState) {
	if own, ok := c.(*handedConn); ok && (state == http.StateActive || state == http.StateIdle) {
		own.place.setIdle(state == http.StateIdle)
	}
}
