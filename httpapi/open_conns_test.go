package httpapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// keepAliveHTTPClientConn is a client's HTTP/1.1 connection that stays open between requests.
type keepAliveHTTPClientConn struct {
	net.Conn
	in *bufio.Reader
}

func dialKeepAlive(t *testing.T, addr string) *keepAliveHTTPClientConn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &keepAliveHTTPClientConn{conn, bufio.NewReader(conn)}
}

// ask sends a GET for path and returns the status of the response, or 0 if the connection is closed.
func (k *keepAliveHTTPClientConn) ask(path string) int {
	if _, err := io.WriteString(k, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return 0
	}
	r, err := http.ReadResponse(k.in, nil)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	return r.StatusCode
}

// awaitIdle waits until all open connections but one are idle. A client receives the last byte of a
// response a little before the server records its connection as idle.
func (s *openConns) awaitIdle() {
	for working := 2; working > 1; runtime.Gosched() {
		working = 0
		s.mu.Lock()
		for c := range s.open {
			if c.busy.Load() > 0 || c.answering.Load() {
				working++
			}
		}
		s.mu.Unlock()
	}
}

// TestMaxConnections checks that at the limit of connections, a new connection replaces the one that has
// been idle for longest, and that connections with a request in progress stay open.
func TestMaxConnections(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}, 8), make(chan struct{})
	s := serve(t, true, Options{NoAuth: true, MaxConnections: 4, Ready: func(context.Context) error {
		entered <- struct{}{}
		<-release
		return nil
	}})
	busy, answered := dialKeepAlive(t, s.addr), make(chan int, 4)
	go func() { answered <- busy.ask("/_mayfly/readyz") }()
	<-entered
	var idle []*keepAliveHTTPClientConn
	for range 20 {
		k := dialKeepAlive(t, s.addr)
		if status := k.ask("/_mayfly/livez"); status != 200 {
			t.Fatalf("connection %d: status %d", len(idle), status)
		}
		s.srv.conns.awaitIdle()
		idle = append(idle, k)
	}
	s.srv.conns.mu.Lock()
	n := len(s.srv.conns.open)
	s.srv.conns.mu.Unlock()
	if n > 4 {
		t.Errorf("%d connections are open", n)
	}
	if status := idle[0].ask("/_mayfly/livez"); status != 0 {
		t.Errorf("the oldest idle connection is open: status %d", status)
	}
	if status := idle[19].ask("/_mayfly/livez"); status != 200 {
		t.Errorf("the newest idle connection: status %d", status)
	}
	for range 3 { // now all are busy, and one more has to wait
		k := dialKeepAlive(t, s.addr)
		go func() { answered <- k.ask("/_mayfly/readyz") }()
		<-entered
	}
	late := make(chan int, 1)
	go func() { late <- dialKeepAlive(t, s.addr).ask("/_mayfly/livez") }()
	select {
	case status := <-late:
		t.Errorf("status %d while there is no room", status)
	case release <- struct{}{}:
	}
	close(release)
	for range 4 {
		if status := <-answered; status != 200 {
			t.Errorf("a busy connection: status %d", status)
		}
	}
	if status := <-late; status != 200 {
		t.Errorf("status %d once there is room", status)
	}
	s.stop()
}

// acceptFailingListener is a listener whose first few calls of Accept fail because the process has no
// file descriptor left.
type acceptFailingListener struct {
	net.Listener
	left atomic.Int32
}

func (l *acceptFailingListener) Accept() (net.Conn, error) {
	if l.left.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

// TestAcceptWithoutFreeDescriptors checks that the server closes an idle connection and calls Accept again if
// Accept fails because there is no free file descriptor.
func TestAcceptWithoutFreeDescriptors(t *testing.T) {
	t.Parallel()
	s := serve(t, false, Options{NoAuth: true})
	idle := dialKeepAlive(t, s.addr)
	if status := idle.ask("/_mayfly/livez"); status != 200 {
		t.Fatalf("status %d", status)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	crowded := &acceptFailingListener{Listener: ln}
	crowded.left.Store(3)
	done := make(chan error, 1)
	go func() { done <- s.srv.Serve(crowded, nil) }()
	if status := dialKeepAlive(t, ln.Addr().String()).ask("/_mayfly/livez"); status != 200 {
		t.Errorf("status %d", status)
	}
	if status := idle.ask("/_mayfly/livez"); status != 0 {
		t.Errorf("the idle connection is open: status %d", status)
	}
	s.stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestShutdownOfStuckRequest checks that Shutdown returns even if a request does not end, with an error
// that names the request.
func TestShutdownOfStuckRequest(t *testing.T) {
	t.Parallel() // a server that shuts down waits for seconds
	entered, release := make(chan struct{}), make(chan struct{})
	s := serve(t, false, Options{NoAuth: true, Ready: func(context.Context) error {
		close(entered)
		<-release
		return nil
	}})
	k, answered := dialKeepAlive(t, s.addr), make(chan int, 1)
	go func() { answered <- k.ask("/_mayfly/readyz") }()
	<-entered
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	var stuck *StuckRequestsError
	if err := s.srv.Shutdown(ended); !errors.As(err, &stuck) ||
		strings.Join(stuck.Requests, " ") != "GET /_mayfly/readyz" {
		t.Errorf("%v", err)
	}
	close(release)
	<-answered
	s.stop()
}
