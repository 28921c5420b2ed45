package rest

import (
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/ttl"
)

// Options configures a handler. Queues and Guard must be set.
type Options struct {
	Queues *queue.Queues
	Guard  *access.TokenVerifier
	Wall   ttl.Clock    // real time, for waiting receivers; nil: the system clock
	Logger *slog.Logger // nil discards
	// Memory limits the memory that the bodies of all running requests take together; nil: no limit.
	Memory MemoryLimiter
	// Faults holds the fault rules; nil: none.
	Faults *inject.FaultRules
	// Requests is the log to which requests are added; nil: no log.
	Requests *requestlog.Log
}

// handler is the http.Handler of the whole API: messages and management.
type handler struct {
	o Options
}

// New returns the HTTP handler of Service Bus's HTTP API: messages, and the management of entities.
func New(o Options) http.Handler {
	if o.Wall == nil {
		o.Wall = ttl.SystemClock{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &handler{o}
}

// activeRequest is one HTTP request that is being served, with its response.
type activeRequest struct {
	*handler
	w     http.ResponseWriter
	r     *http.Request
	path  []string // segments, in the client's spelling
	query url.Values

	status int    // status of the response, once it has been sent
	code   string // of an error, for the log
	detail string // text of the error

	began          time.Time // by the wall clock
	sent, answered []byte    // bodies, for the log of requests
	operation      string    // name of an operation on messages: send, receive, complete and so on
	faultRule      string    // id of the fault rule that applied; "": none
}

// ServeHTTP serves one request of Service Bus's HTTP API: messages, and the management of entities.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &activeRequest{handler: h, w: w, r: r, query: r.URL.Query(), began: h.o.Wall.Now()}
	defer c.record()
	path := strings.Trim(r.URL.Path, "/")
	if path != "" {
		c.path = strings.Split(path, "/")
	}
	if err := c.serve(); err != nil {
		c.fail(err)
	}
	c.log()
}

// maxLoggedText is the maximal size of a path or text in a log line, in bytes.
const maxLoggedText = 512

// log writes a debug line for the request. It omits the query and the headers, since they may contain
// tokens.
func (c *activeRequest) log() {
	ctx := c.r.Context()
	if !c.o.Logger.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attributes := []slog.Attr{slog.String("method", c.r.Method), slog.String("path", truncated(c.r.URL.Path)),
		slog.Int("status", c.status)}
	if c.detail != "" {
		attributes = append(attributes, slog.String("code", c.code), slog.String("refusal",
			truncated(c.detail)))
	}
	c.o.Logger.LogAttrs(ctx, slog.LevelDebug, "a request of Service Bus", attributes...)
}

func truncated(text string) string {
	if len(text) > maxLoggedText {
		return strings.ToValidUTF8(text[:maxLoggedText], "") + "..."
	}
	return text
}

// segmentIs reports whether the i-th segment of the path is a word, ignoring case. A negative i counts from
// the end.
func (c *activeRequest) segmentIs(i int, word string) bool {
	if i < 0 {
		i += len(c.path)
	}
	return i >= 0 && i < len(c.path) && strings.EqualFold(c.path[i], word)
}

// pathWithoutLast returns the path without its last n segments.
func (c *activeRequest) pathWithoutLast(n int) string {
	return strings.Join(c.path[:len(c.path)-n], "/")
}

func (c *activeRequest) serve() error {
	n := len(c.path)
	switch {
	case n == 1 && c.segmentIs(0, "health") && c.r.Method != http.MethodPut &&
		c.r.Method != http.MethodDelete &&
		!c.query.Has("api-version"): // with api-version it is an entity with that name
		return c.health()
	case n == 0 && c.r.Method == http.MethodGet:
		return c.answerNothing()
	case n == 0:
		return c.notAllowed(http.MethodGet)
	case c.segmentIs(-1, "messages") && n > 1 && c.r.Method == http.MethodPost:
		return c.withFaults(inject.Send, c.pathWithoutLast(1), "",
			func() error { return c.send(c.pathWithoutLast(1)) })
	case c.segmentIs(-2, "messages") && c.segmentIs(-1, "head") && n > 2:
		return c.withFaults(inject.Receive, c.pathWithoutLast(2), "",
			func() error { return c.receive(c.pathWithoutLast(2)) })
	case c.segmentIs(-3, "messages") && n > 3 && isToken(c.path[n-1]):
		return c.withFaults(settleOperations[c.r.Method], c.pathWithoutLast(3), c.path[n-1], func() error {
			return c.settle(c.pathWithoutLast(3), c.path[n-2], c.path[n-1])
		})
	}
	return c.manage()
}

// allow fails unless the request's token has a right on an entity.
func (c *activeRequest) allow(path string, need access.Rights) error {
	text := c.r.Header.Get("Authorization")
	grant := c.o.Guard.Anonymous()
	if text != "" {
		var err error
		if grant, err = c.o.Guard.Token(text); err != nil {
			return err
		}
	}
	return c.o.Guard.Allow(grant, path, need)
}

func (c *activeRequest) unknown() error {
	return &statusError{http.StatusNotFound, "The request leads to nothing: only queues and topics are " +
		"listed."}
}

// notAllowed returns the error, with status 405, for a request whose method the resource does not support. It
// sets the header Allow to methods, the ones that are supported.
func (c *activeRequest) notAllowed(methods ...string) error {
	c.w.Header().Set("Allow", strings.Join(methods, ", "))
	return &statusError{http.StatusMethodNotAllowed, "The method " + c.r.Method + " does not exist here."}
}

// health responds to health checks.
func (c *activeRequest) health() error {
	if c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		return c.notAllowed(http.MethodGet)
	}
	return c.answer(http.StatusOK, "application/json; charset=utf-8",
		[]byte(`{"status":"healthy","message":"Service is healthy."}`))
}

// answer writes a response.
func (c *activeRequest) answer(status int, contentType string, body []byte) error {
	c.status, c.answered = status, body
	if contentType != "" {
		c.w.Header().Set("Content-Type", contentType)
	}
	if status != http.StatusNoContent {
		c.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	c.w.WriteHeader(status)
	c.write(body)
	return nil
}
