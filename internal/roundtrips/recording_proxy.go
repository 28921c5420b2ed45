package roundtrips

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
)

// RoundTrip is one round trip in PostgreSQL's protocol: the messages that a client sends before it waits for
// a response.
type RoundTrip struct {
	// Run holds the text of the statements that the round trip runs. It is empty if the round trip only
	// prepares statements, which happens once per connection and statement.
	Run []string
}

// String returns the first words of the statements.
func (e RoundTrip) String() string {
	var list []string
	for _, text := range e.Run {
		words := strings.Fields(text)
		list = append(list, strings.Join(words[:min(len(words), shownWords)], " "))
	}
	return strings.Join(list, "; ")
}

const shownWords = 9

// rollsBack reports whether the client sent nothing but a ROLLBACK in this round trip.
func (e RoundTrip) rollsBack() bool {
	return len(e.Run) == 1 && strings.EqualFold(strings.Trim(e.Run[0], " ;"), "rollback")
}

// RecordingProxy is a proxy in front of a PostgreSQL server that records the round trips of all connections.
// It needs connections without TLS. Its methods are safe for concurrent use.
type RecordingProxy struct {
	server   string
	listener net.Listener
	all      sync.WaitGroup

	mu     sync.Mutex
	seen   []RoundTrip
	conns  map[net.Conn]bool
	closed bool
	held   chan struct{} // closed when rollbacks may continue; nil: they are not held
}

// NewRecordingProxy starts a proxy in front of the server at an address of the form host:port.
func NewRecordingProxy(server string) (*RecordingProxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &RecordingProxy{server: server, listener: l, conns: map[net.Conn]bool{}}
	w.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.all.Go(func() { w.carry(c) })
		}
	})
	return w, nil
}

// Addr returns the address of the proxy.
func (w *RecordingProxy) Addr() string { return w.listener.Addr().String() }

// Take returns the round trips since the last call, in the order in which they were sent. It leaves out those
// that only roll back, because a client need not wait for them (see HoldRollbacks).
func (w *RecordingProxy) Take() []RoundTrip {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := slices.DeleteFunc(w.seen, RoundTrip.rollsBack)
	w.seen = nil
	return seen
}

// HoldRollbacks makes the proxy keep each ROLLBACK from the server until the returned function is called.
func (w *RecordingProxy) HoldRollbacks() (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := make(chan struct{})
	w.held = held
	return sync.OnceFunc(func() {
		w.mu.Lock()
		w.held = nil
		w.mu.Unlock()
		close(held)
	})
}

// Close breaks all connections.
func (w *RecordingProxy) Close() error {
	w.mu.Lock()
	w.closed = true
	for c := range w.conns {
		_ = c.Close() // the connection ends in any case
	}
	w.mu.Unlock()
	err := w.listener.Close()
	w.all.Wait()
	return err
}

// keep records a connection, to be closed with the proxy. It returns false if the proxy is closed.
func (w *RecordingProxy) keep(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns[c] = true
	return !w.closed
}

func (w *RecordingProxy) drop(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.conns, c)
	_ = c.Close() // the connection ends in any case
}

// carry passes the messages of a connection to the server, and the server's responses back.
func (w *RecordingProxy) carry(client net.Conn) {
	defer w.drop(client)
	server, err := net.Dial("tcp", w.server)
	if err != nil {
		return
	}
	defer w.drop(server)
	if !w.keep(client) || !w.keep(server) {
		return
	}
	w.all.Go(func() {
		defer w.drop(client)
		b := make([]byte, 64<<10)
		for {
			n, err := server.Read(b)
			if n > 0 {
				if _, err := client.Write(b[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	var f frontendParser
	b := make([]byte, 64<<10)
	for {
		n, err := client.Read(b)
		if err != nil {
			return
		}
		sent, err := f.read(b[:n])
		if err != nil {
			return
		}
		w.mu.Lock()
		w.seen = append(w.seen, sent...)
		held := w.held
		w.mu.Unlock()
		if held != nil && slices.ContainsFunc(sent, RoundTrip.rollsBack) {
			<-held
		}
		if _, err := server.Write(b[:n]); err != nil {
			return
		}
	}
}

// frontendParser parses the messages of one client in PostgreSQL's protocol, and divides them into round
// trips.
type frontendParser struct {
	rest     []byte            // a message that is not complete
	started  bool              // the startup message, which has no type, has been read
	prepared map[string]string // text of the prepared statements by name
	bound    string            // text of the statement that was bound last
	run      []string          // of the current exchange
}

var errMessage = errors.New("trips: not a message of PostgreSQL's protocol")

// read parses the next bytes of a client, and returns the round trips that are complete with them.
func (f *frontendParser) read(b []byte) (sent []RoundTrip, err error) {
	f.rest = append(f.rest, b...)
	for {
		head := 5 // type and length
		if !f.started {
			head = 4
		}
		if len(f.rest) < head {
			return sent, nil
		}
		length := int(binary.BigEndian.Uint32(f.rest[head-4:]))
		if length < 4 {
			return sent, fmt.Errorf("%w: its length is %d", errMessage, length)
		}
		end := head - 4 + length
		if len(f.rest) < end {
			return sent, nil
		}
		if f.started && f.message(f.rest[0], f.rest[head:end]) {
			sent = append(sent, RoundTrip{f.run})
			f.run = nil
		}
		f.started, f.rest = true, f.rest[end:]
	}
}

// message parses a message. It reports whether the client waits for a response after it, so that it ends a
// round trip.
func (f *frontendParser) message(kind byte, body []byte) (ends bool) {
	text := strings.Split(string(body), "\x00")
	switch kind {
	case 'P': // Parse: name, text
		if f.prepared == nil {
			f.prepared = map[string]string{}
		}
		if len(text) > 1 {
			f.prepared[text[0]] = text[1]
		}
	case 'B': // Bind: portal, name
		if len(text) > 1 {
			f.bound = f.prepared[text[1]]
		}
	case 'E': // Execute
		f.run = append(f.run, f.bound)
	case 'S': // Sync
		return true
	case 'Q': // a simple query
		f.run = append(f.run, text[0])
		return true
	}
	return false
}
