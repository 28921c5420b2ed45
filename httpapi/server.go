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
	"github.com/mayflydb/mayfly/internal/rntbd"
	"github.com/mayflydb/mayfly/store"
)

// Server speaks Cosmos DB's protocol over a store.
type Server struct {
	opt         Options
	db          *store.DB
	log         *slog.Logger
	auth        *authority
	near        neighbours
	consistency cosmos.Consistency
	ops         *cosmos.Service
	own         http.Handler // Mayfly's own surface
	pages       *explorer.Site
	since       []string // when the server was made: the value of x-ms-last-state-change-utc

	handler http.Handler
	http    *http.Server
	conns   *conns
	cancel  context.CancelFunc // ends every request's context
	// draining ends when Shutdown begins: requests that wait for something look at it.
	draining context.Context
	drain    context.CancelFunc

	base   context.Context // of every request
	direct direct          // connections of direct mode

	// gate is held shared by each request and exclusively by the end of Shutdown.
	gate   sync.RWMutex
	closed bool
}

// Time limits of a connection. They bound what a client can hold open by being slow.
const (
	// from the first byte (or the connection) to the end of the head, TLS handshake included
	headerTimeout = 10 * time.Second
	readTimeout   = time.Minute     // to the end of the body
	writeTimeout  = 2 * time.Minute // to the end of the answer
	idleTimeout   = 5 * time.Minute // between requests
	maxHeader     = 64 << 10        // bytes
	// requests under way on one connection of HTTP/2, those counted that the client has reset
	maxStreams = 250
)

// New makes a server. It has no goroutine until Serve is called. Its errors name the option that is wrong.
func New(o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	auth, err := newAuthority(o.Key, !o.NoClockCheck, o.Wall)
	if err != nil {
		return nil, err
	}
	near, err := newNeighbours(&o)
	if err != nil {
		return nil, err
	}
	pages, err := explorer.New()
	if err != nil {
		return nil, err
	}
	level, _ := cosmos.ParseConsistency(o.Consistency)
	base, cancel := context.WithCancel(context.Background())
	s := &Server{opt: o, db: o.DB, log: o.Logger, auth: auth, near: near, consistency: level, cancel: cancel,
		pages: pages, conns: newConns(o.MaxConnections)}
	s.ops = cosmos.New(cosmos.Options{
		DB: o.DB, Wall: o.Wall, Logger: o.Logger, Tokens: auth.tokens, AccountID: o.AccountID, Consistency: level,
		ServeCrossPartition: o.ServeCrossPartition,
		Throttle:            o.Throttle, Strict: o.Strict, SlowQuery: o.SlowQuery, Direct: o.Direct,
	})
	s.since = []string{o.Wall.Now().UTC().Format("Mon, 02 Jan 2006 15:04:05.000 GMT")}
	s.base = base
	s.draining, s.drain = context.WithCancel(base)
	s.own = s.newOwn()
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

// protocols are HTTP/1.1 and HTTP/2. To net/http every connection is plain, since a sniffConn decrypts by
// itself: HTTP/2 is recognised by its preface, over TLS too.
func protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	return p
}

// routes builds the chain that every request goes through. Echo accepts the request and keeps track of the
// response. What else it has for this is not what the protocol wants:
//
//   - its router unescapes before it splits, and an id may hold an escaped slash;
//   - its limit of bodies refuses before a request is known to be authentic, and knows no kinds of resources;
//   - its CORS writes header names in Go's canonical form, and clients compare them by their bytes;
//   - its recovery does not know the activity id, which the answer and the log must share.
func (s *Server) routes() http.Handler {
	e := echo.New()
	e.Logger.SetOutput(io.Discard)
	chain := s.begin(s.logged(s.recovered(s.guarded(s.serve))))
	e.RouteNotFound("/*", chain)
	// what even that does not match: an empty path
	e.HTTPErrorHandler = func(_ error, ec echo.Context) { _ = chain(ec) }
	return e
}

// Handler is the server without a listener: for tests and for embedding in another server.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve answers on ln until Shutdown, which makes it return nil. A connection whose first byte starts a TLS
// handshake is served as HTTPS, any other as HTTP; with a nil conf only HTTP is. Both speak HTTP/1.1 and
// HTTP/2: over TLS the client chooses by ALPN, without it by beginning as HTTP/2 does (prior knowledge). With
// Options.Direct a client may speak RNTBD inside of TLS, too. It may be called for several listeners at once,
// and closes ln.
func (s *Server) Serve(ln net.Listener, conf *tls.Config) error {
	if conf != nil {
		conf = conf.Clone()
		conf.NextProtos = []string{"h2", "http/1.1"}
		conf.MinVersion = max(conf.MinVersion, tls.VersionTLS12)
	}
	sniff := &sniffListener{Listener: ln, conf: conf, conns: s.conns, refusal: s.refusal}
	if s.opt.Direct {
		sniff.frames = s.serveFrames
	}
	err := s.http.Serve(sniff)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// StuckError reports requests that did not end although they were broken off.
type StuckError struct {
	Requests []string // methods and paths
}

func (e *StuckError) Error() string {
	return "requests that were broken off do not end: " + strings.Join(e.Requests, ", ")
}

// breakOff is how long requests have to end once they are broken off.
const breakOff = 2 * time.Second

// Shutdown takes no more requests and waits for those under way; when ctx ends first it breaks them off. When
// it returns no request is running, so that the store may be closed, but for a *StuckError: then some go on
// all the same.
func (s *Server) Shutdown(ctx context.Context) error {
	s.conns.closeSilent()
	s.drain()
	err := errors.Join(s.http.Shutdown(ctx), s.direct.end(ctx))
	s.cancel()
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	if !s.shut() {
		err = errors.Join(err, &StuckError{s.conns.underWay()})
	}
	return err
}

// shut closes the gate behind the last request; false where one does not end in time. Then what waits for it
// here ends with it.
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

// Headers that every answer has. Their values are shared and never written to.
var (
	noStore        = []string{"no-store, no-cache"}
	noCache        = []string{"no-cache"}
	gatewayVersion = []string{"version=2.14.0"}
	serviceVersion = []string{"version=1.31.0.0"}
	schemaVersion  = []string{"1.19"}
)

// step is one of the steps that every request goes through. Its error is answered by begin.
type step func(*call) error

// begin turns echo's context into a call, and the error that comes back into an answer.
func (s *Server) begin(next step) echo.HandlerFunc {
	return func(ec echo.Context) error {
		s.gate.RLock()
		defer s.gate.RUnlock()
		conn := s.conns.begin(ec.Request())
		defer s.conns.end(conn)
		c := &call{srv: s, r: ec.Request(), w: ec.Response(), began: s.opt.Wall.Now(),
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
		if conn != nil && conn.handed.Load() {
			c.in.CachedRID, c.in.Within = rntbd.CachedContainer(c.ctx()), directPage
			c.req.Replica = true
		}
		if c.req.Activity = c.in.activity; c.req.Activity == "" {
			c.req.Activity = uuid.NewString()
		}
		c.req.URI, c.req.BareText = c.r.RequestURI, c.in.contentType == bareQuery
		c.aim(target{})
		c.setValues("cache-control", noStore)
		c.setValues("pragma", noCache)
		c.setValues("x-ms-gatewayversion", gatewayVersion)
		c.setValues("x-ms-serviceversion", serviceVersion)
		c.setValues("x-ms-schemaversion", schemaVersion)
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

// logged writes a line for each request, at debug level. What a client has written is cut in it, and its body
// is not there.
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
			"method", cosmos.Excerpt(r.Method, 32), "uri", cosmos.Excerpt(r.RequestURI,
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
				panic(http.ErrAbortHandler) // half an answer is out: the client must see it break off
			}
			err = cosmos.Internal()
		}()
		return next(c)
	}
}

// serve is a request's way: route, authorise, decode, run.
func (s *Server) serve(c *call) error {
	t, err := parseTarget(requestPath(c.r))
	if t.kind == cosmos.KindAddresses && s.opt.Direct {
		err = t.parseAddresses()
	}
	if c.aim(t); err != nil {
		return err
	}
	if t.kind == cosmos.KindNone {
		return s.serveOwn(c)
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

// perform carries out the operation that a request asks for.
func (s *Server) perform(c *call) error {
	if s.opt.Faults.Armed() {
		return s.withFaults(c)
	}
	s.ops.Serve(c.ctx(), &c.req, &c.ans)
	return nil
}

// authorise lets a request in. Mayfly's own surface wants the master key; a resource token opens what it was
// issued for.
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
	c.req.Address = c.target.Address // which may have a query string at its end now
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
