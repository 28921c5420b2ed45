package laboratory

import (
	"context"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/requestlog"
)

const requestStreamText = `Server-sent events until the client disconnects. "request": a logged request, ` +
	`as ` +
	`in a page; the id is the position after it. "lost": requests after the client's position were ` +
	`overwritten; the data is an object with a message. A comment line, which begins with a colon, is sent ` +
	`if there was no event for 15 seconds.`

// serveRequests responds with server-sent events if the client accepts them, otherwise with a page.
func (l *Laboratory) serveRequests(ec echo.Context, in *listLoggedRequestsRequest) error {
	return serveStream(l, ec, in, l.streamRequests, l.listRequests)
}

// streamRequests sends server-sent events until the client disconnects or the server shuts down. It holds no
// lock while it waits for a slow client, so that client does not get the entries that are overwritten during
// the wait.
func (l *Laboratory) streamRequests(ec echo.Context, in *listLoggedRequestsRequest) error {
	ctx := ec.Request().Context()
	r, err := l.reader(in)
	if err != nil {
		return err
	}
	w := l.newEventWriter(ec, in.limits)
	for first := true; ; first = false {
		list, lost := r.Next()
		if first && in.After == 0 {
			lost = false
			list = list[max(len(list)-in.Limit, 0):]
		}
		if err := w.requests(list, lost); err != nil || !w.flush() {
			return err
		}
		if idle, err := l.awaitRequest(ctx, r); err != nil {
			return nil
		} else if idle {
			w.b = append(w.b, ": nothing new\n\n"...)
		}
	}
}

// awaitRequest waits for a new entry of the log, or for the time of the next heartbeat, for which it returns
// idle. An error ends the stream.
func (l *Laboratory) awaitRequest(ctx context.Context, r *requestlog.Reader) (idle bool, err error) {
	tick, stop := l.opt.Wall.After(heartbeat)
	defer stop()
	select {
	case <-r.Changed():
		return false, nil
	case <-tick:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	case <-l.opt.Draining:
		return false, context.Canceled
	}
}

// requests writes entries of the log as events. lost says that entries before them have been overwritten.
func (w *sseWriter) requests(list []*requestlog.RetrievedEntry, lost bool) error {
	if lost {
		w.b = append(w.b, "event: lost\ndata: "+
			"{\"message\":\"Requests after the position were overwritten.\"}\n\n"...)
	}
	for _, one := range list {
		text, err := jsondoc.Marshal(requestOf(one))
		if err != nil {
			return err
		}
		w.b = strconv.AppendUint(append(w.b, "id: "...), one.ID, 10)
		w.b = append(w.b, "\nevent: request\ndata: "...)
		w.b = append(append(w.b, text...), "\n\n"...) // JSON has no line breaks
	}
	return nil
}
