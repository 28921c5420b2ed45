package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/httpapi/explorer"
	"github.com/mayflydb/mayfly/internal/cosmos"
	"github.com/mayflydb/mayfly/internal/requests"
	"github.com/mayflydb/mayfly/internal/rntbd"
	"github.com/mayflydb/mayfly/store"
)

// Server serves Cosmos DB's protocol over a store.
type Server struct {
	opt         Options
	db          *store.DB
	log         *slog.Logger
	auth        *authority
	origins     originPolicy
	consistency cosmos.Consistency
	ops         *cosmos.Service
	labHandler  http.Handler // Mayfly's own API
	pages       *explorer.Site
	since       string // when the server was made, for the header x-ms-last-state-change-utc

	handler http.Handler
	http    *http.Server
	conns   *conns
	cancel  context.CancelFunc // ends every request's context
	// draining is canceled when Shutdown begins. A request that waits must end then.
	draining context.Context
	drain    context.CancelFunc

	base      context.Context // parent of all request contexts
	direct    drainGroup      // connections of direct mode
	shortcuts drainGroup      // reads that connections serve by themselves

	// gate is locked for reading by each request, and for writing by the last step of Shutdown.
	gate   sync.RWMutex
	closed bool
}

// Limits of a connection. They limit the resources that a slow client can use.
const (
	// from the first byte (or the connection) to the end of the head, including the TLS handshake
	headerTimeout = 10 * time.Second
	readTimeout   = time.Minute     // to the end of the body
	writeTimeout  = 2 * time.Minute // to the end of the answer
	idleTimeout   = 5 * time.Minute // between requests
	maxHeader     = 64 << 10        // bytes
	// maximum number of requests in progress on one HTTP/2 connection, including requests that the client
	// has reset
	maxStreams = 250
)

// New returns a server. It starts no goroutine; Serve does. If an option is invalid, New returns an error
// that names it.
func New(o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	auth, err := newAuthority(o.Key, !o.NoClockCheck, o.Wall)
	if err != nil {
		return nil, err
	}
	near, err := newOriginPolicy(&o)
	if err != nil {
		return nil, err
	}
	pages, err := explorer.New()
	if err != nil {
		return nil, err
	}
	level, _ := cosmos.ParseConsistency(o.Consistency)
	base, cancel := context.WithCancel(context.Background())
	s := &Server{opt: o, db: o.DB, log: o.Logger, auth: auth, origins: near, consistency: level, cancel: cancel,
		pages: pages, conns: newConns(o.MaxConnections)}
	s.ops = cosmos.New(cosmos.Options{
		DB: o.DB, Wall: o.Wall, Logger: o.Logger, Tokens: auth.tokens, AccountID: o.AccountID, Consistency: level,
		ServeCrossPartition: o.ServeCrossPartition,
		Throttle:            o.Throttle, Strict: o.Strict, SlowQuery: o.SlowQuery, Direct: o.Direct,
	})
	s.since = o.Wall.Now().UTC().Format("Mon, 02 Jan 2006 15:04:05.000 GMT")
	s.base = base
	s.draining, s.drain = context.WithCancel(base)
	s.labHandler = s.newLabHandler()
	s.handler = s.routes()
	s.http = &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		Protocols:         protocols(),
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams,
			WriteByteTimeout: writeTimeout},
		ErrorLog:    slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return base },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx,
				connKey{}, c)
		},
		ConnState: s.conns.state,
	}
	return s, nil
}

// protocols returns HTTP/1.1 and HTTP/2. Every connection is unencrypted for net/http, since sniffConn
// decrypts it. Therefore net/http recognizes HTTP/2 by its preface, also over TLS.
func protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	return p
}

// routes builds the chain that every request passes. Echo accepts the request and tracks the response. Its
// other features do not fit the protocol:
//
//   - its router unescapes before it splits, but an id may contain an escaped slash;
//   - its body limit applies before the request is authorized, and does not depend on the kind of
//     resource;
//   - its CORS middleware writes header names in Go's canonical form, but clients compare them bytewise;
//   - its recovery does not log the activity id, which must be the same in the response and in the log.
func (s *Server) routes() http.Handler {
	e := echo.New()
	e.Logger.SetOutput(io.Discard)
	chain := s.begin(s.logged(s.recovered(s.guarded(s.serve))))
	e.RouteNotFound("/*", chain)
	// for an empty path, which RouteNotFound does not match
	e.HTTPErrorHandler = func(_ error, ec echo.Context) { _ = chain(ec) }
	return e
}

// Handler returns the server as an http.Handler, for tests and for embedding in another server.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve accepts connections on ln until Shutdown, then returns nil. A connection whose first byte starts a
// TLS handshake is served as HTTPS, any other as HTTP; if conf is nil, only HTTP is served. Both support
// HTTP/1.1 and HTTP/2: over TLS the client chooses by ALPN, without TLS by sending HTTP/2's preface (prior
// knowledge). With Options.Direct, a client may also speak RNTBD inside of TLS. Serve closes ln. It may be
// called for several listeners at once.
func (s *Server) Serve(ln net.Listener, conf *tls.Config) error {
	if conf != nil {
		conf = conf.Clone()
		conf.NextProtos = []string{"h2", "http/1.1"}
		conf.MinVersion = max(conf.MinVersion, tls.VersionTLS12)
	}
	sniff := &sniffListener{Listener: ln, conf: conf, conns: s.conns, refusal: s.refusal,
		shortcuts: &shortcuts{handler: s.handler, base: s.base, log: s.log, running: &s.shortcuts}}
	if s.opt.Direct {
		sniff.frames = s.serveFrames
	}
	err := s.http.Serve(sniff)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// StuckError reports requests that did not end although their contexts were canceled.
type StuckError struct {
	Requests []string // methods and paths
}

func (e *StuckError) Error() string {
	return "requests that were broken off do not end: " + strings.Join(e.Requests, ", ")
}

// breakOff is how long Shutdown waits for canceled requests to end.
const breakOff = 2 * time.Second

// Shutdown stops accepting requests and waits for those in progress. When ctx ends, it cancels them. After
// Shutdown returns, no request is running and the store may be closed, unless the error contains a
// *StuckError: then some requests are still running.
func (s *Server) Shutdown(ctx context.Context) error {
	s.conns.closeSilent()
	s.drain()
	err := errors.Join(s.http.Shutdown(ctx), s.direct.end(ctx), s.shortcuts.end(ctx))
	s.cancel()
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	if !s.shut() {
		err = errors.Join(err, &StuckError{s.conns.activeRequests()})
	}
	return err
}

// shut waits until the last request has ended, and closes the gate. It returns false if a request does not
// end in time. The goroutine that waits for the gate then ends when that request does.
func (s *Server) shut() bool {
	wait, cancel := context.WithTimeout(context.Background(), breakOff)
	defer cancel()
	shut := make(chan struct{})
	go func() {
		s.gate.Lock()
		defer s.gate.Unlock()
		s.closed = true
		close(shut)
	}()
	select {
	case <-shut:
		return true
	case <-wait.Done():
		return false
	}
}

// Headers of every answer.
const (
	noStore        = "no-store, no-cache"
	noCache        = "no-cache"
	gatewayVersion = "version=2.14.0"
	serviceVersion = "version=1.31.0.0"
	schemaVersion  = "1.19"
)

// step is one step of the chain that every request passes. begin converts its error to a response.
type step func(*call) error

// begin returns the echo handler that creates the call for a request, runs the chain, and converts an error
// of the chain to a response.
func (s *Server) begin(next step) echo.HandlerFunc {
	return func(ec echo.Context) error {
		s.gate.RLock()
		defer s.gate.RUnlock()
		conn := s.conns.begin(ec.Request())
		defer s.conns.end(conn)
		c := &call{srv: s, r: ec.Request(), w: ec.Response(), conn: conn, began: s.opt.Wall.Now(),
			exchange: exchanges.Get().(*exchange)}
		defer c.release()
		if s.opt.Observe != nil {
			defer s.observe(c)
		}
		if s.opt.Requests != nil {
			defer s.record(c)
		}
		c.in.Headers = &c.req.Headers
		if s.opt.Requests != nil {
			c.in.fields = &c.sent
		}
		c.headerErr = c.in.parse(c.r.Header, s.consistency)
		if conn != nil && conn.handedOver.Load() {
			c.in.CachedRID, c.in.Within = rntbd.CachedContainer(c.ctx()), directPage
			c.req.Replica = true
		}
		if c.req.Activity = c.in.activity; c.req.Activity == "" {
			c.req.Activity = uuid.NewString()
		}
		c.req.URI, c.req.BareText = requests.MaskURI(c.r.RequestURI), c.in.contentType == bareQuery
		c.setTarget(target{})
		c.set("cache-control", noStore)
		c.set("pragma", noCache)
		c.set("x-ms-gatewayversion", gatewayVersion)
		c.set("x-ms-serviceversion", serviceVersion)
		c.set("x-ms-schemaversion", schemaVersion)
		c.set("x-ms-activity-id", c.req.Activity)
		if c.in.correlated != "" {
			c.set("x-ms-cosmos-correlated-activityid", c.in.correlated)
		}
		if s.closed {
			c.fail(cosmos.Failure(http.StatusServiceUnavailable, 0, "The server is shutting down."))
			return nil
		}
		if err := next(c); err != nil {
			c.fail(err)
		}
		return nil
	}
}

// logged logs each request at debug level. Texts sent by the client are truncated, and its body is not
// logged.
func (s *Server) logged(next step) step {
	return func(c *call) error {
		r := c.r
		if !s.log.Enabled(r.Context(), slog.LevelDebug) {
			return next(c)
		}
		start := s.opt.Wall.Now()
		if err := next(c); err != nil {
			c.fail(err)
		}
		s.log.Debug("request", "activity", c.req.Activity,
			"method", cosmos.Excerpt(r.Method, 32), "uri", cosmos.Excerpt(requests.MaskURI(r.RequestURI),
				cosmos.MaxExcerpt), "status", c.w.Status,
			"bytes", c.w.Size, "took", s.opt.Wall.Now().Sub(start),
			"agent", cosmos.Excerpt(r.UserAgent(), cosmos.MaxExcerpt), "remote", r.RemoteAddr)
		return nil
	}
}

// recovered turns a panic into a 500 and a line in the log.
func (s *Server) recovered(next step) step {
	return func(c *call) (err error) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler {
				panic(p)
			}
			s.log.Error("panic", "activity", c.req.Activity, "panic", p, "stack", string(debug.Stack()))
			if c.w.Committed {
				// a part of the response was sent: close the connection, so that the client notices
				panic(http.ErrAbortHandler)
			}
			err = cosmos.Internal()
		}()
		return next(c)
	}
}

// serve routes, authorizes, reads and runs a request.
func (s *Server) serve(c *call) error {
	t, err := parseTarget(requestPath(c.r))
	if t.kind == cosmos.KindAddresses && s.opt.Direct {
		err = t.parseAddresses()
	}
	if c.setTarget(t); err != nil {
		return err
	}
	if t.kind == cosmos.KindNone {
		return s.serveLab(c)
	}
	run, open := c.route()
	if !open {
		if err := s.authorise(c); err != nil {
			return err
		}
		if c.headerErr != nil {
			return c.headerErr
		}
	}
	if err := c.readBody(); err != nil {
		return err
	}
	if run != nil {
		return run(s, c)
	}
	switch c.target.kind {
	case cosmos.KindAccount, cosmos.KindAddresses:
		c.req.Endpoint = s.endpoint(c.r)
	}
	if err := s.perform(c); err != nil {
		return err
	}
	c.answer()
	return nil
}

// perform runs the operation of a request.
func (s *Server) perform(c *call) error {
	if s.opt.Faults.Armed() {
		return s.withFaults(c)
	}
	s.ops.Serve(c.ctx(), &c.req, &c.ans)
	return nil
}

// authorise checks the authorization of a request. Mayfly's own API requires the master key. A resource
// token is valid for the resource for which it was issued.
func (s *Server) authorise(c *call) error {
	with := masterKey
	if s.opt.NoAuth {
		c.target.absorbQuery()
	} else {
		var err error
		if with, c.req.Grant, err = s.auth.verify(c.r.Method, c.r.Header, &c.target); err != nil {
			return err
		}
	}
	c.req.Address = c.target.Address // the address may now include the query string
	c.req.Headers.RangeIDs = c.target.rangeIDs
	c.req.Trusted = with == masterKey || with == masterSignature
	if err := s.ops.Permit(c.ctx(), &c.req); err != nil {
		return err
	}
	if c.target.kind == cosmos.KindNone && with == directoryToken {
		return cosmos.Failure(http.StatusForbidden, 0, "This needs the master key.")
	}
	return nil
}
