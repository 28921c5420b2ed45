package httpapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/mayflydb/mayfly/ttl"
)

// client2 returns a client that speaks only HTTP/2: over TLS by ALPN, otherwise by prior knowledge.
func (s *listeningServer) client2(t *testing.T) *http.Client {
	t.Helper()
	p := new(http.Protocols)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	transport := &http.Transport{TLSClientConfig: s.conf.Clone(), Protocols: p}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	s := serve(t, true, Options{NoAuth: true})
	old := s.client()
	// net/http's client takes a connection to the same address for either scheme: so each has its own.
	clients := map[string]*http.Client{"http": s.client2(t), "https": s.client2(t)}
	for range 2 { // the second round reuses the connections
		for scheme, client := range clients {
			r, err := client.Get(scheme + "://" + s.addr + "/")
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Fatal(err)
			}
			var account struct {
				WritableLocations []struct{ DatabaseAccountEndpoint string }
			}
			if err := json.Unmarshal(body, &account); err != nil || r.StatusCode != 200 || r.ProtoMajor != 2 {
				t.Fatalf("%s: %s %s %s", scheme, r.Proto, r.Status, body)
			}
			if secure := r.TLS != nil; secure != (scheme == "https") {
				t.Errorf("%s: encrypted is %v", scheme, secure)
			}
			if got := account.WritableLocations[0].DatabaseAccountEndpoint; got != scheme+"://"+s.addr+"/" {
				t.Errorf("%s: the account sends clients to %s", scheme, got)
			}
			if status, _ := get(t, old, scheme+"://"+s.addr+"/"); status != 200 {
				t.Errorf("%s: status %d over HTTP/1.1 on the same port", scheme, status)
			}
		}
	}
	for _, client := range clients {
		client.CloseIdleConnections()
	}
	old.CloseIdleConnections()
	s.stop()
}

// rawHTTP2Conn is a client's HTTP/2 connection on which a test writes single frames.
type rawHTTP2Conn struct {
	t       *testing.T
	conn    net.Conn
	framer  *http2.Framer
	encoder *hpack.Encoder
	head    bytes.Buffer
	next    uint32 // the next stream's id
}

// dial2 opens an HTTP/2 connection without TLS. It also returns the server's first settings.
func dial2(t *testing.T, addr string, settings ...http2.Setting) (*rawHTTP2Conn, *http2.SettingsFrame) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	r := &rawHTTP2Conn{t: t, conn: conn, framer: http2.NewFramer(conn, conn), next: 1}
	r.encoder = hpack.NewEncoder(&r.head)
	if err := conn.SetDeadline(ttl.SystemClock{}.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := r.framer.WriteSettings(settings...); err != nil {
		t.Fatal(err)
	}
	f, err := r.framer.ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	first, ok := f.(*http2.SettingsFrame)
	if !ok {
		t.Fatalf("the server begins with %v", f)
	}
	return r, first
}

// request opens a stream, sends a request's headers, and the end of the body if end is set.
func (r *rawHTTP2Conn) request(method, path string, end bool, headers ...string) (stream uint32, err error) {
	return r.send(end, append([]string{":method", method, ":scheme", "http", ":authority", "localhost",
		":path", path}, headers...)...)
}

// send opens a stream and sends header fields, given as pairs of names and values. end says that no body
// follows. It returns the stream's id, or an error of the connection.
func (r *rawHTTP2Conn) send(end bool, fields ...string) (stream uint32, err error) {
	r.head.Reset()
	for i := 0; i < len(fields); i += 2 {
		if err := r.encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			r.t.Fatal(err)
		}
	}
	stream, r.next = r.next, r.next+2
	const most = 16 << 10 // the least of a frame's limits
	head := r.head.Bytes()
	first := head[:min(most, len(head))]
	err = r.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: first,
		EndStream: end, EndHeaders: len(first) == len(head)})
	for head = head[len(first):]; len(head) > 0 && err == nil; {
		part := head[:min(most, len(head))]
		head = head[len(part):]
		err = r.framer.WriteContinuation(stream, len(head) == 0, part)
	}
	return stream, err
}

// until reads frames until wanted returns true for one. It returns an error if the connection ends before.
func (r *rawHTTP2Conn) until(wanted func(http2.Frame) bool) error {
	for {
		f, err := r.framer.ReadFrame()
		if err != nil {
			return err
		}
		if wanted(f) {
			return nil
		}
	}
}

// parked returns a server whose readiness probe waits until release is called. It also returns the number
// of probes that are running, and the largest number that have been running at once.
func parked(t *testing.T) (s *listeningServer, running, most *atomic.Int64, release func()) {
	running, most = new(atomic.Int64), new(atomic.Int64)
	gate := make(chan struct{})
	s = serve(t, true, Options{NoAuth: true, Ready: func(ctx context.Context) error {
		now := running.Add(1)
		defer running.Add(-1)
		for before := most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
		}
		<-gate // it does not look at ctx: work that has begun is done
		return nil
	}})
	return s, running, most, func() { close(gate) }
}

// TestRapidResets checks the defence against HTTP/2 rapid reset: a client that opens and resets streams
// quickly causes no more concurrent work than the limit of streams, and its connection is closed.
func TestRapidResets(t *testing.T) {
	t.Parallel()
	s, _, most, release := parked(t)
	r, _ := dial2(t, s.addr)
	calm := make(chan error, 1)
	go func() {
		calm <- r.until(func(f http2.Frame) bool {
			away, ok := f.(*http2.GoAwayFrame)
			return ok && away.ErrCode == http2.ErrCodeEnhanceYourCalm
		})
	}()
	for range 10 * maxStreams {
		stream, err := r.request("GET", "/_mayfly/readyz", true)
		if err == nil {
			err = r.framer.WriteRSTStream(stream, http2.ErrCodeCancel)
		}
		if err != nil {
			break // the server has gone
		}
	}
	if err := <-calm; err != nil {
		t.Errorf("not sent away: %v", err)
	}
	release()
	s.stop()
	if n := most.Load(); n == 0 || n > maxStreams {
		t.Errorf("%d requests ran at once, the limit is %d", n, maxStreams)
	}
}

func TestConcurrentStreams(t *testing.T) {
	t.Parallel()
	s, _, most, release := parked(t)
	r, settings := dial2(t, s.addr)
	if n, ok := settings.Value(http2.SettingMaxConcurrentStreams); !ok || n != maxStreams {
		t.Errorf("the limit told is %d", n)
	}
	// A server that has not seen its settings acknowledged forgives; so acknowledge.
	if err := r.framer.WriteSettingsAck(); err != nil {
		t.Fatal(err)
	}
	for range maxStreams + 1 {
		if _, err := r.request("GET", "/_mayfly/readyz", true); err != nil {
			t.Fatal(err)
		}
	}
	last := r.next - 2
	if err := r.until(func(f http2.Frame) bool {
		reset, ok := f.(*http2.RSTStreamFrame)
		return ok && reset.StreamID == last && reset.ErrCode == http2.ErrCodeRefusedStream || ok &&
			reset.ErrCode == http2.ErrCodeProtocol
	}); err != nil {
		t.Errorf("the stream beyond the limit was not refused: %v", err)
	}
	release()
	s.stop()
	if n := most.Load(); n > maxStreams {
		t.Errorf("%d requests ran at once", n)
	}
}

func TestHeadersOfHTTP2(t *testing.T) {
	t.Parallel() // a client waits for seconds
	s := serve(t, true, Options{NoAuth: true})
	for size, want := range map[int]int{maxHeader / 2: 200, 2 * maxHeader: 431} {
		q, err := http.NewRequest("GET", "https://"+s.addr+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("x-long", strings.Repeat("x", size))
		client := s.client2(t)
		r, err := client.Do(q)
		if err != nil { // net/http does not send what the server has said it refuses
			if want == 200 {
				t.Error(err)
			}
			continue
		}
		_ = r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("a head of %d bytes: %s", size, r.Status)
		}
	}
	r, _ := dial2(t, s.addr) // a client that does not care
	stream, err := r.request("GET", "/", true, "x-long", strings.Repeat("x", 2*maxHeader))
	if err != nil {
		t.Fatal(err)
	}
	decoder, status := hpack.NewDecoder(4096, nil), ""
	err = r.until(func(f http2.Frame) bool {
		switch f := f.(type) {
		case *http2.HeadersFrame:
			fields, err := decoder.DecodeFull(f.HeaderBlockFragment())
			if err == nil && f.StreamID == stream && len(fields) > 0 {
				status = fields[0].Value
			}
			return true
		case *http2.GoAwayFrame:
			status = "goaway " + strconv.Itoa(int(f.ErrCode))
			return true
		}
		return false
	})
	if err != nil || status != "431" && !strings.HasPrefix(status, "goaway") {
		t.Errorf("a head of %d bytes: %s, %v", 2*maxHeader, status, err)
	}
}

// brief sets all time limits of a server's connections. It must be called before the first connection.
func (s *listeningServer) brief(limit time.Duration) {
	s.srv.http.ReadHeaderTimeout, s.srv.http.ReadTimeout = limit, limit
	s.srv.http.WriteTimeout, s.srv.http.IdleTimeout = limit, limit
	s.srv.http.HTTP2.WriteByteTimeout = limit
}

// TestSlowClientsOfHTTP2 checks that connections on which the client stops after the TLS handshake, amid
// the HTTP/2 preface or before a request are closed after the time limit.
func TestSlowClientsOfHTTP2(t *testing.T) {
	t.Parallel()
	// The limits are long enough for the handshake on a busy machine, and pass for all of them at once.
	s := serveWith(t, true, Options{NoAuth: true}, func(s *listeningServer) { s.brief(2 * time.Second) })
	conf := s.conf.Clone()
	conf.NextProtos = []string{"h2"}
	var all sync.WaitGroup
	for name, said := range map[string]string{
		"nothing after the handshake": "", "half a preface": http2.ClientPreface[:10], "no settings": http2.ClientPreface,
		"nothing after the settings": http2.ClientPreface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00",
	} {
		all.Go(func() {
			conn, err := tls.Dial("tcp", s.addr, conf)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			defer conn.Close()
			if err := conn.SetDeadline(ttl.SystemClock{}.Now().Add(30 * time.Second)); err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(conn, said) // the server may hang up before
			_, err = io.Copy(io.Discard, conn)
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				t.Errorf("%s: the connection is still open", name)
			}
		})
	}
	all.Wait()
	s.stop()
}

// TestDeadlinesOfHTTP2 checks the time limits of HTTP/2 streams: a body that does not arrive ends with a
// response, and a response that is not read ends with a reset. Other streams of the connection continue.
func TestDeadlinesOfHTTP2(t *testing.T) {
	t.Parallel() // it waits most of the time
	s := serveWith(t, false, Options{NoAuth: true}, func(s *listeningServer) { s.brief(2 * time.Second) })
	r, _ := dial2(t, s.addr, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
	waiting, err := r.request("POST", "/dbs", false, "content-length", "20")
	if err != nil {
		t.Fatal(err)
	}
	unread, err := r.request("GET", "/", true)
	if err != nil {
		t.Fatal(err)
	}
	decoder, answered, reset := hpack.NewDecoder(4096, nil), "", false
	err = r.until(func(f http2.Frame) bool {
		switch f := f.(type) {
		case *http2.HeadersFrame:
			fields, err := decoder.DecodeFull(f.HeaderBlockFragment())
			if err != nil {
				t.Error(err)
			}
			if f.StreamID == waiting && len(fields) > 0 {
				answered = fields[0].Value
			}
		case *http2.RSTStreamFrame:
			reset = reset || f.StreamID == unread
			if f.StreamID == waiting && answered == "" {
				answered = "reset"
			}
		}
		return answered != "" && reset
	})
	if err != nil {
		t.Errorf("body: %q, answer reset: %v, %v", answered, reset, err)
	}
}

// TestShutdownDrainsHTTP2 checks that Shutdown waits for HTTP/2 requests in progress and accepts no
// others.
func TestShutdownDrainsHTTP2(t *testing.T) {
	t.Parallel()
	entered, gate := make(chan struct{}, 8), make(chan struct{})
	s := serve(t, true, Options{NoAuth: true, Ready: func(context.Context) error {
		entered <- struct{}{}
		<-gate
		return nil
	}})
	clients, answered := map[string]*http.Client{"http": s.client2(t), "https": s.client2(t)}, make(chan int,
		2)
	for scheme, client := range clients {
		go func() {
			status, _ := get(t, client, scheme+"://"+s.addr+"/_mayfly/readyz")
			answered <- status
		}()
	}
	<-entered
	<-entered
	ended := make(chan struct{})
	go func() {
		s.stop()
		close(ended)
	}()
	<-s.srv.draining.Done()
	close(gate)
	for range 2 {
		if status := <-answered; status != 200 {
			t.Errorf("status %d for a request under way", status)
		}
	}
	<-ended
	for _, client := range clients {
		client.CloseIdleConnections()
	}
}
