package priority

import (
	"context"
	"net"
	"runtime"
	"sync/atomic"

	"github.com/mayflydb/mayfly/ttl"
)

// Clients can open connections faster than a server can accept them. The server then always has work to do,
// and so few threads of it sleep that a request on another connection waits for a processor. Therefore the
// work for new connections, which includes TLS handshakes, is done by turns, and one processor remains for
// the connections that are established.

// NewConnTurnLimiter returns a TurnLimiter for the new connections of a server, which limits how many of them
// are served at a time. It uses the system clock, because the connections' deadlines do.
func NewConnTurnLimiter() *TurnLimiter {
	return NewTurnLimiter(max(1, runtime.NumCPU()-1), ttl.SystemClock{})
}

// AcceptedConn is a new connection. Until it is established, it takes a TurnPermit (a permission to be
// served) after each read, so that only a few new connections are served at a time. Read must not be called
// concurrently.
type AcceptedConn struct {
	net.Conn
	ctx         context.Context
	turns       *TurnLimiter
	turn        atomic.Pointer[TurnPermit]
	established atomic.Bool
}

// Accept waits for a turn (a permission to be served, of which only a few are given at a time) and returns
// the new connection c with it. A server calls it before it accepts the next connection, so that connections
// that have arrived before are served first. ctx must end with the server.
func (t *TurnLimiter) Accept(ctx context.Context, c net.Conn) *AcceptedConn {
	n := &AcceptedConn{Conn: c, ctx: ctx, turns: t}
	n.turn.Store(t.Take(ctx))
	return n
}

// Read reads from the connection. Until the connection is established, it gives back the connection's turn
// (the permission to be served) while it waits for input, and takes a turn again before it returns.
func (n *AcceptedConn) Read(p []byte) (int, error) {
	if n.established.Load() {
		return n.Conn.Read(p)
	}
	n.Leave()
	read, err := n.Conn.Read(p)
	if !n.established.Load() {
		n.turn.Store(n.turns.Take(n.ctx)) // also to close the connection
	}
	return read, err
}

// Leave gives back the turn (the permission to be served) of the connection, if it has one. It is called
// before the connection waits for anything else than input, and when it is closed.
func (n *AcceptedConn) Leave() { n.turn.Swap(nil).Leave() }

// Establish records that the connection is no longer new, because the client's handshake is complete or its
// first request has arrived: from now on Read does not wait for a turn.
func (n *AcceptedConn) Establish() {
	if !n.established.Load() {
		n.established.Store(true)
		n.Leave()
	}
}
