package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/mayflydb/mayfly/cosmos"
	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// Explanation is the answer of POST /_mayfly/explain: the plan of a query and what running it for one page
// took.
type Explanation struct {
	Plan    string         `json:"plan"` // a tree as text, a line a node; the rows of a node come from the one below
	Metrics ExplainMetrics `json:"metrics"`
	Indexes ExplainIndexes `json:"indexes"`
	Charge  float64        `json:"charge"` // of the page, in RU
	Rows    int            `json:"rows"`   // of the page
}

// ExplainMetrics are the figures of the page: times in milliseconds, sizes in bytes of JSON text.
type ExplainMetrics struct {
	ElapsedMs        float64 `json:"elapsedMs"`        // from the first look at a document to the last
	LoadMs           float64 `json:"loadMs"`           // of it, reading documents
	FilterMs         float64 `json:"filterMs"`         // of it, conditions
	IndexEntries     int64   `json:"indexEntries"`     // looked at
	DocumentsLoaded  int64   `json:"documentsLoaded"`  // read
	BytesLoaded      int64   `json:"bytesLoaded"`      //
	DocumentsMatched int64   `json:"documentsMatched"` // that fulfil the conditions on the document alone
	RowsJoined       int64   `json:"rowsJoined"`       // made of them
	RowsOutput       int64   `json:"rowsOutput"`
	BytesOutput      int64   `json:"bytesOutput"`
	UDFCalls         int64   `json:"udfCalls"`
}

// ExplainIndexes are the indexes that the query used, and those that it would if the policy had them.
type ExplainIndexes struct {
	Utilized  IndexList `json:"utilized"`
	Potential IndexList `json:"potential"`
}

// IndexList names indexes as an indexing policy does: "/a/?" for a single path, "/a ASC" for one of a
// composite index.
type IndexList struct {
	Single    []string   `json:"single"`
	Composite [][]string `json:"composite"`
}

// explainQuery runs a query for one page and tells how it went: {"database", "container", "query",
// "parameters"?, "partitionKey"?: [...], "maxItemCount"?}. Without a partition key it goes over the whole
// container.
func (s *Server) explainQuery(c *call) error {
	e, err := decodeExplain(c.req.Body)
	if err != nil {
		return err
	}
	d, err := s.db.Database(e.database)
	if err != nil {
		return err
	}
	coll, err := d.Container(e.container)
	if err != nil {
		return err
	}
	e.request.Explain = true
	page, r, err := coll.Query(c.ctx(), e.request)
	c.setReceiptOf(r)
	if err != nil {
		return err
	}
	body, err := json.Marshal(Explanation{
		Plan: page.Plan, Metrics: explainMetrics(page.Stats), Charge: r.Charge, Rows: len(page.Rows),
		Indexes: ExplainIndexes{
			Utilized:  IndexList{present(page.Indexes.Single), present(page.Indexes.Composite)},
			Potential: IndexList{present(page.Indexes.PotentialSingle), present(page.Indexes.PotentialComposite)},
		},
	})
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, body)
}

func explainMetrics(s query.Stats) ExplainMetrics {
	return ExplainMetrics{
		ElapsedMs: cosmos.Milliseconds(s.Elapsed), LoadMs: cosmos.Milliseconds(s.Load), FilterMs: cosmos.Milliseconds(s.Filter),
		IndexEntries: s.IndexEntries, DocumentsLoaded: s.Loaded, BytesLoaded: s.LoadedBytes, DocumentsMatched: s.Matched,
		RowsJoined: s.Joined, RowsOutput: s.Output, BytesOutput: s.OutputBytes, UDFCalls: s.UDFCalls,
	}
}

// present is a list that JSON does not show as null.
func present[T any](list []T) []T { return append([]T{}, list...) }

// explainRequest is what is to be explained.
type explainRequest struct {
	database, container string
	request             store.QueryRequest
}

func decodeExplain(body []byte) (e explainRequest, err error) {
	v, err := decodeObject(body)
	if err != nil {
		return e, err
	}
	if e.database, err = decodeText(v, "database"); err != nil {
		return e, err
	}
	if e.container, err = decodeText(v, "container"); err != nil {
		return e, err
	}
	if e.request.Text, err = decodeText(v, "query"); err != nil {
		return e, err
	}
	v.Each(func(name string, elem doc.Value) bool {
		err = e.option(name, elem)
		return err == nil
	})
	return e, err
}

// option reads a member of the body that need not be there.
func (e *explainRequest) option(name string, v doc.Value) (err error) {
	switch name {
	case "database", "container", "query":
	case "parameters":
		e.request.Parameters, err = cosmos.DecodeParameters(v)
	case "partitionKey":
		e.request.Scope.Partition, err = definition.ParsePartitionKey(v.Raw())
	case "maxItemCount":
		n := v.Num()
		if v.Kind() != doc.Number || n != float64(int32(n)) || n == 0 || n < -1 {
			return badRequest("'maxItemCount' must be a positive integer, or -1 for as many rows as fit.")
		}
		e.request.MaxItems = int(n)
	default:
		return badRequest("'" + name + "' is not known: an explanation takes 'database', 'container', 'query', 'parameters', 'partitionKey' and 'maxItemCount'.")
	}
	return err
}
