package laboratory

import (
	"context"
	"errors"
	"net/http"

	"github.com/swaggest/jsonschema-go"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// documentsToImport is the array of documents in a request to import them.
type documentsToImport struct{ list jsondoc.Value }

// DecodeMember implements route.JSONMemberDecoder.
func (d *documentsToImport) DecodeMember(_ string, v jsondoc.Value) error {
	d.list = v
	return nil
}

// JSONSchema implements jsonschema.Exposer: it returns the schema of an array of 1 to 100 documents.
func (documentsToImport) JSONSchema() (s jsonschema.Schema, err error) {
	one := new(jsonschema.Schema).WithDescription("A document. Its member _ts or _mayfly gives the time " +
		"of its last write, or of its expiry.")
	one.AddType(jsonschema.Object)
	s.AddType(jsonschema.Array)
	s.WithItems(*new(jsonschema.Items).WithSchemaOrBool(one.ToSchemaOrBool()))
	s.WithMinItems(1).WithMaxItems(100)
	s.WithExamples([]any{map[string]any{"id": "1", "user": "ada", "_mayfly": map[string]any{"age": "50m"}}})
	return s, nil
}

type importDocumentsRequest struct {
	ContainerPath
	Documents documentsToImport `json:"documents" nullable:"false"`

	Create bool `json:"create,omitempty" description:"Refuse documents that exist. Default: replace them."`

	_ struct{} `takes:"an import takes %" body:"documents"`
	_ struct{} `additionalProperties:"false"`
}

// ImportResults is the response to a request that imports documents: a result for each of them, without the
// document.
type ImportResults struct {
	results []DocumentImportResult
	receipt store.OperationReceipt
	mixed   bool
}

// DocumentImportResult is the result for one document.
type DocumentImportResult struct {
	Status     int     `json:"statusCode" description:"201: created; 200: replaced; or an error's status."`
	Substatus  int     `json:"subStatusCode,omitempty"`
	Charge     float64 `json:"requestCharge" description:"Request charge, in RU."`
	ETag       string  `json:"eTag,omitempty"`
	RetryAfter int64   `json:"retryAfterMilliseconds,omitempty"`
	Message    string  `json:"message,omitempty" description:"Error message, if the document was refused."`
}

// Receipt implements route.ResponseWithCharge: it returns the charge of the import and the position of its
// range.
func (i *ImportResults) Receipt() store.OperationReceipt { return i.receipt }

// StatusCode implements route.ResponseWithStatus: it returns 207 if at least one document failed, otherwise
// 200.
func (i *ImportResults) StatusCode() int {
	if i.mixed {
		return http.StatusMultiStatus
	}
	return http.StatusOK
}

// Verbatim marks the response as one whose text is sent unchanged: the characters <, > and & are not escaped
// in its JSON. It implements route.VerbatimResponse.
func (i *ImportResults) Verbatim() {}

// MarshalJSON returns a JSON array with one result for each document.
func (i *ImportResults) MarshalJSON() ([]byte, error) {
	return jsondoc.Marshal(i.results)
}

// importItems upserts or creates up to 100 documents, each with the age that it has in the request; see
// store.ParseImport. The partition key is taken from each document. If ctx ends, the import stops after the
// current document.
func (l *Laboratory) importItems(ctx context.Context, in *importDocumentsRequest) (ImportResults, error) {
	if in.Documents.list.Kind() != jsondoc.Array {
		return ImportResults{}, route.BadRequest("'documents' must be an array of documents.")
	}
	kind := store.OperationUpsert
	if in.Create {
		kind = store.OperationCreate
	}
	var ops []store.ItemOperation
	in.Documents.list.Each(func(_ string, v jsondoc.Value) bool {
		if ctx.Err() != nil {
			return false
		}
		op := store.ItemOperation{Kind: kind, NoContent: true}
		var o store.ImportTimestampOptions
		op.Body, o, op.Err = store.ParseImport(v.Raw())
		op.Import = &o
		ops = append(ops, op)
		return true
	})
	if err := ctx.Err(); err != nil {
		return ImportResults{}, err
	}
	o := store.BatchOptions{ContinueOnError: true}
	done, r, err := in.container.Batch(ctx, definition.PartitionKey{}, ops, o)
	out := ImportResults{receipt: r, mixed: done.Mixed}
	if err != nil {
		return out, err
	}
	for i := range done.Results {
		out.results = append(out.results, l.imported(kind, &done.Results[i]))
	}
	return out, nil
}

func (l *Laboratory) imported(kind store.ItemOperationKind,
	r *store.ItemOperationResult) DocumentImportResult {
	out := DocumentImportResult{Status: http.StatusOK, Charge: r.Charge}
	if r.Item.Body() != nil {
		out.ETag = r.Item.ETag()
	}
	if r.Err != nil {
		f := l.opt.Classify(r.Err)
		out.Status, out.Substatus, out.Message = f.Status, f.Substatus, f.Message
		var throttled *store.ThrottledError
		if errors.As(r.Err, &throttled) {
			out.RetryAfter = throttled.RetryAfter.Milliseconds()
		}
	} else if r.Inserted || kind == store.OperationCreate {
		out.Status = http.StatusCreated
	}
	return out
}
