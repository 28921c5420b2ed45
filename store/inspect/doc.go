// Package inspect reports of a container what no client of Cosmos DB can ask: when an item dies and why, what
// a change of the default would do, what is going to expire, and how much there is.
//
//	explain.go   Expiry: of one item, alive, dead or gone
//	dryrun.go    DryRun: what a change of the default does to the items
//	forecast.go  Forecast: how many items expire when
//	usage.go     Usage and RangeStatistics: documents, bytes, large partition keys
//	backlog.go   Backlog: what has expired and is not purged
//	census.go    the walk over all lives that a dry run and a forecast judge by
//
// Its values are what the methods of store.Container and store.DB answer with. Its functions work on a
// view.State, one state of a container as plain values, and a snapshot that was made under it; the store
// calls them, sees to it that what they tell of is durable, and bounds the time that they take. They change
// nothing.
package inspect
