package httpapi

import (
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/cosmos"
	"github.com/mayflydb/mayfly/internal/requestlog"
)

// activeRequestHandler is one step of the chain that every request passes. run converts its error to a
// response.
type activeRequestHandler func(*activeRequest) error

// serveHTTP passes a request that net/http has received through the chain of steps that begins with next.
func (s *Server) serveHTTP(r *http.Request, w *echo.Response, next activeRequestHandler) {
	conn, _ := r.Context().Value(connContextKey{}).(*sniffConn)
	c := &activeRequest{srv: s, r: r, w: w, conn: conn,
		operationExchange: exchanges.Get().(*operationExchange)}
	c.fromHTTP(r)
	c.run(next)
}

// run passes a request through the chain of middleware, and converts an error of the chain to a response.
func (c *activeRequest) run(next activeRequestHandler) {
	s := c.srv
	s.gate.RLock()
	defer s.gate.RUnlock()
	s.conns.begin(c.conn, &c.incomingRequest)
	defer s.conns.end(c.conn)
	c.began = s.opt.Wall.Now()
	defer c.release()
	if s.opt.Observe != nil {
		defer s.observe(c)
	}
	if s.opt.Requests != nil {
		defer s.record(c)
	}
	c.in.RequestHeaders = &c.req.Headers
	c.headerErr = c.in.parse(c.sent, s.consistency)
	if c.req.Activity = c.in.activity; c.req.Activity == "" {
		c.req.Activity = uuid.NewString()
	}
	c.req.URI, c.req.BareText = requestlog.MaskURI(c.uri), c.in.contentType == bareQuery
	c.setTarget(targetResource{})
	if !c.isFrame() {
		c.setCommonHead()
	}
	if s.closed {
		c.fail(cosmos.Failure(http.StatusServiceUnavailable, 0, "The server is shutting down."))
		return
	}
	if err := next(c); err != nil {
		c.fail(err)
	}
}

// setCommonHead sets the headers that every response has.
func (c *activeRequest) setCommonHead() {
	c.head = append(c.head, constantHead...)
	c.set("x-ms-activity-id", c.req.Activity)
	if c.in.correlated != "" {
		c.set("x-ms-cosmos-correlated-activityid", c.in.correlated)
	}
}

// logged logs each request at debug level. Texts sent by the client are truncated, and its body is not
// logged.
func (s *Server) logged(next activeRequestHandler) activeRequestHandler {
	return func(c *activeRequest) error {
		if !s.log.Enabled(c.context, slog.LevelDebug) {
			return next(c)
		}
		start := s.opt.Wall.Now()
		if err := next(c); err != nil {
			c.fail(err)
		}
		status, size := c.outcome()
		s.log.Debug("request", "activity", c.req.Activity,
			"method", cosmos.Excerpt(c.method, 32), "uri", cosmos.Excerpt(requestlog.MaskURI(c.uri),
				cosmos.MaxExcerpt), "status", status,
			"bytes", size, "took", s.opt.Wall.Now().Sub(start),
			"agent", cosmos.Excerpt(c.header("User-Agent"), cosmos.MaxExcerpt), "remote", c.remote)
		return nil
	}
}

// recovered turns a panic into a 500 and a line in the log.
func (s *Server) recovered(next activeRequestHandler) activeRequestHandler {
	return func(c *activeRequest) (err error) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler {
				panic(p)
			}
			s.log.Error("panic", "activity", c.req.Activity, "panic", p, "stack", string(debug.Stack()))
			if c.committed() {
				// a part of the response was sent: close the connection, so that the client notices
				panic(http.ErrAbortHandler)
			}
			err = cosmos.Internal()
		}()
		return next(c)
	}
}
