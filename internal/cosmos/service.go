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

// Options say how a Service answers. DB, Wall, Logger and Tokens are required.
type Options struct {
	DB     *store.DB
	Wall   ttl.Clock    // the real time; never the data's clock
	Logger *slog.Logger // gets defects (error), trouble with the disk and slow queries (warn)
	Tokens *Tokens      // of permissions

	AccountID   string
	Consistency Consistency // of the account
	// ServeCrossPartition merges the results of queries over partition keys for everybody.
	ServeCrossPartition bool
	// Throttle refuses requests beyond a container's throughput.
	Throttle bool
	// Strict refuses unknown properties of a container instead of ignoring them.
	Strict bool
	// Direct says that clients in direct mode find replicas of every range at the account's own address.
	Direct bool
	// SlowQuery is how long a page of a query may take before the log tells of it; 0: any time.
	SlowQuery time.Duration
}

// Service carries out the operations of Cosmos DB over a store. It may be used by several wires at once.
type Service struct {
	opt    Options
	db     *store.DB
	log    *slog.Logger
	memory *store.Memory
	scarce chan struct{} // places of those who read items where memory is scarce
}

// New makes a service.
func New(o Options) *Service {
	return &Service{opt: o, db: o.DB, log: o.Logger, memory: o.DB.Memory(),
		scarce: make(chan struct{}, scarceReads)}
}

// call is a request while it is carried out.
type call struct {
	ctx    context.Context
	srv    *Service
	req    *Request
	in     *Headers // req's
	out    *Answer
	reply  []byte           // what a post-trigger has put in place of the item in the answer; nil: nothing
	beside int              // bytes of the text that the answer's body was made of
	payer  *store.Container // whose throughput the charge is taken from; nil where none is enforced
}

// calls lends calls. It holds no state.
var calls = sync.Pool{New: func() any { return new(call) }}

// Serve carries out a request and fills its answer, whatever becomes of it. The answer must be released.
// Where a grant is not enough for the request it is refused.
func (s *Service) Serve(ctx context.Context, req *Request, out *Answer) {
	c := s.begin(ctx, req, out)
	defer c.end()
	if err := c.run(); err != nil {
		s.Fail(req, out, err)
	}
}

// begin makes a call; end takes it back.
func (s *Service) begin(ctx context.Context, req *Request, out *Answer) *call {
	c := calls.Get().(*call)
	*c = call{ctx: ctx, srv: s, req: req, in: &req.Headers, out: out}
	return c
}

func (c *call) end() {
	*c = call{}
	calls.Put(c)
}

func (c *call) run() error {
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
	steady := func() error { return c.srv.Steady(c.ctx, func() error { return run(c.srv, c) }) }
	if c.req.Operation == OpRead && (!c.req.Feed || c.req.Kind != KindItem) {
		return c.readOnce(steady)
	}
	if err := steady(); err != nil {
		return err
	}
	return c.holdAnswer()
}

// catchUp lets a request that is about definitions see what other servers over the same data have defined.
// Requests for items look when they find no container.
func (c *call) catchUp() error {
	switch c.req.Kind {
	case KindItem, KindAttachment, KindConflict, KindAccount, KindAddresses, KindNone:
		return nil
	}
	_, err := c.srv.db.CatchUp(c.ctx)
	return err
}

// Steady runs what is done for a request. Where the data is replaced by a snapshot's meanwhile nothing is
// left of what was done, and it runs again.
func (s *Service) Steady(ctx context.Context, run func() error) error {
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

// Fail makes an answer of an error. What the answer has already (charge, session token, etag) stays. The log
// gets what is the server's own fault.
func (s *Service) Fail(req *Request, out *Answer, err error) {
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
		out.OwnerRID = "" // clients would file a session token under it
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

// what says what a request was after, in the words by which clients tell what it is that is missing: of
// something in a container or a database that does not exist, that is the owner, which was to be read.
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

// owner is the kind of what is missing where the owner of a resource is.
func (k Kind) owner() Kind {
	switch k {
	case KindContainer, KindUser, KindEncryptionKey:
		return KindDatabase
	case KindPermission:
		return KindUser
	}
	return KindContainer
}

// setReceipt says which partition range served, how far it is, and what that cost in RU. An empty rangeID
// sets the charge alone, a charge of 0 none.
func (c *call) setReceipt(rangeID string, lsn uint64, charge float64) {
	if charge > 0 {
		c.pay(charge)
		c.out.Charge = charge
	}
	if rangeID == "" {
		return
	}
	c.out.Range, c.out.LSN = rangeID, lsn
}

// json answers with a body of JSON text.
func (c *call) json(status int, body []byte) error {
	c.out.Status, c.out.Body = status, body
	return nil
}

// give answers with a body in borrowed memory, which the answer lets go.
func (c *call) give(status int, body *buffer) error {
	c.out.Status, c.out.Body, c.out.lent = status, body.b, body
	return nil
}

// noContent answers without a body.
func (c *call) noContent(status int) error {
	c.out.Status = status
	return nil
}
