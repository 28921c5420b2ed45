package value

import (
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
)

// OperationKind says what an Operation does.
type OperationKind uint8

// The kinds of operations on items.
const (
	OperationCreate OperationKind = iota
	OperationUpsert
	OperationRead
	OperationReplace
	OperationDelete
	OperationPatch
)

var operationNames = [...]string{"create", "upsert", "read", "replace", "delete", "patch"}

// String names the kind in lower case.
func (k OperationKind) String() string {
	if int(k) < len(operationNames) {
		return operationNames[k]
	}
	return "unknown"
}

// Operation is one thing to do with one item.
type Operation struct {
	Kind      OperationKind
	ID        string                  // of Read, Replace, Delete and Patch
	Partition definition.PartitionKey // zero: that of the batch
	Body      []byte                  // of Create, Upsert and Replace
	Patch     *Patch                  // of Patch
	// NoContent says that nobody looks at the document in the result of a write: it does not count for the
	// size of a batch's answer.
	NoContent bool
	// Err is for whoever translates operations and finds one malformed: not nil, the operation fails with it.
	Err error
	// WriteOptions are the preconditions. A read takes IfNoneMatch as ReadOptions have it.
	WriteOptions
}

// OperationResult is what became of an Operation.
type OperationResult struct {
	Item     Item    // as it is afterwards; zero after a delete or a failure
	Inserted bool    // an upsert found nothing and inserted
	Charge   float64 // RU
	Err      error   // an *Error, or nil
}

// Fatal reports whether the operation failed for a reason that is not its own. Its transaction may be
// half-written and must be given up.
func (r *OperationResult) Fatal() bool {
	switch fault.ErrorCode(r.Err) {
	case fault.CodeInternal, fault.CodeCanceled, fault.CodeDiskFull, fault.CodeUnavailable:
		return r.Err != nil
	}
	return false
}

// Refused reports whether the operation failed. A read of what the reader has already did not.
func (r *OperationResult) Refused() bool {
	return r.Err != nil && fault.ErrorCode(r.Err) != fault.CodeNotModified
}

// Failed is the result of an operation that has failed.
func Failed(err error) OperationResult {
	return OperationResult{Charge: ChargeFailure, Err: classify.ToFault(err)}
}

// Patch changes parts of an item where it lies.
type Patch struct {
	// Operations are made in order, all or none.
	Operations jsondoc.Patch
	// Condition, "FROM c WHERE ..." with a name of choice for c, must hold for the item as it is before the
	// patch. Empty: there is none.
	Condition string
}
