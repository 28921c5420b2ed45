package cosmos

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// Options configure a Service. DB, Wall, Logger and Tokens are required.
type Options struct {
	DB     *store.DB
	Wall   ttl.Clock            // clock of real time; it must not be the clock of the data
	Logger *slog.Logger         // receives bugs (error), disk problems and slow queries (warn)
	Tokens *ResourceTokenIssuer // resource tokens

	AccountID   string
	Consistency Consistency // default level of the account
	// ServeCrossPartition makes the server merge the results of queries over partition keys for all clients.
	ServeCrossPartition bool
	// Throttle refuses requests beyond a container's throughput.
	Throttle bool
	// Strict refuses unknown properties of a container instead of ignoring them.
	Strict bool
	// Direct makes readAddresses return this server's endpoint as the address of all replicas, for direct
	// mode.
	Direct bool
	// SlowQuery is the minimum duration of a page of a query that is logged; 0: none is logged.
	SlowQuery time.Duration
}

// Service runs the operations of Cosmos DB over a store. It is safe for concurrent use, also by several
// protocols.
type Service struct {
	opt    Options
	db     *store.DB
	log    *slog.Logger
	memory *store.MemoryBudget
	scarce chan struct{} // semaphore of item reads while memory is scarce
}

// New returns a Service, which runs the operations of Cosmos DB over the store o.DB.
func New(o Options) *Service {
	return &Service{opt: o, db: o.DB, log: o.Logger, memory: o.DB.Memory(),
		scarce: make(chan struct{}, scarceReads)}
}

// requestInProgress is a request in progress, with what its handler needs: the service, the request and the
// response.
type requestInProgress struct {
	ctx         context.Context
	srv         *Service
	req         *Request
	in          *RequestHeaders // the headers of req
	out         *Response
	reply       []byte           // the item that a post-trigger has set as the response; nil: unchanged
	sourceBytes int              // size in bytes of the text from which the body was converted
	payer       *store.Container // container to charge; nil if throughput is not enforced
}

// calls holds activeOperations that are not in use and have all been reset to zero.
var calls = sync.Pool{New: func() any { return new(requestInProgress) }}

// Serve runs a request and fills in its response, also on failure. The caller must release the response.
// Serve refuses a request that is not allowed by the client's resource token (Request.Grant).
func (s *Service) Serve(ctx context.Context, req *Request, out *Response) {
	c := s.begin(ctx, req, out)
	defer c.end()
	if err := c.run(); err != nil {
		s.Fail(req, out, err)
	}
}

// begin takes a requestInProgress from the pool and sets it up for a request. requestInProgress.end returns
// it to the pool.
func (s *Service) begin(ctx context.Context, req *Request, out *Response) *requestInProgress {
	c := calls.Get().(*requestInProgress)
	*c = requestInProgress{ctx: ctx, srv: s, req: req, in: &req.Headers, out: out}
	return c
}

func (c *requestInProgress) end() {
	*c = requestInProgress{}
	calls.Put(c)
}

func (c *requestInProgress) run() error {
	if err := c.srv.Permit(c.ctx, c.req); err != nil {
		return err
	}
	run := handlerOf(c.req.Kind, c.req.Feed, c.req.Operation)
	if run == nil {
		return Failure(StatusMethodNotAllowed, 0, "The operation "+verbNames[c.req.Operation]+
			" is not allowed on "+
			"this resource.")
	}
	if err := c.req.DecodeBody(); err != nil {
		return err
	}
	if err := c.catchUp(); err != nil {
		return err
	}
	if err := c.reserve(); err != nil {
		return err
	}
	steady := func() error {
		return c.srv.RetryAfterRestore(c.ctx, func() error { return c.retryRecreated(run) })
	}
	if c.req.Operation == OpRead && (!c.req.Feed || c.req.Kind != KindItem) {
		return c.readOnce(steady)
	}
	if err := steady(); err != nil {
		return err
	}
	return c.holdAnswer()
}

// catchUp loads the definitions that other servers over the same data have changed. It is called for
// requests about definitions; a request for items does this only if it does not find its container.
func (c *requestInProgress) catchUp() error {
	switch c.req.Kind {
	case KindItem, KindAttachment, KindConflict, KindAccount, KindAddresses, KindNone:
		return nil
	}
	return c.srv.db.CatchUp(c.ctx)
}

// retryRecreated calls run. If several servers share the data, and run fails because its container has
// been deleted, retryRecreated calls run again, for the container that now has the same name: another
// server may have created one in the meantime.
func (c *requestInProgress) retryRecreated(run func(*Service, *requestInProgress) error) error {
	err := run(c.srv, c)
	if fault.ErrorCode(err) != fault.CodeOwnerNotFound || !c.srv.db.Shared() {
		return err
	}
	if err := c.srv.db.CatchUp(c.ctx); err != nil {
		return err
	}
	return run(c.srv, c)
}

// RetryAfterRestore calls run. If run fails because the data has been replaced by a snapshot in the
// meantime, its writes are lost with the old data, and RetryAfterRestore calls run again.
func (s *Service) RetryAfterRestore(ctx context.Context, run func() error) error {
	for {
		before, err := s.db.Incarnation(ctx)
		if err != nil {
			return err
		}
		if err = run(); fault.ErrorCode(err) != fault.CodeUnavailable {
			return err
		}
		if now, unknown := s.db.Incarnation(ctx); unknown != nil || now == before {
			return err
		}
	}
}

// Fail converts an error to a response. Values that are already set (charge, session token, etag) are kept.
// Internal errors are logged.
func (s *Service) Fail(req *Request, out *Response, err error) {
	w, internal := Classify(err)
	var failed *fault.Error
	switch {
	case internal:
		s.log.Error("internal error", "activity", req.Activity, "operation", req.what(err), "uri", req.URI,
			"error", err)
	case w.Status >= StatusInternalError && errors.As(err, &failed):
		s.log.Warn(failed.Message, "activity", req.Activity, "hint", failed.Hint, "error", failed.Err)
	}
	out.dropBody()
	out.Status, out.Substatus = w.Status, w.Substatus
	if w.Status == StatusNotModified {
		if out.ETag == "" && req.Headers.IfNoneMatch != "*" {
			out.setETag(req.Headers.IfNoneMatch)
		}
		return
	}
	var throttled *store.ThrottledError
	if errors.As(err, &throttled) {
		out.RetryAfter = throttled.RetryAfter
	}
	if w.Status == StatusNotFound {
		out.OwnerRID = "" // otherwise clients would store a session token under this rid
	}
	stats := ""
	if what := req.what(err); what != "" {
		stats = "\r\n " + what + "\r\n"
	}
	if req.Replica {
		out.Body = appendBareError(nil, &w)
		return
	}
	out.Body = appendErrorBody(make([]byte, 0, 512), &w, req.Activity, req.URI, stats)
}

// what returns the part of an error's message that says what failed, such as "ResourceType: Document,
// OperationType: Read". Clients parse it to find out what is missing. If err says that the owner of the
// resource does not exist, it names a read of the owner.
func (r *Request) what(err error) string {
	if r.Kind == KindNone {
		return ""
	}
	of, verb := r.Kind, verbNames[r.Operation]
	switch {
	case r.Operation == OpRead && r.Feed:
		verb = "ReadFeed"
	case r.Operation == OpCreate && r.Kind == KindSproc && !r.Feed:
		verb = "ExecuteJavaScript"
	}
	if fault.ErrorCode(err) == fault.CodeOwnerNotFound {
		of, verb = r.Kind.owner(), verbNames[OpRead]
	}
	return "ResourceType: " + kindNames[of].name + ", OperationType: " + verb
}

// owner returns the kind of resource that contains resources of kind k.
func (k ResourceKind) owner() ResourceKind {
	switch k {
	case KindContainer, KindUser, KindEncryptionKey:
		return KindDatabase
	case KindPermission:
		return KindUser
	}
	return KindContainer
}

// setReceipt sets the partition range that served the request, the LSN of that range, and the charge in RU.
// If rangeID is empty, it sets only the charge. A charge of 0 is not set.
func (c *requestInProgress) setReceipt(rangeID string, lsn uint64, charge float64) {
	if charge > 0 {
		c.pay(charge)
		c.out.Charge = charge
	}
	if rangeID == "" {
		return
	}
	c.out.Range, c.out.LSN = rangeID, lsn
}

// json responds with a JSON body.
func (c *requestInProgress) json(status int, body []byte) error {
	c.out.Status, c.out.Body = status, body
	return nil
}

// sendBuffer responds with a body in a pooled buffer. Response.Release returns the buffer to the pool.
func (c *requestInProgress) sendBuffer(status int, body *bodyBuffer) error {
	c.out.Status, c.out.Body, c.out.pooled = status, body.b, body
	return nil
}

// noContent responds without a body.
func (c *requestInProgress) noContent(status int) error {
	c.out.Status = status
	return nil
}
