package front

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/mayflydb/mayfly/ttl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// someTime is the time limit of every connection and wait in these tests.
const someTime = 20 * time.Second

// header is the protocol header with which a client begins an AMQP connection.
const header = "AMQP\x00\x01\x00\x00"

// farewell is the text that echo, the AMQP handler of these tests, sends when the server shuts down.
const farewell = "farewell"

// frontServerUnderTest is a MultiProtocolServer on a port of its own, with an HTTP client and a TLS
// configuration that trust it.
type frontServerUnderTest struct {
	t      *testing.T
	s      *MultiProtocolServer
	addr   string
	trust  *tls.Config
	client *http.Client
	served chan error
	closed bool
}

// open starts a MultiProtocolServer whose AMQP handler is echo and whose HTTP handler returns the path of the
// request. change can change its options.
func open(t *testing.T, change ...func(*Options)) *frontServerUnderTest {
	t.Helper()
	model := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	certificates, pool := model.TLS.Certificates, x509.NewCertPool()
	pool.AddCert(model.Certificate())
	model.Close()
	o := Options{AMQP: echo, TLS: &tls.Config{Certificates: certificates},
		HTTP: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.URL.Path)
		})}
	for _, fn := range change {
		fn(&o)
	}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &frontServerUnderTest{t: t, s: New(o), addr: ln.Addr().String(), served: make(chan error, 1),
		trust: &tls.Config{RootCAs: pool, ServerName: "example.com"}}
	d.client = &http.Client{Timeout: someTime, Transport: &http.Transport{TLSClientConfig: d.trust,
		ForceAttemptHTTP2: true}}
	go func() { d.served <- d.s.Serve(ln) }()
	t.Cleanup(func() {
		d.client.CloseIdleConnections()
		if !d.closed {
			d.shut(someTime)
		}
	})
	return d
}

// echo is an AMQP handler that sends everything back that it receives. When ctx ends it sends farewell,
// and returns when the client has closed the connection.
func echo(ctx context.Context, c net.Conn, idle func(bool)) error {
	idle(false)
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _, _ = io.WriteString(c, farewell) })
	defer stop()
	_, _ = io.Copy(c, c)
	return nil
}

// shut calls Shutdown with the time limit within, and returns its error.
func (d *frontServerUnderTest) shut(within time.Duration) error {
	d.t.Helper()
	d.closed = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.t.Context()), within)
	defer cancel()
	err := d.s.Shutdown(ctx)
	if err := <-d.served; err != nil {
		d.t.Error(err)
	}
	return err
}

// dial opens a connection to the server, with TLS if secure is set.
func (d *frontServerUnderTest) dial(secure bool) net.Conn {
	d.t.Helper()
	c, err := (&net.Dialer{}).DialContext(d.t.Context(), "tcp", d.addr)
	if err != nil {
		d.t.Fatal(err)
	}
	if secure {
		c = tls.Client(c, d.trust)
	}
	d.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(ttl.SystemClock{}.Now().Add(someTime))
	return c
}

// socket opens a WebSocket to the server at the given path with the given subprotocol, with TLS if secure
// is set.
func (d *frontServerUnderTest) socket(secure bool, path, protocol string) (net.Conn, *http.Response, error) {
	d.t.Helper()
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	// The context is that of the dial alone, and the response's body is nothing to close.
	c, res, err := websocket.Dial(d.t.Context(), scheme+d.addr+path,
		&websocket.DialOptions{Subprotocols: []string{protocol}, HTTPClient: d.client})
	if err != nil {
		return nil, res, err
	}
	if c.Subprotocol() != protocol {
		d.t.Errorf("the protocol %q is answered for %q", c.Subprotocol(), protocol)
	}
	d.t.Cleanup(func() { _ = c.CloseNow() })
	return websocket.NetConn(context.WithoutCancel(d.t.Context()), c, websocket.MessageBinary), res, nil
}

// says sends text on the connection c, whose server sends back everything that it receives. It fails the test
// unless the same text comes back.
func says(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	hears(t, c, text)
}

func hears(t *testing.T, c net.Conn, text string) {
	t.Helper()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Fatalf("heard %q, not %q: %v", got, text, err)
	}
}

func (d *frontServerUnderTest) get(url string) (int, string, error) {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		d.t.Fatal(err)
	}
	res, err := d.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

// TestProtocolsOnOnePort checks that one port serves AMQP, HTTP, and AMQP over WebSocket, each with and
// without TLS.
func TestProtocolsOnOnePort(t *testing.T) {
	d := open(t)
	for _, secure := range []bool{false, true} {
		says(t, d.dial(secure), header)
		scheme := map[bool]string{false: "http://", true: "https://"}[secure]
		status, path, err := d.get(scheme + d.addr + "/orders")
		if status != 200 || path != "/orders" || err != nil {
			t.Errorf("%s: %d %q %v", scheme, status, path, err)
		}
		for _, protocol := range []string{"AMQPWSB10", "amqp"} {
			for _, path := range []string{webSocketPath, webSocketPath + "/", "/$ServiceBus/WebSocket"} {
				c, _, err := d.socket(secure, path, protocol)
				if err != nil {
					t.Fatal(err)
				}
				says(t, c, header)
				// Frames of any size: a message of AMQP may be larger than what WebSockets take by default.
				says(t, c, strings.Repeat("x", 200_000))
			}
		}
	}
}

// TestFirstByte checks a server without TLS: it ends a connection that begins with a TLS handshake or with
// an unknown first byte, and continues to serve others.
func TestFirstByte(t *testing.T) {
	d := open(t, func(o *Options) { o.TLS = nil })
	if _, err := io.Copy(io.Discard, d.dial(true)); err == nil {
		t.Error("TLS is spoken without a certificate")
	}
	c := d.dial(false)
	if _, err := io.WriteString(c, "\x00\x01\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 400") {
		t.Errorf("nonsense is answered by %q, %v", b, err)
	}
	d.dial(false).Close() // it says nothing
	says(t, d.dial(false), header)
}

// TestAllowedOrigins checks that a web page of an allowed origin can open a WebSocket, and that requests and
// WebSockets of other origins get 403.
func TestAllowedOrigins(t *testing.T) {
	const friend = "http://localhost:3000"
	d := open(t, func(o *Options) {
		o.Admit = func(r *http.Request) bool {
			return slices.Contains([]string{"", friend},
				r.Header.Get("Origin"))
		}
	})
	c, _, err := websocket.Dial(t.Context(), "http://"+d.addr+webSocketPath, &websocket.DialOptions{
		Subprotocols: []string{"AMQPWSB10"}, HTTPHeader: http.Header{
			"Origin": {friend}}, HTTPClient: d.client})
	if err != nil {
		t.Fatal(err)
	}
	says(t, websocket.NetConn(t.Context(), c, websocket.MessageBinary), header)
	_ = c.CloseNow()
	for _, path := range []string{"/orders", webSocketPath} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+d.addr+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", "https://evil.example")
		res, err := d.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
}

// TestShutdown checks that Shutdown ends AMQP connections by a message of the handler, also over TLS and
// WebSockets, and closes connections whose clients have not begun a protocol.
func TestShutdown(t *testing.T) {
	d := open(t)
	silent, half := d.dial(false), d.dial(false)
	if _, err := half.Write([]byte{recordHandshake}); err != nil { // the handshake never goes on
		t.Fatal(err)
	}
	plain, secure := d.dial(false), d.dial(true)
	socket, _, err := d.socket(false, webSocketPath, "amqp")
	if err != nil {
		t.Fatal(err)
	}
	told := []net.Conn{plain, secure, socket}
	for _, c := range told {
		says(t, c, header)
	}
	done := make(chan error, 1)
	go func() { done <- d.shut(someTime) }()
	for _, c := range told {
		hears(t, c, farewell)
		c.Close()
	}
	for _, c := range []net.Conn{silent, half} {
		if b, err := io.ReadAll(c); len(b) > 0 || err != nil && !isReset(err) {
			t.Errorf("who has said nothing hears %q, %v", b, err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", d.addr); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
	// A listener that comes too late is closed.
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.s.Serve(ln); err != nil {
		t.Error(err)
	}
	if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a late listener is not closed: %v", err)
	}
}

func isReset(err error) bool {
	var network *net.OpError
	return errors.As(err, &network)
}

// TestShutdownWaits checks that Shutdown lets a running HTTP request continue until its context ends, and
// then aborts the request.
func TestShutdownWaits(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	d := open(t, func(o *Options) {
		o.HTTP = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			entered <- struct{}{}
			select {
			case <-leave:
				_, _ = io.WriteString(w, "done")
			case <-r.Context().Done():
			}
		})
	})
	answers := make(chan string, 2)
	ask := func() {
		_, text, err := d.get("http://" + d.addr + "/")
		if err != nil {
			text = "broken off"
		}
		answers <- text
	}
	go ask()
	<-entered
	leave <- struct{}{}
	if got := <-answers; got != "done" {
		t.Errorf("a request is answered by %q", got)
	}
	go ask()
	<-entered
	if err := d.shut(time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a shutdown that has to break off: %v", err)
	}
	if got := <-answers; got != "broken off" {
		t.Errorf("a request at the end is answered by %q", got)
	}
}

// TestConnectionLimit checks that a connection above the limit of connections waits until another one has
// ended.
func TestConnectionLimit(t *testing.T) {
	d := open(t, func(o *Options) { o.Most = 2 })
	first, second := d.dial(false), d.dial(false)
	says(t, first, header)
	says(t, second, header)
	third := d.dial(false)
	if _, err := io.WriteString(third, header); err != nil {
		t.Fatal(err)
	}
	_ = third.SetReadDeadline(ttl.SystemClock{}.Now().Add(20 * time.Millisecond))
	if n, err := third.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Error("there is one more connection than there may be")
	}
	_ = third.SetReadDeadline(ttl.SystemClock{}.Now().Add(someTime))
	first.Close()
	hears(t, third, header)
}

// TestShutdownOfStuckOperations checks that Shutdown returns ErrStuck if an operation does not end after
// it was aborted.
func TestShutdownOfStuckOperations(t *testing.T) {
	stuck := make(chan struct{})
	clock := ttl.NewManual(ttl.SystemClock{}.Now()) // the deadlines of connections are real
	d := open(t, func(o *Options) {
		o.Wall = clock
		o.AMQP = func(_ context.Context, c net.Conn, _ func(bool)) error {
			defer c.Close()
			_, err := io.WriteString(c, farewell)
			<-stuck
			return err
		}
	})
	c := d.dial(false)
	if _, err := io.WriteString(c, header); err != nil {
		t.Fatal(err)
	}
	hears(t, c, farewell)
	shut := make(chan error)
	go func() { shut <- d.shut(time.Millisecond) }()
	for ended := false; !ended; { // the clock moves until the shutdown looks at it
		clock.Advance(breakOff)
		select {
		case err := <-shut:
			if ended = true; !errors.Is(err, ErrStuck) {
				t.Errorf("a shutdown beside an operation that does not end: %v", err)
			}
		default:
			runtime.Gosched()
		}
	}
	close(stuck)
	d.s.work.Wait()
}
