package priority

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// TestNewConnections checks a TurnLimiter with one turn: one new connection at a time is served until it
// waits for input, is established or is closed, and reads of an established one need no turn.
func TestNewConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurnLimiter(1, ttl.NewManual(time.Unix(0, 0)))
		busy := func() bool {
			synctest.Wait()
			if turns.free.TryAcquire(1) {
				turns.free.Release(1)
				return false
			}
			return true
		}
		open := func() (client net.Conn, n *AcceptedConn) {
			client, server := net.Pipe()
			t.Cleanup(func() { client.Close(); server.Close() })
			return client, turns.Accept(t.Context(), server)
		}
		client, n := open()
		if !busy() {
			t.Fatal("an accepted connection has no turn")
		}
		read := make(chan error)
		next := func() {
			go func() {
				_, err := n.Read(make([]byte, 1))
				read <- err
			}()
		}
		if next(); busy() {
			t.Fatal("a connection that waits for input has a turn")
		}
		if _, err := io.WriteString(client, "x"); err != nil || <-read != nil || !busy() {
			t.Fatalf("a connection that has input has no turn: %v", err)
		}
		if n.Establish(); busy() {
			t.Fatal("an established connection has a turn")
		}
		next()
		if _, err := io.WriteString(client, "x"); err != nil || <-read != nil || busy() {
			t.Fatalf("the input of an established connection takes a turn: %v", err)
		}
		client, n = open()
		if next(); client.Close() != nil || <-read == nil || !busy() {
			t.Fatal("a connection whose client has gone is closed without a turn")
		}
		if n.Leave(); busy() {
			t.Error("a closed connection has a turn")
		}
	})
}
