package laboratory

import (
	"net/http"
	"reflect"
	"slices"
)

// Methods and kinds of content, as the table has them.
const (
	get   = http.MethodGet
	post  = http.MethodPost
	put   = http.MethodPut
	patch = http.MethodPatch
	del   = http.MethodDelete

	pemKind     = "application/x-pem-file"
	metricsKind = "text/plain"
)

// Beginnings of paths.
const (
	root      = "/_mayfly"
	database  = root + "/dbs/{db}"
	container = database + "/colls/{coll}"
	snapshot  = root + "/snapshots/{name}"
)

// table is all that there is. A summary is a line without its full stop.
func table() []route {
	return slices.Concat(ofServer(), ofClocks(), ofData(), ofExpiry(), ofReapers(), ofQueueing(), ofReceivers(), ofSubscriptions(),
		ofFaults(), ofSeeds())
}

func ofServer() []route {
	pem := media{kind: pemKind, explain: "PEM text."}
	return []route{
		on(get, root, "These routes on a page for people", (*Laboratory).page).
			toAll().as(media{kind: pageKind, explain: "A page without scripts."}),
		on(get, root+"/openapi.json", "These routes as an OpenAPI document", (*Laboratory).openAPI).toAll(),
		on(get, root+"/livez", "Whether the process answers", (*Laboratory).live).toAll(),
		on(get, root+"/readyz", "Whether the store can be written and read", (*Laboratory).ready).
			toAll().failing(503),
		{method: get, path: root + "/metrics", open: true, status: 200, fails: []int{503}, serve: metrics,
			summary: "Metrics in the text format of Prometheus; with the key those of each container, too",
			request: reflect.TypeFor[none](),
			answers: []media{{kind: metricsKind, explain: "The text format, or another that Accept names."}}},
		on(get, root+"/cert.pem", "The server's certificate, as PEM text", (*Laboratory).certificate).
			toAll().as(pem).failing(404),
		on(get, "/_explorer/emulator.pem", "The server's certificate, where emulators have it",
			(*Laboratory).certificate).toAll().as(pem).failing(404),
	}
}

func ofClocks() []route {
	return []route{
		on(get, root+"/clock", "The data clock", (*Laboratory).getClock),
		on(put, root+"/clock", "Move the virtual clock", (*Laboratory).setClock),
		on(get, database+"/clock", "The clock of a database", (*Laboratory).getDatabaseClock),
		on(put, database+"/clock", "Give a database a clock of its own, or move that",
			(*Laboratory).setDatabaseClock),
		on(del, database+"/clock", "Let a database follow the server's clock again",
			(*Laboratory).followClock),
	}
}

func ofData() []route {
	return []route{
		on(get, root+"/snapshots", "The snapshots of the whole store", (*Laboratory).listSnapshots),
		on(post, root+"/snapshots", "Keep the present state of the whole store under a name",
			(*Laboratory).createSnapshot).answering(201).failing(409),
		on(del, snapshot, "Free a snapshot", (*Laboratory).deleteSnapshot),
		on(post, snapshot+"/restore", "Put the whole store, or one database, back to a snapshot",
			(*Laboratory).restoreSnapshot),
		on(post, snapshot+"/fork", "Copy a snapshot's database under a name that is free",
			(*Laboratory).forkSnapshot).answering(201).failing(409),
		on(post, root+"/reset", "Go back to the seeded state, clocks included, and end all faults on demand",
			(*Laboratory).reset).failing(404),
		on(post, root+"/explain", "How a query is answered: its plan, and what one page of it took",
			(*Laboratory).explainQuery).failing(404),
		on(post, container+"/import", "Store documents that say themselves how old they are",
			(*Laboratory).importItems).answering(200, 207),
		on(get, container+"/settings", "Mayfly's own settings of a container", (*Laboratory).getSettings),
		on(patch, container+"/settings", "Change some settings of a container; null clears one",
			(*Laboratory).patchSettings),
		on(post, container+"/split", "Split a partition key range in two", (*Laboratory).split).failing(410),
	}
}

func ofExpiry() []route {
	return []route{
		on(post, container+"/explain-item", "When an item expires, and why", (*Laboratory).explainItem),
		on(post, container+"/lease", "Keep an item from expiring for some seconds", (*Laboratory).takeLease),
		on(del, container+"/lease", "End what keeps an item from expiring", (*Laboratory).releaseLease),
		on(post, container+"/wait",
			"Wait until an item is expired, purged or in the change feed, or the container is quiet",
			(*Laboratory).wait).failing(408, 503),
		on(get, root+"/forecast", "What is going to expire, in all containers", (*Laboratory).forecastAll),
		on(get, container+"/forecast", "What is going to expire, in a container", (*Laboratory).forecast),
		on(post, container+"/ttl-dry-run", "What a change of a container's defaultTtl would do",
			(*Laboratory).dryRun),
		on(get, container+"/lint", "Times to live that are probably not what was meant", (*Laboratory).lint),
		streamed(on(get, container+"/events", "What has expired, as server-sent events or page by page",
			(*Laboratory).events)),
	}
}

func ofReapers() []route {
	return []route{
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
