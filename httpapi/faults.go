package httpapi

import (
	"net/http"

	"github.com/mayflydb/mayfly/internal/cosmos"
	"github.com/mayflydb/mayfly/internal/inject"
)

// Package inject implements injected faults. This file is the only place where they affect Cosmos DB
// operations: after the request has been authorized and read, and before the response begins.

// withFaults runs the operation of a request, with the fault injected before or after it, if a rule matches.
func (s *Server) withFaults(c *activeRequest) error {
	hit := s.opt.Faults.Match(s.faultTarget(c))
	c.fault = hit.Rule
	now, err := hit.BeforeOperation(c.ctx(), s.opt.Wall)
	if err != nil {
		return cancelled()
	}
	if now {
		return c.applyFault(&hit)
	}
	s.ops.Serve(c.ctx(), &c.req, &c.ans)
	if now, err = hit.AfterOperation(c.ctx(), s.opt.Wall); err != nil {
		now, hit.Fault = true, inject.Drop // the client is gone
	}
	if now {
		// The operation's effects remain, but the response must not show them.
		c.ans.Release()
		c.ans = cosmos.Response{}
		return c.applyFault(&hit)
	}
	return nil
}

func cancelled() error {
	return cosmos.Failure(http.StatusRequestTimeout, 0, "The request was cancelled.")
}

// applyFault ends the connection if the fault is Drop; otherwise it returns the error with which the request
// fails.
func (c *activeRequest) applyFault(hit *inject.MatchedFault) error {
	c.srv.log.Debug("a fault was injected", "activity", c.req.Activity, "rule", hit.Rule,
		"fault", hit.Fault.String())
	if hit.Fault == inject.Drop {
		if conn, ok := c.ctx().Value(connContextKey{}).(*sniffConn); ok {
			_ = conn.end() // with HTTP/2, net/http would reset only the stream of this request
		}
		panic(http.ErrAbortHandler)
	}
	c.set("x-mayfly-fault", hit.Rule)
	c.ans.RetryAfter = hit.RetryAfter
	return &cosmos.Error{Status: hit.Fault.Status(), Substatus: hit.Substatus, Message: faultTexts[hit.Fault],
		Detail: "This is a fault on demand, by the rule '" + hit.Rule + "' of /_mayfly/faults."}
}

// faultTexts are the error messages that Cosmos DB sends with the HTTP status of each injected fault.
var faultTexts = map[inject.Fault]string{
	inject.Throttled: "Request rate is large. More Request Units may be needed, so no changes were made. " +
		"Please retry this request later.",
	inject.RetryWith:   "Conflicting request to resource has been attempted. Retry to avoid conflicts.",
	inject.Gone:        "The requested resource is no longer available at the server.",
	inject.Unavailable: "Service is currently unavailable, please retry after a while.",
	inject.Timeout:     "The request timed out.",
}

// faultTarget returns the properties of a request by which fault rules select requests.
func (s *Server) faultTarget(c *activeRequest) inject.IncomingOperation {
	database, container := s.ops.Names(c.ctx(), &c.req)
	op := faultOperation(&c.req)
	return inject.IncomingOperation{Operation: op, Database: database, Container: container}
}

// faultOperation returns the name that the operation of a request has in fault rules.
func faultOperation(r *cosmos.Request) inject.OperationKind {
	switch r.Kind {
	case cosmos.KindItem:
		if r.Operation == cosmos.OpRead && r.Feed {
			return inject.ListItems
		}
		return itemOperations[r.Operation]
	case cosmos.KindPartitionDelete:
		return inject.DeleteItem
	case cosmos.KindSproc:
		if r.Operation == cosmos.OpCreate && !r.Feed {
			return inject.ExecuteSproc
		}
	}
	return inject.Metadata
}

var itemOperations = [...]inject.OperationKind{
	cosmos.OpRead: inject.ReadItem, cosmos.OpCreate: inject.CreateItem, cosmos.OpUpsert: inject.UpsertItem,
	cosmos.OpReplace: inject.ReplaceItem, cosmos.OpPatch: inject.PatchItem,
	cosmos.OpDelete: inject.DeleteItem, cosmos.OpQuery: inject.QueryItems,
	cosmos.OpQueryPlan: inject.QueryPlan, cosmos.OpBatch: inject.Batch,
	cosmos.OpChangeFeed: inject.ChangeFeed, cosmos.OpQueryChanges: inject.ChangeFeed,
}
