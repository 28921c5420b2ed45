package postgres

import (
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// faultyProxy is a TCP proxy in front of PostgreSQL that breaks random connections: before it forwards a
// request, after it has forwarded the request but not the response, or in a way that the server gets the
// request only later, after the client has noticed the break.
type faultyProxy struct {
	to       string
	listener net.Listener
	mu       sync.Mutex
	rng      *rand.Rand
	cuts     int
	all      sync.WaitGroup
}

func newProxy(t *testing.T, to string) *faultyProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &faultyProxy{to: to, listener: l, rng: rand.New(rand.NewPCG(3, 3))}
	p.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.all.Go(func() { p.carry(c) })
		}
	})
	return p
}

func (p *faultyProxy) close() {
	_ = p.listener.Close()
	p.all.Wait()
}

// cut decides at random how the proxy treats a request: 0 forwards it, 1 breaks the connection before it,
// 2 forwards it without the response, and 3 does so after a delay.
func (p *faultyProxy) cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rng.IntN(100) >= 3 {
		return 0
	}
	p.cuts++
	return 1 + p.rng.IntN(3)
}

func (p *faultyProxy) carry(client net.Conn) {
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		_ = client.Close()
		return
	}
	deaf := make(chan struct{}) // closed where no answer is passed on any more
	answered := make(chan struct{})
	p.all.Go(func() {
		defer close(answered)
		defer func() { _ = client.Close() }()
		b := make([]byte, 64<<10)
		for {
			n, err := server.Read(b)
			select {
			case <-deaf:
				return
			default:
			}
			if n > 0 {
				if _, err := client.Write(b[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	defer func() { _ = server.Close() }()
	b := make([]byte, 64<<10)
	for pieces := 0; ; pieces++ {
		n, err := client.Read(b)
		if err != nil {
			return
		}
		how := 0
		if pieces > 4 { // a connection is made and prepared first
			how = p.cut()
		}
		switch how {
		case 1:
			_ = client.Close()
			return
		case 2, 3:
			close(deaf)
			_ = client.Close()
			if how == 3 {
				pause(ctx, 300*time.Millisecond)
			}
			_, _ = server.Write(b[:n])
			<-answered
			return
		}
		if _, err := server.Write(b[:n]); err != nil {
			_ = client.Close()
			return
		}
	}
}
