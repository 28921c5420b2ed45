package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/httpapi/explorer"
	"github.com/mayflydb/mayfly/internal/cosmos"
	"github.com/mayflydb/mayfly/internal/priority"
	"github.com/mayflydb/mayfly/store"
)

// Server serves Cosmos DB's protocol over a store.
type Server struct {
	opt         Options
	db          *store.DB
	log         *slog.Logger
	auth        *authorizer
	origins     hostAndOriginPolicy
	consistency cosmos.Consistency
	ops         *cosmos.Service
	labHandler  http.Handler // Mayfly's own API
	pages       *explorer.Site
	since       string // when the server was made, for the header x-ms-last-state-change-utc

	handler http.Handler
	// serveShortcut serves a request that a connection has read without net/http.
	serveShortcut func(*fastPathConn)
	frameChain    activeRequestHandler  // passed by requests in direct mode
	turns         *priority.TurnLimiter // of connections in direct mode
	newConns      *priority.TurnLimiter // of new connections
	http          *http.Server
	conns         *openConns
	cancel        context.CancelFunc // ends every request's context
	// draining is canceled when Shutdown begins. A request that waits must end then.
	draining context.Context
	drain    context.CancelFunc

	base      context.Context   // parent of all request contexts
	direct    shutdownWaitGroup // connections of direct mode
	shortcuts shutdownWaitGroup // reads that connections serve by themselves

	// gate is locked for reading by each request, and for writing by the last step of Shutdown.
	gate   sync.RWMutex
	closed bool
}

// Limits of a connection. They limit the resources that a slow client can use.
const (
	// headerTimeout limits the time from the first byte of a request, or from the opening of the
	// connection, to the end of the request's head, including the TLS handshake.
	headerTimeout = 10 * time.Second
	readTimeout   = time.Minute     // to the end of the body
	writeTimeout  = 2 * time.Minute // to the end of the answer
	idleTimeout   = 5 * time.Minute // between requests
	maxHeader     = 64 << 10        // bytes
	// maxStreams is the maximum number of requests in progress on one HTTP/2 connection, including
	// requests that the client has reset.
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
	near, err := newHostAndOriginPolicy(&o)
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
		pages: pages, conns: newConns(o.MaxConnections), turns: priority.NewProcessTurnLimiter(o.Wall),
		newConns: priority.NewConnTurnLimiter()}
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
				connContextKey{}, c)
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
	guarded := s.logged(s.recovered(s.guarded(s.serve)))
	s.frameChain = s.logged(s.recovered(s.serve))
	chain := func(ec echo.Context) error {
		s.serveHTTP(ec.Request(), ec.Response(), guarded)
		return nil
	}
	s.serveShortcut = func(in *fastPathConn) {
		in.w = echo.NewResponse(in, e)
		c := &activeRequest{srv: s, w: in.w, conn: in.c,
			operationExchange: exchanges.Get().(*operationExchange)}
		c.fromShortcut(in)
		c.run(guarded)
	}
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
		turns: s.newConns, base: s.base,
		shortcuts: &fastPathConfig{serve: s.serveShortcut, base: s.base, log: s.log, running: &s.shortcuts}}
	if s.opt.Direct {
		sniff.frames = s.serveFrames
	}
	err := s.http.Serve(sniff)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// StuckRequestsError reports requests that did not end although their contexts were canceled.
type StuckRequestsError struct {
	Requests []string // methods and paths
}

func (e *StuckRequestsError) Error() string {
	return "requests that were broken off do not end: " + strings.Join(e.Requests, ", ")
}

// breakOff is how long Shutdown waits for requests to end after it has canceled them.
const breakOff = 2 * time.Second

// Shutdown stops accepting requests and waits for those in progress. When ctx ends, it cancels them. After
// Shutdown returns, no request is running and the store may be closed, unless the error contains a
// *StuckRequestsError: then some requests are still running.
func (s *Server) Shutdown(ctx context.Context) error {
	s.conns.closeSilent()
	s.drain()
	err := errors.Join(s.http.Shutdown(ctx), s.direct.end(ctx), s.shortcuts.end(ctx))
	s.cancel()
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	if !s.shut() {
		err = errors.Join(err, &StuckRequestsError{s.conns.activeRequests()})
	}
	return err
}

// shut waits until no request is running, and lets no further request begin. It returns false if a request
// is still running after breakOff. The goroutine that waits for the requests then remains until they end.
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

// The values of those headers that are the same in every response.
const (
	noStore        = "no-store, no-cache"
	noCache        = "no-cache"
	gatewayVersion = "version=2.14.0"
	serviceVersion = "version=1.31.0.0"
	schemaVersion  = "1.19"
	// constantHead contains, as header lines, the headers that are the same in every response.
	constantHead = "cache-control: " + noStore + "\r\npragma: " + noCache + "\r\nx-ms-gatewayversion: " +
		gatewayVersion + "\r\nx-ms-serviceversion: " + serviceVersion + "\r\nx-ms-schemaversion: " +
		schemaVersion + "\r\n"
)

// serve is the last step of the chain: it finds the operation of a request, checks its authorization,
// reads its body, and runs it.
func (s *Server) serve(c *activeRequest) error {
	t, err := parseTarget(c.path, c.query)
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
		c.req.Endpoint = string(c.appendEndpoint(nil))
	}
	if err := s.perform(c); err != nil {
		return err
	}
	c.answer()
	return nil
}

// perform runs the Cosmos DB operation of a request, with injected faults if there are any rules.
func (s *Server) perform(c *activeRequest) error {
	if s.opt.Faults.Armed() {
		return s.withFaults(c)
	}
	s.ops.Serve(c.ctx(), &c.req, &c.ans)
	return nil
}
