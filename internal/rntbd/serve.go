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

	"github.com/mayflydb/mayfly/internal/priority"
	"github.com/mayflydb/mayfly/ttl"
)

// Options configure how connections are served. All fields except QuickReads and Refused are required.
type Options struct {
	// Handler serves a request. If it panics with http.ErrAbortHandler or does not send the response, the
	// connection is closed.
	Handler func(context.Context, *Request, *ResponseSender)
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
	// Turns limits how many connections whose clients send frames without a pause are served at the same
	// time.
	Turns *priority.TurnLimiter
	// QuickReads says that a read of an item usually takes microseconds and, if it has to wait, waits on its
	// context. The goroutine that reads frames then serves such reads itself.
	QuickReads bool
	// Refused is called for each frame that was refused without a call of Handler, unless it is nil.
	Refused func(UntranslatableFrame)
}

// UntranslatableFrame describes a frame that could not be translated to a request.
type UntranslatableFrame struct {
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

// conn is a connection of a client in direct mode, while Serve serves it.
type conn struct {
	net.Conn
	o       Options
	drained context.Context                // when it ends, no more frames are read
	in      *bufio.Reader                  // used only by the goroutine that reads
	input   *priority.TurnTakingConnReader // from which in reads
	until   time.Time                      // deadline of reads; used only by the goroutine that reads
	version string                         // x-ms-version for requests without one
	agent   string                         // name of the client
	remote  string                         // address of the client
	out     responseQueue
	work    sync.WaitGroup
	places  chan struct{}
	pool    workerPool
	trusted atomic.Bool // a request has been authorized
	backlog *inFlightBytes
	life    context.Context
	end     context.CancelFunc
	ended   chan error // the result of the last goroutine that has read frames
	apart   int        // number of frames that the goroutine that reads them must not serve
	slow    int        // score of the latest operations in that goroutine: see slowScore
}

// Serve serves the frames of a connection until the connection or ctx ends. When ctx ends, no more frames
// are read, and the responses to requests in progress are sent. Serve closes the connection and returns
// after all of its requests have ended. It returns the error that ended the connection, or nil if the client
// closed the connection, the connection was idle for too long, or ctx ended.
func Serve(ctx context.Context, raw net.Conn, o Options) error {
	c := &conn{Conn: raw, o: o, drained: ctx, remote: raw.RemoteAddr().String(),
		places: make(chan struct{}, o.Most), backlog: newBacklog(), ended: make(chan error, 1)}
	c.out.init(raw)
	c.pool.init(c)
	c.life, c.end = context.WithCancel(o.Life)
	c.input = o.Turns.Reader(c.life, raw)
	c.in = bufio.NewReaderSize(c.input, readAhead)
	stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(ttl.SystemClock{}.Now()) })
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

// read reads frames and passes each to take. It ends when there are no more frames, or when take returns
// passed, which means that another goroutine continues to read.
func (c *conn) read(take func(*frame) (passed bool, err error)) {
	for {
		f, err := c.next()
		if f == nil || err != nil {
			c.input.Leave()
			c.ended <- errors.Join(err, c.out.flush())
			return
		}
		passed, err := take(f)
		if passed {
			return
		}
		if err != nil {
			c.input.Leave()
			c.ended <- err
			return
		}
		take = c.take
	}
}

// greetFirst responds to the first frame of a connection. passed is always false: the goroutine that called
// it continues to read frames.
func (c *conn) greetFirst(f *frame) (passed bool, err error) { return false, c.greet(f) }

// take serves a frame, or gives it to a worker. passed reports that another goroutine reads the following
// frames.
func (c *conn) take(f *frame) (passed bool, err error) {
	if c.isQuick(f) {
		return c.serveHere(f), nil
	}
	if c.isEarly(f) {
		c.places <- struct{}{} // at most one worker has a place: see mayBegin
		defer func() { <-c.places }()
		return c.serveHere(f), nil
	}
	if c.out.flush() != nil { // the gathered responses must not wait for this frame
		return false, errEnded
	}
	if !c.backlog.await(c.life, c.mayBegin, c.input.Leave) {
		return false, errEnded
	}
	held := f.head + inOnePiece
	if !c.trusted.Load() {
		held = f.head + refusalSize
	}
	select {
	case c.places <- struct{}{}:
	default:
		c.input.Leave()
		select {
		case c.places <- struct{}{}: // this wait ends, since the duration of requests is limited
		case <-c.life.Done():
			return false, errEnded
		}
	}
	payload := f.payload // f belongs to the worker
	if payload != nil && payload.taken != nil {
		held += len(payload.taken)
		payload = nil
	}
	if payload != nil {
		c.input.Leave() // the worker reads the payload
	}
	c.backlog.add(held)
	c.pool.run(frameServingJob{f, held})
	if payload != nil {
		return false, payload.pass()
	}
	return false, nil
}

// mayBegin reports whether a request may begin while those in progress hold n bytes. A connection without an
// authorized request must not occupy many goroutines.
func (c *conn) mayBegin(n int) bool { return n == 0 || n <= maxBacklog && c.trusted.Load() }

// trust records that a request of the connection has been authorized. From then on the server works on
// several requests of the connection at a time. t is not nil if the request runs in the goroutine that reads
// frames; for the first authorized request, trust then makes another goroutine continue to read.
func (c *conn) trust(t *readLoopRequestContext) {
	if c.trusted.Swap(true) {
		return
	}
	c.backlog.signal()
	if t != nil {
		t.pass()
	}
}

// errEnded reports that the connection has ended or the server is shutting down.
var errEnded = net.ErrClosed

// isQuick reports whether the frame is a read of one item that the goroutine that reads frames serves itself,
// because such reads have lately been fast.
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

// isEarly reports whether the frame is served by the goroutine that reads frames, because no request of the
// connection has been authorized yet. So a client without a key cannot occupy any other goroutine.
func (c *conn) isEarly(f *frame) bool {
	return !c.trusted.Load() && (f.payload == nil || f.payload.taken != nil)
}

// serveHere serves a frame in the goroutine that has read it. The response may be sent together with the
// responses to the following frames. If the operation has to wait, another goroutine continues to read
// frames, and passed is true.
func (c *conn) serveHere(f *frame) (passed bool) {
	began := ttl.SystemClock{}.Now()
	t := &readLoopRequestContext{Context: c.life, c: c}
	c.serve(t, f, true)
	if !t.state.CompareAndSwap(turnRuns, turnEnded) {
		if err := c.out.flush(); err != nil { // otherwise the other goroutine would have to send it
			_ = c.Close()
		}
		return true
	}
	if (ttl.SystemClock{}).Now().Sub(began) <= quickTime {
		c.slow = max(c.slow-1, 0)
	} else if c.slow += slowScore; c.slow >= maxSlow {
		c.apart, c.slow = apartFrames, 0
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
	if err == nil && f.payload != nil && f.payload.left > int64(c.in.Buffered()) {
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

// limit sets the read deadline of the connection to d from now. It leaves a deadline that is at most slack
// earlier than that, since setting it for each frame would be expensive.
func (c *conn) limit(d, slack time.Duration) {
	want := ttl.SystemClock{}.Now().Add(d)
	if early := want.Sub(c.until); early >= 0 && early < slack {
		return
	}
	if c.SetReadDeadline(want) == nil { // otherwise the next read fails
		c.until = want
	}
}

// serve serves one frame. ctx is the context of its request. later says that a small response may wait for
// the next flush.
func (c *conn) serve(ctx context.Context, f *frame, later bool) {
	w := &f.response
	w.c, w.f, w.later = c, f, later
	w.turn, _ = ctx.(*readLoopRequestContext)
	if c.handle(ctx, f) && w.end() == nil {
		f.release()
		return
	}
	_ = c.Close()
}

// handle calls the handler for a frame. It returns false if the connection must be closed.
func (c *conn) handle(ctx context.Context, f *frame) (ok bool) {
	defer func() {
		if f.payload != nil {
			// the goroutine that reads frames can continue before this response waits for the connection
			f.payload.end()
			ok = ok && f.payload.err == nil // otherwise the request was incomplete
		}
		if p := recover(); p != nil && p != http.ErrAbortHandler { // a handler aborts with ErrAbortHandler
			c.o.Logger.Error("panic", "activity", string(appendGUID(nil, f.activity[:])), "panic", p,
				"stack", string(debug.Stack()))
		}
	}()
	err := f.translate(c.version)
	switch {
	case f.tooLong:
		c.refuse(f, http.StatusRequestEntityTooLarge, "Request size is too large")
	case errors.Is(err, errNoSuchOperation):
		c.refuse(f, http.StatusMethodNotAllowed, err.Error())
	case err != nil:
		c.refuse(f, http.StatusBadRequest, err.Error())
	default:
		f.request.Remote = c.remote
		f.addField("User-Agent", c.agent)
		f.response.headOnly = f.request.Method == http.MethodHead
		c.o.Handler(ctx, &f.request, &f.response)
	}
	return true
}

// refuse responds to a frame that cannot be translated to a request, and calls Options.Refused.
func (c *conn) refuse(f *frame, status int, message string) {
	f.response.Send(&ResponseHead{Status: status}, errorBody(message))
	if c.o.Refused != nil {
		c.o.Refused(UntranslatableFrame{Resource: f.resource, Operation: f.operation,
			Activity: string(appendGUID(nil, f.activity[:])), Agent: c.agent, Status: status,
			Message: message})
	}
}
