package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/tree"
	"github.com/mayflydb/mayfly/ttl"
)

// An import reads the next documents while the server stores earlier ones. Unless --parallel permits more,
// only one request is running at a time, so that the documents are stored, and later exported, in the order
// of the file. Concurrent requests may be executed in any order, so no two of them contain documents with
// the same id: the later one waits. The results of requests are counted in the order of the file, even if
// the responses arrive in another order. So a single number always describes the progress of the import.

// Limits of an import's requests. A document that is larger than importBytes is sent alone.
const (
	importDocuments = 100
	importBytes     = 1 << 20
	importRequests  = 32 // maximum number of concurrent requests
)

// If the server cannot accept a document or a request at the moment, the import sends it again after a
// pause. The server's response determines the pause; otherwise it is importPatience, doubled each time.
// After importTries failures in a row the import ends.
const (
	importTries    = 12
	importPatience = 50 * time.Millisecond
	maxImportWait  = 5 * time.Second
)

// inputDocument is a document and its position in the input.
type inputDocument struct {
	at     tree.FilePosition
	body   json.RawMessage
	why    string // the reason why the document cannot be sent; empty: it can be sent
	resent bool   // an earlier import may have sent it
}

// documentResult has those members of a document's result that the import uses.
type documentResult struct {
	Status     int    `json:"statusCode"`
	RetryAfter int64  `json:"retryAfterMilliseconds"`
	Message    string `json:"message"`
}

// importBatch is a group of documents that are sent together.
type importBatch struct {
	lines   []inputDocument
	ids     map[string]bool // as JSON
	bytes   int
	results []documentResult // one for each line
	err     error
	done    chan struct{} // closed when results and err are set
}

// parallelRequestSender sends the requests of an import, several at a time: it holds the request that is
// being filled and those whose results have not arrived. Only one goroutine uses it.
type parallelRequestSender struct {
	i       *importer
	ctx     context.Context // ends when a request fails
	cancel  context.CancelFunc
	next    *importBatch // the request that is being filled
	waiting []*importBatch
	client  *http.Client
	sent    int // number of documents, including those of earlier imports
}

func newImportWindow(ctx context.Context, i *importer) *parallelRequestSender {
	ctx, cancel := context.WithCancel(ctx)
	return &parallelRequestSender{
		i:      i,
		ctx:    ctx,
		cancel: cancel,
		sent:   i.Note.Documents,
		client: &http.Client{
			Timeout:   cli.AskTimeout,
			Transport: &http.Transport{MaxIdleConnsPerHost: i.Parallel},
		},
	}
}

// close waits for the running requests.
func (w *parallelRequestSender) close() {
	w.cancel()
	for _, r := range w.waiting {
		<-r.done
	}
	w.client.CloseIdleConnections()
}

// add adds a document, which is sent with a later request.
func (w *parallelRequestSender) add(l inputDocument) error {
	id := jsondoc.Of(l.body).Member("id").Str() // decoded, since the same id can be written in several ways
	if r := w.next; r != nil && (r.bytes+len(l.body) > importBytes || len(r.lines) == importDocuments ||
		id != "" && r.ids[id]) {
		if err := w.send(); err != nil {
			return err
		}
	}
	if w.next == nil {
		w.next = &importBatch{ids: map[string]bool{}, done: make(chan struct{})}
	}
	w.next.lines = append(w.next.lines, l)
	w.next.bytes += len(l.body)
	if id != "" {
		w.next.ids[id] = true
	}
	return nil
}

// send sends the next request, as soon as the window has room and no running request has a document with the
// same id.
func (w *parallelRequestSender) send() error {
	r := w.next
	if r == nil {
		return nil
	}
	w.next = nil
	before := max(0, len(w.waiting)+1-w.i.Parallel)
	for n, earlier := range w.waiting {
		if earlier.shares(r) {
			before = n + 1
		}
	}
	for range before {
		if err := w.settle(); err != nil {
			return err
		}
	}
	w.sent += len(r.lines)
	w.i.Note.Sent = w.sent
	if err := w.i.saveState(); err != nil {
		return err
	}
	w.waiting = append(w.waiting, r)
	go func() {
		defer close(r.done)
		r.err = w.i.sendUntilDone(w.ctx, w.client, r)
	}()
	return nil
}

// shares reports whether two requests have documents with the same id.
func (r *importBatch) shares(other *importBatch) bool {
	for id := range r.ids {
		if other.ids[id] {
			return true
		}
	}
	return false
}

// flush sends the next request and waits for the results of all requests.
func (w *parallelRequestSender) flush() error {
	if err := w.send(); err != nil {
		return err
	}
	return w.settleAll()
}

func (w *parallelRequestSender) settleAll() error {
	for len(w.waiting) > 0 {
		if err := w.settle(); err != nil {
			return err
		}
	}
	return nil
}

// serverDiskFullError is the error that ends an import because the server's disk is full: then it cannot
// store later documents either.
type serverDiskFullError struct{ reason string }

func (e *serverDiskFullError) Error() string {
	return fmt.Sprintf("%d %s The import ends here: make room first", cli.InsufficientStorage, e.reason)
}

// Unwrap returns syscall.ENOSPC, the error of a full local disk.
func (e *serverDiskFullError) Unwrap() error { return syscall.ENOSPC }

// settle waits for the first running request and counts the results of its documents.
func (w *parallelRequestSender) settle() error {
	r := w.waiting[0]
	<-r.done
	w.waiting = w.waiting[1:]
	if r.err != nil {
		return w.i.ended(r.lines[0].at, r.err, w.i.howToContinue())
	}
	for n, l := range r.lines {
		switch res := r.results[n]; {
		case res.Status == http.StatusConflict && w.i.exists != nil:
			if err := w.compare(l, res); err != nil {
				return w.i.ended(l.at, err, w.i.howToContinue())
			}
		case res.Status == cli.InsufficientStorage:
			w.i.Note.Documents += n
			return errors.Join(w.i.ended(l.at, &serverDiskFullError{res.Message}, w.i.howToContinue()),
				w.i.saveState())
		case res.Status/100 == 2, res.Status == http.StatusConflict && l.resent:
			w.i.Note.Imported++
		case l.why != "":
			w.i.reportRefused(l.at, l.why)
		default:
			w.i.reportRefused(l.at, fmt.Sprintf("%d %s", res.Status, res.Message))
		}
	}
	w.i.Note.Documents += len(r.lines)
	w.i.progress.Add(w.i.in.taken(), len(r.lines))
	return w.i.saveState()
}

// saveState stores the progress of the import.
func (i *importer) saveState() error {
	if i.Path == "" {
		return nil
	}
	return i.Note.Write(i.Path)
}

// sendUntilDone sends the documents of a request until each has a final result.
func (i *importer) sendUntilDone(ctx context.Context, client *http.Client, r *importBatch) error {
	r.results = make([]documentResult, len(r.lines))
	var open []int // documents without a final result
	for n, l := range r.lines {
		if l.why == "" {
			open = append(open, n)
		}
	}
	patience := importPatience
	for try := 1; len(open) > 0; try++ {
		answers, err := i.try(ctx, client, r, open)
		var wait time.Duration
		var refusal *cli.ResponseError
		if errors.As(err, &refusal) && busy(refusal.Code) && try < importTries {
			wait = refusal.RetryAfter
		} else if err != nil {
			return err
		}
		left := open[:0:0]
		for n, at := range open {
			if answers != nil {
				r.results[at] = answers[n]
				wait = max(wait, time.Duration(answers[n].RetryAfter)*time.Millisecond)
			}
			if answers == nil || busy(answers[n].Status) {
				left = append(left, at)
			}
		}
		if len(left) < len(open) {
			try, patience = 0, importPatience
		} else if try >= importTries {
			break // the response to the last try is the result
		}
		if open = left; len(open) == 0 {
			break
		}
		if wait == 0 {
			wait, patience = patience, 2*patience
		}
		if err := pause(ctx, min(wait, maxImportWait)); err != nil {
			return err
		}
	}
	return nil
}

// busy reports whether a request with this status may succeed later.
func busy(status int) bool {
	return status == http.StatusTooManyRequests || status == 449 || status == http.StatusServiceUnavailable
}

// pause waits for the real time d. It returns the error of ctx if ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	waited, stop := ttl.SystemClock{}.After(d)
	defer stop()
	select {
	case <-waited:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// try sends those documents of the batch r whose indexes are in which, in one request without retries. It
// returns one result for each of them.
func (i *importer) try(ctx context.Context, client *http.Client, r *importBatch,
	which []int) ([]documentResult, error) {
	body := []byte(`{"documents":[`)
	for n, at := range which {
		if n > 0 {
			body = append(body, ',')
		}
		body = append(body, r.lines[at].body...)
	}
	body = fmt.Appendf(body, `],"create":%t}`, i.create)
	req, err := i.Request(ctx, "_mayfly/dbs/{db}/colls/{coll}/import", cli.RawJSONRequestBody(body))
	if err != nil {
		return nil, err
	}
	results, err := cli.AskBy[[]documentResult](client, req)
	if err == nil && len(results) != len(which) {
		err = fmt.Errorf("%s answers with %d results for %d documents", req.URL, len(results), len(which))
	}
	return results, err
}
