package bus

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/ttl"
)

// testMemoryLimit is a memory limit that the clients of a test share.
type testMemoryLimit struct {
	mu    sync.Mutex
	free  int64
	given chan struct{} // closed when some is given back
}

func newTestMemoryLimit(n int64) *testMemoryLimit {
	return &testMemoryLimit{free: n, given: make(chan struct{})}
}

func (r *testMemoryLimit) TryTake(n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n > r.free {
		return false
	}
	r.free -= n
	return true
}

func (r *testMemoryLimit) Take(ctx context.Context, n int64) error {
	for {
		r.mu.Lock()
		given := r.given
		r.mu.Unlock()
		if r.TryTake(n) {
			return nil
		}
		select {
		case <-given:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *testMemoryLimit) Give(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free += n
	close(r.given)
	r.given = make(chan struct{})
}

func (r *testMemoryLimit) TakeLarge(ctx context.Context, n int64) error { return r.Take(ctx, n) }
func (r *testMemoryLimit) GiveLarge(n int64)                            { r.Give(n) }

// left returns the number of bytes that are not in use.
func (r *testMemoryLimit) left() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.free
}

// strict makes the Bus require a token, and returns the key with which tokens are signed.
func (w *serviceBusUnderTest) strict() access.Key {
	key := access.Key{Name: "all", Rights: access.All, Text: "secret"}
	w.bus = New(Options{Queues: w.q, Memory: w.bus.o.Memory,
		Guard: access.New(access.TokenVerifierOptions{Mode: access.Strict, Keys: []access.Key{key}})})
	return key
}

// piece sends a frame with a part of a message that is not complete yet.
func (c *testClient) piece(handle uint32, payload []byte) error {
	_, err := c.conn.Write(frame.Append(nil, 0, &frame.Transfer{Handle: handle,
		DeliveryID: frame.Some(handle), DeliveryTag: []byte{byte(handle)}, MessageFormat: frame.Some(0),
		More: true}, payload))
	return err
}

// closes waits for the server's close frame and returns its error condition.
func (c *testClient) closes() string {
	c.t.Helper()
	cl := await[*frame.Close](c)
	if cl.Error == nil {
		c.t.Fatal("the connection is closed without an error")
	}
	return string(cl.Error.Condition)
}

// TestLimitsBeforeToken checks the limits of a client that has not sent a token: a few links, sessions and
// kilobytes.
func TestLimitsBeforeToken(t *testing.T) {
	for name, attack := range map[string]func(c *testClient) error{
		"unfinished messages": func(c *testClient) error {
			c.sender(0, "$cbs")
			for range 20 {
				if err := c.piece(0, make([]byte, 10_000)); err != nil {
					return err
				}
			}
			return nil
		},
		"links": func(c *testClient) error {
			for h := range uint32(40) {
				if err := c.try(0, &frame.Attach{Name: fmt.Sprint(h), Handle: h, Source: source("x"),
					Target: target("$cbs"), InitialDeliveryCount: frame.Some(0)}); err != nil {
					return err
				}
			}
			return nil
		},
		"properties of links": func(c *testClient) error {
			for h := range uint32(10) {
				from := source(strings.Repeat("x", 10_000))
				if err := c.try(0, &frame.Attach{Name: fmt.Sprint(h), Handle: h, Source: from,
					Target: target("$cbs"), InitialDeliveryCount: frame.Some(0)}); err != nil {
					return err
				}
			}
			return nil
		},
		"sessions": func(c *testClient) error {
			for n := range uint16(40) {
				if err := c.try(n+1, &frame.Begin{IncomingWindow: 10, OutgoingWindow: 10}); err != nil {
					return err
				}
			}
			return nil
		},
		"frames": func(c *testClient) error {
			c.sender(0, "$cbs")
			return c.piece(0, make([]byte, 60_000))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newServiceBusUnderTest(t)
			w.bus.o.Memory = newTestMemoryLimit(1 << 20)
			w.strict()
			c := w.dial(1 << 16)
			_ = attack(c) // it may be broken off
			got := c.closes()
			if got != "amqp:resource-limit-exceeded" && got != "amqp:connection:framing-error" {
				t.Errorf("the connection is closed with %s", got)
			}
			c.hangUp()
			if left := w.bus.o.Memory.(*testMemoryLimit).left(); left != 1<<20 {
				t.Errorf("the connection has kept %d bytes", 1<<20-left)
			}
		})
	}
}

// try sends a frame and returns the error, since the server may have closed the connection.
func (c *testClient) try(channel uint16, body frame.Body) error {
	_, err := c.conn.Write(frame.Append(nil, channel, body, nil))
	return err
}

// TestTokenTimeLimit checks that a connection is closed if the client sends no token in time, and that a
// client with a token may attach more links than one without.
func TestTokenTimeLimit(t *testing.T) {
	w := newServiceBusUnderTest(t)
	key := w.strict()
	o := w.bus.Options()
	o.TokenTime = time.Second
	c := w.greet(w.pipeWith(w.ctx, o), 1<<16)
	if got := c.closes(); got != "amqp:connection:forced" {
		t.Errorf("a silent connection is closed with %s", got)
	}
	c.hangUp()
	o.TokenTime = time.Minute
	c = w.greet(w.pipeWith(w.ctx, o), 1<<16)
	answer := c.put(0, "q", access.Sign(key, "q", ttl.SystemClock{}.Now().Add(time.Hour)))
	if n := number(t, answer, "status-code"); n != 202 {
		t.Fatal(n)
	}
	for h := range uint32(40) {
		c.sender(10+h, "$cbs") // more links than one without a token has
	}
}

// TestLinkName checks that the server closes the connection if the name of a link is too long.
func TestLinkName(t *testing.T) {
	c := newServiceBusUnderTest(t).dial(1 << 16)
	_ = c.try(0, &frame.Attach{Name: strings.Repeat("n", 513), Source: source("x"), Target: target("q")})
	if got := c.closes(); got != "amqp:invalid-field" {
		t.Errorf("the connection is closed with %s", got)
	}
}

// TestUnfinishedMessages checks that a connection with many incomplete messages is still read, and that
// their memory is released at the end of the connection.
func TestUnfinishedMessages(t *testing.T) {
	const size = 256 << 20
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q", func(p *entity.Properties) { p.MaxMessageKB = 1024 })
	w.bus.o.Memory = newTestMemoryLimit(size)
	c := w.dial(1 << 16)
	for h := range uint32(50) {
		c.sender(h, "q")
		await[*frame.Flow](c)
		for range 17 {
			if err := c.piece(h, make([]byte, 60_000)); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.say(0, &frame.Flow{IncomingWindow: 10, OutgoingWindow: 10, Echo: true})
	await[*frame.Flow](c)
	left := w.bus.o.Memory.(*testMemoryLimit).left()
	if taken := size - left; taken < 20<<20 || taken > 40<<20 {
		t.Errorf("50 unfinished messages of 1 MB have %d bytes", taken)
	}
	c.hangUp()
	if left := w.bus.o.Memory.(*testMemoryLimit).left(); left != size {
		t.Errorf("the connection has kept %d bytes", size-left)
	}
}

// TestMessagesWaitForMemory checks that a message for which there is no memory is accepted when memory
// becomes free.
func TestMessagesWaitForMemory(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	r := newTestMemoryLimit(1 << 20)
	w.bus.o.Memory = r
	c := w.dial(1 << 16)
	c.sender(0, "q")
	taken := r.left()
	if !r.TryTake(taken) {
		t.Fatal("there is no room")
	}
	m := message.New(bytes.Repeat([]byte("x"), 10_000))
	c.transfer(0, 0, m)
	go r.Give(900_000)
	if _, ok := await[*frame.Disposition](c).State.(*frame.Accepted); !ok {
		t.Error("the message is not accepted")
	}
	c.hangUp()
	r.Give(taken - 900_000)
	if got := r.left(); got != 1<<20 {
		t.Errorf("%d bytes are kept", 1<<20-got)
	}
}

// TestMessageOf20MB sends and receives a message of 20 MB in frames of 64 KB, and checks that its memory
// is counted meanwhile.
func TestMessageOf20MB(t *testing.T) {
	const size = 64 << 20
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q", func(p *entity.Properties) { p.MaxMessageKB = 32 << 10 })
	r := newTestMemoryLimit(size)
	w.bus.o.Memory = r
	c := w.dial(1 << 16)
	c.sender(0, "q")
	body := bytes.Repeat([]byte("0123456789abcdef"), 20<<20/16)
	raw := message.New(body).AppendBare(nil)
	half := len(raw) / 2
	for at, n := 0, 0; at < len(raw); at += n {
		if n = min(60_000, len(raw)-at); at < half && at+n >= half {
			c.say(0, &frame.Flow{IncomingWindow: 1000, OutgoingWindow: 10, Echo: true})
			await[*frame.Flow](c)
			if taken := size - r.left(); taken < 32<<20 || taken > 33<<20 {
				t.Errorf("half of a message has %d bytes", taken)
			}
		}
		c.say(0, &frame.Transfer{DeliveryID: frame.Some(0), DeliveryTag: []byte{0},
			MessageFormat: frame.Some(0), More: at+n < len(raw)}, raw[at:at+n]...)
	}
	if _, ok := await[*frame.Disposition](c).State.(*frame.Accepted); !ok {
		t.Fatal("the message is not accepted")
	}
	c.receiver(1, "q")
	c.credit(1, 0, 1, false)
	if _, m := c.delivered(); textOf(m) != string(body) {
		t.Error("another message is received")
	}
	c.hangUp()
	if left := r.left(); left != size {
		t.Errorf("%d bytes are kept", size-left)
	}
}
