package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/mayflydb/mayfly/internal/cosmos"
	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/internal/rntbd"
)

// explorerHeader is a header that the explorer sends with its requests. It distinguishes them from the
// requests of other programs, which the explorer shows.
const explorerHeader = "X-Mayfly-Explorer"

// record adds a finished request to the log of requests.
func (s *Server) record(c *activeRequest) {
	if !s.isRecorded(c) {
		return
	}
	status, size := c.outcome()
	e := requestlog.Entry{Began: c.began, Took: c.took, Protocol: requestlog.HTTP,
		Explorer: c.has(explorerHeader), Method: c.method, Host: c.host, URI: c.uri,
		Operation: c.req.TelemetryName(), Status: status, Substatus: c.ans.Substatus,
		Charge: c.ans.Charge,
		Retry:  c.ans.RetryAfter, In: max(c.length, int64(len(c.body))), Out: size,
		Activity: c.req.Activity, Rule: c.fault, RequestFields: c.sent, RequestBody: c.body,
		ResponseBody: c.ans.Body}
	own := c.target.kind == cosmos.KindNone
	switch {
	case status == 0:
		e.ResponseBody = nil
	case c.isFrame():
		c.describeReply()
		e.ResponseFields, e.ResponseLines = c.known, c.head
	case c.mapped:
		e.ResponseHeader = c.w.Header()
	default:
		e.ResponseFields, e.ResponseLines = c.known, c.head
	}
	if c.isFrame() {
		e.Protocol = requestlog.Direct
	}
	if own || c.took == 0 { // a stream may continue after the head of the response
		e.Took = s.opt.Wall.Now().Sub(c.began)
	}
	if own {
		e.Kind = requestlog.Own
		if strings.HasPrefix(c.target.labRoute, "_mayfly/dbs/") {
			e.Database, e.Container = c.req.Address.Database(), c.req.Address.Container()
		}
	} else {
		s.recordData(c, &e)
	}
	e.DataTime = s.ops.DataTime(e.Database)
	s.opt.Requests.Add(&e)
}

// recordData fills in the log entry of a Cosmos DB operation.
func (s *Server) recordData(c *activeRequest, e *requestlog.Entry) {
	if e.Charge == 0 && e.Status != 0 {
		e.Charge = 1 // the default of the response header
	}
	if c.req.Kind == cosmos.KindPermission {
		e.Kind = requestlog.Secret // answers contain tokens
	}
	e.FaultOperation = faultOperation(&c.req).String()
	e.Database, e.Container = s.ops.Names(c.ctx(), &c.req)
	if c.req.Address.N > 2 && !c.req.Feed {
		e.Item = c.req.Address.Leaf()
	}
}

// isRecorded reports whether a request is added to the log of requests. Not added are health checks,
// requests for the explorer's files, CORS preflights and requests for the log itself.
func (s *Server) isRecorded(c *activeRequest) bool {
	switch own := c.target.labRoute; {
	case own == "":
		return c.method != http.MethodOptions
	case strings.HasPrefix(own, "_mayfly/requests"), unrecorded[own]:
		return false
	case c.method == http.MethodGet || c.method == http.MethodHead:
		return !s.pages.Has(own)
	}
	return true
}

// unrecorded are the paths whose requests are not added to the log of requests, because monitoring polls them
// every few seconds.
var unrecorded = map[string]bool{"_mayfly/livez": true, "_mayfly/readyz": true, "_mayfly/metrics": true}

// recordRefusal adds an entry to the log for a direct-mode frame that cannot be translated to a request.
func (s *Server) recordRefusal(f rntbd.UntranslatableFrame) {
	s.opt.Requests.Add(&requestlog.Entry{Began: s.opt.Wall.Now(), DataTime: s.ops.DataTime(""),
		Protocol: requestlog.Direct,
		Method:   fmt.Sprintf("resource %d, operation %d", f.Resource, f.Operation), Status: f.Status,
		Condition: f.Message, Activity: f.Activity, Client: f.Agent})
}
