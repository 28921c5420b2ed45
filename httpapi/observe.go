package httpapi

import (
	"net/http"
	"strings"
	"time"
)

// Observation is a request that has been answered, for whoever measures a server.
type Observation struct {
	Header http.Header // of the request; only to be read, and not kept
	Method string
	// Own is the path of a request for Mayfly's own surface, with ids left out: "_mayfly/dbs/{db}/clock".
	Own          string
	Began, Ended time.Time // by the wall's clock
	// Operation is what the request did, by the conventions of telemetry: create_item. Empty for one of
	// Mayfly's own surface, or that names no operation.
	Operation           string
	Database, Container string // ids; empty where it is about none
	Status, Substatus   int    // 0: the connection ended without an answer; there is no substatus
	Charge              float64
	Activity            string
	Fault               string // the id of the fault on demand that it met; empty: none
}

// observe tells of a request that has been answered.
func (s *Server) observe(c *call) {
	o := Observation{Header: c.r.Header, Method: c.r.Method, Own: c.target.own, Began: c.began,
		Ended: s.opt.Wall.Now(), Operation: c.req.TelemetryName(), Status: c.w.Status,
		Substatus: c.ans.Substatus, Charge: c.ans.Charge, Activity: c.req.Activity, Fault: c.fault}
	if o.Own == "" || strings.HasPrefix(o.Own, "_mayfly/dbs/") {
		o.Database, o.Container = s.ops.Names(c.ctx(), &c.req)
	}
	if !c.w.Committed {
		o.Status = 0
	}
	s.opt.Observe(o)
}
