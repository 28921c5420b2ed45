package laboratory

import "github.com/mayflydb/mayfly/internal/laboratory/route"

func ofRequests() routeTable {
	const list = root + "/requests"
	return routeTable{
		route.Raw(get, list, "The log of requests, as server-sent events or in pages",
			(*Laboratory).serveRequests).Failing(404).As(route.ResponseFormat{Kind: route.JSONKind,
			Answer: LoggedRequests{}},
			route.ResponseFormat{Kind: eventKind, Description: requestStreamText}),
		on(del, list, "Delete all entries of the log of requests", (*Laboratory).clearRequests).Failing(404),
		on(get, list+".har", "The latest requests as an HTTP archive (HAR 1.2)",
			(*Laboratory).archiveRequests).Failing(404),
		on(get, list+"/{id}", "A logged request with its headers and bodies",
			(*Laboratory).getRequest).Failing(404),
	}
}
