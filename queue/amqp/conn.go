package amqp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/internal/priority"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/ttl"
)

const (
	defaultFrameSize = 64 << 10
	defaultIdle      = 2 * time.Minute
	channelMax       = 4999
	handleMax        = 1 << 16
	maxLinks         = 5000 // per connection, in all sessions together
	// MaxPending is the maximal size in bytes of the messages of one connection that wait for their sinks.
	MaxPending = 16 << 20
	// openTime is the time limit from the connection to the client's open.
	openTime = 30 * time.Second
	// closeTime is the time limit for the client to answer a close and to read the remaining output.
	closeTime = 2 * time.Second
)

// conn is a connection of an AMQP client, while Serve serves it.
type conn struct {
	o       Options
	raw     net.Conn
	resumes bool // a Write to raw that has timed out can be continued
	r       *frame.Reader
	input   *priority.TurnTakingConnReader // from which r reads; used only by the reading goroutine
	since   time.Time                      // when the connection began
	life    context.Context                // ends with the connection
	end     context.CancelFunc
	reading context.Context // ends when no more frames are to be read
	stop    context.CancelFunc
	nodes   ConnectionHandler // nil until the connection is open
	inline  func()            // see pass; only the reading goroutine uses it
	work    sync.WaitGroup    // all goroutines of links and sessions
	writer  sync.WaitGroup    // the writing goroutine

	mu       sync.Mutex // guards the following fields
	out      outputBuffer
	sessions map[uint16]*session
	idlers   workerPool
	connTransactions
	busy     int   // the number of sinks and sources that process what has arrived
	prompt   int   // the number of their last calls that were prompt
	pending  int   // bytes of messages waiting for sinks
	held     int64 // bytes that links and messages have taken from Options.Memory
	partials int64 // the part of held that is for unfinished messages
	swept    time.Time
	patient  time.Time // when the deadline for the next frame was last set; zero: there is none
	size     int       // size in bytes of the frame that is being handled
	idle     bool      // the last value passed to Options.Idle
	peerMax  uint32    // the client's maximal frame size
	closing  bool      // close is sent
	left     bool      // the client has sent close and waits for the response
	changed  chan struct{}
	waiting  int // the number of goroutines waiting for changed
}

// Serve serves a connection until it ends. If ctx ends, Serve sends an AMQP close to the client. It returns
// after all goroutines of the connection have ended. It does not return errors that the client or the
// network has caused.
func Serve(ctx context.Context, raw net.Conn, o Options) error {
	if o.MaxFrameSize == 0 {
		o.MaxFrameSize = defaultFrameSize
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = defaultIdle
	}
	if o.Wall == nil {
		o.Wall = ttl.SystemClock{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.TokenTime == 0 {
		o.TokenTime = defaultTokenTime
	}
	if o.Turns == nil {
		o.Turns = priority.NewProcessTurnLimiter(o.Wall)
	}
	c := &conn{o: o, raw: raw, resumes: resumes(raw), since: o.Wall.Now(),
		sessions: make(map[uint16]*session), peerMax: frame.MinMaxFrameSize, changed: make(chan struct{}),
		idle: true}
	c.out.wake = make(chan struct{}, 1)
	c.life, c.end = context.WithCancel(context.WithoutCancel(ctx))
	c.reading, c.stop = context.WithCancel(c.life)
	c.input = o.Turns.Reader(c.life, raw)
	c.r = frame.NewReader(c.input, min(o.MaxFrameSize, earlyBytes))
	defer c.input.Leave()
	defer c.raw.Close()
	_ = raw.SetDeadline(o.Wall.Now().Add(openTime))
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() }) // before open, no AMQP close can be sent
	opened, err := c.open()
	if !stop() || err != nil || opened == nil {
		c.end()
		return ignoreClient(err)
	}
	log := c.o.Logger.With("container", opened.peer.Container)
	log.Debug("an AMQP connection was opened", "host", opened.peer.Hostname)
	c.nodes = o.Connect(c.life, opened.peer)
	stop = context.AfterFunc(ctx, func() {
		c.fail(&frame.Error{Condition: frame.CondForced, Description: "The server stops."})
	})
	defer stop()
	defer c.watchToken()()
	c.begin(opened.request)
	err = c.read()
	c.input.Leave()
	c.leave()
	log.Debug("an AMQP connection was closed")
	return err
}

// clientHandshake holds what a client has sent when it connects, up to and including its open frame.
type clientHandshake struct {
	peer    ClientInfo
	request *frame.Open
}

// ignoreClient returns nil for errors that the client or the network has caused, and err for others.
func ignoreClient(err error) error {
	var format *frame.FormatError
	var network net.Error
	if errors.As(err, &format) || errors.As(err, &network) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

// open processes the protocol headers, the security layer and the client's open. It returns nil if the
// client was rejected.
func (c *conn) open() (*clientHandshake, error) {
	o := &clientHandshake{}
	h, err := c.r.ProtocolHeader()
	if err != nil {
		return nil, err
	}
	if h == frame.HeaderSASL() {
		ok, err := c.authenticate(o)
		if err != nil || !ok {
			return nil, err
		}
		if h, err = c.r.ProtocolHeader(); err != nil {
			return nil, err
		}
	} else if h != frame.HeaderAMQP() {
		want := frame.HeaderSASL() // the response to an unsupported header is a supported one
		_, err := c.raw.Write(want[:])
		return nil, err
	}
	want := frame.HeaderAMQP()
	if _, err := c.raw.Write(want[:]); err != nil || h != want {
		return nil, err
	}
	f, err := c.r.Next()
	for err == nil && len(f.Body) == 0 {
		f, err = c.r.Next()
	}
	if err == nil {
		var body frame.Body
		body, _, err = frame.Parse(f.Body)
		if o.request, _ = body.(*frame.Open); err == nil && o.request == nil {
			err = &frame.FormatError{Condition: frame.CondIllegalState,
				Reason: "a connection begins with open"}
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.refuse(err))
	}
	o.peer.Container, o.peer.Hostname = o.request.ContainerID, o.request.Hostname
	o.peer.Properties = o.request.Properties
	return o, nil
}

// refuse closes a connection that was not opened. It sends an open first, since close must follow one.
func (c *conn) refuse(err error) error {
	var format *frame.FormatError
	if !errors.As(err, &format) {
		return nil
	}
	b := frame.Append(nil, 0, c.answer(), nil)
	b = frame.Append(b, 0, &frame.Close{Error: &frame.Error{Condition: format.Condition,
		Description: format.Error()}}, nil)
	_, werr := c.raw.Write(b)
	return werr
}

func (c *conn) answer() *frame.Open {
	return &frame.Open{ContainerID: c.o.ContainerID, MaxFrameSize: c.o.MaxFrameSize, ChannelMax: channelMax,
		IdleTimeout: uint32(min(c.o.IdleTimeout.Milliseconds(), math.MaxUint32))}
}

// begin responds to the client's open, and starts the goroutine that writes.
func (c *conn) begin(request *frame.Open) {
	_ = c.raw.SetDeadline(time.Time{})
	c.mu.Lock()
	c.peerMax = max(request.MaxFrameSize, frame.MinMaxFrameSize)
	c.write(0, c.answer())
	c.mu.Unlock()
	c.writer.Go(func() { c.writeOut(time.Duration(request.IdleTimeout) * time.Millisecond) })
}

// read handles frames until the connection ends.
func (c *conn) read() (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("amqp: a defect: %v\n%s", cause, debug.Stack())
			c.fail(&frame.Error{Condition: frame.CondInternal, Description: "The server has a defect."})
		}
	}()
	for {
		c.awaitRoom()
		f, err := c.r.Next()
		if err != nil {
			c.broken(err)
			return ignoreClient(err)
		}
		if len(f.Body) == 0 {
			continue
		}
		done, err := c.handle(f)
		c.runInline()
		if err != nil {
			c.broken(err)
		}
		if done {
			return nil
		}
	}
}

// setPatience sets the deadline by which the client must send the next frame: one and a half times
// IdleTimeout from now, or closeTime if the server has already sent a close. In the first case it does
// nothing if the deadline would change only a little. The caller holds the connection's lock.
func (c *conn) setPatience(now time.Time) {
	if c.closing {
		return
	}
	if c.patient.IsZero() || now.Sub(c.patient) >= c.o.IdleTimeout/16 {
		c.patient = now
		_ = c.raw.SetReadDeadline(now.Add(c.o.IdleTimeout * 3 / 2))
	}
}

// broken closes the connection with an error, because the client has violated the protocol or was silent for
// too long.
func (c *conn) broken(err error) {
	var format *frame.FormatError
	var network net.Error
	switch {
	case errors.As(err, &format):
		c.fail(&frame.Error{Condition: format.Condition, Description: format.Error()})
	case errors.As(err, &network) && network.Timeout():
		c.fail(&frame.Error{Condition: frame.CondForced,
			Description: "The connection was inactive for more than the " +
				"allowed period of time."})
	}
}

// fail closes the connection with an error. The client has closeTime to answer.
func (c *conn) fail(e *frame.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failLocked(e)
}

// failLocked closes the connection with an error. The caller holds the lock.
func (c *conn) failLocked(e *frame.Error) {
	if c.closing {
		return
	}
	c.o.Logger.Debug("an AMQP connection is closed by the server", "condition", string(e.Condition),
		"description", e.Description)
	c.write(0, &frame.Close{Error: e})
	c.closing = true
	c.stop()
	c.signal()
	_ = c.raw.SetReadDeadline(c.o.Wall.Now().Add(closeTime))
}

// handle processes a frame. done reports that the connection has ended.
func (c *conn) handle(f frame.Frame) (done bool, err error) {
	if f.Type != frame.TypeAMQP {
		return false, &frame.FormatError{Condition: frame.CondFraming, Reason: "a frame of another type"}
	}
	body, payload, err := frame.Parse(f.Body)
	if err != nil {
		return false, err
	}
	if hasParts(body) { // they must not be in the reader's buffer, since some of them are kept
		if body, payload, err = frame.Parse(bytes.Clone(f.Body)); err != nil {
			return false, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.watchIdle()
	c.size = len(f.Body)
	switch b := body.(type) {
	case *frame.Close:
		c.left = true
		return true, nil
	case *frame.Open:
		return false, &frame.FormatError{Condition: frame.CondIllegalState,
			Reason: "the connection is open already"}
	case *frame.Attach:
		if len(b.Name) > maxLinkName {
			return false, &frame.FormatError{Condition: frame.CondInvalidField,
				Reason: fmt.Sprintf("the name of a link has at most %d bytes", maxLinkName)}
		}
	}
	if c.closing || !c.admitFrame(body) {
		return false, nil
	}
	if b, ok := body.(*frame.Begin); ok {
		return false, c.beginSession(f.Channel, b)
	}
	s := c.sessions[f.Channel]
	if s == nil {
		switch body.(type) {
		case *frame.End, *frame.Detach:
			return false, nil // some clients end twice, which is harmless
		}
		return false, &frame.FormatError{Condition: frame.CondFraming,
			Reason: fmt.Sprintf("there is no session on the "+
				"channel %d", f.Channel)}
	}
	if t, ok := body.(*frame.Transfer); ok {
		if c.admit(s, t, len(payload)); c.closing {
			return false, nil
		}
	}
	return false, s.handle(body, payload)
}

// hasParts reports whether a parsed performative refers to the buffer of the reader, so that it is valid only
// until the next frame is read. The payload and the tag of a transfer do not count, since they are copied or
// not kept.
func hasParts(body frame.Body) bool {
	switch b := body.(type) {
	case *frame.Transfer:
		return b.State != nil
	case *frame.Disposition:
		switch b.State.(type) {
		case nil, *frame.Accepted, *frame.Released:
			return false
		}
	case *frame.Flow:
		return false
	}
	return true
}

// leave ends all sessions, waits for their goroutines to end, and then for the remaining output to be
// written. If the client has sent a close, leave responds to it last, because the client may then request on
// another connection what this one held, such as a session lock.
func (c *conn) leave() {
	c.mu.Lock()
	var links []*Link
	for _, s := range c.sessions {
		links = append(links, s.drop()...)
	}
	c.endWorkers()
	c.mu.Unlock()
	c.end()
	c.work.Wait()
	for _, l := range links {
		l.leave()
	}
	c.nodes.Closed()
	c.mu.Lock()
	for _, l := range links {
		c.give(l.requestMemory)
	}
	if c.left {
		c.write(0, &frame.Close{})
	}
	c.closing, c.out.last = true, true
	c.wakeWriter()
	_ = c.raw.SetWriteDeadline(c.o.Wall.Now().Add(closeTime))
	c.mu.Unlock()
	c.writer.Wait()
}
