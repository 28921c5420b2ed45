package rntbd

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// Options configure how connections are served. All fields except Refused are required.
type Options struct {
	// Handler serves Cosmos DB over HTTP. Its requests have no Host, and a body of known length.
	// CachedContainer returns the rid that the client has cached for the request's container.
	Handler http.Handler
	// Life is the parent of the requests' contexts: when it ends, requests are cancelled. They are also
	// cancelled when their connection ends.
	Life context.Context
	// MaxBody is the maximum size of a request's body in bytes.
	MaxBody int
	// Most is the maximum number of requests in progress on one connection. Further requests wait.
	Most int
	// Agent and Version are the name and the version of the server.
	Agent, Version string
	Logger         *slog.Logger // receives defects
	// Refused is called for each frame that was refused without calling the Handler; nil: not called.
	Refused func(Refusal)
}

// Refusal describes a frame that does not translate to a request.
type Refusal struct {
	Resource, Operation uint16 // as in the frame
	Activity            string // GUID
	Agent               string // name of the client
	Status              int    // of the answer
	Message             string
}

// Time limits of a connection.
const (
	idleTime       = 35 * time.Minute // between frames; clients are told advertisedIdle
	advertisedIdle = 30 * time.Minute
	frameTime      = time.Minute      // from a frame's first byte to its last
	writeTime      = 10 * time.Second // for a client to accept a piece of an answer
	piece          = 64 << 10         // size of such a piece in bytes
)

// ErrProtocol reports a connection that does not speak RNTBD, or speaks an unknown version of it.
var ErrProtocol = errors.New("rntbd: the connection does not speak the protocol")

// conn is one connection.
type conn struct {
	net.Conn
	o         Options
	version   string     // x-ms-version for requests without one
	agent     string     // name of the client
	writeLock sync.Mutex // write lock
	work      sync.WaitGroup
	places    chan struct{}
	trusted   atomic.Bool // a request has been authorized
	backlog   *backlog
	life      context.Context
	end       context.CancelFunc
}

// Serve serves the frames of a connection until the connection or ctx ends. When ctx ends, no more frames
// are read, and requests in progress are answered. Serve closes the connection and returns after all of its
// requests have ended. The error is the reason for which the connection was given up. It is nil if the
// client closed the connection, the connection was idle for too long, or ctx ended.
func Serve(ctx context.Context, raw net.Conn, o Options) error {
	c := &conn{Conn: raw, o: o, places: make(chan struct{}, o.Most), backlog: newBacklog()}
	c.life, c.end = context.WithCancel(o.Life)
	stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(ttl.Real{}.Now()) })
	defer stop()
	err := c.read(ctx)
	if ctx.Err() == nil {
		c.end() // the client is gone
	}
	c.work.Wait()
	c.end()
	if closed := c.Close(); err == nil {
		err = closed
	}
	var network net.Error
	if ctx.Err() != nil || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &network) {
		return nil
	}
	return err
}

// read reads and serves frames until there are no more.
func (c *conn) read(ctx context.Context) error {
	r := bufio.NewReaderSize(c.Conn, 16<<10)
	for first := true; ; first = false {
		f, err := c.next(ctx, r)
		if err != nil {
			return err
		}
		if f == nil {
			return nil
		}
		if first {
			if err := c.greet(f); err != nil {
				return err
			}
			continue
		}
		most, held := maxBacklog, f.head+inOnePiece
		if !c.trusted.Load() {
			most, held = earlyBacklog, f.head+refusalSize
		}
		if !c.backlog.await(c.life, most) {
			return nil
		}
		select {
		case c.places <- struct{}{}: // a place becomes free: request durations are bounded
		case <-c.life.Done():
			return nil
		}
		c.backlog.add(held)
		c.work.Go(func() {
			defer func() { <-c.places }()
			defer c.backlog.add(-held)
			c.serve(f)
		})
		if f.payload != nil {
			if err := f.payload.pass(); err != nil {
				return err
			}
		}
	}
}

// next reads a frame. It returns nil if no more frame is to be read.
func (c *conn) next(ctx context.Context, r *bufio.Reader) (*frame, error) {
	if err := c.wait(ctx, idleTime); err != nil {
		return nil, nil
	}
	if _, err := r.Peek(1); err != nil {
		return nil, nil
	}
	if err := c.wait(ctx, frameTime); err != nil {
		return nil, nil
	}
	most := earlyHead
	if c.trusted.Load() {
		most = maxHead
	}
	length, err := readLength(r, most)
	if err != nil {
		return nil, err
	}
	return readFrame(r, length, c.o.MaxBody)
}

// wait sets the deadline of the next read. It fails if ctx has ended.
func (c *conn) wait(ctx context.Context, d time.Duration) error {
	if err := c.SetReadDeadline(ttl.Real{}.Now().Add(d)); err != nil {
		return err
	}
	return ctx.Err() // checked after the deadline was set, in case the end of ctx set an earlier one
}

// write writes bytes, with a time limit for each piece.
func (c *conn) write(b []byte) error {
	for len(b) > 0 {
		n := min(len(b), piece)
		if err := c.SetWriteDeadline(ttl.Real{}.Now().Add(writeTime)); err != nil {
			return err
		}
		if _, err := c.Conn.Write(b[:n]); err != nil {
			return err
		}
		if b = b[n:]; len(b) > 0 {
			runtime.Gosched() // short requests go first
		}
	}
	return nil
}

// serve serves one frame.
func (c *conn) serve(f *frame) {
	a := &answer{c: c, f: f, h: make(http.Header, 24)}
	if f.payload != nil {
		defer f.payload.Close()
	}
	defer func() {
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler { // a handler aborts with ErrAbortHandler
				c.o.Logger.Error(
					"panic",
					"activity",
					guid(f.activity[:]),
					"panic",
					p,
					"stack",
					string(debug.Stack()),
				)
			}
			a.drop()
			_ = c.Close()
		}
	}()
	r, err := f.request(c.life, c.version)
	switch {
	case f.tooLong:
		c.refuse(a, http.StatusRequestEntityTooLarge, "Request size is too large")
	case errors.Is(err, errNoSuchOperation):
		c.refuse(a, http.StatusMethodNotAllowed, err.Error())
	case err != nil:
		c.refuse(a, http.StatusBadRequest, err.Error())
	default:
		r.RemoteAddr = c.RemoteAddr().String()
		r.Header["User-Agent"] = []string{c.agent}
		a.headOnly = r.Method == http.MethodHead
		c.o.Handler.ServeHTTP(a, r)
	}
	if f.payload != nil {
		f.payload.end() // lets the reader continue before this answer waits for the write lock
		if f.payload.err != nil {
			a.drop() // the request was incomplete
			_ = c.Close()
			return
		}
	}
	if err := a.end(); err != nil {
		_ = c.Close()
	}
}

// refuse answers a frame that does not translate to a request, and reports it to Options.Refused.
func (c *conn) refuse(a *answer, status int, message string) {
	a.refuse(status, message)
	if c.o.Refused != nil {
		c.o.Refused(Refusal{Resource: a.f.resource, Operation: a.f.operation, Activity: guid(a.f.activity[:]),
			Agent: c.agent, Status: status, Message: message})
	}
}
