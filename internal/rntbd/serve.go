package rntbd

import (
	"bufio"
	"context"
	"encoding/binary"
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

// Options configure how connections are served. All fields except QuickReads and Refused are required.
type Options struct {
	// Handler serves Cosmos DB over HTTP. The requests that it receives have no Host, and a body of known
	// length. CachedContainer returns the rid that the client has cached for the container of a request.
	Handler http.Handler
	// Life is the parent of the contexts of requests: when it ends, requests are canceled. They are also
	// canceled when their connection ends.
	Life context.Context
	// MaxBody is the maximum size of a request's body in bytes.
	MaxBody int
	// Most is the maximum number of requests in progress on one connection. Further requests wait.
	Most int
	// Agent and Version are the name and the version of the server.
	Agent, Version string
	Logger         *slog.Logger // receives defects
	// QuickReads says that a read of an item usually takes microseconds and, if it has to wait, waits on its
	// context. The goroutine that reads frames then serves such reads itself.
	QuickReads bool
	// Refused is called for each frame that was refused without a call of Handler, unless it is nil.
	Refused func(Refusal)
}

// Refusal describes a frame that could not be translated to a request.
type Refusal struct {
	Resource, Operation uint16 // as in the frame
	Activity            string // GUID
	Agent               string // name of the client
	Status              int    // of the answer
	Message             string
}

// Time limits of a connection.
const (
	idleTime       = 35 * time.Minute // between frames; the time announced to clients is advertisedIdle
	advertisedIdle = 30 * time.Minute
	frameTime      = time.Minute // from a frame's first byte to its last
)

// readAhead is the number of bytes that are read from a connection at once.
const readAhead = 16 << 10

// ErrProtocol reports that a client does not use RNTBD, or an unknown version of it.
var ErrProtocol = errors.New("rntbd: the connection does not speak the protocol")

// conn is one connection.
type conn struct {
	net.Conn
	o       Options
	drained context.Context // when it ends, no more frames are read
	in      *bufio.Reader   // used only by the goroutine that reads
	until   time.Time       // deadline of reads; used only by the goroutine that reads
	version string          // x-ms-version for requests without one
	agent   string          // name of the client
	remote  string          // address of the client
	out     outbox
	work    sync.WaitGroup
	places  chan struct{}
	pool    pool
	trusted atomic.Bool // a request has been authorized
	backlog *backlog
	life    context.Context
	end     context.CancelFunc
	ended   chan error // the result of the last goroutine that has read frames
	apart   int        // number of frames that the goroutine that reads them must not serve
}

// Serve serves the frames of a connection until the connection or ctx ends. When ctx ends, no more frames
// are read, and the responses to requests in progress are sent. Serve closes the connection and returns
// after all of its requests have ended. It returns the error that ended the connection, or nil if the client
// closed the connection, the connection was idle for too long, or ctx ended.
func Serve(ctx context.Context, raw net.Conn, o Options) error {
	c := &conn{Conn: raw, o: o, drained: ctx, in: bufio.NewReaderSize(raw, readAhead),
		remote: raw.RemoteAddr().String(), places: make(chan struct{}, o.Most), backlog: newBacklog(),
		ended: make(chan error, 1)}
	c.out.init(raw)
	c.pool.init(c)
	c.life, c.end = context.WithCancel(o.Life)
	stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(ttl.Real{}.Now()) })
	defer stop()
	c.work.Go(func() { c.read(c.greetFirst) })
	err := <-c.ended
	if ctx.Err() == nil {
		c.end() // the client is gone
	}
	c.pool.close()
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

// read reads frames and passes them to take. It ends when there are no more frames, or when take returns
// passed: another goroutine then continues to read.
func (c *conn) read(take func(*frame) (passed bool, err error)) {
	for {
		f, err := c.next()
		if f == nil || err != nil {
			c.ended <- errors.Join(err, c.out.flush())
			return
		}
		passed, err := take(f)
		if passed {
			return
		}
		if err != nil {
			c.ended <- err
			return
		}
		take = c.take
	}
}

// greetFirst responds to the first frame of a connection. passed is always false: the same goroutine
// continues to read frames.
func (c *conn) greetFirst(f *frame) (passed bool, err error) { return false, c.greet(f) }

// take serves a frame, or passes it to another goroutine. passed reports that another goroutine now reads
// frames.
func (c *conn) take(f *frame) (passed bool, err error) {
	if c.isQuick(f) {
		return c.serveHere(f), nil
	}
	if c.out.flush() != nil { // the gathered responses must not wait for this frame
		return false, errEnded
	}
	most, held := maxBacklog, f.head+inOnePiece
	if !c.trusted.Load() {
		most, held = earlyBacklog, f.head+refusalSize
	}
	if !c.backlog.await(c.life, most) {
		return false, errEnded
	}
	select {
	case c.places <- struct{}{}: // this wait ends, since the duration of requests is limited
	case <-c.life.Done():
		return false, errEnded
	}
	held += f.taken
	c.backlog.add(held)
	payload := f.payload // f belongs to the worker
	if f.taken > 0 {
		payload = nil
	}
	c.pool.run(job{f, held})
	if payload != nil {
		return false, payload.pass()
	}
	return false, nil
}

// errEnded reports that the connection has ended or the server is shutting down.
var errEnded = net.ErrClosed

// isQuick reports whether the goroutine that reads frames may serve the frame itself.
func (c *conn) isQuick(f *frame) bool {
	if !c.o.QuickReads || !f.readsItem() || !c.trusted.Load() {
		return false
	}
	if c.apart > 0 {
		c.apart--
		return false
	}
	return true
}

// serveHere serves a frame in the goroutine that has read it. The response may be sent together with the
// responses to the following frames. If the operation has to wait, another goroutine continues to read
// frames, and passed is true.
func (c *conn) serveHere(f *frame) (passed bool) {
	began := ttl.Real{}.Now()
	t := &turn{Context: c.life, c: c}
	c.serve(t, f, true)
	if !t.state.CompareAndSwap(turnRuns, turnEnded) {
		if err := c.out.flush(); err != nil { // otherwise the other goroutine would have to send it
			_ = c.Close()
		}
		return true
	}
	if (ttl.Real{}).Now().Sub(began) > quickTime {
		c.apart = apartFrames
	}
	return false
}

// next reads a frame. It returns nil if no more frames are to be read. Before it waits for the client, it
// sends the gathered responses.
func (c *conn) next() (*frame, error) {
	if !c.isBuffered() {
		if c.out.flush() != nil {
			return nil, nil
		}
		if c.in.Buffered() == 0 {
			c.limit(idleTime, time.Minute)
			// checked after the deadline was set, since the end of drained may have set one
			if c.drained.Err() != nil {
				return nil, nil
			}
			if _, err := c.in.Peek(1); err != nil {
				return nil, nil
			}
		}
		if !c.isBuffered() {
			c.limit(frameTime, time.Second)
		}
	}
	if c.drained.Err() != nil {
		return nil, nil
	}
	most := earlyHead
	if c.trusted.Load() {
		most = maxHead
	}
	length, err := readLength(c.in, most)
	if err != nil {
		return nil, err
	}
	f, err := readFrame(c.in, length, c.o.MaxBody)
	if err == nil && f.payload != nil && f.taken == 0 && f.payload.left > int64(c.in.Buffered()) {
		c.limit(frameTime, time.Second)
	}
	return f, err
}

// isBuffered reports whether the next frame, including the length of its payload, has already been read from
// the connection.
func (c *conn) isBuffered() bool {
	if c.in.Buffered() < headSize {
		return false
	}
	head, _ := c.in.Peek(4) // cannot fail, since these bytes are buffered
	return c.in.Buffered() >= int(binary.LittleEndian.Uint32(head))+4
}

// limit sets the deadline for reading to d from now. It does nothing if the deadline is already within slack
// of that time, since setting it for each frame would be expensive.
func (c *conn) limit(d, slack time.Duration) {
	want := ttl.Real{}.Now().Add(d)
	if early := want.Sub(c.until); early >= 0 && early < slack {
		return
	}
	if c.SetReadDeadline(want) == nil { // otherwise the next read fails
		c.until = want
	}
}

// serve serves one frame. ctx is the context of its request. later reports whether a small response may be
// sent by the next flush.
func (c *conn) serve(ctx context.Context, f *frame, later bool) {
	a := &answer{c: c, f: f, later: later}
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
	r, err := f.request(ctx, c.version)
	switch {
	case f.tooLong:
		c.refuse(a, http.StatusRequestEntityTooLarge, "Request size is too large")
	case errors.Is(err, errNoSuchOperation):
		c.refuse(a, http.StatusMethodNotAllowed, err.Error())
	case err != nil:
		c.refuse(a, http.StatusBadRequest, err.Error())
	default:
		r.RemoteAddr = c.remote
		r.Header["User-Agent"] = []string{c.agent}
		a.headOnly = r.Method == http.MethodHead
		c.o.Handler.ServeHTTP(a, r)
	}
	if f.payload != nil {
		// the goroutine that reads frames can continue before this response waits for the connection
		f.payload.end()
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

// refuse responds to a frame that cannot be translated to a request, and calls Options.Refused.
func (c *conn) refuse(a *answer, status int, message string) {
	a.refuse(status, message)
	if c.o.Refused != nil {
		c.o.Refused(Refusal{Resource: a.f.resource, Operation: a.f.operation, Activity: guid(a.f.activity[:]),
			Agent: c.agent, Status: status, Message: message})
	}
}
