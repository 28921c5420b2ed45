package httpapi

import (
	"net/http"

	"github.com/mayflydb/mayfly/internal/cosmos"
)

// nonOperationHandler serves a request that is not a Cosmos DB operation.
type nonOperationHandler func(s *Server, c *activeRequest) error

// operation returns the Cosmos DB operation of the request. A POST can be one of many operations; the
// headers say which. The content type is used only to recognize a query, since clients send any content type
// with other operations.
func (c *activeRequest) operation() cosmos.OperationType {
	changes := c.target.kind == cosmos.KindItem && c.target.feed && c.in.Changes()
	switch c.method {
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

// bareQuery is the content type of a query that is sent as plain text.
const bareQuery = "application/sql"

// route returns the handler of a request that is not a Cosmos DB operation, or nil for an operation. open
// reports whether the request needs no authorization.
func (c *activeRequest) route() (run nonOperationHandler, open bool) {
	switch {
	case c.target.kind == cosmos.KindAccount && c.req.Operation == cosmos.OpRead && c.fromBrowser():
		return (*Server).redirectToExplorer, true
	case cosmos.Supports(c.target.kind, c.target.feed, c.req.Operation):
		return nil, c.target.kind == cosmos.KindAddresses && !c.srv.opt.Direct // its error needs no key
	}
	return refuse(c.methodNotAllowed()), false
}

func (c *activeRequest) methodNotAllowed() error {
	return cosmos.Failure(http.StatusMethodNotAllowed, 0, "The method "+c.method+
		" is not allowed on this path with these headers.")
}

// refuse returns a handler that fails with err.
func refuse(err error) nonOperationHandler { return func(*Server, *activeRequest) error { return err } }
