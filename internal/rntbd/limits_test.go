package rntbd_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/rntbd"
	"github.com/mayflydb/mayfly/internal/rntbdtest"
	"github.com/mayflydb/mayfly/ttl"
)

// TestPayloadWaits: the payload of a request that is refused is not waited for; what comes of it is passed
// over.
func TestPayloadWaits(t *testing.T) {
	l := greeted(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			respond(w, 401, "no")
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		respond(w, 200, string(body))
	})
	payload := []byte(strings.Repeat("x", 1000))
	f := frame(1, create, payload)
	l.write(f[:len(f)-len(payload)])
	if a := l.read(); a.Status != 401 {
		t.Errorf("a request without a key is answered with %d", a.Status)
	}
	l.write(payload)
	l.write(frame(2, create, payload, rntbdtest.Text(0x01, "key")))
	if a := l.read(); a.Status != 200 || string(a.Body) != string(payload) {
		t.Errorf("the next request is answered with %d %q", a.Status, a.Body)
	}
}

// TestFirstPayload: a connection's first frame that is no context is refused without its payload.
func TestFirstPayload(t *testing.T) {
	l := dial(t, echo)
	payload := make([]byte, 1000)
	f := frame(1, create, payload)
	l.write(f[:len(f)-len(payload)])
	if a, err := rntbdtest.ReadContext(l.c); err == nil && a.Status != 400 {
		t.Errorf("the answer is %+v", a)
	}
	_, _ = io.Copy(io.Discard, l.c)
	if err := <-l.ended; !errors.Is(err, rntbd.ErrProtocol) {
		t.Error(err)
	}
	l.ended <- nil
}

// TestEarlyHead: the head of a frame is short until a request has shown a key.
func TestEarlyHead(t *testing.T) {
	long := func(id uint32) []byte {
		return frame(id, read, nil, rntbdtest.Text(0x01, strings.Repeat("k", 40_000)),
			rntbdtest.Text(0x03, strings.Repeat("c", 40_000)))
	}
	ok := func(w http.ResponseWriter, _ *http.Request) { respond(w, 200, "{}") }
	l := greeted(t, ok)
	l.write(frame(1, read, nil))
	l.read()
	l.write(long(2))
	if a := l.read(); a.Status != 200 {
		t.Errorf("a long head is answered with %d", a.Status)
	}
	l = greeted(t, ok)
	l.write(binary.LittleEndian.AppendUint32(nil, 80_000))
	if err := l.closed(); err == nil {
		t.Error("a long head is read before a key")
	}
	l.ended <- nil
}

// TestBacklog: a client that takes no answers has few of them waiting.
func TestBacklog(t *testing.T) {
	var begun atomic.Int64
	l := greeted(t, func(w http.ResponseWriter, _ *http.Request) {
		begun.Add(1)
		respond(w, 200, strings.Repeat("x", 10_000))
	}, func(o *rntbd.Options) { o.Most = 256 })
	l.write(frame(1, read, nil))
	l.read() // a key is shown
	_ = l.c.SetWriteDeadline(ttl.Real{}.Now().Add(500 * time.Millisecond))
	sent := 0
	for ; sent < 256; sent++ {
		if _, err := l.c.Write(frame(uint32(sent), read, nil)); err != nil {
			break
		}
	}
	if n := begun.Load(); n < 10 || n > 70 || sent > 200 {
		t.Errorf("of %d requests %d are begun whose answers nobody takes", sent, n)
	}
}
