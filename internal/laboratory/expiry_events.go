package laboratory

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

const (
	heartbeat     = 15 * time.Second // interval of heartbeats in a stream of events, in real time
	streamTimeout = 2 * time.Minute  // time within which a client must read what was sent
	// a position that stands for the end of the log: only later events are returned
	fromNow = "now"
)

type expiryEventsRequest struct {
	ContainerPath
	After string `query:"after" description:"Position to read after; now: the end. Default: the beginning."`
	Wait  int64  `query:"wait" minimum:"0" maximum:"600" description:"Seconds to wait for a first event."`

	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"100" description:"Maximum number of events."`

	// Last is the id of the last event that a client has received, which a client that reconnects sends.
	// It is a position in the log and takes precedence over After.
	Last string `header:"Last-Event-Id" description:"Position for a reconnecting client; overrides 'after'."`
	WaitTimeLimiter
	ResponseMemoryReserver
	_ struct{} `takes:"events take %"`
}

// ExpiryEventPage is a page of a container's expiry log.
type ExpiryEventPage struct {
	Events   []ExpiryEvent `json:"events" nullable:"false"`
	Position string        `json:"position" description:"Position to pass as the next 'after'."`
	Lost     bool          `json:"lost" description:"Whether events after 'after' are no longer kept."`
}

// Verbatim marks the response as a route.VerbatimResponse: its JSON is sent without escapes for the
// characters that HTML reserves.
func (*ExpiryEventPage) Verbatim() {}

// ExpiryEvent is the entry of a container's log of expiries for one expired document: its key, the time of
// its expiry, the position in the log, and the document itself.
type ExpiryEvent struct {
	ID string `json:"id"`

	PartitionKey []any `json:"partitionKey" nullable:"false" description:"Partition key values; {}: a missing value."`

	ExpiredAt int64          `json:"expiredAt" description:"Time of the expiry, in seconds since 1970."`
	LSN       uint64         `json:"lsn" description:"LSN of the transaction that logged the event."`
	Sequence  uint64         `json:"sequence" description:"Number of the event, ascending in its range."`
	Range     string         `json:"range" description:"Id of the partition key range."`
	Document  map[string]any `json:"document" nullable:"false" description:"The document when it expired."`

	text []byte // the complete event as the store writes it
}

// MarshalJSON implements json.Marshaler.
func (e *ExpiryEvent) MarshalJSON() ([]byte, error) { return e.text, nil }

func eventsOf(p *store.ExpirationsPage) ExpiryEventPage {
	out := ExpiryEventPage{Events: make([]ExpiryEvent, len(p.Expirations)), Position: p.Position,
		Lost: p.Lost}
	for i := range p.Expirations {
		out.Events[i].text = p.Expirations[i].AppendJSON(nil)
	}
	return out
}

// from returns the position in the container's log of expiries after which the request wants events. The
// request names it in Last, which takes precedence, or in After; the text "now" stands for the end of the
// log.
func (in *expiryEventsRequest) from(ctx context.Context) (string, error) {
	after := in.After
	if in.Last != "" {
		after = in.Last
	}
	if after == fromNow {
		return in.container.ExpirationsEnd(ctx)
	}
	return after, nil
}

// events returns a page of a container's expiry log after a position, or from the beginning. If there are no
// such events, it waits for them, for up to in.Wait seconds of real time.
func (l *Laboratory) events(ctx context.Context, in *expiryEventsRequest) (ExpiryEventPage, error) {
	after, err := in.from(ctx)
	if err != nil {
		return ExpiryEventPage{}, err
	}
	if in.Wait > 0 {
		come, at, err := l.untilExpired(ctx, in, after)
		if err != nil || !come {
			return ExpiryEventPage{Events: []ExpiryEvent{}, Position: at}, err
		}
	}
	if err := in.ResponseMemoryReserver.take(); err != nil {
		return ExpiryEventPage{}, err
	}
	page, err := in.container.Expirations(ctx, after, in.Limit)
	if err != nil {
		return ExpiryEventPage{}, err
	}
	return eventsOf(&page), nil
}

// untilExpired waits until the log of expiries has an event after the position after. come reports whether
// there is one. If not, at is the position up to which the log was read.
func (l *Laboratory) untilExpired(ctx context.Context, in *expiryEventsRequest, after string) (come bool,
	at string,
	err error) {
	patient, end := in.WaitTimeLimiter.wait(ctx, time.Duration(in.Wait)*time.Second)
	defer end()
	f := expiryLogFollower{l: l, coll: in.container, after: after, limit: 1}
	_, _, err = f.next(patient, nil)
	switch {
	case err == nil || patient.Err() == nil:
	case ctx.Err() != nil:
		err = fault.New(fault.CodeCanceled, "The request was cancelled.")
	default: // timeout or shutdown
		return false, f.after, nil
	}
	return err == nil, f.after, err
}

// expiryLogFollower reads an expiry log and waits for new entries.
type expiryLogFollower struct {
	l     *Laboratory
	coll  *store.Container
	after string
	limit int
}

// next returns the entries of the log after the follower's position, and advances the position over them. If
// there are none, it waits. It returns an error if ctx ends or the server shuts down, and idle if tick fires
// first. tick may be nil.
func (f *expiryLogFollower) next(ctx context.Context, tick <-chan time.Time) (
	page store.ExpirationsPage, idle bool, err error) {
	for {
		grown, replaced := f.coll.ExpirationsChanged(), f.l.db.CatalogChanged()
		if page, err = f.coll.Expirations(ctx, f.after, f.limit); err != nil {
			return page, false, err
		}
		f.after = page.Position
		if len(page.Expirations) > 0 || page.Lost {
			return page, false, nil
		}
		select {
		case <-grown:
		case <-replaced: // the data may have been replaced by a snapshot
		case <-tick:
			return page, true, nil
		case <-ctx.Done():
			return page, false, ctx.Err()
		case <-f.l.opt.Draining:
			return page, false, context.Canceled
		}
	}
}

const eventKind = "text/event-stream"

const streamText = `Server-sent events until the client disconnects. "expired": an expiry event, as in a ` +
	`page; ` +
	`the id is the position after it. "lost": events after the client's position are no longer kept. ` +
	`"end": the stream ends. The data of "lost" and "end" is an object with a message. A comment line, ` +
	`which begins with a colon, is sent if there was no event for 15 seconds.`

// serveEvents responds with server-sent events if the client accepts them, otherwise with a page.
func (l *Laboratory) serveEvents(ec echo.Context, in *expiryEventsRequest) error {
	return serveStream(l, ec, in, l.streamEvents, l.events)
}

// serveStream calls stream, which sends server-sent events, if the client accepts them. Otherwise it responds
// with the page that read returns.
func serveStream[Request, Page any](l *Laboratory, ec echo.Context, in *Request,
	stream func(echo.Context, *Request) error, read func(context.Context, *Request) (Page, error)) error {
	q := ec.Request()
	if q.Method == http.MethodGet && strings.Contains(q.Header.Get("Accept"), eventKind) {
		return stream(ec, in)
	}
	page, err := read(q.Context(), in)
	if err != nil {
		return err
	}
	return route.Send(l.opt.Wire, ec, http.StatusOK, &page)
}

// streamEvents sends server-sent events until the client disconnects, the server shuts down or the log ends.
func (l *Laboratory) streamEvents(ec echo.Context, in *expiryEventsRequest) error {
	ctx := ec.Request().Context()
	after, err := in.from(ctx)
	if err != nil {
		return err
	}
	f := expiryLogFollower{l: l, coll: in.container, after: after, limit: in.Limit}
	// an error can still be reported with a status, since nothing has been sent
	page, err := f.coll.Expirations(ctx, f.after, f.limit)
	if err != nil {
		return err
	}
	f.after = page.Position
	w := l.newEventWriter(ec, in.limits)
	w.page(&page)
	for w.flush() {
		tick, stop := l.opt.Wall.After(heartbeat)
		page, idle, err := f.next(ctx, tick)
		stop()
		switch {
		case err != nil && (ctx.Err() != nil || l.draining()):
			return nil
		case err != nil:
			w.end(err)
			w.flush()
			return nil
		case idle:
			w.b = append(w.b, ": nothing new\n\n"...)
		}
		w.page(&page)
	}
	return nil
}

// sseWriter writes server-sent events.
type sseWriter struct {
	out    http.ResponseWriter
	limits *http.ResponseController
	b      []byte
}

func (l *Laboratory) newEventWriter(ec echo.Context, limits *http.ResponseController) *sseWriter {
	h := ec.Response().Header()
	h["Content-Type"] = []string{eventKind}
	h["x-accel-buffering"] = []string{"no"} // keeps proxies from buffering the events
	_ = limits.SetReadDeadline(time.Time{}) // fails only on the connection of a test, which has no deadlines
	l.opt.Wire.Stream(ec)
	ec.Response().WriteHeader(http.StatusOK)
	return &sseWriter{out: ec.Response(), limits: limits}
}

// page writes the events of a page of the expiry log, and before them an event "lost" if entries before the
// page are no longer kept. The id of an event is the position in the log just after it, at which a client can
// resume.
func (w *sseWriter) page(p *store.ExpirationsPage) {
	if p.Lost {
		w.b = append(w.b, "event: lost\ndata: "+
			"{\"message\":\"Expiry events after the position are no longer kept.\"}\n\n"...)
	}
	for i := range p.Expirations {
		e := &p.Expirations[i]
		w.b = append(append(w.b, "id: "...), e.Position...)
		w.b = append(w.b, "\nevent: expired\ndata: "...)
		w.b = append(e.AppendJSON(w.b), "\n\n"...) // stored JSON has no line breaks
	}
}

func (w *sseWriter) end(err error) {
	w.b = append(append(w.b, "event: end\ndata: "...), jsonText(err.Error())...)
	w.b = append(w.b, "\n\n"...)
}

// flush sends the buffered events. It returns false if the client has disconnected or does not read in time.
func (w *sseWriter) flush() bool {
	_ = w.limits.SetWriteDeadline(ttl.SystemClock{}.Now().Add(streamTimeout))
	if _, err := w.out.Write(w.b); err != nil {
		return false
	}
	w.b = w.b[:0]
	_ = w.limits.Flush()
	return true
}

// jsonText returns the JSON object {"message": message}, the data of a server-sent event that reports an
// error.
func jsonText(message string) []byte {
	b, err := json.Marshal(map[string]string{"message": message})
	if err != nil { // cannot happen for a string
		return []byte("{}")
	}
	return b
}
