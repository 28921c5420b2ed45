//go:build unix

package bus

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"syscall"
	"testing"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// The benchmarks of messages over AMQP run the server as "mayfly serve" does, over TCP, with a client that
// writes frames that it has encoded before. Each reports the processor time of a message, which includes the
// client's. links is the number of links; ahead is the number of messages of a link that are sent, or
// settled, without waiting for an answer.

type benchServer struct {
	b       *testing.B
	ctx     context.Context
	q       *queue.Queues
	address string
}

func newBenchServer(b *testing.B, memory bool) *benchServer {
	b.Helper()
	w := &benchServer{b: b, ctx: context.WithoutCancel(b.Context()), q: queue.New(queue.Options{})}
	o := pebble.Options{Memory: memory}
	if !memory {
		o.Dir = b.TempDir()
	}
	e, err := pebble.Open(w.ctx, o)
	w.must(err)
	h, err := host.Open(w.ctx, e, host.Options{}, w.q.Tenant())
	w.must(err)
	bus := New(Options{Queues: w.q, Guard: access.New(access.TokenVerifierOptions{Mode: access.Off}),
		Faults: inject.New(w.q.Now), Requests: requestlog.New(16 << 20)})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	w.address = ln.Addr().String()
	served := make(chan error, 1)
	go func() {
		c, err := ln.Accept()
		if err == nil {
			err = amqp.Serve(w.ctx, c, bus.Options())
		}
		served <- err
	}()
	b.Cleanup(func() {
		w.must(<-served)
		w.must(ln.Close())
		w.must(h.Close())
	})
	p := entity.Defaults(entity.Queue)
	p.MaxSizeMB = 80 << 10
	_, err = w.q.Create(w.ctx, entity.Queue, "q", p)
	w.must(err)
	return w
}

func (w *benchServer) must(err error) {
	w.b.Helper()
	if err != nil {
		w.b.Fatal(err)
	}
}

// fill stores n messages in the queue of the benchmark.
func (w *benchServer) fill(n int) {
	for ; n > 0; n -= 500 {
		list := make([]*message.Message, min(n, 500))
		for i := range list {
			list[i] = benchMessage(i)
		}
		w.must(w.q.Send(w.ctx, entity.Address{Entity: "q"}, list, nil))
	}
}

func benchMessage(i int) *message.Message {
	m := message.New(make([]byte, 200))
	m.SetText(message.MessageID, fmt.Sprintf("message-%08d", i))
	m.SetString("kind", "benchmark")
	return m
}

// benchmarkClient is an AMQP client for benchmarks, with one connection and one session.
type benchmarkClient struct {
	w    *benchServer
	conn net.Conn
	in   *bufferedReader
	r    *frame.Reader
	out  []byte
}

func (w *benchServer) dial() *benchmarkClient {
	conn, err := net.Dial("tcp", w.address)
	w.must(err)
	in := &bufferedReader{from: conn}
	c := &benchmarkClient{w: w, conn: conn, in: in, r: frame.NewReader(in, 1<<20)}
	w.b.Cleanup(func() { conn.Close() })
	header := frame.HeaderAMQP()
	_, err = conn.Write(header[:])
	w.must(err)
	_, err = c.r.ProtocolHeader()
	w.must(err)
	c.say(&frame.Open{ContainerID: "bench", Hostname: "localhost", MaxFrameSize: 64 << 10, ChannelMax: 1})
	c.say(&frame.Begin{IncomingWindow: 1 << 30, OutgoingWindow: 1 << 30, HandleMax: 100})
	c.flush()
	return c
}

// bufferedReader reads from a connection through a buffer of 64 KB, so that one system call reads many
// frames.
type bufferedReader struct {
	from net.Conn
	buf  [64 << 10]byte
	at   []byte
}

func (r *bufferedReader) Read(b []byte) (int, error) {
	if len(r.at) == 0 {
		n, err := r.from.Read(r.buf[:])
		if r.at = r.buf[:n]; err != nil {
			return 0, err
		}
	}
	n := copy(b, r.at)
	r.at = r.at[n:]
	return n, nil
}

func (c *benchmarkClient) say(body frame.Body) { c.out = frame.Append(c.out, 0, body, nil) }

func (c *benchmarkClient) flush() {
	if len(c.out) > 0 {
		_, err := c.conn.Write(c.out)
		c.w.must(err)
		c.out = c.out[:0]
	}
}

// next returns the next frame that arrives. Before it waits for one, it sends everything that is buffered.
func (c *benchmarkClient) next() (frame.Body, []byte) {
	if len(c.in.at) == 0 {
		c.flush()
	}
	f, err := c.r.Next()
	c.w.must(err)
	body, payload, err := frame.Parse(f.Body)
	c.w.must(err)
	return body, payload
}

// measure runs a benchmark and reports the processor time of the process per message.
func (w *benchServer) measure(run func()) {
	w.b.ReportAllocs()
	w.b.ResetTimer()
	before := processorTime()
	run()
	w.b.StopTimer()
	w.b.ReportMetric(float64(processorTime()-before)/float64(w.b.N), "cpu-us/op")
}

// processorTime returns the processor time that this process has used, in microseconds.
func processorTime() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return int64(u.Utime.Sec+u.Stime.Sec)*1e6 + int64(u.Utime.Usec) + int64(u.Stime.Usec)
}

func BenchmarkSend(b *testing.B)    { eachSetup(b, benchSend) }
func BenchmarkReceive(b *testing.B) { eachSetup(b, benchReceive) }

func eachSetup(b *testing.B, run func(b *testing.B, memory bool, links, ahead int)) {
	for _, memory := range []bool{true, false} {
		for _, links := range []int{1, 8} {
			for _, ahead := range []int{1, 100} {
				place := "disk"
				if memory {
					place = "memory"
				}
				b.Run(fmt.Sprintf("%s/links=%d/ahead=%d", place, links, ahead), func(b *testing.B) {
					run(b, memory, links, ahead)
				})
			}
		}
	}
}

func benchSend(b *testing.B, memory bool, links, ahead int) {
	w := newBenchServer(b, memory)
	c := w.dial()
	for i := range links {
		c.say(&frame.Attach{Name: fmt.Sprint(i), Handle: uint32(i), SndSettleMode: frame.SenderMixed,
			Source: source("here"), Target: target("q"), InitialDeliveryCount: frame.Some(0)})
	}
	for credits := 0; credits < links; {
		if f, ok := first[*frame.Flow](c.next()); ok && f.LinkCredit.Set {
			credits++
		}
	}
	payload := benchMessage(1).AppendBare(nil)
	left, sent, done := make([]int, links), 0, 0
	of := make([]uint8, b.N+1)
	send := func(link int) {
		if sent == b.N {
			return
		}
		var tag [4]byte
		binary.BigEndian.PutUint32(tag[:], uint32(sent))
		of[sent] = uint8(link)
		c.out = frame.Append(c.out, 0, &frame.Transfer{Handle: uint32(link),
			DeliveryID: frame.Some(uint32(sent)), DeliveryTag: tag[:], MessageFormat: frame.Some(0)}, payload)
		sent++
		left[link]++
	}
	w.measure(func() {
		for i := range links {
			for range ahead {
				send(i)
			}
		}
		for done < b.N {
			d, ok := first[*frame.Disposition](c.next())
			if !ok {
				continue
			}
			for id := d.First; id <= d.Last.Or(d.First); id++ {
				done++
				send(int(of[id]))
			}
		}
	})
	c.conn.Close()
}

func benchReceive(b *testing.B, memory bool, links, ahead int) {
	w := newBenchServer(b, memory)
	w.fill(b.N + 200*links)
	c := w.dial()
	for i := range links {
		c.say(&frame.Attach{Name: fmt.Sprint(i), Handle: uint32(i), Receiver: true,
			SndSettleMode: frame.SenderUnsettled, RcvSettleMode: frame.ReceiverFirst, Source: source("q"),
			Target: target("here")})
	}
	const prefetch = 100
	credit := func(link, got, has int) {
		c.say(&frame.Flow{NextIncomingID: frame.Some(0), IncomingWindow: 1 << 30, OutgoingWindow: 1 << 30,
			Handle: frame.Some(uint32(link)), DeliveryCount: frame.Some(uint32(got)),
			LinkCredit: frame.Some(uint32(max(0, prefetch-has)))})
	}
	got, waiting, settling := make([]int, links), make([][]uint32, links), make([]int, links)
	settled := make([]int, links)
	of := make([]uint8, b.N+300*links)
	done := 0
	settle := func(link int) {
		for len(waiting[link]) > 0 && settling[link] < ahead {
			id := waiting[link][0]
			waiting[link] = waiting[link][1:]
			settling[link]++
			c.say(&frame.Disposition{Receiver: true, First: id, Last: frame.Some(id),
				State: &frame.Accepted{}})
		}
	}
	w.measure(func() {
		for i := range links {
			credit(i, 0, 0)
		}
		for done < b.N {
			switch f, _ := c.next(); f := f.(type) {
			case *frame.Transfer:
				link := int(f.Handle)
				of[f.DeliveryID.Value] = uint8(link)
				waiting[link] = append(waiting[link], f.DeliveryID.Value)
				got[link]++
				settle(link)
			case *frame.Disposition:
				for id := f.First; id <= f.Last.Or(f.First); id++ {
					link := int(of[id])
					settling[link]--
					done++
					settle(link)
					if settled[link]++; settled[link]%(prefetch/2) == 0 {
						credit(link, got[link], len(waiting[link])+settling[link])
					}
				}
			}
		}
	})
	c.conn.Close()
}

// first returns the frame body as the type B; ok is false if it has another type.
func first[B frame.Body](body frame.Body, _ []byte) (B, bool) {
	b, ok := body.(B)
	return b, ok
}
