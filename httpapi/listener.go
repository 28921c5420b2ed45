package httpapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/internal/peekconn"
	"github.com/mayflydb/mayfly/internal/priority"
	"github.com/mayflydb/mayfly/internal/rntbd"
)

// connContextKey is the context key of a request's connection.
type connContextKey struct{}

// recordHandshake is the first byte of a TLS connection.
const recordHandshake = 0x16

// sniffListener accepts connections that detect by their first byte whether they are HTTP or HTTPS.
type sniffListener struct {
	net.Listener
	conf   *tls.Config // nil: HTTP only
	conns  *openConns
	frames func(*sniffConn) // takes over direct-mode connections; nil: none
	// refusal returns the response to send in place of answer, an error response that net/http itself has
	// made, or nil to send answer unchanged. The function may be nil.
	refusal   func(answer []byte) []byte
	shortcuts *fastPathConfig
	turns     *priority.TurnLimiter // of new connections
	base      context.Context       // ends with the server
}

// Accept returns the next connection. It waits while the limit of connections is reached. It never waits
// for the client to send: the first Read does that, in the goroutine that serves the connection and with
// the deadline that this goroutine has set.
func (l *sniffListener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		l.conns.crowded(err)
		return nil, err
	}
	c := &sniffConn{Conn: raw, conf: l.conf, conns: l.conns, frames: l.frames, refusal: l.refusal,
		shortcuts: l.shortcuts}
	l.conns.add(c)
	c.input = l.turns.Accept(l.base, raw)
	return c, nil
}

// sniffConn is a connection that detects from the first byte whether the client speaks HTTP or HTTPS.
// Deadlines and addresses are those of the raw connection.
type sniffConn struct {
	net.Conn
	input  *priority.AcceptedConn // Conn, read by turns until the first request
	conf   *tls.Config
	conns  *openConns
	frames func(*sniffConn)
	// refusal returns the bytes to send in place of an error response that net/http itself has made; nil:
	// such responses are sent unchanged.
	refusal   func(answer []byte) []byte
	shortcuts *fastPathConfig // nil: net/http serves all requests
	short     *fastPathConn   // nil until the connection serves a read by itself
	http1     atomic.Bool     // the last request was HTTP/1.1
	between   atomic.Int32    // notBetween ...
	serving   atomic.Int32    // notServing ...

	gotByte atomic.Bool  // the first byte has arrived
	busy    atomic.Int32 // requests in progress
	since   atomic.Int64 // value of conns.turn when the connection was opened or last became idle
	// answering reports that the response to an HTTP/1.1 request may still be in transit although its
	// handler has ended.
	answering atomic.Bool
	closed    atomic.Bool
	// head holds headers as text that Write inserts after the status line, when net/http writes the beginning
	// of a response; nil: none. It is used only by the goroutine that serves HTTP/1.1.
	head *headerBuffer
	// request is the request in progress, for reports of requests that do not end.
	request atomic.Pointer[incomingRequest]

	source        *peekconn.Conn // nil until the first byte has arrived; used only by Read
	tls           atomic.Pointer[tls.Conn]
	ahead         []byte // bytes that were read ahead, decrypted; used only by Read and disconnectWatch
	directChecked bool   // whether the client uses direct mode has been checked; used only by Read
	// handedOver is true once the connection has been taken over from net/http for direct mode. From then on
	// calls of its methods by net/http have no effect.
	handedOver atomic.Bool
}

// secure reports whether the connection is encrypted. The value is final before the first request is read.
func (c *sniffConn) secure() bool { return c.tls.Load() != nil }

// Read reads plain or decrypted bytes. Simple requests for single items are answered here, without
// net/http, which does not receive their bytes.
func (c *sniffConn) Read(p []byte) (int, error) {
	n, err := c.read(p)
	for err == nil && c.take(p[:n]) {
		n, err = c.read(p)
	}
	c.between.Store(notBetween)
	if bytes.HasPrefix(p[:n], []byte("PRI ")) { // the client continues with HTTP/2
		c.shortcuts = nil
	}
	return n, err
}

// read waits for the first byte once, then reads plain or decrypted bytes.
func (c *sniffConn) read(p []byte) (int, error) {
	if c.handedOver.Load() {
		return 0, io.EOF // net/http must not use it any more
	}
	if len(c.ahead) > 0 {
		n := copy(p, c.ahead)
		c.ahead = c.ahead[n:]
		return n, nil
	}
	if c.source == nil {
		source := peekconn.New(c.input)
		first, err := source.First()
		if err != nil {
			return 0, err
		}
		c.source = source
		c.gotByte.Store(true)
		if first == recordHandshake && c.conf != nil {
			c.tls.Store(tls.Server(source, c.conf))
		}
	}
	if t := c.tls.Load(); t != nil {
		return c.readSecure(t, p)
	}
	return c.source.Read(p)
}

// readSecure reads decrypted bytes. The first four bytes distinguish direct mode from HTTP. If the client
// has negotiated a protocol in the handshake, it uses that protocol, and its bytes are not checked.
func (c *sniffConn) readSecure(t *tls.Conn, p []byte) (int, error) {
	if !c.directChecked {
		if err := t.Handshake(); err != nil {
			return 0, err
		}
		if c.frames != nil && t.ConnectionState().NegotiatedProtocol == "" {
			var first [4]byte
			if _, err := io.ReadFull(t, first[:]); err != nil {
				return 0, err
			}
			if c.ahead = first[:]; rntbd.Begins(first) {
				c.input.Establish()
				c.handedOver.Store(true)
				c.frames(c)
				return 0, io.EOF
			}
		}
		if c.directChecked = true; len(c.ahead) > 0 {
			return c.read(p)
		}
	}
	return t.Read(p)
}

// Write writes p, encrypted if the connection is TLS.
func (c *sniffConn) Write(p []byte) (int, error) {
	if c.refusal != nil && c.busy.Load() == 0 && !c.answering.Load() && !c.handedOver.Load() {
		if other := c.refusal(p); other != nil {
			_, err := c.write(other)
			return len(p), err
		}
	}
	if c.head != nil {
		return c.writeWithHead(p)
	}
	return c.write(p)
}

func (c *sniffConn) write(p []byte) (int, error) {
	if t := c.tls.Load(); t != nil {
		return t.Write(p)
	}
	return c.Conn.Write(p)
}

// Close closes the connection; a TLS connection sends close_notify first. If the connection is just answering
// a request without net/http (see fastPathConn), it is closed after the response. A connection that has
// changed to direct mode stays open.
func (c *sniffConn) Close() error {
	if c.handedOver.Load() || c.serving.CompareAndSwap(servingNow, servingLast) {
		return nil
	}
	return c.end()
}

func (c *sniffConn) end() error {
	c.input.Leave()
	c.conns.remove(c)
	if t := c.tls.Load(); t != nil {
		return t.Close()
	}
	return c.Conn.Close()
}

// CloseWrite closes the connection for sending but not for receiving. net/http calls it before it closes a
// connection on which the client is still sending, because the client would otherwise lose the response.
func (c *sniffConn) CloseWrite() error {
	if c.handedOver.Load() {
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

// SetDeadline sets the deadline of the raw connection. It has no effect after the change to direct mode.
func (c *sniffConn) SetDeadline(t time.Time) error {
	if c.handedOver.Load() {
		return nil
	}
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline sets the deadline of the raw connection. It has no effect after the change to direct
// mode.
func (c *sniffConn) SetReadDeadline(t time.Time) error {
	if c.handedOver.Load() {
		return nil
	}
	if now := c.between.Load(); now > notBetween {
		c.between.Store(now - 1)
	}
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline sets the deadline of the raw connection. It has no effect after the change to direct
// mode.
func (c *sniffConn) SetWriteDeadline(t time.Time) error {
	if c.handedOver.Load() {
		return nil
	}
	return c.Conn.SetWriteDeadline(t)
}
