package httpapi

import "net/http"

// operation is what a request wants done. Cosmos DB gives POST many meanings; headers tell them apart.
type operation uint8

const (
	opRead operation = iota
	opCreate
	opUpsert
	opReplace
	opDelete
	opQuery
	opQueryPlan
	opBatch
	opPatch
	opChangeFeed
	opOther // a method that the protocol does not have
	opCount
)

// handler carries out one operation.
type handler func(s *Server, c *call) error

// handlers is the one place that says what runs for which path and operation.
var handlers = [kindCount]struct{ feed, single [opCount]handler }{
	kindAccount: {
		single: [opCount]handler{opRead: (*Server).readAccount},
	},
	kindDatabase: {
		feed:   [opCount]handler{opRead: (*Server).listDatabases, opCreate: (*Server).createDatabase, opQuery: (*Server).queryDatabases},
		single: [opCount]handler{opRead: (*Server).readDatabase, opDelete: (*Server).deleteDatabase},
	},
	kindContainer: {
		feed:   [opCount]handler{opRead: (*Server).listContainers, opCreate: (*Server).createContainer, opQuery: (*Server).queryContainers},
		single: [opCount]handler{opRead: (*Server).readContainer, opReplace: (*Server).replaceContainer, opDelete: (*Server).deleteContainer},
	},
	kindItem: {
		feed: [opCount]handler{opRead: (*Server).listItems, opCreate: (*Server).createItem, opUpsert: (*Server).upsertItem,
			opChangeFeed: (*Server).changeFeed, opQuery: (*Server).queryItems, opQueryPlan: (*Server).queryPlan, opBatch: (*Server).runBatch},
		single: [opCount]handler{opRead: (*Server).readItem, opReplace: (*Server).replaceItem, opPatch: (*Server).patchItem,
			opDelete: (*Server).deleteItem},
	},
	kindPartitionDelete: {
		single: [opCount]handler{opCreate: (*Server).deletePartition},
	},
	kindRange: {
		feed: [opCount]handler{opRead: (*Server).listRanges},
	},
	kindOffer: {
		feed:   [opCount]handler{opRead: (*Server).listOffers, opQuery: (*Server).queryOffers},
		single: [opCount]handler{opRead: (*Server).readOffer, opReplace: (*Server).replaceOffer},
	},
	kindConflict: {
		feed:   [opCount]handler{opRead: (*Server).listNothing, opQuery: (*Server).queryNothing},
		single: [opCount]handler{opRead: (*Server).readNothing, opDelete: (*Server).readNothing},
	},
	kindAttachment: {
		feed: [opCount]handler{opRead: (*Server).listNothing, opQuery: (*Server).queryNothing, opCreate: (*Server).refuseAttachment,
			opUpsert: (*Server).refuseAttachment},
		single: [opCount]handler{opRead: (*Server).readNothing, opDelete: (*Server).readNothing},
	},
	kindUser:       {feed: resourceFeedHandlers, single: resourceHandlers},
	kindPermission: {feed: resourceFeedHandlers, single: resourceHandlers},
	kindEncryptionKey: {
		feed:   [opCount]handler{opRead: (*Server).listResources, opCreate: (*Server).createResource, opQuery: (*Server).queryResources},
		single: [opCount]handler{opRead: (*Server).readResource, opReplace: (*Server).replaceResource},
	},
	kindSproc:   {feed: resourceFeedHandlers, single: procedureHandlers},
	kindTrigger: {feed: resourceFeedHandlers, single: resourceHandlers},
	kindUDF:     {feed: resourceFeedHandlers, single: resourceHandlers},
	kindAddresses: {
		feed: [opCount]handler{opRead: (*Server).refuseAddresses},
	},
}

// The small resources are all handled alike.
var (
	resourceFeedHandlers = [opCount]handler{opRead: (*Server).listResources, opCreate: (*Server).createResource,
		opUpsert: (*Server).upsertResource, opQuery: (*Server).queryResources}
	resourceHandlers = [opCount]handler{opRead: (*Server).readResource, opReplace: (*Server).replaceResource,
		opDelete: (*Server).deleteResource}
	procedureHandlers = [opCount]handler{opRead: (*Server).readResource, opReplace: (*Server).replaceResource,
		opDelete: (*Server).deleteResource, opCreate: (*Server).executeProcedure}
)

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

// operation tells what the request wants. The content type decides only where it says query: clients send
// all kinds with everything else.
func (c *call) operation() operation {
	switch c.Request().Method {
	case http.MethodGet, http.MethodHead:
		if c.target.kind == kindItem && c.target.feed && (c.in.incremental || c.in.fullFidelity) {
			return opChangeFeed
		}
		return opRead
	case http.MethodPost:
		switch {
		case c.in.plan:
			return opQueryPlan
		case c.in.query && c.target.kind == kindItem && c.target.feed && (c.in.incremental || c.in.fullFidelity):
			return opChangeFeed
		case c.in.query || c.in.contentType == "application/query+json" || c.in.contentType == "application/sql":
			return opQuery
		case c.in.batch:
			return opBatch
		case c.in.upsert:
			return opUpsert
		}
		return opCreate
	case http.MethodPut:
		return opReplace
	case http.MethodPatch:
		return opPatch
	case http.MethodDelete:
		return opDelete
	}
	return opOther
}

// route finds the handler of a request. open: it runs without authorization.
func (c *call) route() (run handler, open bool) {
	if c.target.kind == kindOwn {
		return c.routeOwn()
	}
	op := c.operation()
	if c.target.kind == kindAccount && op == opRead && c.fromBrowser() {
		return (*Server).leadToPage, true
	}
	table := &handlers[c.target.kind]
	if c.target.feed {
		run = table.feed[op]
	} else {
		run = table.single[op]
	}
	switch {
	case run != nil:
		return run, c.target.kind == kindAddresses
	}
	return refuse(c.methodNotAllowed()), false
}

func (c *call) routeOwn() (run handler, open bool) {
	method := c.Request().Method
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
	return wireErr(http.StatusMethodNotAllowed, 0, "The method "+c.Request().Method+" is not allowed on this path with these headers.")
}

// refuse is a handler that fails.
func refuse(err error) handler { return func(*Server, *call) error { return err } }
