package value

import "github.com/mayflydb/mayfly/query"

// QueryRequest is a query over the items of a container.
type QueryRequest struct {
	Text       string
	Parameters []Parameter
	ListOptions
	// Cross says what may be done for a query whose scope is the whole container.
	Cross CrossPartition
	// Resume says where the rows of a query with ORDER BY begin; nil: at the beginning. A Continuation goes
	// before it.
	Resume *Resume
	// Continued tells QueryPlan that the client is going to ask for more than one page.
	Continued bool
	// Explain asks for the plan, with what each part of it did and how long it took.
	Explain bool
}

// Parameter is a named value of a query, its name with the '@'.
type Parameter = query.Parameter

// OrderValue is what a row of a query with ORDER BY is ordered by.
type OrderValue = query.OrderValue

// Resume is a place among the rows of a query with ORDER BY. A client that merges partition ranges goes on by
// it in those that it has no continuation for.
type Resume struct {
	Values []OrderValue // what the last row given out is ordered by, one for each key of ORDER BY
	// the _rid of that row's item, to begin with it among equal rows; empty: before or behind all of them
	RID     string
	Exclude bool // begin behind that item, or behind all equal rows
}

// CrossPartition says how far a query may reach that names no partition key and no range, neither beside its
// text nor by its conditions.
type CrossPartition uint8

// The reaches. The last two are what a gateway of Cosmos DB does.
const (
	// CrossServe answers every query; partial results of the ranges are merged here.
	CrossServe CrossPartition = iota
	// CrossStream answers what needs no merging and lists no aggregates, and the rest with
	// CodeCrossPartition: the client is to merge.
	CrossStream
	// CrossRefuse answers with CodeBadRequest.
	CrossRefuse
)

// QueryPage is one page of a query's result.
type QueryPage struct {
	Rows         [][]byte // JSON values
	Continuation string   // empty on the last page
	Stats        query.Stats
	Indexes      query.IndexUse
	Plan         string // with QueryRequest.Explain
	// Ordered reports whether the rows come by an ORDER BY, Descending that its first key is DESC: equal rows
	// come latest first.
	Ordered, Descending bool
}
