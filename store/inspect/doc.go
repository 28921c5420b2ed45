// Package inspect reports what a client of Cosmos DB cannot ask about a container: when an item expires and
// why, what a change of the default would do, which items are going to expire, and how much the container
// holds.
//
//	explain.go         Expiry: of one item, live, expired or purged
//	dryrun.go          TTLChangeDryRunResult: what a change of the default does to the items
//	forecast.go        Forecast: how many items expire when
//	storage_usage.go   StorageUsage and RangeStatistics: documents, bytes, large partition keys
//	usage_version.go   Version: a text that differs whenever the set of stored items differs
//	purge_backlog.go   PurgeBacklog: items that have expired and are not purged
//	expiry_census.go   reads when all items expire, for a dry run or a forecast
//
// Its types are the results of methods of store.Container and store.DB. Its functions work on a
// view.ContainerAtTime, one state of a container as plain values, and a matching snapshot. Their caller, the
// store, makes sure that the results are durable and limits the time. The functions change nothing.
package inspect
