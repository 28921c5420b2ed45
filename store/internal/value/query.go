package value

import "github.com/mayflydb/mayfly/query"

// QueryRequest is a query over the items of a container.
type QueryRequest struct {
	Text       string
	Parameters []Parameter
	ListOptions
	// Cross limits what is done for a query whose scope is the whole container.
	Cross CrossPartition
	// Resume is the row at which a query with ORDER BY begins; nil: at its first row. A Continuation
	// takes precedence.
	Resume *Resume
	// Continued tells QueryPlan that the client will ask for more than one page.
	Continued bool
	// Explain requests the plan, with the work and the time of each part.
	Explain bool
}

// Parameter is a named value of a query, its name with the '@'.
type Parameter = query.Parameter

// OrderValue is the value by which a row of a query with ORDER BY is sorted.
type OrderValue = query.OrderValue

// Resume is a position among the rows of a query with ORDER BY. A client that merges partition ranges
// uses it to continue in the ranges for which it has no continuation.
type Resume struct {
	Values []OrderValue // the sort values of the last returned row, one for each key of ORDER BY
	// the _rid of that row's item, its position among rows of equal values; empty: before or after all of
	// those
	RID     string
	Exclude bool // begin after that item, or after all rows of equal values
}

// CrossPartition limits a query that names neither a partition key nor a range, whether in its options or
// by its conditions.
type CrossPartition uint8

// The limits. The last two are those of a gateway of Cosmos DB.
const (
	// CrossServe answers every query; the store merges the partial results of the ranges.
	CrossServe CrossPartition = iota
	// CrossStream answers queries that need no merging and select no aggregates. For others it returns
	// CodeCrossPartition, and the client must merge.
	CrossStream
	// CrossRefuse returns CodeBadRequest.
	CrossRefuse
)

// QueryPage is one page of a query's result.
type QueryPage struct {
	Rows         [][]byte // JSON values
	Continuation string   // empty on the last page
	Stats        query.Stats
	Indexes      query.IndexUse
	Plan         string // set if QueryRequest.Explain is set
	// Ordered reports whether the rows are sorted by an ORDER BY. Descending reports whether its first
	// key is DESC: rows with equal values then come newest first.
	Ordered, Descending bool
}
