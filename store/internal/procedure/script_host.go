package procedure

import (
	"context"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/script"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/inspect"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// ScriptTransaction is the transaction in which a script works, on one logical partition of a container.
type ScriptTransaction interface {
	// Apply executes an operation. key is a full partition key; if it is zero, each document's own key is
	// used.
	Apply(key definition.PartitionKey, op value.ItemOperation) value.ItemOperationResult
	// Stored returns the live item with an id, or the zero Item if there is none.
	Stored(key definition.PartitionKey, id string) (value.Item, error)
	// IDOf returns the id of the document with a rid.
	IDOf(key definition.PartitionKey, rid string) (string, error)
	// Query returns one page of a query. The query sees the writes of the transaction.
	Query(ctx context.Context, q value.QueryRequest) (query.Page, error)
	// Container describes the container: its links by rids and by names, and the usage of its limits.
	Container() (self, alt, usage string)
}

// ScriptHost is the container as seen by a stored procedure or a trigger.
type ScriptHost struct {
	Charge float64 // charge in RU so far

	run  *ScriptRunner
	t    ScriptTransaction
	key  definition.PartitionKey // full; zero: each document's own key is used
	used int                     // estimated size of the transaction in bytes
}

var _ script.Host = (*ScriptHost)(nil)

// Links returns the links of the container as scripts get them: self contains rids ("dbs/.../colls/..."), alt
// contains names.
func (h *ScriptHost) Links() (self, alt string) {
	self, alt, _ = h.t.Container()
	return self, alt
}

// Quota returns the container's limits and its usage of them, as texts for the script.
func (h *ScriptHost) Quota() (limits, usage string) {
	_, _, usage = h.t.Container()
	return inspect.Limits, usage
}

// maxScriptWork is the estimated transaction size in bytes above which a script's operations are no
// longer accepted. It leaves room for index entries and for the operations that the script has already
// begun.
const maxScriptWork = 6 << 20

// Full reports whether the transaction has become so large that no more operations are accepted.
func (h *ScriptHost) Full() bool { return h.used > maxScriptWork }

// Do executes an operation that the script requests.
func (h *ScriptHost) Do(ctx context.Context, op script.Operation) (script.OperationResult, error) {
	switch op.Kind {
	case script.Query:
		return h.query(ctx, op)
	case script.List:
		op.Body = []byte(`{"query":"SELECT * FROM c"}`)
		return h.query(ctx, op)
	}
	r := h.apply(op)
	h.Charge += r.Charge
	switch {
	case r.Fatal():
		return script.OperationResult{}, r.Err
	case op.Kind == script.Read && r.Err != nil && fault.ErrorCode(r.Err) == fault.CodeNotModified:
		return script.OperationResult{Status: 304, NotModified: true}, nil
	case r.Err != nil:
		return scriptFailure(r.Err)
	}
	h.used += 2*len(op.Body) + 1024
	answer := script.OperationResult{Status: 200}
	if op.Kind == script.Create || r.Inserted {
		answer.Status = 201
	}
	if op.Kind == script.Delete {
		answer.Status = 204
	} else {
		answer.Body = r.Item.AppendJSON(nil)
	}
	return answer, nil
}

// apply executes an operation on one document.
func (h *ScriptHost) apply(op script.Operation) value.ItemOperationResult {
	o, err := h.operation(op)
	if err != nil {
		return value.Failed(err)
	}
	return h.t.Apply(h.key, o)
}

// operation translates an operation of package script to one of the store.
func (h *ScriptHost) operation(op script.Operation) (value.ItemOperation, error) {
	o := value.ItemOperation{ID: op.ID, Body: op.Body}
	switch op.Kind {
	case script.Create:
		o.Kind = value.OperationCreate
	case script.Upsert:
		o.Kind, o.IfMatch = value.OperationUpsert, op.ETag
	case script.Read:
		o.Kind, o.IfNoneMatch = value.OperationRead, op.ETag
	case script.Replace:
		o.Kind, o.IfMatch = value.OperationReplace, op.ETag
	case script.Delete:
		o.Kind, o.IfMatch = value.OperationDelete, op.ETag
	default:
		return o, fault.New(fault.CodeBadRequest, "There is no such operation.")
	}
	if op.RID == "" {
		return o, nil
	}
	id, err := h.t.IDOf(h.key, op.RID)
	o.ID = id
	return o, err
}

// OtherPartition returns the error for a document that does not belong to the partition in which the script
// runs.
func OtherPartition() error {
	return fault.New(fault.CodeForbidden,
		"Requests originating from scripts cannot reference partition keys other than the one for which client request was submitted.")
}

// scriptStatuses maps fault codes to the error numbers that a script's callback receives, as in Cosmos
// DB's ErrorCodes.
var scriptStatuses = map[fault.Code]int{
	fault.CodeBadRequest: 400, fault.CodeForbidden: 403, fault.CodeNotFound: 404, fault.CodeConflict: 409, fault.CodePreconditionFailed: 412, fault.CodeTooLarge: 413,
}

// scriptFailure returns the response that reports err to the script. If the script must not handle err, it
// returns err itself, which ends the script.
func scriptFailure(err error) (script.OperationResult, error) {
	err = classify.ToFault(err)
	if fault.ErrorCode(err) == fault.CodePartitionKeyMismatch {
		err = OtherPartition()
	}
	status := scriptStatuses[fault.ErrorCode(err)]
	if status == 0 {
		return script.OperationResult{}, err
	}
	return script.OperationResult{Status: status, Message: err.Error()}, nil
}

// query returns one page of a query. The query sees the writes of the transaction.
func (h *ScriptHost) query(ctx context.Context, op script.Operation) (script.OperationResult, error) {
	q, err := scriptQuery(op)
	if err != nil {
		h.Charge += value.ChargeFailure
		return scriptFailure(err)
	}
	q.Scope = value.KeyOrRange{Partition: h.key}
	q.MaxItems, q.Continuation = value.PageLimit(op.PageSize), op.Continuation
	page, err := h.t.Query(ctx, q)
	h.Charge += value.ChargeRows(page.Stats)
	if err != nil {
		return scriptFailure(err)
	}
	answer := script.OperationResult{Status: 200, Body: []byte{'['}, Continuation: page.Cursor}
	for i, row := range page.Rows {
		if i > 0 {
			answer.Body = append(answer.Body, ',')
		}
		answer.Body = append(answer.Body, row...)
	}
	answer.Body = append(answer.Body, ']')
	return answer, nil
}

// scriptQuery parses {"query": text, "parameters": [{"name": ..., "value": ...}]}.
func scriptQuery(op script.Operation) (q value.QueryRequest, err error) {
	if err := jsondoc.Valid(op.Body, jsondoc.Limits{}); err != nil {
		return q, definition.DocumentError(err)
	}
	body := jsondoc.Of(op.Body)
	text := body.Member("query")
	if text.Kind() != jsondoc.String {
		return q, fault.New(fault.CodeBadRequest,
			"The query must be a string or an object {query, parameters}.")
	}
	q.Text = text.Str()
	body.Member("parameters").Each(func(_ string, p jsondoc.Value) bool {
		name := p.Member("name").Str()
		if !strings.HasPrefix(name, "@") || len(name) < 2 {
			err = fault.New(fault.CodeBadRequest,
				"Each parameter of a query needs a name that begins with '@'.")
		}
		q.Parameters = append(q.Parameters, value.QueryParameter{Name: name, Value: p.Member("value")})
		return err == nil
	})
	return q, err
}
