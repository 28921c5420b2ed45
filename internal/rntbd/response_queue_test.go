package rntbd

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// TestResponseQueue checks that responses which are ready at the same time are sent by one write, in their
// order, and that adding a response does not wait for a write in progress.
func TestResponseQueue(t *testing.T) {
	client, server := net.Pipe()
	var o responseQueue
	o.init(server)
	for _, one := range []string{"a", "b", "c"} {
		if err := o.add([]byte(one), false); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	all.Go(func() {
		if err := o.flush(); err != nil {
			t.Error(err)
		}
	})
	b := make([]byte, 10)
	if n, err := client.Read(b[:1]); string(b[:n]) != "a" || err != nil { // the write goes on
		t.Fatalf("%q %v", b[:n], err)
	}
	for range 4 { // none of them waits for the client
		if err := o.add([]byte("d"), true); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"bc", "dddd"} {
		if n, err := client.Read(b); string(b[:n]) != want || err != nil {
			t.Fatalf("%q %v", b[:n], err)
		}
	}
	all.Wait()
}

// TestResponseQueueLimit checks that at most maxGathered bytes of responses wait for a client that does not
// read, and that adding the others fails when the connection is closed.
func TestResponseQueueLimit(t *testing.T) {
	client, server := net.Pipe()
	var o responseQueue
	o.init(server)
	const each, count = 10 << 10, 20
	errs := make(chan error, count)
	var all sync.WaitGroup
	for range count {
		all.Go(func() { errs <- o.add(make([]byte, each), true) })
	}
	if _, err := io.ReadFull(client, make([]byte, each)); err != nil {
		t.Fatal(err)
	}
	o.mu.Lock()
	if n := len(o.ready); n > maxGathered {
		t.Errorf("%d bytes wait", n)
	}
	o.mu.Unlock()
	_ = client.Close()
	all.Wait()
	failed := 0
	for range count {
		if <-errs != nil {
			failed++
		}
	}
	if failed == 0 || !errors.Is(o.flush(), io.ErrClosedPipe) {
		t.Errorf("%d answers failed, %v", failed, o.flush())
	}
}

// TestResponseQueueLargeResponse checks that no other response is sent between the parts of a large response
// that is written in several parts.
func TestResponseQueueLargeResponse(t *testing.T) {
	client, server := net.Pipe()
	var o responseQueue
	o.init(server)
	go func() {
		_ = o.add([]byte("first "), false)
		if o.begin() == nil {
			_ = o.add([]byte(" last"), true)
			_ = o.write([]byte("lar"))
			_ = o.end(o.write([]byte("ge")))
		}
		_ = server.Close()
	}()
	var b strings.Builder
	if _, err := io.Copy(&b, client); err != nil || b.String() != "first large last" {
		t.Errorf("%q %v", b.String(), err)
	}
}
