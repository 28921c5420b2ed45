package laboratory

import (
	"context"
	"net/http"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
)

// routeTable is a table of routes.
type routeTable = []route.Route[*Laboratory]

// on is route.On for the handlers of a Laboratory: it returns a route whose handler is a function from a
// request struct to a response struct.
func on[Request, Answer any](method, path, summary string,
	run func(*Laboratory, context.Context, *Request) (Answer, error),
) route.Route[*Laboratory] {
	return route.On(method, path, summary, run)
}

// HTTP methods and content types that the table of routes uses.
const (
	get   = http.MethodGet
	post  = http.MethodPost
	put   = http.MethodPut
	patch = http.MethodPatch
	del   = http.MethodDelete

	pemKind     = "application/x-pem-file"
	metricsKind = "text/plain"
)

// Common prefixes of paths.
const (
	root      = "/_mayfly"
	database  = root + "/dbs/{db}"
	container = database + "/colls/{coll}"
	snapshot  = root + "/snapshots/{name}"
)
