package httpapi

import (
	"net/http"
	"strings"
	"time"
)

// ObservedRequest describes a finished request for metrics and traces.
type ObservedRequest struct {
	Header http.Header // of the request; must not be modified or retained
	Method string
	// Own is the path of a request to Mayfly's own API, with placeholders for ids, such as
	// "_mayfly/dbs/{db}/clock". It is empty for other requests.
	Own          string
	Began, Ended time.Time // by the wall clock
	// Operation is the name of the operation by OpenTelemetry's conventions, such as create_item. It is
	// empty for Mayfly's own API and for requests that are not an operation.
	Operation           string
	Database, Container string // ids; empty if the request concerns none
	Status, Substatus   int    // Status 0: the connection was closed without a response; Substatus 0: none
	Charge              float64
	Activity            string
	Fault               string // id of the rule of the injected fault; empty: no fault
}

// observe calls Options.Observe with the Observation of a finished request.
func (s *Server) observe(c *activeRequest) {
	status, _ := c.outcome()
	o := ObservedRequest{Header: c.headerMap(), Method: c.method, Own: c.target.labRoute, Began: c.began,
		Ended: s.opt.Wall.Now(), Operation: c.req.TelemetryName(), Status: status,
		Substatus: c.ans.Substatus, Charge: c.ans.Charge, Activity: c.req.Activity, Fault: c.fault}
	if o.Own == "" || strings.HasPrefix(o.Own, "_mayfly/dbs/") {
		o.Database, o.Container = s.ops.Names(c.ctx(), &c.req)
	}
	s.opt.Observe(o)
}
