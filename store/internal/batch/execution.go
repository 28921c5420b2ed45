package batch

import (
	"context"
	"errors"
	"slices"

	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/transaction"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// errRolledBack ends the transaction of an atomic batch in which an operation failed.
var errRolledBack = errors.New("an operation of the batch failed")

var errAnswerTooLarge = fault.New(fault.CodeTooLarge, "Response size is too large")

var errFailedDependency = fault.New(fault.CodeFailedDependency,
	"The operation was not carried out because another one of its batch failed.")

// Container is the container in which a batch is carried out.
type Container interface {
	// State returns the current state of the container.
	State() *container.State
	// Prepare checks one operation and encodes its document. pk is the partition key of an operation that has
	// none.
	Prepare(pk definition.PartitionKey, op value.ItemOperation) (*transaction.PreparedOperation, error)
	// CheckPositions fails with CodeSessionNotAvailable if the container has none of the positions of a
	// session.
	CheckPositions(ctx context.Context, session []value.SessionTokenEntry) error
	// CheckSession fails with CodeSessionNotAvailable if the range has not reached its LSN in the session.
	CheckSession(p *container.Partition, session []value.SessionTokenEntry) error
	// Update runs fn as one durable transaction in the range of the key at. The transaction carries out the
	// operations of list. fn may run more than once.
	Update(ctx context.Context, at transaction.EncodedItemKey, list []*transaction.PreparedOperation,
		fn func(*transaction.Tx) error) (value.OperationReceipt, error)
}

// Execution is a batch that is being carried out. Prepare must be called before Run.
type Execution struct {
	// Receipt is that of the last transaction.
	Receipt value.OperationReceipt

	c       Container
	def     *definition.PartitionKeyDefinition
	o       Options
	ops     []value.ItemOperation
	list    []*transaction.PreparedOperation // nil if results has the operation's error already
	results []value.ItemOperationResult
	answer  int // bytes of the documents in the response so far
}

// NewExecution returns a batch of operations that have passed Check. def is the definition of the container's
// partition key.
func NewExecution(c Container, def *definition.PartitionKeyDefinition, ops []value.ItemOperation,
	o Options) *Execution {
	return &Execution{c: c, def: def, o: o, ops: ops, list: make([]*transaction.PreparedOperation, len(ops)),
		results: make([]value.ItemOperationResult, len(ops))}
}

// Result returns the results of the operations, and the sum of their charges in RU.
func (b *Execution) Result() (out Result, charge float64) {
	out.Results = b.results
	for i := range b.results {
		out.Mixed = out.Mixed || b.results[i].Err != nil
		charge += b.results[i].Charge
	}
	return out, charge
}

// Prepare prepares the operations. It checks ctx before each of them; after the end of ctx the remaining
// ones fail with its error.
func (b *Execution) Prepare(ctx context.Context, pk definition.PartitionKey) {
	for i := range b.ops {
		if err := ctx.Err(); err != nil {
			b.results[i] = value.Failed(classify.ToFault(err))
			continue
		}
		if b.o.Atomic && !b.ops[i].Partition.IsZero() && !b.def.Matches(b.ops[i].Partition, pk) {
			b.results[i] = value.Failed(fault.New(fault.CodePartitionKeyMismatch, definition.MismatchText))
			continue
		}
		p, err := b.c.Prepare(pk, b.ops[i])
		if err == nil {
			err = b.admit(b.c.State(), p)
		}
		if err != nil {
			b.results[i] = value.Failed(err)
			continue
		}
		b.list[i] = p
	}
}

// Run carries out the operations that Prepare has prepared. An error means that the batch as a whole is
// refused.
func (b *Execution) Run(ctx context.Context) error {
	if err := b.checkSession(ctx); err != nil {
		return err
	}
	switch {
	case b.o.Atomic:
		return b.runAtomic(ctx)
	case b.o.ContinueOnError:
		return b.runAll(ctx)
	default:
		return b.runEach(ctx)
	}
}

// admit fails with CodeRangeGone if the item of an operation is not in the partition range to which the
// client sent the batch. It is called before the transaction, to save a useless transaction in another range,
// and again inside it, where the state cannot change.
func (b *Execution) admit(st *container.State, p *transaction.PreparedOperation) error {
	if b.o.Range == "" {
		return nil
	}
	if !st.LiesIn(p.EPK, b.o.Range) {
		return scan.RangeGone(b.o.Range)
	}
	return nil
}

// apply carries out the i-th operation in its transaction, which may run more than once. answer is the number
// of bytes that the operations before it have added to the response; apply adds its own.
func (b *Execution) apply(t *transaction.Tx, i int, answer *int) value.ItemOperationResult {
	p, op := b.list[i], &b.ops[i]
	if err := t.Ctx.Err(); err != nil {
		return value.Failed(classify.ToFault(err))
	}
	if err := b.admit(t.State, p); err != nil {
		return value.Failed(err)
	}
	r := t.Apply(p)
	if r.Item.IsZero() || op.NoContent && op.Kind != value.OperationRead {
		return r
	}
	size := len(r.Item.Body())
	if *answer+size <= maxAnswerBytes {
		*answer += size
		return r
	}
	if op.Kind == value.OperationRead || b.o.Atomic {
		return value.Failed(errAnswerTooLarge)
	}
	r.Item = r.Item.WithoutBody()
	return r
}

// checkSession checks, if the batch reads anything, that each of its ranges has reached the LSN in the
// client's session token.
func (b *Execution) checkSession(ctx context.Context) error {
	reads := func(op value.ItemOperation) bool { return op.Kind == value.OperationRead }
	if len(b.o.Session) == 0 || !slices.ContainsFunc(b.ops, reads) {
		return nil
	}
	if err := b.c.CheckPositions(ctx, b.o.Session); err != nil {
		return err
	}
	st := b.c.State()
	asked := make(map[*container.Partition]bool)
	for _, p := range b.list {
		if p == nil {
			continue
		}
		s := st.RangeOf(p.EPK)
		if asked[s] {
			continue
		}
		asked[s] = true
		if err := b.c.CheckSession(s, b.o.Session); err != nil {
			return err
		}
	}
	return nil
}

// runAtomic carries out all operations in one transaction. If one operation fails, all of them fail.
func (b *Execution) runAtomic(ctx context.Context) error {
	if b.list[0] == nil {
		b.skip(0, 0)
		return nil
	}
	culprit := -1
	r, err := b.c.Update(ctx, transaction.Together(b.list), b.list, func(t *transaction.Tx) error {
		t.Prefetch(b.list)
		culprit = -1
		answer := 0
		for i, p := range b.list {
			if p != nil {
				b.results[i] = b.apply(t, i, &answer)
			}
			if b.results[i].Fatal() {
				return b.results[i].Err
			}
			if !b.results[i].Refused() {
				continue
			}
			if culprit = i; errors.Is(b.results[i].Err, errAnswerTooLarge) {
				culprit = len(b.list) - 1
				b.results[culprit] = value.Failed(errAnswerTooLarge)
			}
			return errRolledBack
		}
		return nil
	})
	b.Receipt = r
	if culprit >= 0 {
		b.skip(0, culprit)
		return nil
	}
	return err
}

// skip sets CodeFailedDependency for the operations from first on, except the one that failed.
func (b *Execution) skip(first, culprit int) {
	for i := first; i < len(b.results); i++ {
		if i != culprit {
			b.results[i] = value.ItemOperationResult{Err: errFailedDependency}
		}
	}
}

// runEach carries out the operations one by one and stops at the first that fails; that failure is in its
// result. The returned error is CodeOwnerNotFound: the container has been dropped.
func (b *Execution) runEach(ctx context.Context) error {
	for i, p := range b.list {
		if p != nil {
			if err := b.runRanges(ctx, []int{i}); err != nil {
				return err
			}
		}
		if b.results[i].Refused() {
			b.skip(i+1, i)
			return nil
		}
	}
	return nil
}

// runAll carries out all operations, even if some of them fail; failures are in the results. The returned
// error is CodeOwnerNotFound: the container has been dropped.
func (b *Execution) runAll(ctx context.Context) error {
	var list []int
	for i, p := range b.list {
		if p != nil {
			list = append(list, i)
		}
	}
	return b.runRanges(ctx, list)
}

// runRanges carries out the operations of a list. Operations on items of one range share a transaction,
// since waiting for the disk takes most of the time. Operations on one item keep their order. If a shared
// transaction fails as a whole, for instance because of its size, each of its operations gets a transaction
// of its own, so that no operation fails because of another. runRanges fails only if the container has
// been dropped, with CodeOwnerNotFound; the caller may repeat the batch in the new container of that name.
func (b *Execution) runRanges(ctx context.Context, list []int) error {
	for len(list) > 0 {
		left, err := b.runRange(ctx, list)
		switch {
		case err == nil:
			list = left
			continue
		case fault.ErrorCode(err) == fault.CodeOwnerNotFound:
			return err
		case len(list) == 1:
			b.results[list[0]] = value.Failed(err)
			return nil
		}
		for _, i := range list {
			if err := b.runRanges(ctx, []int{i}); err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}

// runRange carries out, in one transaction, those operations of the batch whose items lie in the same range
// as the item of the first. list contains the indexes of the operations in the batch. runRange returns the
// indexes of the operations in other ranges.
func (b *Execution) runRange(ctx context.Context, list []int) (left []int, err error) {
	answer := b.answer
	patches := make([]*transaction.PreparedOperation, 0, len(list))
	for _, i := range list {
		patches = append(patches, b.list[i])
	}
	r, err := b.c.Update(
		ctx,
		transaction.Together(patches),
		patches,
		func(t *transaction.Tx) error {
			t.Prefetch(patches)
			left, answer = left[:0], b.answer
			for _, i := range list {
				if !t.Range.Holds(b.list[i].EPK) {
					left = append(left, i)
					continue
				}
				if b.results[i] = b.apply(t, i, &answer); b.results[i].Fatal() {
					return b.results[i].Err
				}
			}
			return nil
		},
	)
	r.Lint |= b.Receipt.Lint
	b.Receipt = r
	if err == nil {
		b.answer = answer
	}
	return left, err
}
