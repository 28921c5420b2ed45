package httpapi

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/internal/cosmos"
	"github.com/mayflydb/mayfly/internal/rntbd"
)

// A client in direct mode reads the addresses of a range's replicas with GET /addresses and uses RNTBD,
// Cosmos DB's binary protocol, with them. Here all addresses are those of this server, on the same port,
// within TLS. A frame of RNTBD becomes a call like a request of HTTP, and passes the same chain, except for
// the step guarded: no page in a browser can send a frame.

// maxFrames is the maximum number of requests in progress on one direct-mode connection. Clients open
// another connection when one of theirs has thirty requests in progress.
const maxFrames = 256

// directPage is the time limit for one page of a query. A client in direct mode waits 5 or 6 seconds for a
// response before it retries; a client in gateway mode waits a minute.
const directPage = 2 * time.Second

// shutdownWaitGroup counts work in progress that http.Server does not track, so that Shutdown can wait for
// it: connections in direct mode, and requests that connections serve without net/http.
type shutdownWaitGroup struct {
	mu     sync.Mutex
	work   sync.WaitGroup
	closed bool // no more work may begin
}

// begin registers a piece of work, which the caller must report as done. It returns false, and the work must
// not be done, if the server is shutting down.
func (d *shutdownWaitGroup) begin() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.work.Add(1)
	}
	return !d.closed
}

// end makes begin refuse further work, and waits until all registered work, such as the serving of
// connections in direct mode, is done. If ctx ends first, it returns the error of ctx. It does not end the
// work itself.
func (d *shutdownWaitGroup) end(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		d.work.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serveFrames takes a connection over from net/http and serves its RNTBD frames in a goroutine of its own.
func (s *Server) serveFrames(c *sniffConn) {
	if !s.direct.begin() {
		_ = c.end()
		return
	}
	life := context.WithValue(
		context.WithValue(s.base, connContextKey{}, c),
		http.LocalAddrContextKey,
		c.LocalAddr(),
	)
	local := c.LocalAddr().String()
	handler := func(ctx context.Context, r *rntbd.Request, w *rntbd.ResponseSender) {
		k := &activeRequest{srv: s, conn: c, reply: directModeReply{w: w},
			operationExchange: exchanges.Get().(*operationExchange)}
		k.fromFrame(ctx, r, local)
		k.run(s.frameChain)
	}
	go func() {
		defer s.direct.work.Done()
		err := rntbd.Serve(s.draining, &directModeConn{c}, rntbd.Options{Handler: handler, Life: life,
			MaxBody: cosmos.KindItem.MaxBody(), Most: maxFrames, Agent: "mayfly",
			Version: strings.TrimPrefix(serviceVersion, "version="), Logger: s.log,
			QuickReads: true, Refused: s.recordRefusal, Turns: s.turns})
		if err != nil {
			s.log.Debug("a direct-mode connection was closed because of an error", "remote",
				c.RemoteAddr().String(),
				"error", err)
		}
	}()
}

// directModeReply is the response to a request in direct mode. Its head consists of RNTBD tokens
// (numbered, typed header fields), which package rntbd makes from these values.
type directModeReply struct {
	w      *rntbd.ResponseSender // nil over HTTP
	status int                   // 0: the response has not been sent
	size   int64
}

// sendReply sends the response to a frame.
func (c *activeRequest) sendReply() {
	a := &c.ans
	var session [64]byte
	var owner [128]byte
	h := rntbd.ResponseHead{Status: a.Status, Substatus: a.Substatus, ItemLSN: a.ItemLSN, Charge: c.charge(),
		Duration: c.duration(), RetryAfter: a.RetryAfter, Counted: a.Counted, Count: a.Count,
		WithoutPlan: a.Direct}
	if a.Range != "" {
		h.Range, h.LSN = a.Range, a.LSN
		h.Session, _ = a.AppendSessionToken(session[:0])
	}
	if a.OwnerDatabase != "" {
		h.Texts[rntbd.OwnerID], h.OwnerName = a.OwnerRID, c.appendOwnerPath(owner[:0])
	}
	h.Texts[rntbd.ETag], h.Texts[rntbd.Continuation] = a.ETag, a.Continuation
	h.Texts[rntbd.Quota], h.Texts[rntbd.Usage] = a.Quota, a.Usage
	h.Texts[rntbd.QueryMetrics], h.Texts[rntbd.IndexUtilization] = a.QueryMetrics, a.IndexUtilization
	h.Texts[rntbd.ExecutionInfo] = a.ExecutionInfo
	if a.Logged {
		h.Texts[rntbd.ScriptLog] = a.ScriptLog
	}
	c.reply.status, c.reply.size = a.Status, int64(len(a.Body))
	c.reply.w.Send(&h, a.Body)
}

// describeReply sets the headers that a gateway would have sent, for the log of requests.
func (c *activeRequest) describeReply() {
	c.setCommonHead()
	c.setWholeHead(false)
}

// directModeConn is a direct-mode connection that has been taken over from net/http.
type directModeConn struct{ *sniffConn }

// Read reads decrypted bytes. It first returns those that were read ahead to detect the protocol.
func (c *directModeConn) Read(p []byte) (int, error) {
	if len(c.ahead) > 0 {
		n := copy(p, c.ahead)
		c.ahead = c.ahead[n:]
		return n, nil
	}
	return c.tls.Load().Read(p)
}

// Close closes a connection that has changed to direct mode. The method Close of the underlying sniffConn
// would leave it open.
func (c *directModeConn) Close() error { return c.end() }

// SetReadDeadline sets the deadline of the raw connection. sniffConn.SetReadDeadline has no effect in
// direct mode.
func (c *directModeConn) SetReadDeadline(t time.Time) error { return c.Conn.SetReadDeadline(t) }

// SetWriteDeadline sets the deadline of the raw connection. sniffConn.SetWriteDeadline has no effect in
// direct mode.
func (c *directModeConn) SetWriteDeadline(t time.Time) error { return c.Conn.SetWriteDeadline(t) }

var _ net.Conn = (*directModeConn)(nil)

// parseAddresses parses the query string of GET /addresses. $resolveFor names a feed: the items of a
// container, whose path consists of rids, or all databases. $partitionKeyRangeIds lists ranges of the
// container. The request is signed like a request for that feed.
func (t *targetResource) parseAddresses() error {
	t.resourceType = "dbs"
	for part := range strings.SplitSeq(t.rawQuery, "&") {
		name, value, _ := strings.Cut(part, "=")
		name, wrong := url.QueryUnescape(name)
		value, bad := url.PathUnescape(value) // '+' may be part of a rid
		if wrong != nil || bad != nil {
			return cosmos.BadRequest("The query string holds a malformed escape.")
		}
		switch {
		case strings.EqualFold(name, "$resolveFor"):
			if err := t.resolve(strings.Split(strings.Trim(value, "/"), "/")); err != nil {
				return err
			}
		case strings.EqualFold(name, "$partitionKeyRangeIds"):
			t.rangeIDs = strings.Split(value, ",")
		}
	}
	t.rawQuery = ""
	return nil
}

// resolve parses the value of the query parameter $resolveFor, by which a client in direct mode requests the
// addresses of replicas. The value is dbs, or the feed of a container's items by resource ids,
// dbs/{rid}/colls/{rid}/docs.
func (t *targetResource) resolve(parts []string) error {
	switch {
	case len(parts) == 1 && strings.EqualFold(parts[0], "dbs"):
	case len(parts) == 5 && strings.EqualFold(parts[0], "dbs") && strings.EqualFold(parts[2], "colls"):
		t.IDs[0], t.IDs[1], t.N, t.ByRID = parts[1], parts[3], 2, true
		t.resourceType = strings.ToLower(parts[4])
	default:
		return cosmos.BadRequest("$resolveFor must be dbs, or the feed of a container's items by rids.")
	}
	return nil
}
