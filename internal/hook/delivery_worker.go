package hook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
)

// SignatureHeader is the header with "sha256=" and the HMAC-SHA256 of the body under the webhook's secret,
// in hexadecimal.
const SignatureHeader = "X-Mayfly-Signature"

// maxAnswer is the maximum number of bytes of a response that are read. A connection whose response is
// longer is not reused.
const maxAnswer = 64 << 10

// A ResponseStatusError is the error for a response that does not confirm a batch.
type ResponseStatusError struct{ Status int }

func (e *ResponseStatusError) Error() string {
	return "the endpoint answered " + strconv.Itoa(e.Status) + " " + http.StatusText(e.Status)
}

// deliveryWorker sends one container's events to one endpoint, or its changes to one queue.
type deliveryWorker struct {
	*Deliverer
	sub   store.EventDestination
	end   context.CancelFunc
	ended chan struct{}

	mu     sync.Mutex
	status DeliveryStatus
}

func (w *deliveryWorker) state() DeliveryStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.status
	info := w.sub.Container.Info()
	s.Database, s.Container, s.URL = info.DatabaseID, info.ID, w.sub.URL
	s.ChangesTo = w.sub.ChangesTo
	return s
}

// run sends the container's expiry events until ctx ends.
func (w *deliveryWorker) run(ctx context.Context) {
	position := w.confirmed(ctx)
	for ctx.Err() == nil {
		grown := w.sub.Container.ExpirationsChanged()
		var page store.ExpirationsPage
		w.untilDone(ctx, func() (err error) {
			page, err = w.sub.Container.Expirations(ctx, position, w.o.Batch)
			return err
		})
		if len(page.Expirations) == 0 && !page.Lost {
			select {
			case <-grown:
			case <-ctx.Done():
			}
			continue
		}
		if page.Lost {
			w.o.Logger.Warn("expiry events were not delivered within their retention and are lost",
				"container",
				w.sub.Container.ID(), "webhook", w.sub.URL)
		}
		body := w.body(&page)
		w.untilDone(ctx, func() error { return w.send(ctx, body) })
		if w.confirm(ctx, page.Position, len(page.Expirations)) {
			position = page.Position
		}
	}
}

// confirmed returns the stored position after the last confirmed event.
func (w *deliveryWorker) confirmed(ctx context.Context) (position string) {
	w.untilDone(ctx, func() (err error) {
		position, err = w.sub.Container.Confirmed(ctx, w.sub.Name())
		return err
	})
	return position
}

// confirm durably stores the position after n more delivered events. It returns false if ctx has ended.
func (w *deliveryWorker) confirm(ctx context.Context, position string, n int) bool {
	w.untilDone(ctx, func() error { return w.sub.Container.Confirm(ctx, w.sub.Name(), position) })
	if ctx.Err() != nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status.Delivered += uint64(n)
	return true
}

// untilDone calls fn until it succeeds or ctx ends, with increasing pauses.
func (w *deliveryWorker) untilDone(ctx context.Context, fn func() error) {
	for failures := 0; ctx.Err() == nil; {
		err := fn()
		if err != nil && ctx.Err() != nil {
			return
		}
		if err == nil {
			if failures > 0 {
				w.o.Logger.Info("the webhook works again", "container", w.sub.Container.ID(), "webhook",
					w.sub.Name(), "failures", failures)
			}
			w.setStatus(0, nil)
			return
		}
		failures++
		// After a restore the old store is unavailable until the Deliverer ends this worker. That is no
		// failure of the webhook, so the first such error is not logged.
		replaced := fault.ErrorCode(err) == fault.CodeUnavailable
		if failures == 1 && !replaced || failures == 2 && replaced {
			w.o.Logger.Warn("a webhook failed; the delivery will be retried", "container",
				w.sub.Container.ID(),
				"webhook", w.sub.Name(), "error", err)
		}
		w.setStatus(failures, err)
		again, stop := w.o.Wall.After(backoff(failures))
		select {
		case <-again:
		case <-ctx.Done():
		}
		stop()
	}
}

func (w *deliveryWorker) setStatus(failures int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status.Failures, w.status.Err = failures, err
}

// backoff returns the pause after a number of consecutive failures: one second, doubled each time, up to a
// minute.
func backoff(failures int) time.Duration { return min(time.Second<<min(failures-1, 6), time.Minute) }

// body encodes a page of events as the JSON body of a request to the webhook.
func (w *deliveryWorker) body(page *store.ExpirationsPage) []byte {
	info := w.sub.Container.Info()
	b := jsondoc.AppendString([]byte(`{"database":`), info.DatabaseID)
	b = jsondoc.AppendString(append(b, `,"container":`...), info.ID)
	b = jsondoc.AppendString(append(b, `,"position":`...), page.Position)
	b = strconv.AppendBool(append(b, `,"lost":`...), page.Lost)
	b = append(b, `,"events":[`...)
	for i := range page.Expirations {
		if i > 0 {
			b = append(b, ',')
		}
		b = page.Expirations[i].AppendJSON(b)
	}
	return append(b, "]}"...)
}

// send posts a body to the webhook's URL, signed if the webhook has a secret. It returns *ResponseStatusError
// unless the status of the response is from 200 to 299.
func (w *deliveryWorker) send(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.sub.URL, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the webhook's address: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "mayfly")
	if w.sub.Secret != "" {
		mac := hmac.New(sha256.New, []byte(w.sub.Secret))
		mac.Write(body)
		req.Header.Set(SignatureHeader, "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	res, err := w.client.Do(req)
	if err != nil {
		return err
	}
	// The rest of the response is discarded, and errors of reading it are ignored.
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer)
	_ = res.Body.Close()
	if res.StatusCode/100 != 2 {
		return &ResponseStatusError{res.StatusCode}
	}
	return nil
}
