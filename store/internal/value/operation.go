package value

import (
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
)

// ItemOperationKind is the kind of an Operation.
type ItemOperationKind uint8

// The kinds of operations on items.
const (
	OperationCreate ItemOperationKind = iota
	OperationUpsert
	OperationRead
	OperationReplace
	OperationDelete
	OperationPatch
)

var operationNames = [...]string{"create", "upsert", "read", "replace", "delete", "patch"}

// String names the kind in lower case.
func (k ItemOperationKind) String() string {
	if int(k) < len(operationNames) {
		return operationNames[k]
	}
	return "unknown"
}

// ItemOperation is one operation of a batch on one item: a create, upsert, read, replace, delete or patch.
type ItemOperation struct {
	Kind      ItemOperationKind
	ID        string                  // of Read, Replace, Delete and Patch
	Partition definition.PartitionKey // zero: the partition key of the batch
	Body      []byte                  // of Create, Upsert and Replace
	Patch     *Patch                  // of Patch
	// NoContent means that the caller does not use the document in the result of a write. The document does
	// not count towards the size of a batch's response.
	NoContent bool
	// Err, if not nil, makes the operation fail with this error. Callers set it for an operation that they
	// have found to be malformed.
	Err error
	// WriteOptions are the preconditions. For a read, IfNoneMatch has the meaning that it has in
	// ReadOptions.
	WriteOptions
}

// ItemOperationResult is the result of an ItemOperation: the item after it, its charge, or its error.
type ItemOperationResult struct {
	Item     Item    // after the operation; zero after a delete or a failure
	Inserted bool    // an upsert created the item
	Charge   float64 // charge in RU
	Err      error   // a *fault.Error, or nil
}

// Fatal reports whether the operation failed for a reason outside of the operation itself. Its
// transaction may be incomplete and must be rolled back.
func (r *ItemOperationResult) Fatal() bool {
	switch fault.ErrorCode(r.Err) {
	case fault.CodeInternal, fault.CodeCanceled, fault.CodeDiskFull, fault.CodeUnavailable:
		return r.Err != nil
	}
	return false
}

// Refused reports whether the operation failed. A read that returns CodeNotModified has not failed.
func (r *ItemOperationResult) Refused() bool {
	return r.Err != nil && fault.ErrorCode(r.Err) != fault.CodeNotModified
}

// Failed returns the result of an operation that failed with err.
func Failed(err error) ItemOperationResult {
	return ItemOperationResult{Charge: ChargeFailure, Err: classify.ToFault(err)}
}

// Patch changes parts of a stored item.
type Patch struct {
	// Operations are applied in order, all or none.
	Operations jsondoc.Patch
	// Condition is "FROM c WHERE ..." with any alias for c. It must hold for the item before the patch.
	// Empty means no condition.
	Condition string
}
