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

func (c *call) methodNotAllowed() error {
	return wireErr(http.StatusMethodNotAllowed, 0, "The method "+c.Request().Method+" is not allowed on this path with these headers.")
}

// refuse is a handler that fails.
func refuse(err error) handler { return func(*Server, *call) error { return err } }
