package cosmos_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/cosmos"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/internal/testdisk"
)

// largePage creates four items of 1 MB, and returns the request for a page with all of them.
func largePage(w *inProcessServiceClient) cosmos.Request {
	w.container()
	for i := range 4 {
		w.send(of(cosmos.OpCreate, true, "", fmt.Sprintf(`{"id":"%d","pk":"a","pad":%q}`, i,
			strings.Repeat("x", 1<<20)))).is(201, 0)
	}
	req := of(cosmos.OpRead, true, "", "")
	req.Headers.MaxItems = -1
	return req
}

// TestLargePageMemory checks that the buffer of a page of 4 MB is reused for the next page. With PostgreSQL,
// the rows that the page is made from need new memory each time.
func TestLargePageMemory(t *testing.T) {
	racetest.Sequential(t)
	w := newFrameProtocol(t, func(*cosmos.Options) {})
	req := largePage(w)
	read := func() {
		var answer cosmos.Response
		req.Trusted = true
		w.svc.Serve(t.Context(), &req, &answer)
		if answer.Status != 200 || answer.Count != 4 || len(answer.Body) < 4<<20 {
			t.Fatalf("%d, %d items, %d bytes", answer.Status, answer.Count, len(answer.Body))
		}
		answer.Release()
	}
	read()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const pages = 20
	for range pages {
		read()
	}
	runtime.ReadMemStats(&after)
	limit := uint64(2 << 20)
	if testdisk.Postgres(t) {
		limit += 5 << 20
	}
	if each := (after.TotalAlloc - before.TotalAlloc) / pages; each > limit {
		t.Errorf("each page allocates %d bytes", each)
	}
}

// TestLargePageOfDisconnectedClient checks that a page is not made if its client has disconnected.
func TestLargePageOfDisconnectedClient(t *testing.T) {
	w := newFrameProtocol(t, func(*cosmos.Options) {})
	req := largePage(w)
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the client has gone"))
	if f := w.sendIn(gone, req); f.answer.Status < 400 || strings.Contains(f.body, "xxx") {
		t.Errorf("%d %.100s", f.answer.Status, f.body)
	}
}
