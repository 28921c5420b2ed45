package rntbd_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mayflydb/mayfly/internal/priority"
	"github.com/mayflydb/mayfly/internal/rntbd"
	"github.com/mayflydb/mayfly/internal/rntbdtest"
	"github.com/mayflydb/mayfly/ttl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testConn is a test's client connection to rntbd.Serve. drain ends the context of Serve, ended receives
// the result of Serve, and log is the server's log.
type testConn struct {
	t     *testing.T
	c     net.Conn
	drain context.CancelFunc
	ended chan error
	log   bytes.Buffer
}

const (
	document = 3
	create   = 1
	read     = 3
	readFeed = 4
)

// greeted opens a connection to a server with this handler, and exchanges the connection contexts, which
// are the first frame of each side. change modifies the options of the server.
func greeted(t *testing.T, handler http.HandlerFunc, change ...func(*rntbd.Options)) *testConn {
	t.Helper()
	l := dial(t, handler, change...)
	l.write(rntbdtest.Context())
	if a, err := rntbdtest.ReadContext(l.c); err != nil || a.Status != 200 || a.Activity != [16]byte{1} ||
		a.Values[2] != "mayfly" || a.Values[3] != "1.2" || a.Values[4] != uint64(1800) {
		t.Fatalf("%+v %v", a, err)
	}
	return l
}

// waits is the authorization token of a request that the handlers of some tests block.
var waits = rntbdtest.Text(0x01, "waits")

// wrong is the authorization token of a request that the handlers of the tests do not authorize.
var wrong = rntbdtest.Text(0x01, "wrong")

func dial(t *testing.T, handler http.HandlerFunc, change ...func(*rntbd.Options)) *testConn {
	t.Helper()
	l := &testConn{t: t, ended: make(chan error, 1)}
	o := rntbd.Options{Handler: served(handler), Life: t.Context(), MaxBody: 1 << 20, Most: 8,
		Agent: "mayfly", Version: "1.2", Logger: slog.New(slog.NewTextHandler(&l.log, nil)),
		Turns: priority.NewProcessTurnLimiter(ttl.SystemClock{})}
	for _, f := range change {
		f(&o)
	}
	client, server := net.Pipe()
	ctx, drain := context.WithCancel(t.Context())
	l.c, l.drain = client, drain
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.ended <- rntbd.Serve(ctx, server, o)
	}()
	t.Cleanup(func() {
		_ = client.Close()
		<-done
	})
	return l
}

func (l *testConn) write(b []byte) {
	l.t.Helper()
	if _, err := l.c.Write(b); err != nil {
		l.t.Fatal(err)
	}
}

func (l *testConn) read() *rntbdtest.Response {
	l.t.Helper()
	a, err := rntbdtest.Read(l.c)
	if err != nil {
		l.t.Fatal(err)
	}
	return a
}

// closed waits until the server has closed the connection, and returns the result of Serve. It fails the
// test if the server sends anything before that.
func (l *testConn) closed() error {
	l.t.Helper()
	if rest, err := io.ReadAll(l.c); err != nil || len(rest) > 0 {
		l.t.Errorf("there is more: %d bytes, %v", len(rest), err)
	}
	return <-l.ended
}

// frame returns the frame of a request for the item x in the container c of the database d. id is the
// number of the request, which its response repeats; a nil payload means that the request has no body.
func frame(id uint32, operation uint16, payload []byte, more ...rntbdtest.Token) []byte {
	present := byte(0)
	if payload != nil {
		present = 1
	}
	tokens := append([]rntbdtest.Token{rntbdtest.Flag(0x02, present), rntbdtest.Text(0x13, "/replicas/1p"),
		rntbdtest.Text(0x15, "d"), rntbdtest.Text(0x16, "c"), rntbdtest.Text(0x17, "x"),
		rntbdtest.Number(0x4D, id)}, more...)
	return rntbdtest.Frame(document, operation, [16]byte{15: byte(id)}, payload, tokens...)
}

// respond writes a response with its Content-Length. headers are names and values in turn.
func respond(w http.ResponseWriter, status int, body string, headers ...string) {
	for i := 0; i < len(headers); i += 2 {
		w.Header()[headers[i]] = []string{headers[i+1]}
	}
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// echo is a handler that responds with the text of the request: method, path, headers and body.
func echo(w http.ResponseWriter, r *http.Request) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.Method, r.RequestURI)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		own := []string{"X-Ms-Activity-Id", "X-Ms-Version", "User-Agent", cachedContainer}
		if !slices.Contains(own, name) {
			fmt.Fprintf(&b, "%s: %s\n", name, r.Header[name][0])
		}
	}
	if cached := r.Header.Get(cachedContainer); cached != "" {
		fmt.Fprintf(&b, "cached %s\n", cached)
	}
	body, _ := io.ReadAll(r.Body)
	if r.ContentLength != int64(len(body)) {
		b.WriteString("the length is wrong\n")
	}
	b.Write(body)
	respond(w, 200, b.String())
}

func TestRefusedFrames(t *testing.T) {
	l := greeted(t, echo, func(o *rntbd.Options) { o.MaxBody = 10 })
	for name, c := range map[string]struct {
		frame  []byte
		status int
	}{
		"an operation that nobody knows": {frame(1, 0x77, nil), 405},
		"a kind that nobody knows":       {rntbdtest.Frame(0x77, read, [16]byte{}, nil), 405},
		"no address":                     {rntbdtest.Frame(document, read, [16]byte{}, nil), 400},
		"half an address": {rntbdtest.Frame(document, read, [16]byte{}, nil, rntbdtest.Text(0x15, "d"),
			rntbdtest.Text(0x16, "c")), 400},
		"a short rid": {rntbdtest.Frame(document, read, [16]byte{}, nil,
			rntbdtest.Token{Type: rntbdtest.Bytes, Value: []byte{1}}), 400},
		"a body too long":   {frame(1, create, make([]byte, 11)), 413},
		"what is all right": {frame(1, create, make([]byte, 10)), 200},
	} {
		l.write(c.frame)
		a := l.read()
		if a.Status != c.status || c.status != 200 && !bytes.Contains(a.Body, []byte(`{"Errors":["`)) {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
}

// TestFragmentedFrames checks that the server reads a frame that arrives byte by byte, and two frames that
// arrive together.
func TestFragmentedFrames(t *testing.T) {
	l := greeted(t, echo, func(o *rntbd.Options) { o.Most = 1 })
	for _, b := range frame(1, create, []byte("one")) {
		l.write([]byte{b})
	}
	if a := l.read(); !bytes.HasSuffix(a.Body, []byte("one")) {
		t.Errorf("%s", a.Body)
	}
	go func() {
		_, _ = l.c.Write(append(frame(2, create, []byte("two")), frame(3, create, []byte("three"))...))
	}()
	for _, want := range []string{"two", "three"} {
		if a := l.read(); !bytes.HasSuffix(a.Body, []byte(want)) {
			t.Errorf("%s", a.Body)
		}
	}
}

// TestMaxConcurrentRequests checks that at most Options.Most requests of a connection are in progress at the
// same time, and that all their responses arrive complete.
func TestMaxConcurrentRequests(t *testing.T) {
	const most, all = 8, 40
	large := strings.Repeat("x", 200_000)
	begun, may := make(chan string, all), make(chan struct{})
	l := greeted(t, func(w http.ResponseWriter, r *http.Request) {
		begun <- r.Header.Get("X-Ms-Activity-Id")
		<-may
		respond(w, 200, large)
	}, func(o *rntbd.Options) { o.Most = most })
	go func() {
		for i := range all {
			if _, err := l.c.Write(frame(uint32(i), read, nil)); err != nil {
				return
			}
		}
	}()
	for range most {
		<-begun
	}
	if len(begun) > 0 {
		t.Errorf("more than %d are under way", most)
	}
	seen := map[any]bool{}
	close(may)
	for range all {
		a := l.read()
		if len(a.Body) != len(large) || seen[a.Values[0x35]] ||
			a.Activity[15] != byte(a.Values[0x35].(uint64)) {
			t.Fatalf("%v", a.Values)
		}
		seen[a.Values[0x35]] = true
	}
}

// TestUnparsableFrame checks that the server closes the connection after a frame that it cannot parse.
func TestUnparsableFrame(t *testing.T) {
	short := binary.LittleEndian.AppendUint32(nil, 23)
	long := binary.LittleEndian.AppendUint32(nil, 2<<20)
	endless := frame(1, create, []byte("x"))
	binary.LittleEndian.PutUint32(endless[len(endless)-5:], 1<<31)
	wrong := frame(1, read, nil)
	wrong[26] = 0x7F // the type of the first token
	cut := frame(1, read, nil)
	binary.LittleEndian.PutUint32(cut, uint32(len(cut)-2))
	for name, b := range map[string][]byte{"a short head": short, "a long head": long,
		"an endless body": endless, "a type that nobody knows": wrong,
		"half a token": cut} {
		t.Run(name, func(t *testing.T) {
			l := greeted(t, echo)
			go func() { _, _ = l.c.Write(b) }()
			if l.closed() == nil {
				t.Error("it was taken")
			}
		})
	}
}

// TestFirstFrame checks that the server responds with 400 and closes the connection if the first frame is
// not a connection context or has an unknown version.
func TestFirstFrame(t *testing.T) {
	newer := rntbdtest.Frame(0, 0, [16]byte{}, nil, rntbdtest.Number(0, 2))
	for name, b := range map[string][]byte{"a request": frame(1, read, nil),
		"a version that nobody knows": newer} {
		t.Run(name, func(t *testing.T) {
			l := dial(t, echo)
			l.write(b)
			got, err := io.ReadAll(l.c)
			if err != nil || len(got) < 28 || binary.LittleEndian.Uint32(got[4:]) != 400 ||
				binary.LittleEndian.Uint32(
					got,
				) != 24 || !bytes.Contains(got[28:], []byte(`{"Errors":["`)) {
				t.Errorf("%x %v", got, err)
			}
			if <-l.ended == nil {
				t.Error("it was taken")
			}
		})
	}
}

// TestDrain checks that, when the context of Serve ends, a request in progress gets its response before
// the connection is closed.
func TestDrain(t *testing.T) {
	begun, may := make(chan struct{}), make(chan struct{})
	l := greeted(t, func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-may
		if r.Context().Err() != nil {
			t.Error("the request was broken off")
		}
		respond(w, 200, "done")
	})
	l.write(frame(1, read, nil))
	<-begun
	l.drain()
	close(may)
	if a := l.read(); string(a.Body) != "done" {
		t.Errorf("%s", a.Body)
	}
	if err := l.closed(); err != nil {
		t.Error(err)
	}
}

// TestCancelOnDisconnect checks that the context of a request is canceled when the client closes the
// connection.
func TestCancelOnDisconnect(t *testing.T) {
	begun := make(chan struct{})
	l := greeted(t, func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
	})
	l.write(frame(1, read, nil))
	<-begun
	_ = l.c.Close()
	if err := <-l.ended; err != nil {
		t.Error(err)
	}
}

// TestHandlerPanicOrNoResponse checks that the connection is closed if a handler panics or sends no response,
// and that only a panic other than http.ErrAbortHandler is logged.
func TestHandlerPanicOrNoResponse(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		logged  bool
	}{
		"its handler gives up": {func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		}, false},
		"its handler fails":         {func(http.ResponseWriter, *http.Request) { panic("a defect") }, true},
		"its handler sends nothing": {func(http.ResponseWriter, *http.Request) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := greeted(t, c.handler)
			l.write(frame(1, read, nil))
			_ = l.closed()
			if logged := strings.Contains(l.log.String(), "a defect"); logged != c.logged {
				t.Errorf("%s", l.log.String())
			}
		})
	}
}

// FuzzFrames sends random bytes to the server, and reads its responses until the connection ends. The
// server must not panic.
func FuzzFrames(f *testing.F) {
	f.Add(frame(1, create, []byte("{}")))
	f.Add(append(frame(1, readFeed, nil, rntbdtest.Text(0x05, "0:-1#3")), frame(2, 0x77, nil)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		l := greeted(t, echo)
		go func() {
			_, _ = l.c.Write(b)
			_ = l.c.Close()
		}()
		for {
			if _, err := rntbdtest.Read(l.c); err != nil {
				return
			}
		}
	})
}
