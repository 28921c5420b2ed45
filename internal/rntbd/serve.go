package rntbd

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// Options say how connections are served. All of them must be set.
type Options struct {
	// Handler speaks Cosmos DB over HTTP. Its requests have no Host, and a body whose length is known;
	// CachedContainer tells more of them.
	Handler http.Handler
	// Life is what the contexts of requests come from: its end breaks them off. The end of a connection ends
	// its requests' contexts, too.
	Life context.Context
	// MaxBody is how many bytes a request's body may have.
	MaxBody int
	// Most is how many requests of one connection may be under way at once; a client that sends more waits.
	Most int
	// Agent and Version are what the server calls itself.
	Agent, Version string
	Logger         *slog.Logger // of defects
	// Refused is told of a frame that was refused without the Handler; nil: nobody asks.
	Refused func(Refusal)
}

// Refusal is a frame that stands for no request.
type Refusal struct {
	Resource, Operation uint16 // as the frame has them
	Activity            string // GUID
	Agent               string // what the client calls itself
	Status              int    // of the answer
	Message             string
}

// Time limits of a connection.
const (
	idleTime  = 35 * time.Minute // between frames; clients are told idleTold
	idleTold  = 30 * time.Minute
	frameTime = time.Minute      // from a frame's first byte to its last
	writeTime = 10 * time.Second // for a client to take a piece of an answer
	piece     = 64 << 10         // bytes
)

// ErrProtocol: a connection spoke something that is no RNTBD, or a version of it that nobody knows.
var ErrProtocol = errors.New("rntbd: the connection does not speak the protocol")

// conn is one connection.
type conn struct {
	net.Conn
	o       Options
	version string     // x-ms-version of requests that have none
	agent   string     // what the client calls itself
	turn    sync.Mutex // to write
	work    sync.WaitGroup
	places  chan struct{}
	trusted atomic.Bool // a request has shown a key
	backlog *backlog
	life    context.Context
	end     context.CancelFunc
}

// Serve answers the frames of a connection until it ends, or ctx does: then no more frames are read, and what
// is under way is answered. It closes the connection and returns when no request of it is running. The error
// says why the connection was given up, nil where the client has closed it, was silent for too long, or ctx
// has ended.
func Serve(ctx context.Context, raw net.Conn, o Options) error {
	c := &conn{Conn: raw, o: o, places: make(chan struct{}, o.Most), backlog: newBacklog()}
	c.life, c.end = context.WithCancel(o.Life)
	stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(ttl.Real{}.Now()) })
	defer stop()
	err := c.read(ctx)
	if ctx.Err() == nil {
		c.end() // the client is gone: nobody wants the answers
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

// read reads frames until there are no more.
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
		case c.places <- struct{}{}: // one of those under way ends some time: their life is bounded
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

// next reads a frame; nil where there is none any more.
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

// wait sets how long the next read may take, and fails where none is to begin any more.
func (c *conn) wait(ctx context.Context, d time.Duration) error {
	if err := c.SetReadDeadline(ttl.Real{}.Now().Add(d)); err != nil {
		return err
	}
	return ctx.Err() // looked at behind the deadline that its end would have set
}

// write sends bytes, with a time limit for each piece of them.
func (c *conn) write(b []byte) error {
	for len(b) > 0 {
		n := min(len(b), piece)
		if err := c.SetWriteDeadline(ttl.Real{}.Now().Add(writeTime)); err != nil {
			return err
		}
		if _, err := c.Conn.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// serve answers one frame.
func (c *conn) serve(f *frame) {
	a := &answer{c: c, f: f, h: make(http.Header, 24)}
	if f.payload != nil {
		defer f.payload.Close()
	}
	defer func() {
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler { // by which a handler gives up
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
		f.payload.end() // who waits for the answer's turn keeps nobody from reading
		if f.payload.err != nil {
			a.drop() // what the request was is not known
			_ = c.Close()
			return
		}
	}
	if err := a.end(); err != nil {
		_ = c.Close()
	}
}

// refuse answers a frame that stands for no request.
func (c *conn) refuse(a *answer, status int, message string) {
	a.refuse(status, message)
	if c.o.Refused != nil {
		c.o.Refused(Refusal{Resource: a.f.resource, Operation: a.f.operation, Activity: guid(a.f.activity[:]),
			Agent: c.agent, Status: status, Message: message})
	}
}
