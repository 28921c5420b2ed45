package laboratory

import (
	"context"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/store"
)

// changePace is the minimum real time between two groups of events in a stream of changes.
const changePace = 200 * time.Millisecond

const changesText = `Server-sent events until the client disconnects; the data of each is {}. "ready": all ` +
	`later changes will be reported. "catalog": databases, containers or their settings may have changed. ` +
	`"items": documents of the container may have changed. "messages": queues, topics, subscriptions or ` +
	`their messages may have changed. Changes within 200 milliseconds share one event. A comment line, ` +
	`which begins with a colon, is sent if there was no event for 15 seconds.`

type streamChangesRequest struct {
	Container string `query:"container" description:"Container whose changes are reported: database/id."`
	WaitTimeLimiter
	_ struct{} `takes:"changes take %"`
}

// changeWaiter waits for the changes that a stream reports: of the catalog, of the items of one container,
// and of messages.
type changeWaiter struct {
	l              *Laboratory
	database, coll string // names of the container that is followed; "": none

	catalog, items, messages <-chan struct{}
}

// streamChanges sends server-sent events until the client disconnects or the server shuts down. An event has
// no content: it only means that the client should read certain data again.
func (l *Laboratory) streamChanges(ec echo.Context, in *streamChangesRequest) error {
	w := changeWaiter{l: l}
	if in.Container != "" {
		var both bool
		if w.database, w.coll, both = strings.Cut(in.Container, "/"); !both {
			return route.BadRequest("'container' must be a database and a container: database/id.")
		}
	}
	ctx := ec.Request().Context()
	w.arm()
	out := l.newEventWriter(ec, in.limits)
	out.change("ready")
	for out.flush() {
		tick, stop := l.opt.Wall.After(heartbeat)
		names, err := w.next(ctx, tick)
		stop()
		if err != nil {
			return nil
		}
		for _, name := range names {
			out.change(name)
		}
		if names == nil {
			out.b = append(out.b, ": nothing new\n\n"...)
		}
		if !out.flush() || !l.pause(ctx, changePace) {
			return nil
		}
	}
	return nil
}

// arm gets a channel that is closed at the next change of each of the watched objects: the catalog, the
// container's items and the messages. A channel that is still open is kept.
func (w *changeWaiter) arm() {
	if w.catalog == nil {
		w.catalog = w.l.db.CatalogChanged()
		w.items = nil // the name may now belong to another container
	}
	if c := w.container(); w.items == nil && c != nil {
		w.items = c.Changed()
	}
	if q := w.l.opt.Queues; w.messages == nil && q != nil {
		w.messages = q.Changed()
	}
}

// container returns the container that is followed, or nil if there is none.
func (w *changeWaiter) container() *store.Container {
	if w.database == "" {
		return nil
	}
	d, err := w.l.db.Database(w.database)
	if err != nil {
		return nil
	}
	c, err := d.Container(w.coll)
	if err != nil {
		return nil
	}
	return c
}

// next waits for a change and returns the names of the events for all changes so far, or nil if tick fired.
// An error ends the stream. New channels are taken before the events are sent, so a client that reads after
// an event misses no change.
func (w *changeWaiter) next(ctx context.Context, tick <-chan time.Time) (names []string, err error) {
	select {
	case <-w.catalog:
	case <-w.items:
	case <-w.messages:
	case <-tick:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-w.l.opt.Draining:
		return nil, context.Canceled
	}
	for _, one := range []struct {
		name string
		on   *<-chan struct{}
	}{{"catalog", &w.catalog}, {"items", &w.items}, {"messages", &w.messages}} {
		select {
		case <-*one.on:
			names = append(names, one.name)
			*one.on = nil
		default:
		}
	}
	w.arm()
	return names, nil
}

// pause waits. It returns false if ctx ends or the server shuts down before d has passed.
func (l *Laboratory) pause(ctx context.Context, d time.Duration) bool {
	over, stop := l.opt.Wall.After(d)
	defer stop()
	select {
	case <-over:
		return true
	case <-ctx.Done():
	case <-l.opt.Draining:
	}
	return false
}

// change writes a server-sent event that has a name only: its data is an empty object.
func (w *sseWriter) change(name string) {
	w.b = append(append(append(w.b, "event: "...), name...), "\ndata: {}\n\n"...)
}
