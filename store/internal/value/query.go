package value

import "github.com/mayflydb/mayfly/query"

// QueryRequest is a query over the items of a container.
type QueryRequest struct {
	Text       string
	Parameters []QueryParameter
	ListOptions
	// Cross says whether a query over the whole container is run, merged or refused.
	Cross CrossPartitionMode
	// Resume is the row at which a query with ORDER BY begins; nil: at its first row. A Continuation
	// takes precedence.
	Resume *OrderedQueryResumePosition
	// Continued means, for QueryPlan, that the client will request more than one page.
	Continued bool
	// Explain requests the plan, with the work and the time of each part.
	Explain bool
}

// QueryParameter is a named value of a query, its name with the '@'.
type QueryParameter = query.Parameter

// OrderByValue is the value by which a row of a query with ORDER BY is sorted.
type OrderByValue = query.OrderByValue

// OrderedQueryResumePosition is a position among the rows of a query with ORDER BY. A client that merges
// partition ranges uses it to continue in the ranges for which it has no continuation.
type OrderedQueryResumePosition struct {
	Values []OrderByValue // the sort values of the last returned row, one for each key of ORDER BY
	// RID is the _rid of the item of the last returned row. Rows with equal sort values are in the order of
	// their RIDs. If RID is empty, the position is before all rows with the sort values in Values, or after
	// them if Exclude is set.
	RID     string
	Exclude bool // begin after that item, or after all rows of equal values
}

// CrossPartitionMode determines how a query over all partition ranges is run. That is a query whose options
// and conditions name neither a partition key nor a range.
type CrossPartitionMode uint8

// How a query over all partition ranges is run. A gateway of Cosmos DB never merges, so it behaves like
// CrossStream or, without the header x-ms-documentdb-query-enablecrosspartition, like CrossRefuse.
const (
	// CrossServe runs every query; the store merges the results of the ranges.
	CrossServe CrossPartitionMode = iota
	// CrossStream runs queries whose result needs no merging and has no aggregates. Other queries fail with
	// CodeCrossPartition, and the client must query each range and merge the results.
	CrossStream
	// CrossRefuse makes every query over all partition ranges fail with CodeBadRequest.
	CrossRefuse
)

// QueryPage is one page of a query's result.
type QueryPage struct {
	Rows         [][]byte // JSON values
	Continuation string   // empty on the last page
	Stats        query.Stats
	Indexes      query.UsedAndPotentialIndexes
	Plan         string // set if QueryRequest.Explain is set
	// Ordered reports whether the rows are sorted by an ORDER BY. Descending reports whether its first
	// key is DESC: rows with equal values then come newest first.
	Ordered, Descending bool
}
