// Package gateway makes the query plans for clients that merge the results of partition ranges.
//
// Such a client sends a query to each partition range separately and merges the results. Its plan
// (PartitionedQueryExecutionInfo in Cosmos DB) has a rewritten query, whose rows include the values by
// which they are merged. The plan also says how to merge them: by ORDER BY values, aggregates, groups, or
// ranks. If a query needs features that the client lacks, it is refused with the list of these features.
//
// The query is bound and planned like any other, so that it is refused for the same errors. Then a copy of
// its tree is rewritten and printed. The package runs nothing and must not import exec.
package gateway
