package laboratory

import (
	"context"
	"time"

	"github.com/swaggest/jsonschema-go"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store"
)

// QueryExplanation is the plan of a query, with the statistics of one page of it.
type QueryExplanation struct {
	// Plan is a tree as text, one node per line. The input of a node is the rows of the node below it.
	Plan string `json:"plan" description:"Tree, one node per line; a node reads the rows of the one below."`

	Metrics ExplainMetrics `json:"metrics"`
	Indexes ExplainIndexes `json:"indexes"`
	Charge  float64        `json:"charge" description:"Request charge of the page, in RU."`
	Rows    int            `json:"rows" description:"Number of rows on the page."`

	receipt store.OperationReceipt
}

// Receipt implements route.ResponseWithCharge: it returns the charge of the query and the position of its
// range.
func (e *QueryExplanation) Receipt() store.OperationReceipt { return e.receipt }

// ExplainMetrics holds the statistics of one page of the explained query: times in milliseconds, sizes in
// bytes of JSON text.
type ExplainMetrics struct {
	ElapsedMs        float64 `json:"elapsedMs" description:"Time of the page's run, in milliseconds."`
	LoadMs           float64 `json:"loadMs" description:"Part of elapsedMs in which documents were read."`
	FilterMs         float64 `json:"filterMs" description:"Part of elapsedMs for testing conditions."`
	IndexEntries     int64   `json:"indexEntries" description:"Number of index entries that were read."`
	DocumentsLoaded  int64   `json:"documentsLoaded"`
	BytesLoaded      int64   `json:"bytesLoaded"`
	DocumentsMatched int64   `json:"documentsMatched" description:"Documents that match the conditions."`
	RowsJoined       int64   `json:"rowsJoined" description:"Rows that JOIN made from the matches."`
	RowsOutput       int64   `json:"rowsOutput"`
	BytesOutput      int64   `json:"bytesOutput"`
	UDFCalls         int64   `json:"udfCalls"`
}

// ExplainIndexes holds the indexes that the query has used, and those that it would use if the indexing
// policy had them.
type ExplainIndexes struct {
	Utilized  IndexList `json:"utilized"`
	Potential IndexList `json:"potential"`
	// EntryCharge is what one index entry adds to the charge of a write, in RU.
	EntryCharge float64 `json:"entryCharge" description:"Charge that an index entry adds to a write, in RU."`
}

// IndexList names indexes as an indexing policy does: "/a/?" for a single path, "/a ASC" for a path of a
// composite index.
type IndexList struct {
	Single    []string   `json:"single" nullable:"false"`
	Composite [][]string `json:"composite" nullable:"false"`
}

// sqlQueryParameters holds the parameters of a query.
type sqlQueryParameters []store.QueryParameter

// DecodeMember implements route.JSONMemberDecoder: it parses the JSON array of a query's parameters, objects
// with the members name and value.
func (p *sqlQueryParameters) DecodeMember(_ string, v jsondoc.Value) (err error) {
	*p, err = store.ParseParameters(v)
	return err
}

// JSONSchema implements jsonschema.Exposer.
func (sqlQueryParameters) JSONSchema() (s jsonschema.Schema, err error) {
	name := *new(jsonschema.Schema).WithPattern("^@.").WithDescription("Name of the parameter, beginning " +
		"with @.")
	name.AddType(jsonschema.String)
	one := new(jsonschema.Schema).WithRequired("name").WithProperties(map[string]jsonschema.SchemaOrBool{
		"name": name.ToSchemaOrBool(), "value": new(jsonschema.Schema).ToSchemaOrBool(),
	})
	one.AddType(jsonschema.Object)
	s.WithType(route.OneOf(jsonschema.Array, jsonschema.Null))
	s.WithItems(*new(jsonschema.Items).WithSchemaOrBool(one.ToSchemaOrBool()))
	s.WithExamples([]any{map[string]any{"name": "@user", "value": "ada"}})
	return s, nil
}

// requestedPageSize is the maximal number of rows of a page, as a request asks for it.
type requestedPageSize int

// DecodeMember reads a page size from the JSON value v of the member name. It fails with status 400 unless v
// is a positive integer, or -1 for as many rows as fit. It implements route.JSONMemberDecoder.
func (p *requestedPageSize) DecodeMember(name string, v jsondoc.Value) error {
	n := v.Num()
	if v.Kind() != jsondoc.Number || n != float64(int32(n)) || n == 0 || n < -1 {
		return route.BadRequest("'" + name + "' must be a positive integer, or -1 for as many rows as fit.")
	}
	*p = requestedPageSize(n)
	return nil
}

// JSONSchema returns the JSON schema of a page size: an integer that is at least -1. It implements
// jsonschema.Exposer.
func (requestedPageSize) JSONSchema() (s jsonschema.Schema, err error) {
	s.AddType(jsonschema.Integer)
	s.WithMinimum(-1).WithDescription("Maximum number of rows on the page; -1: as many as fit.")
	return s, nil
}

type explainQueryRequest struct {
	Database     route.RequiredText `json:"database" first:"true"`
	Container    route.RequiredText `json:"container" first:"true"`
	Query        route.RequiredText `json:"query" first:"true"`
	Parameters   sqlQueryParameters `json:"parameters,omitempty"`
	PartitionKey partitionKey       `json:"partitionKey,omitempty"`
	MaxItemCount requestedPageSize  `json:"maxItemCount,omitempty"`

	_ struct{} `takes:"an explanation takes %"`
	_ struct{} `additionalProperties:"false"`
}

// explainQuery runs one page of a query and returns its plan and statistics. Without a partition key the
// query covers the whole container.
func (l *Laboratory) explainQuery(ctx context.Context, in *explainQueryRequest) (QueryExplanation, error) {
	d, err := l.db.Database(string(in.Database))
	if err != nil {
		return QueryExplanation{}, err
	}
	coll, err := d.Container(string(in.Container))
	if err != nil {
		return QueryExplanation{}, err
	}
	request := store.QueryRequest{Text: string(in.Query), Parameters: in.Parameters, Explain: true}
	request.Scope.Partition, request.MaxItems = in.PartitionKey.PartitionKey, int(in.MaxItemCount)
	page, r, err := coll.Query(ctx, request)
	if err != nil {
		return QueryExplanation{receipt: r}, err
	}
	use := page.Indexes
	return QueryExplanation{
		Plan: page.Plan, Metrics: explainMetrics(page.Stats), Charge: r.Charge, Rows: len(page.Rows),
		Indexes: ExplainIndexes{
			Utilized:  IndexList{present(use.Single), present(use.Composite)},
			Potential: IndexList{present(use.PotentialSingle), present(use.PotentialComposite)},

			EntryCharge: store.ChargeOfEntries(1),
		},
		receipt: r,
	}, nil
}

func explainMetrics(s query.Stats) ExplainMetrics {
	return ExplainMetrics{
		ElapsedMs: milliseconds(s.Elapsed), LoadMs: milliseconds(s.Load), FilterMs: milliseconds(s.Filter),
		IndexEntries: s.IndexEntries, DocumentsLoaded: s.Loaded, BytesLoaded: s.LoadedBytes,
		DocumentsMatched: s.Matched, RowsJoined: s.Joined, RowsOutput: s.Output, BytesOutput: s.OutputBytes,
		UDFCalls: s.UDFCalls,
	}
}

// milliseconds returns d in milliseconds, at least 0.01.
func milliseconds(d time.Duration) float64 { return max(float64(d)/float64(time.Millisecond), 0.01) }

// present returns a copy of a list that is not nil, so that JSON shows [] rather than null.
func present[T any](list []T) []T { return append([]T{}, list...) }
