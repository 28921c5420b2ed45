package store

import (
	"context"
	"encoding/binary"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/script"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/inspect"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/scan"
)

// scriptHost is the container as a stored procedure or a trigger sees it: one logical partition, inside one
// transaction.
type scriptHost struct {
	ctx    context.Context
	t      *tx
	key    definition.PartitionKey // full; none: each document has its own
	charge float64                 // RU so far
	used   int                     // about how many bytes the transaction holds
}

var _ script.Host = (*scriptHost)(nil)

// Links implements script.Host.
func (h *scriptHost) Links() (self, alt string) {
	return h.t.c.self(), "dbs/" + h.t.c.d.ID() + "/colls/" + h.t.c.name
}

// Quota implements script.Host.
func (h *scriptHost) Quota() (limits, usage string) { return inspect.Limits, h.t.c.LastUsage() }

// maxScriptWork is how much a script may write before its operations are not accepted any more, by a rough
// estimate: it leaves what it has begun, and index entries, room in the transaction.
const maxScriptWork = 6 << 20

// Full implements script.Host.
func (h *scriptHost) Full() bool { return h.used > maxScriptWork }

// Do implements script.Host.
func (h *scriptHost) Do(ctx context.Context, op script.Operation) (script.Answer, error) {
	switch op.Kind {
	case script.Query:
		return h.query(ctx, op)
	case script.List:
		op.Body = []byte(`{"query":"SELECT * FROM c"}`)
		return h.query(ctx, op)
	}
	r := h.apply(op)
	h.charge += r.Charge
	switch {
	case r.fatal():
		return script.Answer{}, r.Err
	case op.Kind == script.Read && r.Err != nil && fault.ErrorCode(r.Err) == fault.CodeNotModified:
		return script.Answer{Status: 304, NotModified: true}, nil
	case r.Err != nil:
		return scriptFailure(r.Err)
	}
	h.used += 2*len(op.Body) + 1024
	answer := script.Answer{Status: 200}
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

// apply carries out an operation on one document.
func (h *scriptHost) apply(op script.Operation) OperationResult {
	o, err := h.operation(op)
	if err != nil {
		return failed(err)
	}
	p, err := h.t.c.prepare(h.key, o)
	if err != nil {
		return failed(err)
	}
	if !h.t.s.holds(p.epk) {
		return failed(scan.RangeGone(h.t.s.id))
	}
	return h.t.apply(p)
}

// operation is an operation of a script as the store knows it.
func (h *scriptHost) operation(op script.Operation) (Operation, error) {
	o := Operation{ID: op.ID, Body: op.Body}
	switch op.Kind {
	case script.Create:
		o.Kind = OperationCreate
	case script.Upsert:
		o.Kind, o.IfMatch = OperationUpsert, op.ETag
	case script.Read:
		o.Kind, o.IfNoneMatch = OperationRead, op.ETag
	case script.Replace:
		o.Kind, o.IfMatch = OperationReplace, op.ETag
	case script.Delete:
		o.Kind, o.IfMatch = OperationDelete, op.ETag
	default:
		return o, fault.New(fault.CodeBadRequest, "There is no such operation.")
	}
	if op.RID == "" {
		return o, nil
	}
	id, err := h.find(op.RID)
	o.ID = id
	return o, err
}

// find returns the id of the document of a rid.
func (h *scriptHost) find(rid string) (string, error) {
	c := h.t.c
	b, ok := layout.ParseRID(rid, 16)
	if !ok || string(b[:8]) != string(layout.ContainerRIDBytes(c.d.rec.Num, c.cid)) || b[15]>>4 != 0 {
		return "", badRID(rid)
	}
	item, ghost, err := h.t.load(binary.LittleEndian.Uint64(b[8:]))
	switch {
	case err != nil:
		return "", err
	case item == nil || ghost:
		return "", itemNotFound()
	case string(item.pk) != string(h.key.AppendOrdered(nil)):
		return "", otherPartition()
	}
	return item.id, nil
}

func otherPartition() error {
	return fault.New(fault.CodeForbidden,
		"Requests originating from scripts cannot reference partition keys other than the one for which client request was submitted.")
}

// scriptStatuses are the numbers that a script's callback finds in an error, as Cosmos DB's ErrorCodes name
// them.
var scriptStatuses = map[fault.Code]int{
	fault.CodeBadRequest: 400, fault.CodeForbidden: 403, fault.CodeNotFound: 404, fault.CodeConflict: 409, fault.CodePreconditionFailed: 412, fault.CodeTooLarge: 413,
}

// scriptFailure tells a script what was wrong with its operation. What is not for it to know ends it.
func scriptFailure(err error) (script.Answer, error) {
	err = classify.ToFault(err)
	if fault.ErrorCode(err) == fault.CodePartitionKeyMismatch {
		err = otherPartition()
	}
	status := scriptStatuses[fault.ErrorCode(err)]
	if status == 0 {
		return script.Answer{}, err
	}
	return script.Answer{Status: status, Message: err.Error()}, nil
}

// query answers one page of a query. It sees what the transaction has written.
func (h *scriptHost) query(ctx context.Context, op script.Operation) (script.Answer, error) {
	q, err := scriptQuery(op)
	if err != nil {
		h.charge += chargeFailure
		return scriptFailure(err)
	}
	q.Scope = Scope{Partition: h.key}
	q.MaxItems, q.Continuation = PageLimit(op.PageSize), op.Continuation
	page, err := h.t.query(ctx, q)
	h.charge += chargeRows(page.Stats)
	if err != nil {
		return scriptFailure(err)
	}
	answer := script.Answer{Status: 200, Body: []byte{'['}, Continuation: page.Cursor}
	for i, row := range page.Rows {
		if i > 0 {
			answer.Body = append(answer.Body, ',')
		}
		answer.Body = append(answer.Body, row...)
	}
	answer.Body = append(answer.Body, ']')
	return answer, nil
}

// scriptQuery reads {"query": text, "parameters": [{"name": ..., "value": ...}]}.
func scriptQuery(op script.Operation) (q QueryRequest, err error) {
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
		q.Parameters = append(q.Parameters, Parameter{Name: name, Value: p.Member("value")})
		return err == nil
	})
	return q, err
}
