package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

const (
	heartbeat    = 15 * time.Second // between two signs of life on a stream of events, in real time
	maxEventWait = 600              // seconds
	maxEventPage = 1000
	fromNow      = "now" // as a position: what expires from now on
)

// eventQuery is the query string of GET .../events.
type eventQuery struct {
	after string
	wait  time.Duration
	limit int
}

func (c *call) eventQuery() (q eventQuery, err error) {
	values, err := url.ParseQuery(c.target.rawQuery)
	if err != nil {
		return q, badRequest("The query string is malformed.")
	}
	q.limit = 100
	for name := range values {
		v := values.Get(name)
		switch name {
		case "after":
			q.after = v
		case "wait":
			var n int64
			n, err = queryNumber(name, v, 0, maxEventWait)
			q.wait = time.Duration(n) * time.Second
		case "limit":
			var n int64
			n, err = queryNumber(name, v, 1, maxEventPage)
			q.limit = int(n)
		default:
			err = badRequest("'" + name + "' is not known: events take 'after', 'wait' and 'limit'.")
		}
		if err != nil {
			return q, err
		}
	}
	if last := c.r.Header.Get("Last-Event-Id"); last != "" {
		q.after = last // what a client says that reconnects, whatever its address says
	}
	return q, nil
}

func queryNumber(name, text string, least, most int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, badRequest("'" + name + "' must be a whole number between " + strconv.FormatInt(least, 10) + " and " + strconv.FormatInt(most, 10) + ".")
	}
	return n, nil
}

// events is GET /_mayfly/dbs/{db}/colls/{coll}/events: the container's log of expiries behind a position,
// ?after= or the header Last-Event-ID; without one from its beginning, with "now" from its end.
//
// A client that accepts text/event-stream gets server-sent events for as long as it listens: "expired" with
// the JSON of an expiration, whose id is the position behind it; "lost" where entries behind the position are
// not kept any more; "end" with a message where there is nothing more to come. Another gets {"events",
// "position", "lost"}: a page of at most ?limit= events, after at most ?wait= seconds of real time where
// there are none yet.
func (s *Server) events(c *call) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	q, err := c.eventQuery()
	if err != nil {
		return err
	}
	if q.after == fromNow {
		if q.after, err = coll.ExpirationsEnd(c.ctx()); err != nil {
			return err
		}
	}
	f := follower{srv: s, coll: coll, after: q.after, limit: q.limit}
	if c.r.Method == http.MethodGet && strings.Contains(c.r.Header.Get("Accept"), "text/event-stream") {
		return s.streamEvents(c, &f)
	}
	var page store.ExpirationsPage
	if q.wait == 0 {
		page, err = coll.Expirations(c.ctx(), f.after, f.limit)
	} else {
		ctx, end := s.patience(c, q.wait)
		defer end()
		page, _, err = f.next(ctx, nil)
		if err != nil && ctx.Err() != nil && c.ctx().Err() == nil { // nothing has come, or the server shuts down
			page, err = store.ExpirationsPage{Position: f.after}, nil
		}
	}
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, appendEvents(nil, &page))
}

func appendEvents(b []byte, page *store.ExpirationsPage) []byte {
	b = append(b, `{"events":[`...)
	for i := range page.Expirations {
		if i > 0 {
			b = append(b, ',')
		}
		b = page.Expirations[i].AppendJSON(b)
	}
	b = strconv.AppendQuote(append(b, `],"position":`...), page.Position) // digits, colons and commas
	b = strconv.AppendBool(append(b, `,"lost":`...), page.Lost)
	return append(b, '}')
}

// follower reads a log of expiries as it grows.
type follower struct {
	srv   *Server
	coll  *store.Container
	after string
	limit int
}

// next returns the entries behind the follower's position and moves it. Where there are none yet it waits:
// until there are some, until ctx ends or the server shuts down (its error tells), or until tick, which it
// reports as idle and which may be nil.
func (f *follower) next(ctx context.Context, tick <-chan time.Time) (page store.ExpirationsPage, idle bool, err error) {
	for {
		grown, replaced := f.coll.ExpirationsChanged(), f.srv.db.SubscriptionsChanged()
		if page, err = f.coll.Expirations(ctx, f.after, f.limit); err != nil {
			return page, false, err
		}
		f.after = page.Position
		if len(page.Expirations) > 0 || page.Lost {
			return page, false, nil
		}
		select {
		case <-grown:
		case <-replaced: // perhaps the whole store was
		case <-tick:
			return page, true, nil
		case <-ctx.Done():
			return page, false, ctx.Err()
		case <-f.srv.draining.Done():
			return page, false, context.Canceled
		}
	}
}

// streamEvents answers with server-sent events until the client goes, the server shuts down or the log ends.
func (s *Server) streamEvents(c *call, f *follower) error {
	page, err := f.coll.Expirations(c.ctx(), f.after, f.limit) // what is wrong with the request is still a status
	if err != nil {
		return err
	}
	f.after = page.Position
	w := newEventWriter(c)
	w.page(&page)
	for w.flush() {
		tick, stop := s.opt.Wall.After(heartbeat)
		page, idle, err := f.next(c.ctx(), tick)
		stop()
		switch {
		case err != nil && (c.ctx().Err() != nil || s.draining.Err() != nil):
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

// eventWriter writes server-sent events.
type eventWriter struct {
	out     http.ResponseWriter
	control *http.ResponseController
	b       []byte
}

func newEventWriter(c *call) *eventWriter {
	c.setHead()
	h := c.w.Header()
	h["Content-Type"] = []string{"text/event-stream"}
	h["x-accel-buffering"] = []string{"no"} // proxies pass each event on at once
	w := &eventWriter{out: c.w, control: http.NewResponseController(c.w.Writer)}
	_ = w.control.SetReadDeadline(time.Time{}) // a connection without limits (a test's) cannot lift them
	c.w.WriteHeader(http.StatusOK)
	return w
}

// page writes what a page has. The id of the last event is the page's position, so that a reader who goes on
// from there does not look again at what was passed over.
func (w *eventWriter) page(p *store.ExpirationsPage) {
	if p.Lost {
		w.b = append(w.b, "event: lost\ndata: {\"message\":\"Expiries behind the position are not kept any more.\"}\n\n"...)
	}
	for i := range p.Expirations {
		e := &p.Expirations[i]
		w.b = append(append(w.b, "id: "...), e.Position...)
		w.b = append(w.b, "\nevent: expired\ndata: "...)
		w.b = append(e.AppendJSON(w.b), "\n\n"...) // stored JSON has no line breaks
	}
}

func (w *eventWriter) end(err error) {
	w.b = append(append(w.b, "event: end\ndata: "...), jsonText(err.Error())...)
	w.b = append(w.b, "\n\n"...)
}

// flush sends what was written; false where the client is gone, or takes nothing for too long.
func (w *eventWriter) flush() bool {
	_ = w.control.SetWriteDeadline(ttl.Real{}.Now().Add(writeTimeout))
	if _, err := w.out.Write(w.b); err != nil {
		return false
	}
	w.b = w.b[:0]
	_ = w.control.Flush()
	return true
}

// jsonText is a text as a JSON object with a message.
func jsonText(message string) []byte {
	b, err := json.Marshal(map[string]string{"message": message})
	if err != nil { // a text always has a JSON form
		return []byte("{}")
	}
	return b
}

// WebhookMetrics is how a webhook stands.
type WebhookMetrics struct {
	Database, Container, URL string
	Delivered                uint64 // events that its endpoint has confirmed since the start
	Failures                 int    // of its endpoint, in a row
	Refused                  bool   // it leads to an address that is not allowed
}
