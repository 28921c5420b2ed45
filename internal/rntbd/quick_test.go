package rntbd_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/mayflydb/mayfly/internal/rntbd"
)

// TestWaitingReadDoesNotBlock checks that a read of an item that has to wait does not delay the frames after
// it, and gets its response in the end.
func TestWaitingReadDoesNotBlock(t *testing.T) {
	may := make(chan struct{})
	l := greeted(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "waits" {
			select {
			case <-may:
			case <-r.Context().Done():
				t.Error("the read was broken off")
			}
		}
		respond(w, 200, r.Header.Get("X-Ms-Activity-Id"))
	}, func(o *rntbd.Options) { o.QuickReads = true })
	l.write(frame(1, create, []byte("{}"))) // shows a key
	l.read()
	for round := range 3 {
		l.write(frame(2, read, nil, waits))
		for id := range uint32(5) {
			l.write(frame(10+id, read, nil))
			if a := l.read(); a.Values[0x35] != uint64(10+id) {
				t.Fatalf("round %d: %v", round, a.Values)
			}
		}
		may <- struct{}{}
		if a := l.read(); a.Values[0x35] != uint64(2) || a.Status != 200 {
			t.Fatalf("round %d: %v", round, a.Values)
		}
	}
}

// TestWaitingReadOfClosedConnection checks that a read of an item that waits is canceled when its client
// closes the connection.
func TestWaitingReadOfClosedConnection(t *testing.T) {
	begun := make(chan struct{})
	l := greeted(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "waits" {
			done := r.Context().Done()
			close(begun)
			<-done
		}
		respond(w, 200, "{}")
	}, func(o *rntbd.Options) { o.QuickReads = true })
	l.write(frame(1, read, nil))
	l.read()
	l.write(frame(2, read, nil, waits))
	<-begun
	_ = l.c.Close()
	if err := <-l.ended; err != nil {
		t.Error(err)
	}
}

// TestArrivedBodyDoesNotBlock checks that a request whose body has arrived with its frame does not delay the
// next request, even if the handler has not read the body yet.
func TestArrivedBodyDoesNotBlock(t *testing.T) {
	may := make(chan struct{})
	l := greeted(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "waits" {
			<-may // before it reads its body
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		respond(w, 200, string(body))
	})
	l.write(append(frame(1, create, []byte("one"), waits), frame(2, create, []byte("two"))...))
	if a := l.read(); string(a.Body) != "two" {
		t.Errorf("%s", a.Body)
	}
	close(may)
	if a := l.read(); string(a.Body) != "one" {
		t.Errorf("%s", a.Body)
	}
}
