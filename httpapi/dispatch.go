package httpapi

import (
	"net/http"

	"github.com/mayflydb/mayfly/cosmos"
)

// handler answers a request that is no operation of Cosmos DB's.
type handler func(s *Server, c *call) error

// ownHandler is a row of ownHandlers.
type ownHandler struct {
	method, path string
	open         bool
	run          handler
	summary      string
	takes        string
}

// ownHandlers is the same for Mayfly's own surface. Open ones need no key. A row says of itself what the
// document at GET /_mayfly/openapi.json and the page at /_mayfly/ tell of it: a line for people, and what it
// takes, in the notation of parseTakes ("id:string partitionKey?:array ?settle:boolean", noBody for a POST
// without one).
var ownHandlers = []ownHandler{
	{http.MethodGet, "_mayfly/livez", true, (*Server).live, "Whether the process answers", ""},
	{http.MethodGet, "_mayfly/readyz", true, (*Server).ready, "Whether the store can be written and read", ""},
	{http.MethodGet, "_mayfly/cert.pem", true, (*Server).certificate, "The server's certificate, as PEM text", ""},
	{http.MethodGet, "_explorer/emulator.pem", true, (*Server).certificate, "The server's certificate, where emulators have it", ""},
	{http.MethodGet, "_mayfly/clock", false, (*Server).getClock, "The data clock", ""},
	{http.MethodPut, "_mayfly/clock", false, (*Server).setClock, "Move the virtual clock", clockTakes},
	{http.MethodGet, "_mayfly/dbs/{db}/clock", false, (*Server).getDatabaseClock, "The clock of a database", ""},
	{http.MethodPut, "_mayfly/dbs/{db}/clock", false, (*Server).setDatabaseClock, "Give a database a clock of its own, or move that", clockTakes},
	{http.MethodDelete, "_mayfly/dbs/{db}/clock", false, (*Server).followClock, "Let a database follow the server's clock again", "?settle:boolean"},
	{http.MethodGet, "_mayfly/snapshots", false, (*Server).listSnapshots, "The snapshots of the whole store", ""},
	{http.MethodPost, "_mayfly/snapshots", false, (*Server).createSnapshot, "Keep the present state of the whole store under a name", "name:string"},
	{http.MethodDelete, "_mayfly/snapshots/{name}", false, (*Server).deleteSnapshot, "Free a snapshot", ""},
	{http.MethodPost, "_mayfly/snapshots/{name}/restore", false, (*Server).restoreSnapshot, "Put the whole store, or one database, back to a snapshot", "database?:string"},
	{http.MethodPost, "_mayfly/snapshots/{name}/fork", false, (*Server).forkSnapshot, "Copy a snapshot's database under a name that is free", "database:string as:string"},
	{http.MethodPost, "_mayfly/explain", false, (*Server).explainQuery, "How a query is answered: its plan, and what one page of it took",
		"database:string container:string query:string parameters?:array partitionKey?:array maxItemCount?:integer"},
	{http.MethodPost, "_mayfly/dbs/{db}/colls/{coll}/import", false, (*Server).importItems, "Store documents that say themselves how old they are", "documents:array create?:boolean"},
	{http.MethodGet, "_mayfly/dbs/{db}/colls/{coll}/settings", false, (*Server).getSettings, "Mayfly's own settings of a container", ""},
	{http.MethodPatch, "_mayfly/dbs/{db}/colls/{coll}/settings", false, (*Server).patchSettings, "Change some of them; null clears one",
		"onExpire?:object ttlCeiling?:boolean autoDeleteOnIdle?:integer expiryEvents?:object reaper?:object"},
	{http.MethodPost, "_mayfly/dbs/{db}/colls/{coll}/lease", false, (*Server).takeLease, "Keep an item from expiring for some seconds", "id:string partitionKey?:array seconds:integer"},
	{http.MethodDelete, "_mayfly/dbs/{db}/colls/{coll}/lease", false, (*Server).releaseLease, "End that", "id:string partitionKey?:array"},
	{http.MethodGet, "_mayfly", true, (*Server).ownIndex, "This page", ""},
	{http.MethodGet, "_mayfly/openapi.json", true, (*Server).openAPI, "This list as an OpenAPI document", ""},
	{http.MethodGet, "_mayfly/metrics", true, (*Server).metrics, "Metrics in the text format of Prometheus; with the key those of each container, too", ""},
	{http.MethodGet, "_mayfly/forecast", false, (*Server).forecastAll, "What is going to expire, in all containers", ""},
	{http.MethodGet, "_mayfly/dbs/{db}/colls/{coll}/forecast", false, (*Server).forecast, "What is going to expire, in a container", ""},
	{http.MethodPost, "_mayfly/dbs/{db}/colls/{coll}/explain-item", false, (*Server).explainItem, "When an item expires, and why", "id:string partitionKey?:array"},
	{http.MethodPost, "_mayfly/dbs/{db}/colls/{coll}/ttl-dry-run", false, (*Server).dryRunTTL, "What a change of a container's defaultTtl would do",
		"defaultTtl:any examples?:integer"},
	{http.MethodGet, "_mayfly/dbs/{db}/colls/{coll}/lint", false, (*Server).lint, "Times to live that are probably not what was meant", ""},
	{http.MethodPost, "_mayfly/dbs/{db}/colls/{coll}/wait", false, (*Server).wait,
		"Wait until an item is expired, purged or in the change feed, or the container is quiet",
		"until:string id?:string partitionKey?:array after?:integer timeout?:integer"},
	{http.MethodGet, "_mayfly/reaper", false, (*Server).getReapers, "Whether purges are paused in all containers", ""},
	{http.MethodPut, "_mayfly/reaper", false, (*Server).setReapers, "Pause purges in all containers, or let them go on", "paused:boolean"},
	{http.MethodPost, "_mayfly/reaper/run", false, (*Server).runReapers, "Purge now whatever has expired, in all containers", noBody},
	{http.MethodGet, "_mayfly/dbs/{db}/colls/{coll}/reaper", false, (*Server).getReaper, "How the reaper of a container stands", ""},
	{http.MethodPut, "_mayfly/dbs/{db}/colls/{coll}/reaper", false, (*Server).setReaper, "Pause, delay or starve it",
		"paused?:boolean delay?:object starved?:object"},
	{http.MethodPost, "_mayfly/dbs/{db}/colls/{coll}/reaper/run", false, (*Server).runReaper, "Purge now whatever has expired, held back or not", noBody},
	{http.MethodPost, "_mayfly/dbs/{db}/colls/{coll}/reaper/step", false, (*Server).stepReaper, "Purge so many expired items, held back or not", "items?:integer"},
	{http.MethodGet, "_mayfly/dbs/{db}/colls/{coll}/events", false, (*Server).events,
		"What has expired, as server-sent events or page by page", "?after:string ?wait:integer ?limit:integer"},
	{http.MethodPost, "_mayfly/dbs/{db}/colls/{coll}/split", false, (*Server).splitRange, "Split a partition key range in two", "range:string at?:string"},
}

// clockTakes is what a change of a clock takes.
const clockTakes = "real?:boolean set?:string advance?:string rate?:number freeze?:boolean ?settle:boolean"

// noBody is what a row of ownHandlers takes whose method could have a body, and has none.
const noBody = "-"

// operation tells which operation of Cosmos DB's the request is, which gives POST many meanings: headers tell
// them apart. The content type decides only where it says query: clients send all kinds with everything else.
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
	case c.target.kind == cosmos.KindNone:
		return c.routeOwn()
	case c.target.kind == cosmos.KindAccount && c.req.Operation == cosmos.OpRead && c.fromBrowser():
		return (*Server).leadToPage, true
	case cosmos.Supports(c.target.kind, c.target.feed, c.req.Operation):
		return nil, c.target.kind == cosmos.KindAddresses
	}
	return refuse(c.methodNotAllowed()), false
}

func (c *call) routeOwn() (run handler, open bool) {
	method := c.r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	known := false
	for _, own := range ownHandlers {
		if own.path != c.target.own {
			continue
		}
		if own.method == method {
			return own.run, own.open
		}
		known = true
	}
	if known {
		return refuse(c.methodNotAllowed()), true
	}
	return refuse(notFound("There is nothing at /" + c.target.own + ".")), true
}

func (c *call) methodNotAllowed() error {
	return wireErr(http.StatusMethodNotAllowed, 0, "The method "+c.r.Method+" is not allowed on this path with these headers.")
}

// refuse is a handler that fails.
func refuse(err error) handler { return func(*Server, *call) error { return err } }
