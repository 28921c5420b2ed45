package rntbd

import (
	"errors"
	"io"
	"sync"
)

// payload is the body of a frame. It is read from the connection by who serves the frame, when he wants it:
// the server takes in no body of a request that it refuses. The connection's reader waits meanwhile, and
// passes over what is left.
type payload struct {
	r    io.Reader
	done chan struct{} // closed when who serves the frame needs no more of it
	once sync.Once

	left int64 // guarded by done
	err  error // of the connection; read when the frame has been served
}

func newPayload(r io.Reader, n int64) *payload {
	return &payload{r: r, left: n, done: make(chan struct{})}
}

// Read implements io.Reader.
func (p *payload) Read(b []byte) (int, error) {
	select {
	case <-p.done:
		return 0, io.EOF
	default:
	}
	n, err := p.r.Read(b[:min(int64(len(b)), p.left)])
	if p.left -= int64(n); p.left == 0 {
		p.end()
		return n, nil
	}
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		p.err = err
	}
	return n, err
}

// Close implements io.Closer: the rest is not wanted.
func (p *payload) Close() error {
	p.end()
	return nil
}

func (p *payload) end() { p.once.Do(func() { close(p.done) }) }

// pass waits until the frame's server needs no more, and passes over the rest.
func (p *payload) pass() error {
	<-p.done
	if p.left > maxPassed {
		return errPassed
	}
	_, err := io.CopyN(io.Discard, p.r, p.left)
	return err
}
