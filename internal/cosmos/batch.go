package cosmos

import (
	"cmp"
	"errors"
	"slices"
	"strconv"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/jsondoc/jsonbinary"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
)

// A batch arrives as a JSON array or, from .NET, as a stream of rows. The response has the same form as the
// request. Both forms decode to a list of batchOperation; both encode a list of wireResult.

// batchOperation is an operation of a batch as the client sent it.
type batchOperation struct {
	kind                 store.ItemOperationKind
	id                   string
	partitionKey         string // JSON text; empty: the partition key of the batch
	body                 []byte // a document or a patch
	ifMatch, ifNoneMatch string
	minimal              bool // no document in the result
}

// runBatch runs the operations of a batch request: as one transaction or, in bulk, each for itself.
func (s *Service) runBatch(c *requestInProgress) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	if len(c.req.Body) > maxBody {
		return Failure(StatusTooLarge, 0, tooLargeText)
	}
	rows := isRowStream(c.req.Body)
	parse := parseJSONBatch
	if rows {
		parse = parseRowBatch
	}
	list, err := parse(c.req.Body)
	if err != nil {
		return err
	}
	ops := make([]store.ItemOperation, len(list))
	for i := range list {
		list[i].minimal = list[i].minimal || c.in.Minimal
		ops[i] = list[i].operation()
	}
	out, r, err := coll.Batch(c.ctx, c.in.PartitionKey, ops, store.BatchOptions{
		Atomic: c.in.Atomic, ContinueOnError: c.in.ContinueOnError, Range: c.in.RangeID, Session: c.in.Session,
	})
	c.setReceiptOf(r)
	if err != nil {
		return err
	}
	return c.sendBatch(ops, out, rows)
}

// operation converts the operation to one of the store. If the operation is invalid, the result contains an
// error, so that only this operation fails.
func (w *batchOperation) operation() store.ItemOperation {
	op := store.ItemOperation{
		Kind: w.kind, ID: w.id, NoContent: w.minimal,
		WriteOptions: store.WriteOptions{IfMatch: w.ifMatch, IfNoneMatch: w.ifNoneMatch},
	}
	if w.partitionKey != "" {
		var err error
		if op.Partition, err = ParsePartitionKey(w.partitionKey); err != nil {
			op.Err = malformed(err)
			return op
		}
	}
	if jsonbinary.Is(w.body) {
		var err error
		if w.body, err = textOf(w.body, maxItemBody); err != nil {
			op.Err = malformed(err)
			return op
		}
	}
	switch w.kind {
	case store.OperationRead:
		// Clients send both conditions in one field. The kind of operation decides which one it is.
		op.IfNoneMatch = cmp.Or(w.ifNoneMatch, w.ifMatch)
	case store.OperationCreate, store.OperationUpsert:
		op.Body = w.body
		return op
	case store.OperationReplace:
		op.Body = w.body
	case store.OperationPatch:
		patch, err := parsePatch(w.body)
		if err != nil {
			op.Err = malformed(err)
			return op
		}
		op.Patch = &patch
	}
	if w.id == "" {
		op.Err = malformed(BadRequest("A " + w.kind.String() + " in a batch must have an 'id'."))
	}
	return op
}

// malformed converts the error of parsing an operation of a batch to a fault.Error, which becomes the
// result of that operation.
func malformed(err error) error {
	failed := &fault.Error{Code: fault.CodeBadRequest, Message: err.Error(), Err: err}
	if w, _ := Classify(err); w.Status == StatusTooLarge {
		failed.Code = fault.CodeTooLarge
	}
	return failed
}

// batchResult is the result of an operation in the form that the client receives.
type batchResult struct {
	status, substatus int
	etag              string
	body              []byte  // the document; nil: none
	retryAfter        int64   // milliseconds; 0: omitted
	charge            float64 // RU
	message           string  // of a failure
}

// successes holds the statuses of successful operations. They are the same as outside of a batch.
var successes = map[store.ItemOperationKind]int{
	store.OperationCreate: StatusCreated, store.OperationUpsert: StatusOK, store.OperationRead: StatusOK,
	store.OperationReplace: StatusOK, store.OperationPatch: StatusOK, store.OperationDelete: StatusNoContent,
}

// wireResult converts the result of an operation of a batch to the form that the client receives. It writes
// the document's JSON to scratch.
func (c *requestInProgress) wireResult(op *store.ItemOperation, r *store.ItemOperationResult,
	scratch []byte) batchResult {
	out := batchResult{charge: r.Charge}
	if r.Item.Body() != nil {
		out.etag = r.Item.ETag()
	}
	if r.Err == nil {
		out.status = successes[op.Kind]
		if r.Inserted {
			out.status = StatusCreated
		}
		if r.Item.Body() != nil && (op.Kind == store.OperationRead || !op.NoContent) {
			out.body = r.Item.AppendJSON(scratch)
		}
		return out
	}
	w, internal := Classify(r.Err)
	if internal {
		c.srv.log.Error("internal error", "activity", c.req.Activity, "operation", op.Kind.String(), "error",
			r.Err)
	}
	out.status, out.substatus, out.message = w.Status, w.Substatus, w.Message
	if w.Detail != "" {
		out.message += " " + w.Detail
	}
	var throttled *store.ThrottledError
	if errors.As(r.Err, &throttled) {
		out.retryAfter = throttled.RetryAfter.Milliseconds()
	}
	return out
}

// sendBatch responds with the results. The status is 207 if at least one operation failed. If rows is set,
// the response is a stream of HybridRows, like the request, otherwise JSON.
func (c *requestInProgress) sendBatch(ops []store.ItemOperation, out store.BatchResult, rows bool) error {
	status := StatusOK
	if out.Mixed {
		status = StatusMultiStatus
	}
	if len(ops) == 1 && ops[0].Kind == store.OperationRead &&
		fault.ErrorCode(out.Results[0].Err) == fault.CodeNotFound {
		c.out.OwnerRID = "" // like a single read
	}
	if c.in.Atomic && slices.ContainsFunc(out.Results, isFailure) {
		c.out.OwnerRID = "" // nothing was written
		c.out.Substatus = mismatchIn(out.Results)
	}
	c.out.setItemCount(len(ops))
	answer, scratch := borrow(), borrow()
	defer scratch.release()
	if rows {
		answer.b = appendRowSegment(answer.b)
	}
	for i := range ops {
		w := c.wireResult(&ops[i], &out.Results[i], scratch.b[:0])
		if w.body != nil {
			scratch.b = w.body // keep the grown buffer
		}
		if rows {
			answer.b = appendRowResult(answer.b, w)
			continue
		}
		answer.b = append(answer.b, "[,"[min(i, 1)])
		answer.b = appendJSONResult(answer.b, w)
	}
	if c.out.Rows = rows; !rows {
		answer.b = append(answer.b, ']')
	}
	return c.sendBuffer(status, answer)
}

// isFailure reports whether an operation failed. The status "not modified" is not a failure.
func isFailure(r store.ItemOperationResult) bool {
	return r.Err != nil && fault.ErrorCode(r.Err) != fault.CodeNotModified
}

// mismatchIn returns the substatus of a failed batch in which an operation has another partition key than
// the batch, or 0 if there is no such operation.
func mismatchIn(results []store.ItemOperationResult) int {
	for i := range results {
		if fault.ErrorCode(results[i].Err) == fault.CodePartitionKeyMismatch {
			return SubstatusPartitionKeyMismatch
		}
	}
	return 0
}

func appendJSONResult(dst []byte, r batchResult) []byte {
	dst = strconv.AppendInt(append(dst, `{"statusCode":`...), int64(r.status), 10)
	if r.substatus != 0 {
		dst = strconv.AppendInt(append(dst, `,"subStatusCode":`...), int64(r.substatus), 10)
	}
	dst = strconv.AppendFloat(append(dst, `,"requestCharge":`...), r.charge, 'f', -1, 64)
	if r.etag != "" {
		dst = jsondoc.AppendString(append(dst, `,"eTag":`...), r.etag)
	}
	if r.body != nil {
		dst = append(append(dst, `,"resourceBody":`...), r.body...)
	}
	if r.retryAfter > 0 {
		dst = strconv.AppendInt(append(dst, `,"retryAfterMilliseconds":`...), r.retryAfter, 10)
	}
	if r.message != "" {
		dst = jsondoc.AppendString(append(dst, `,"message":`...), r.message)
	}
	return append(dst, '}')
}

// batchKinds maps the names of operations in a batch in JSON to the kinds of operations of the store.
var batchKinds = map[string]store.ItemOperationKind{
	"Create": store.OperationCreate, "Upsert": store.OperationUpsert, "Read": store.OperationRead,
	"Replace": store.OperationReplace, "Delete": store.OperationDelete, "Patch": store.OperationPatch,
}

// batchDepth is the number of JSON levels that a batch adds around a document or a patch.
const batchDepth = 2

// parseJSONBatch parses a JSON array of operations.
func parseJSONBatch(body []byte) ([]batchOperation, error) {
	text, err := jsondoc.Compact(body, jsondoc.Limits{MaxDepth: jsondoc.DefaultMaxDepth + patchDepth + batchDepth})
	if err != nil {
		return nil, BadRequest("The batch is invalid: " + err.Error())
	}
	array := jsondoc.Of(text)
	if array.Kind() != jsondoc.Array {
		return nil, BadRequest("A batch must be a JSON array of operations, not " + array.Kind().String() +
			".")
	}
	var list []batchOperation
	array.Each(func(_ string, v jsondoc.Value) bool {
		var w batchOperation
		if w, err = parseJSONOperation(v); err != nil {
			err = BadRequest("The batch is invalid: operation " + strconv.Itoa(len(list)+1) + ": " +
				err.Error())
		}
		list = append(list, w)
		return err == nil
	})
	return list, err
}

func parseJSONOperation(v jsondoc.Value) (w batchOperation, err error) {
	if v.Kind() != jsondoc.Object {
		return w, BadRequest("it must be an object, not " + v.Kind().String())
	}
	kind, ok := batchKinds[v.Member("operationType").Str()]
	if !ok {
		return w, BadRequest("its operationType must be Create, Upsert, Read, Replace, Delete or Patch")
	}
	w.kind, w.body = kind, v.Member("resourceBody").Raw()
	for _, text := range []struct {
		name string
		to   *string
	}{{"id", &w.id}, {"ifMatch", &w.ifMatch}, {"ifNoneMatch", &w.ifNoneMatch}} {
		switch m := v.Member(text.name); m.Kind() {
		case jsondoc.Undefined, jsondoc.Null:
		case jsondoc.String:
			*text.to = m.Str()
		default:
			return w, BadRequest("its " + text.name + " must be a string, not " + m.Kind().String())
		}
	}
	switch pk := v.Member("partitionKey"); pk.Kind() {
	case jsondoc.Undefined, jsondoc.Null:
	case jsondoc.String: // a string that contains JSON
		w.partitionKey = pk.Str()
	case jsondoc.Array:
		w.partitionKey = string(pk.Raw())
	default:
		return w, BadRequest("its partitionKey must be an array or the text of one, not " +
			pk.Kind().String())
	}
	switch m := v.Member("minimalReturnPreference"); m.Kind() {
	case jsondoc.Undefined, jsondoc.Null, jsondoc.Bool:
		w.minimal = m.Bool()
	default:
		return w, BadRequest("its minimalReturnPreference must be a boolean, not " + m.Kind().String())
	}
	return w, nil
}
