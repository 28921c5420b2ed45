package laboratory

import (
	"context"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
)

// Register adds the routes to a group. open is the middleware of public routes, keyed that of all others.
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
	pem := route.ResponseFormat{Kind: pemKind, Description: "PEM text."}
	return routeTable{
		on(get, root, "These routes on a page for people", (*Laboratory).page).
			Public().As(route.ResponseFormat{Kind: route.PageKind, Description: "A page without scripts."}),
		on(get, root+"/openapi.json", "These routes as an OpenAPI document", (*Laboratory).openAPI).Public(),
		route.Raw(get, root+"/changes", "What changes, as server-sent events without content",
			(*Laboratory).streamChanges).As(route.ResponseFormat{Kind: eventKind, Description: changesText}),
		on(get, root+"/connection", "The ports and keys that clients connect with", (*Laboratory).connection),
		on(get, root+"/servers", "The running servers that have the same data open",
			(*Laboratory).listServers),
		on(get, root+"/livez", "Whether the process answers", (*Laboratory).live).Public(),
		on(get, root+"/readyz", "Whether the store can be written and read", (*Laboratory).ready).
			Public().Failing(503),
		route.Raw(get, root+"/metrics",
			"Metrics in the text format of Prometheus; with the key those of each container, too",
			(*Laboratory).metrics).Public().Failing(503).
			As(route.ResponseFormat{Kind: metricsKind,
				Description: "The text format, or another that Accept names."}),
		on(get, root+"/cert.pem", "The server's certificate, as PEM text", (*Laboratory).certificate).
			Public().As(pem).Failing(404),
		on(get, "/_explorer/emulator.pem", "The server's certificate, where emulators have it",
			(*Laboratory).certificate).Public().As(pem).Failing(404),
	}
}

func ofClocks() routeTable {
	return routeTable{
		on(get, root+"/clock", "The data clock", (*Laboratory).getClock),
		on(put, root+"/clock", "Move the virtual clock", (*Laboratory).setClock),
		on(get, database+"/clock", "The clock of a database", (*Laboratory).getDatabaseClock),
		on(put, database+"/clock", "Give a database a clock of its own, or move that",
			(*Laboratory).setDatabaseClock),
		on(del, database+"/clock", "Let a database follow the server's clock again",
			(*Laboratory).followClock),
	}
}

func ofData() routeTable {
	return routeTable{
		on(get, root+"/snapshots", "The snapshots of the whole store", (*Laboratory).listSnapshots),
		on(post, root+"/snapshots", "Keep the present state of the whole store under a name",
			(*Laboratory).createSnapshot).Answering(201).Failing(409),
		on(del, snapshot, "Free a snapshot", (*Laboratory).deleteSnapshot),
		on(post, snapshot+"/restore", "Put the whole store, one database or one container back to a snapshot",
			(*Laboratory).restoreSnapshot),
		on(post, snapshot+"/fork", "Copy a snapshot's database under a name that is free",
			(*Laboratory).forkSnapshot).Answering(201).Failing(409),
		on(post, root+"/reset", "Go back to the seeded state, clocks included, and end all faults on demand",
			(*Laboratory).reset).Failing(404),
		on(post, root+"/explain", "How a query is answered: its plan, and what one page of it took",
			(*Laboratory).explainQuery).Failing(404),
		on(post, container+"/import", "Store documents that say themselves how old they are",
			(*Laboratory).importItems).Answering(200, 207),
		on(get, container+"/settings", "Mayfly's own settings of a container", (*Laboratory).getSettings),
		on(patch, container+"/settings", "Change some settings of a container; null clears one",
			(*Laboratory).patchSettings),
		on(post, container+"/split", "Split a partition key range in two", (*Laboratory).split).Failing(410),
	}
}

func ofExpiry() routeTable {
	return routeTable{
		on(post, container+"/explain-item", "When an item expires, and why", (*Laboratory).explainItem),
		on(post, container+"/lease", "Keep an item from expiring for some seconds", (*Laboratory).takeLease),
		on(del, container+"/lease", "End what keeps an item from expiring", (*Laboratory).releaseLease),
		on(post, container+"/wait",
			"Wait until an item is expired, purged or in the change feed, or the container is quiet",
			(*Laboratory).wait).Failing(408, 503),
		on(get, root+"/forecast", "What is going to expire, in all containers", (*Laboratory).forecastAll),
		on(get, container+"/forecast", "What is going to expire, in a container", (*Laboratory).forecast),
		on(post, container+"/ttl-dry-run", "What a change of a container's defaultTtl would do",
			(*Laboratory).dryRun),
		on(get, container+"/lint", "Times to live that are probably not what was meant", (*Laboratory).lint),
		route.Raw(get, container+"/events", "What has expired, as server-sent events or page by page",
			(*Laboratory).serveEvents).As(route.ResponseFormat{Kind: route.JSONKind, Answer: ExpiryEvents{}},
			route.ResponseFormat{Kind: eventKind, Description: streamText}),
	}
}

func ofReapers() routeTable {
	return routeTable{
		on(get, root+"/reaper", "Whether purges are paused in all containers", (*Laboratory).getReapers),
		on(put, root+"/reaper", "Pause purges in all containers, or let them go on",
			(*Laboratory).setReapers),
		on(post, root+"/reaper/run", "Purge now whatever has expired, in all containers",
			(*Laboratory).runReapers),
		on(get, container+"/reaper", "How the reaper of a container stands", (*Laboratory).getReaper),
		on(put, container+"/reaper", "Pause, delay or starve the reaper of a container",
			(*Laboratory).setReaper),
		on(post, container+"/reaper/run", "Purge now whatever has expired in a container, held back or not",
			(*Laboratory).runReaper),
		on(post, container+"/reaper/step", "Purge so many expired items, held back or not",
			(*Laboratory).stepReaper),
	}
}
