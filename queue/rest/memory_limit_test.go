package rest

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/entity"
)

// recordingMemoryLimiter is a MemoryLimiter that records the number of bytes that are taken, and the highest
// such number so far. If full is set, it gives out no memory.
type recordingMemoryLimiter struct {
	taken, most atomic.Int64
	full        atomic.Bool
}

func (r *recordingMemoryLimiter) Take(_ context.Context, n int64) error {
	if r.full.Load() {
		return context.DeadlineExceeded
	}
	r.most.Store(max(r.most.Load(), r.taken.Add(n)))
	return nil
}

func (r *recordingMemoryLimiter) TryTake(n int64) bool {
	return r.Take(context.Background(),
		n) == nil
}
func (r *recordingMemoryLimiter) Give(n int64)                                 { r.taken.Add(-n) }
func (r *recordingMemoryLimiter) TakeLarge(ctx context.Context, n int64) error { return r.Take(ctx, n) }
func (r *recordingMemoryLimiter) GiveLarge(n int64)                            { r.Give(n) }

// TestLargeBody checks that a queue with a sufficient size limit accepts and returns a message of 20 MB,
// which counts against Options.Memory only while it is sent or received.
func TestLargeBody(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, access.TokenVerifierOptions{})
	r := &recordingMemoryLimiter{}
	w.web.Config.Handler = New(Options{Queues: w.q, Guard: access.New(access.TokenVerifierOptions{}),
		Memory: r})
	p := entity.Defaults(entity.Queue)
	p.MaxMessageKB = 32 << 10
	if _, err := w.q.Create(t.Context(), entity.Queue, "q", p); err != nil {
		t.Fatal(err)
	}
	body := strings.Repeat("0123456789abcdef", 20<<20/16)
	w.must(http.StatusCreated, "POST", "/q/messages", body)
	if r.taken.Load() != 0 || r.most.Load() != 20<<20 {
		t.Errorf("%d bytes are taken, %d at most", r.taken.Load(), r.most.Load())
	}
	if got := w.must(http.StatusOK, "DELETE", "/q/messages/head?timeout=0", ""); got.body != body {
		t.Errorf("%d bytes are received of %d, or others", len(got.body), len(body))
	}
	w.must(http.StatusForbidden, "POST", "/q/messages", strings.Repeat(body, 2))
	r.full.Store(true)
	got := w.must(http.StatusServiceUnavailable, "POST", "/q/messages", body)
	if !strings.Contains(got.body, "all the memory") {
		t.Errorf("the refusal is %s", got.body)
	}
	w.must(http.StatusCreated, "POST", "/q/messages", "small")
	if r.taken.Load() != 0 {
		t.Errorf("%d bytes are kept", r.taken.Load())
	}
}
