package rntbd_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/rntbd"
	"github.com/mayflydb/mayfly/internal/rntbdtest"
	"github.com/mayflydb/mayfly/ttl"
)

// TestRefusalBeforeBodyArrives checks that a request without a key is refused before its body has arrived,
// and that the body is skipped when it arrives later, so that the next frame is read correctly.
func TestRefusalBeforeBodyArrives(t *testing.T) {
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

// TestFirstFrameWithBody checks that the server refuses a connection whose first frame is a request, not a
// connection context, without waiting for the body of that frame.
func TestFirstFrameWithBody(t *testing.T) {
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

// TestLargeHeadBeforeAuthorization checks that the server accepts a frame with a head of 80 KB after a
// request on the connection has been authorized, and closes the connection if such a frame comes before that.
func TestLargeHeadBeforeAuthorization(t *testing.T) {
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

// TestBacklog checks that the server stops starting requests of a client that does not read its responses,
// after a few of them.
func TestBacklog(t *testing.T) {
	var begun atomic.Int64
	l := greeted(t, func(w http.ResponseWriter, _ *http.Request) {
		begun.Add(1)
		respond(w, 200, strings.Repeat("x", 10_000))
	}, func(o *rntbd.Options) { o.Most = 256 })
	l.write(frame(1, read, nil))
	l.read() // a key is shown
	_ = l.c.SetWriteDeadline(ttl.SystemClock{}.Now().Add(500 * time.Millisecond))
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

// TestConcurrencyBeforeAuthorization checks that a connection serves one request at a time until a request
// has been authorized, and several at a time as soon as one has been, even before its response is sent.
func TestConcurrencyBeforeAuthorization(t *testing.T) {
	begun, leave := make(chan string, 8), make(chan struct{})
	var running atomic.Int32
	l := greeted(t, func(w http.ResponseWriter, r *http.Request) {
		if running.Add(1) > 1 && r.Header["Authorization"][0] == "wrong" {
			t.Error("two requests without a key are in progress")
		}
		begun <- r.Header["Authorization"][0]
		<-leave
		running.Add(-1)
		if r.Header["Authorization"][0] == "wrong" {
			respond(w, 401, "no")
			return
		}
		respond(w, 404, "{}")
	})
	const refused = 3
	var frames []byte
	for id := range uint32(refused) {
		frames = append(frames, frame(id, create, nil, wrong)...)
	}
	for id := range uint32(2) {
		frames = append(frames, frame(refused+id, create, nil, rntbdtest.Text(0x01, "key"))...)
	}
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() {
		if _, err := l.c.Write(frames); err != nil {
			t.Error(err)
		}
	})
	work.Go(func() {
		for range refused {
			if got := <-begun; got != "wrong" {
				t.Errorf("%s has begun", got)
			}
			leave <- struct{}{}
		}
		for range 2 { // both are in progress: neither has been answered
			if got := <-begun; got != "key" {
				t.Errorf("%s has begun", got)
			}
		}
		close(leave)
	})
	answers := map[int]int{}
	for range refused + 2 {
		answers[l.read().Status]++
	}
	if answers[401] != refused || answers[404] != 2 {
		t.Errorf("the statuses are %v", answers)
	}
}
