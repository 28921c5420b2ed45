package laboratory

import (
	"context"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
)

// Register adds the routes of Mayfly's own API to the group g. It runs the middleware open before public
// routes, and the middleware keyed, which checks the key, before all others.
func (l *Laboratory) Register(g *echo.Group, open, keyed echo.MiddlewareFunc) {
	for _, r := range table() {
		r.Register(g, l, open, keyed)
	}
}

// table returns all routes. A summary is one line without a period at the end.
func table() routeTable {
	return slices.Concat(ofServer(), ofClocks(), ofData(), ofExpiry(), ofReapers(), ofQueueing(),
		ofReceivers(), ofSubscriptions(), ofFaults(), ofRequests(), ofSeeds(), ofQueries())
}

func (l *Laboratory) openAPI(context.Context, *route.NoBody) (route.OpenAPIDocument, error) {
	return describe(table())
}

func (l *Laboratory) page(context.Context, *route.NoBody) (route.TextResponse, error) {
	all := table()
	d, err := describe(all)
	if err != nil {
		return route.TextResponse{}, err
	}
	return route.Page(all, &d)
}

func ofServer() routeTable {
	pem := route.ResponseFormat{Kind: pemKind, Description: "The certificate as PEM text."}
	return routeTable{
		on(get, root, "This list of routes as an HTML page", (*Laboratory).page).
			Public().As(route.ResponseFormat{Kind: route.PageKind,
			Description: "An HTML page without scripts."}),
		on(get, root+"/openapi.json", "These routes as an OpenAPI document", (*Laboratory).openAPI).Public(),
		route.Raw(get, root+"/changes", "Server-sent events that say what kind of data has changed",
			(*Laboratory).streamChanges).As(route.ResponseFormat{Kind: eventKind, Description: changesText}),
		on(get, root+"/connection", "The ports, and the Service Bus key, that clients need to connect",
			(*Laboratory).connection),
		on(get, root+"/servers", "The running servers that share the data",
			(*Laboratory).listServers),
		on(get, root+"/livez", "Liveness: whether the process responds", (*Laboratory).live).Public(),
		on(get, root+"/readyz", "Readiness: whether the store can be read and written", (*Laboratory).ready).
			Public().Failing(503),
		route.Raw(get, root+"/metrics",
			"Metrics in the text format of Prometheus; with the master key also those of each container",
			(*Laboratory).metrics).Public().Failing(503).
			As(route.ResponseFormat{Kind: metricsKind,
				Description: "Metrics in the text format, or in another one that the header Accept asks " +
					"for."}),
		on(get, root+"/cert.pem", "The server's certificate, as PEM text", (*Laboratory).certificate).
			Public().As(pem).Failing(404),
		on(get, "/_explorer/emulator.pem",
			"The server's certificate, at the path that the official emulator uses",
			(*Laboratory).certificate).Public().As(pem).Failing(404),
	}
}

func ofClocks() routeTable {
	return routeTable{
		on(get, root+"/clock", "The data clock: its time and speed", (*Laboratory).getClock),
		on(put, root+"/clock", "Move, stop or speed up the virtual clock", (*Laboratory).setClock),
		on(get, database+"/clock", "The clock of a database", (*Laboratory).getDatabaseClock),
		on(put, database+"/clock", "Move the clock of a database, which is then its own",
			(*Laboratory).setDatabaseClock),
		on(del, database+"/clock", "Remove a database's own clock: it follows the server's clock again",
			(*Laboratory).followClock),
	}
}

func ofData() routeTable {
	return routeTable{
		on(get, root+"/snapshots", "List the snapshots of the store", (*Laboratory).listSnapshots),
		on(post, root+"/snapshots", "Save the current state of the whole store as a snapshot",
			(*Laboratory).createSnapshot).Answering(201).Failing(409),
		on(del, snapshot, "Delete a snapshot", (*Laboratory).deleteSnapshot),
		on(post, snapshot+"/restore",
			"Restore the whole store, one database or one container from a snapshot",
			(*Laboratory).restoreSnapshot),
		on(post, snapshot+"/fork", "Create a new database as a copy of one in a snapshot",
			(*Laboratory).forkSnapshot).Answering(201).Failing(409),
		on(post, root+"/reset",
			"Restore the snapshot 'seeded', with its clocks, delete all faults on demand, and resume the reaper",
			(*Laboratory).reset).Failing(404),
		on(post, root+"/explain", "Run one page of a query, and explain its plan, cost and use of indexes",
			(*Laboratory).explainQuery).Failing(404),
		on(post, container+"/import", "Store documents with a given time of their last write",
			(*Laboratory).importItems).Answering(200, 207),
		on(get, container+"/settings", "Mayfly's own settings of a container", (*Laboratory).getSettings),
		on(patch, container+"/settings", "Change settings of a container; null resets one to its default",
			(*Laboratory).patchSettings),
		on(post, container+"/split", "Split a partition key range into two",
			(*Laboratory).split).Failing(410),
	}
}

func ofExpiry() routeTable {
	return routeTable{
		on(post, container+"/explain-item", "When an item expires, and why", (*Laboratory).explainItem),
		on(post, container+"/lease", "Take a lease on an item, which keeps it from expiring for some seconds",
			(*Laboratory).takeLease),
		on(del, container+"/lease", "Release the lease of an item", (*Laboratory).releaseLease),
		on(post, container+"/wait",
			"Wait until an item is expired, purged or in the change feed, or nothing is left to purge",
			(*Laboratory).wait).Failing(408, 503),
		on(get, root+"/forecast", "How many items of all containers will expire when",
			(*Laboratory).forecastAll),
		on(get, container+"/forecast", "How many items of a container will expire when",
			(*Laboratory).forecast),
		on(post, container+"/ttl-dry-run", "The effect that a change of a container's defaultTtl would have",
			(*Laboratory).dryRun),
		on(get, container+"/lint", "Times to live that are probably mistakes", (*Laboratory).lint),
		route.Raw(get, container+"/events",
			"The expiry events of a container, as server-sent events or in pages",
			(*Laboratory).serveEvents).As(route.ResponseFormat{Kind: route.JSONKind,
			Answer: ExpiryEventPage{}},
			route.ResponseFormat{Kind: eventKind, Description: streamText}),
	}
}

func ofReapers() routeTable {
	return routeTable{
		on(get, root+"/reaper", "Whether the reapers of all containers are paused", (*Laboratory).getReapers),
		on(put, root+"/reaper", "Pause or resume the reapers of all containers",
			(*Laboratory).setReapers),
		on(post, root+"/reaper/run", "Purge the expired items of all containers now",
			(*Laboratory).runReapers),
		on(get, container+"/reaper", "The state of a container's reaper", (*Laboratory).getReaper),
		on(put, container+"/reaper", "Pause, delay or slow down the reaper of a container",
			(*Laboratory).setReaper),
		on(post, container+"/reaper/run",
			"Purge the expired items of a container now, even if its reaper is paused or delayed",
			(*Laboratory).runReaper),
		on(post, container+"/reaper/step",
			"Purge a number of expired items, even if the reaper is paused or delayed",
			(*Laboratory).stepReaper),
	}
}
