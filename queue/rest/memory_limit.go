package rest

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/mayflydb/mayfly/queue/entity"
)

// MemoryLimiter is a memory limit in bytes, shared by all clients of a server.
type MemoryLimiter interface {
	// Take takes n bytes. It waits until they are available. If ctx ends first, it returns the error of ctx.
	Take(ctx context.Context, n int64) error
	// TryTake takes n bytes and reports whether they were available.
	TryTake(n int64) bool
	// Give returns n bytes.
	Give(n int64)
	// TakeLarge takes n bytes for a large message. It waits until the large messages before it have their
	// memory.
	TakeLarge(ctx context.Context, n int64) error
	// GiveLarge gives back n bytes that TakeLarge took.
	GiveLarge(n int64)
}

const (
	// freeBody is the maximal size in bytes of a body that does not count against Options.Memory.
	freeBody = 16 << 10
	// largeBody is the size in bytes above which the memory for a body is taken with TakeLarge.
	largeBody = 1 << 20
	// roomTime is the maximal time that a request waits for memory.
	roomTime = 5 * time.Second
	// piece is the number of bytes of a body that a client must send or read within pieceTime.
	piece     = 256 << 10
	pieceTime = 30 * time.Second
)

// hold takes n bytes of memory, which the caller gives back with give. It fails with CodeServerBusy.
func (c *activeRequest) hold(n int64) (give func(), err error) {
	room := c.o.Memory
	if room == nil || n <= freeBody {
		return func() {}, nil
	}
	take, give := room.Take, func() { room.Give(n) }
	if n > largeBody {
		take, give = room.TakeLarge, func() { room.GiveLarge(n) }
	}
	wait, cancel := context.WithTimeout(c.r.Context(), roomTime)
	defer cancel()
	if err := take(wait, n); err != nil {
		return nil, &entity.Error{Code: entity.CodeServerBusy, Err: err,
			Message: "The messages of other clients take all the memory that there is for them."}
	}
	return give, nil
}

// readBody takes memory for the request's body and reads it. It fails if the body has more bytes than most.
// give returns the memory, and must be called when the body is no longer used.
func (c *activeRequest) readBody(most int64) (body []byte, give func(), err error) {
	n := c.r.ContentLength
	if n > most {
		return nil, nil, &http.MaxBytesError{Limit: most}
	}
	if n < 0 {
		n = most
	}
	if give, err = c.hold(n); err != nil {
		return nil, nil, err
	}
	if body, err = c.readPieces(most); err != nil {
		give()
		return nil, nil, err
	}
	c.sent = body
	return body, give, nil
}

// readPieces reads the body in pieces, each with a time limit.
func (c *activeRequest) readPieces(most int64) ([]byte, error) {
	r := http.MaxBytesReader(c.w, c.r.Body, most)
	control := http.NewResponseController(c.w)
	body := make([]byte, 0, max(c.r.ContentLength+1, 512)) // one more byte, to read the end of the body
	for next := 0; ; {
		if len(body) >= next {
			_ = control.SetReadDeadline(c.o.Wall.Now().Add(pieceTime)) // an error is harmless
			next = len(body) + piece
		}
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF {
			return body, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// write sends a body in pieces, each with a time limit.
func (c *activeRequest) write(body []byte) {
	control := http.NewResponseController(c.w)
	for len(body) > 0 {
		n := min(len(body), piece)
		_ = control.SetWriteDeadline(c.o.Wall.Now().Add(pieceTime)) // an error is harmless
		if _, err := c.w.Write(body[:n]); err != nil {
			return // the client has disconnected, so nobody can be notified
		}
		body = body[n:]
	}
}
