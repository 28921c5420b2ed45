package httpapi

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/internal/peek"
	"github.com/mayflydb/mayfly/internal/rntbd"
)

// connKey is where a request's context holds its connection.
type connKey struct{}

// recordHandshake is the first byte of a TLS connection.
const recordHandshake = 0x16

// sniffListener hands out connections that find out by their first byte whether they are HTTP or HTTPS.
type sniffListener struct {
	net.Listener
	conf   *tls.Config // nil: HTTP only
	conns  *conns
	frames func(*sniffConn) // takes over a connection of direct mode; nil: there are none
	// refusal is what is written in place of an answer of net/http's own; nil: that
	refusal func(answer []byte) []byte
}

// Accept waits for room where there are as many connections as there may be. It never waits for a client to
// speak: the first Read does, in the goroutine that serves the connection and under the deadline that it has
// set.
func (l *sniffListener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		l.conns.crowded(err)
		return nil, err
	}
	c := &sniffConn{Conn: raw, conf: l.conf, conns: l.conns, frames: l.frames, refusal: l.refusal}
	l.conns.add(c)
	return c, nil
}

// sniffConn is a connection of either protocol. Deadlines and addresses are the raw connection's.
type sniffConn struct {
	net.Conn
	conf   *tls.Config
	conns  *conns
	frames func(*sniffConn)
	// see sniffListener
	refusal func(answer []byte) []byte

	spoke atomic.Bool  // the first byte has arrived
	busy  atomic.Int32 // requests under way
	since atomic.Int64 // the turn at which it began or was last idle
	// answering: the answer to a request of HTTP/1.1 may be on its way still, although the request has ended.
	answering atomic.Bool
	closed    atomic.Bool
	// request is one that is under way, for who wants to know what does not end.
	request atomic.Pointer[http.Request]

	source *peek.Conn // nil until the first byte has arrived; used by Read alone
	tls    atomic.Pointer[tls.Conn]
	ahead  []byte      // decrypted bytes that were read ahead; used by Read alone
	asked  bool        // whether it is one of direct mode; used by Read alone
	handed atomic.Bool // it is: what net/http does to it does nothing any more
}

// secure reports whether the connection is encrypted. It is settled before the first request is read.
func (c *sniffConn) secure() bool { return c.tls.Load() != nil }

// Read waits for the first byte once, and from then on reads plain or decrypted bytes.
func (c *sniffConn) Read(p []byte) (int, error) {
	if c.handed.Load() {
		return 0, io.EOF // net/http is done with it
	}
	if c.source == nil {
		source := peek.New(c.Conn)
		first, err := source.First()
		if err != nil {
			return 0, err
		}
		c.source = source
		c.spoke.Store(true)
		if first == recordHandshake && c.conf != nil {
			c.tls.Store(tls.Server(source, c.conf))
		}
	}
	if t := c.tls.Load(); t != nil {
		return c.readSecure(t, p)
	}
	return c.source.Read(p)
}

// readSecure reads decrypted bytes. The first of them tell frames of direct mode from HTTP: a client that
// has agreed on a protocol in the handshake speaks that, and need not be asked.
func (c *sniffConn) readSecure(t *tls.Conn, p []byte) (int, error) {
	if !c.asked {
		if err := t.Handshake(); err != nil {
			return 0, err
		}
		if c.frames != nil && t.ConnectionState().NegotiatedProtocol == "" {
			var first [4]byte
			if _, err := io.ReadFull(t, first[:]); err != nil {
				return 0, err
			}
			if c.ahead = first[:]; rntbd.Begins(first) {
				c.handed.Store(true)
				c.frames(c)
				return 0, io.EOF
			}
		}
		c.asked = true
	}
	if len(c.ahead) > 0 {
		n := copy(p, c.ahead)
		c.ahead = c.ahead[n:]
		return n, nil
	}
	return t.Read(p)
}

// Write encrypts where the connection is TLS.
func (c *sniffConn) Write(p []byte) (int, error) {
	if c.refusal != nil && c.busy.Load() == 0 && !c.answering.Load() && !c.handed.Load() {
		if other := c.refusal(p); other != nil {
			_, err := c.write(other)
			return len(p), err
		}
	}
	return c.write(p)
}

func (c *sniffConn) write(p []byte) (int, error) {
	if t := c.tls.Load(); t != nil {
		return t.Write(p)
	}
	return c.Conn.Write(p)
}

// Close closes the connection; a TLS one says goodbye first.
func (c *sniffConn) Close() error {
	if c.handed.Load() {
		return nil
	}
	return c.end()
}

func (c *sniffConn) end() error {
	c.conns.remove(c)
	if t := c.tls.Load(); t != nil {
		return t.Close()
	}
	return c.Conn.Close()
}

// CloseWrite ends what we send and leaves the other direction open: net/http does so before it drops a client
// that is still sending, which would otherwise lose the answer.
func (c *sniffConn) CloseWrite() error {
	if c.handed.Load() {
		return nil
	}
	if t := c.tls.Load(); t != nil {
		return t.CloseWrite()
	}
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// SetDeadline implements net.Conn for net/http.
func (c *sniffConn) SetDeadline(t time.Time) error {
	if c.handed.Load() {
		return nil
	}
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline implements net.Conn for net/http.
func (c *sniffConn) SetReadDeadline(t time.Time) error {
	if c.handed.Load() {
		return nil
	}
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline implements net.Conn for net/http.
func (c *sniffConn) SetWriteDeadline(t time.Time) error {
	if c.handed.Load() {
		return nil
	}
	return c.Conn.SetWriteDeadline(t)
}
