// Package gateway makes the query plans of clients that merge.
//
// Such a client sends a query to each partition range by itself and merges what comes back. Its plan
// (PartitionedQueryExecutionInfo in Cosmos DB) holds a rewritten query whose rows carry what they are merged
// by, and says how: by ORDER BY values, aggregates, groups, or ranks. What cannot be merged is refused with
// the features that the client lacks.
//
// The query is bound and planned as any other, so that it is refused for the same faults; then a copy of its
// tree is rewritten and printed. The package runs nothing and must not import exec.
package gateway
