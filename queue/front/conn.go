package front

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// First bytes.
const (
	recordHandshake = 0x16
	headerAMQP      = 'A'
)

// speakTime is how long a client may take to say its first word, and to end a handshake.
const speakTime = 30 * time.Second

// serve finds out what a connection speaks, and returns when that has ended.
func (s *Server) serve(raw net.Conn) {
	stop := s.closeWith(raw)
	defer stop()
	defer raw.Close()
	_ = raw.SetDeadline(s.o.Wall.Now().Add(speakTime))
	c := &peeked{Conn: raw}
	first, err := c.peek()
	if err == nil && first == recordHandshake && s.o.TLS != nil {
		secure := tls.Server(c, s.o.TLS)
		defer secure.Close()
		if err = secure.HandshakeContext(s.life); err == nil {
			c = &peeked{Conn: secure, secure: true}
			first, err = c.peek()
		}
	}
	if err != nil {
		return
	}
	_ = raw.SetDeadline(time.Time{})
	if first == headerAMQP {
		stop() // it ends by its own protocol
		if err := s.o.AMQP(s.life, c); err != nil {
			s.o.Logger.Error("a connection of AMQP failed", "error", err)
		}
		return
	}
	stop() // http.Server knows what to do at the end
	s.handed.hand(c)
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

// peeked gives back the byte that was read ahead.
type peeked struct {
	net.Conn
	secure  bool // inside of TLS
	first   byte
	pending bool
}

func (c *peeked) peek() (byte, error) {
	var b [1]byte
	for {
		n, err := c.Conn.Read(b[:])
		if n == 1 {
			c.first, c.pending = b[0], true
			return b[0], nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// Read implements net.Conn.
func (c *peeked) Read(p []byte) (int, error) {
	if c.pending && len(p) > 0 {
		p[0], c.pending = c.first, false
		return 1, nil
	}
	return c.Conn.Read(p)
}

// handed is a listener of the connections that have turned out to be HTTP.
type handed struct {
	conns chan *handedConn
	done  chan struct{}
	once  sync.Once
}

func newHanded() *handed { return &handed{conns: make(chan *handedConn), done: make(chan struct{})} }

// handedConn tells when it is closed: until then it has its place among the connections.
type handedConn struct {
	*peeked
	closed chan struct{}
	once   sync.Once
}

// Close implements net.Conn.
func (c *handedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.peeked.Close()
}

// hand gives a connection to HTTP and waits until that has closed it.
func (h *handed) hand(c *peeked) {
	own := &handedConn{peeked: c, closed: make(chan struct{})}
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
