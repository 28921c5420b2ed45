package httpapi

import (
	"net/http"

	"github.com/mayflydb/mayfly/internal/cosmos"
)

// handler answers a request that is no operation of Cosmos DB's.
type handler func(s *Server, c *call) error

// operation reports which operation of Cosmos DB's the request is, which gives POST many meanings: headers
// tell them apart. The content type decides only where it says query: clients send all kinds with everything
// else.
func (c *call) operation() cosmos.Operation {
	changes := c.target.kind == cosmos.KindItem && c.target.feed && c.in.Changes()
	switch c.r.Method {
	case http.MethodGet, http.MethodHead:
		if changes {
			return cosmos.OpChangeFeed
		}
		return cosmos.OpRead
	case http.MethodPost:
		switch {
		case c.in.plan:
			return cosmos.OpQueryPlan
		case c.in.query && changes:
			return cosmos.OpQueryChanges
		case c.in.query || c.in.contentType == "application/query+json" || c.in.contentType == bareQuery:
			return cosmos.OpQuery
		case c.in.batch:
			return cosmos.OpBatch
		case c.in.upsert:
			return cosmos.OpUpsert
		}
		return cosmos.OpCreate
	case http.MethodPut:
		return cosmos.OpReplace
	case http.MethodPatch:
		return cosmos.OpPatch
	case http.MethodDelete:
		return cosmos.OpDelete
	}
	return cosmos.OpOther
}

// bareQuery is the content type of a query that is its text.
const bareQuery = "application/sql"

// route finds what answers a request that is no operation, nil for one that is. open: it runs without
// authorization.
func (c *call) route() (run handler, open bool) {
	switch {
	case c.target.kind == cosmos.KindAccount && c.req.Operation == cosmos.OpRead && c.fromBrowser():
		return (*Server).leadToPage, true
	case cosmos.Supports(c.target.kind, c.target.feed, c.req.Operation):
		return nil, c.target.kind == cosmos.KindAddresses && !c.srv.opt.Direct // they are told why
	}
	return refuse(c.methodNotAllowed()), false
}

func (c *call) methodNotAllowed() error {
	return cosmos.Failure(http.StatusMethodNotAllowed, 0, "The method "+c.r.Method+
		" is not allowed on this path with these headers.")
}

// refuse is a handler that fails.
func refuse(err error) handler { return func(*Server, *call) error { return err } }
