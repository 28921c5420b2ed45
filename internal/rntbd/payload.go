package rntbd

import (
	"errors"
	"io"
	"sync"
)

// payloadReader reads the body of a frame. A short body that has arrived with its frame is in taken.
// Otherwise the goroutine that serves the frame reads it directly from the connection, so that the body of a
// refused request is not held in memory. The goroutine that reads frames waits until the body is no longer
// needed, and then skips its rest.
type payloadReader struct {
	taken []byte // the whole body; nil: it is read from the connection

	r    io.Reader
	done chan struct{} // closed when the body is no longer needed
	once sync.Once

	left int64 // bytes not read yet; guarded by done
	err  error // error of the connection; it is read after the frame has been served
}

func newPayload(r io.Reader, n int64) *payloadReader {
	return &payloadReader{r: r, left: n, done: make(chan struct{})}
}

// Read reads from the body: see io.Reader.
func (p *payloadReader) Read(b []byte) (int, error) {
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

// end is called when the request does not read its body any more. The goroutine that reads frames then skips
// the rest of it.
func (p *payloadReader) end() {
	if p.taken == nil {
		p.once.Do(func() { close(p.done) })
	}
}

// pass waits until end is called, and then skips the rest of the body. The goroutine that reads frames calls
// it.
func (p *payloadReader) pass() error {
	<-p.done
	if p.left > maxPassed {
		return errPassed
	}
	_, err := io.CopyN(io.Discard, p.r, p.left)
	return err
}
