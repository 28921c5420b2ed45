package batch

import (
	"errors"

	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// Limits of a batch, as in Cosmos DB.
const (
	MaxOperations  = 100
	maxBytes       = 2 << 20 // of all documents in the request
	maxAnswerBytes = 4 << 20 // of all documents in the response
)

// ErrTooManyOperations is the cause of the error for a batch with more than MaxOperations operations. The
// size of the documents does not matter.
var ErrTooManyOperations = errors.New("more operations than a batch may have")

// Options are the options of a batch. The zero value makes the operations independent of each other.
type Options struct {
	// Atomic makes the batch one transaction on items of one partition key: all operations take effect, in
	// order and with one LSN, or none does. Without it the operations are independent, and each may have
	// its own partition key.
	Atomic bool
	// ContinueOnError continues after an operation that failed. It is ignored if Atomic is set.
	ContinueOnError bool
	// Range is the id of the partition range in which all items lie; empty means any range. The batch fails
	// with CodeRangeGone if the range does not exist. An operation on an item in another range fails with
	// CodeRangeGone.
	Range string
	// Session lists the positions that reads must have reached; otherwise the batch fails with
	// CodeSessionNotAvailable and nothing is written. A batch that only writes ignores Session, as a single
	// write does.
	Session []value.SessionTokenEntry
}

// Result contains the results of the operations of a batch.
type Result struct {
	// Results are the results of the operations, in their order. An operation that was not tried or was
	// undone because another one failed has CodeFailedDependency.
	Results []value.ItemOperationResult
	// Mixed reports whether an operation failed or returned CodeNotModified.
	Mixed bool
}

// Check checks the batch as a whole, before its operations are checked one by one: see store.Container.Batch
// for the errors. def is the definition of the container's partition key, and pk the partition key of the
// operations that have none.
func Check(def *definition.PartitionKeyDefinition, pk definition.PartitionKey, ops []value.ItemOperation,
	o Options) error {
	if len(ops) == 0 {
		return fault.New(fault.CodeBadRequest, "Batch request has no operations.")
	}
	if len(ops) > MaxOperations {
		return &fault.Error{Code: fault.CodeBadRequest,
			Message: "Batch request has more operations than what is supported.", Err: ErrTooManyOperations}
	}
	size := 0
	for i := range ops {
		size += len(ops[i].Body)
	}
	if size > maxBytes {
		return fault.New(fault.CodeTooLarge, "Request size is too large")
	}
	if o.Atomic && pk.IsZero() && !def.SystemKey {
		return fault.New(fault.CodeBadRequest, "PartitionKey value must be supplied for this operation.")
	}
	if o.Atomic {
		if _, err := def.FullKey(pk, ""); err != nil {
			return err
		}
	}
	return nil
}
