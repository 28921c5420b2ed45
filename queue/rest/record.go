package rest

import (
	"strings"

	"github.com/mayflydb/mayfly/internal/requestlog"
)

// record adds the request to the log of requests, after its response was sent or its connection dropped.
// It omits health checks.
func (c *activeRequest) record() {
	if c.o.Requests == nil || len(c.path) == 1 && c.segmentIs(0, "health") {
		return
	}
	e := requestlog.Entry{Began: c.began, Took: c.o.Wall.Now().Sub(c.began), DataTime: c.o.Queues.Now(),
		Protocol: requestlog.HTTP, Kind: requestlog.Secret, Method: c.r.Method, Host: c.r.Host,
		URI:       c.r.RequestURI,
		Operation: c.operation, FaultOperation: c.operation, Entity: c.subject(), Status: c.status,
		Condition: c.code, In: max(c.r.ContentLength, int64(len(c.sent))), Out: int64(len(c.answered)),
		Rule: c.faultRule, RequestHeader: c.r.Header, RequestBody: c.sent, ResponseBody: c.answered}
	if c.operation != "" { // bodies of management requests contain keys, so only those of messages are logged
		e.Kind = requestlog.Data
	}
	if c.status != 0 {
		e.ResponseHeader = c.w.Header()
	}
	c.o.Requests.Add(&e)
}

// subject returns the path of the queue, topic or subscription that the request is for.
func (c *activeRequest) subject() string {
	path := strings.Join(c.path, "/")
	if at := strings.Index(strings.ToLower(path), "/messages"); at > 0 {
		return path[:at]
	}
	return path
}
