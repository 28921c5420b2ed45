package store

import (
	"context"
	"errors"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// Limits of a batch, which are Cosmos DB's.
const (
	MaxBatchOperations = 100
	maxBatchBytes      = 2 << 20 // of the documents that come in
	maxBatchAnswer     = 4 << 20 // of the documents that go out
)

// ErrTooManyOperations is behind the error of a batch that has more than MaxBatchOperations, whatever their
// size.
var ErrTooManyOperations = errors.New("more operations than a batch may have")

// BatchOptions say how the operations of a batch hang together.
type BatchOptions struct {
	// Atomic makes the batch one transaction on items of one partition key: all operations take effect, in
	// order and with one LSN, or none does. Else each operation stands alone and may have a
	// partition key of its own.
	Atomic bool
	// ContinueOnError goes on after an operation that failed. It means nothing where Atomic is set.
	ContinueOnError bool
	// Range is the id of the partition range that all items lie in; empty: any. Unknown: CodeRangeGone for
	// the batch. An operation on an item that lies elsewhere fails with CodeRangeGone.
	Range string
	// Session asks that what is read is at least as new as these positions; else CodeSessionNotAvailable, and
	// nothing is written. As for single writes, it means nothing to a batch that only writes.
	Session []SessionPosition
}

// BatchResult is what became of a batch.
type BatchResult struct {
	// Results are those of the operations, in their order. Operations that were not tried, or were undone,
	// because another failed have CodeFailedDependency.
	Results []OperationResult
	// Mixed reports whether some operation failed, or read nothing new (CodeNotModified).
	Mixed bool
}

// Batch carries out up to 100 operations. An operation's failure is told in its result; the error is for a
// batch that is refused as a whole: CodeBadRequest for one without operations, CodePartitionKeyMismatch for
// an atomic one whose key is incomplete, CodeTooLarge for too many operations or documents of more than 2 MB.
// A batch's results hold documents of 4 MB at most. An atomic one that would exceed that fails as a whole,
// and its last operation says so with CodeTooLarge, as Cosmos DB has it; else a read that would exceed it
// fails with CodeTooLarge, and a write comes with an Item whose Body is nil. pk is the partition key of
// operations that have none. The receipt sums the charges; its position is that of the last range that was
// written or read.
func (c *Container) Batch(ctx context.Context, pk definition.PartitionKey, ops []Operation,
	o BatchOptions) (BatchResult, Receipt, error) {
	if err := c.checkBatch(ctx, pk, ops, o); err != nil {
		return BatchResult{}, c.refused(), err
	}
	b := &batch{c: c, o: o, ops: ops, list: make([]*prepared, len(ops)),
		results: make([]OperationResult, len(ops))}
	b.receipt.Range, b.receipt.LSN = c.Position(o.Range)
	b.prepare(ctx, pk)
	if err := b.run(ctx); err != nil {
		return BatchResult{}, b.receipt, err
	}
	out := BatchResult{Results: b.results}
	b.receipt.Charge = 0
	for i := range b.results {
		out.Mixed = out.Mixed || b.results[i].Err != nil
		b.receipt.Charge += b.results[i].Charge
	}
	b.receipt.Charge = value.RoundCharge(max(b.receipt.Charge, value.ChargeFailure))
	return out, b.receipt, nil
}

// checkBatch checks what no single operation answers for.
func (c *Container) checkBatch(ctx context.Context, pk definition.PartitionKey, ops []Operation,
	o BatchOptions) error {
	if len(ops) == 0 {
		return fault.New(fault.CodeBadRequest, "Batch request has no operations.")
	}
	if len(ops) > MaxBatchOperations {
		return &fault.Error{Code: fault.CodeBadRequest,
			Message: "Batch request has more operations than what is supported.", Err: ErrTooManyOperations}
	}
	size := 0
	for i := range ops {
		size += len(ops[i].Body)
	}
	if size > maxBatchBytes {
		return fault.New(fault.CodeTooLarge, "Request size is too large")
	}
	if o.Atomic && pk.IsZero() && !c.def.SystemKey {
		return fault.New(fault.CodeBadRequest, "PartitionKey value must be supplied for this operation.")
	}
	if o.Atomic {
		if _, err := c.def.FullKey(pk, ""); err != nil {
			return err
		}
	}
	if o.Range != "" && !c.stateWith(ctx, o.Range).knowsRange(o.Range) {
		return scan.RangeGone(o.Range)
	}
	return nil
}

func (b *batch) run(ctx context.Context) error {
	if err := b.checkSession(ctx); err != nil {
		return err
	}
	switch {
	case b.o.Atomic:
		return b.runAtomic(ctx)
	case b.o.ContinueOnError:
		b.runAll(ctx)
	default:
		b.runEach(ctx)
	}
	return nil
}

// batch is a batch on its way.
type batch struct {
	c       *Container
	o       BatchOptions
	ops     []Operation
	list    []*prepared // nil where results reports why
	results []OperationResult
	receipt Receipt
	answer  int // bytes of the documents that go out
}

// errUndone ends the transaction of an atomic batch in which an operation failed.
var errUndone = errors.New("an operation of the batch failed")

var errAnswerTooLarge = fault.New(fault.CodeTooLarge, "Response size is too large")

var errFailedDependency = fault.New(fault.CodeFailedDependency,
	"The operation was not carried out because another one of its batch failed.")

// prepare prepares the operations. It looks at ctx between any two: those behind its end fail with it.
func (b *batch) prepare(ctx context.Context, pk definition.PartitionKey) {
	for i := range b.ops {
		if err := ctx.Err(); err != nil {
			b.results[i] = value.Failed(classify.ToFault(err))
			continue
		}
		if b.o.Atomic && !b.ops[i].Partition.IsZero() && !b.c.def.Matches(b.ops[i].Partition, pk) {
			b.results[i] = value.Failed(fault.New(fault.CodePartitionKeyMismatch, definition.MismatchText))
			continue
		}
		p, err := b.c.prepare(pk, b.ops[i])
		if err == nil {
			err = b.admit(b.c.state.Load(), p)
		}
		if err != nil {
			b.results[i] = value.Failed(err)
			continue
		}
		b.list[i] = p
	}
}

// admit fails an operation on an item that is not where the client believes it to be. It is asked once ahead,
// to save the way to another range, and once where the state cannot change.
func (b *batch) admit(st *containerState, p *prepared) error {
	if b.o.Range == "" {
		return nil
	}
	if !st.liesIn(p.epk, b.o.Range) {
		return scan.RangeGone(b.o.Range)
	}
	return nil
}

// apply is one operation in its transaction, which may run more than once. answer is how much goes out before
// it.
func (b *batch) apply(t *tx, i int, answer *int) OperationResult {
	p, op := b.list[i], &b.ops[i]
	if err := t.ctx.Err(); err != nil {
		return value.Failed(classify.ToFault(err))
	}
	if err := b.admit(t.st, p); err != nil {
		return value.Failed(err)
	}
	r := t.apply(p)
	if r.Item.IsZero() || op.NoContent && op.Kind != OperationRead {
		return r
	}
	size := len(r.Item.Body())
	if *answer+size <= maxBatchAnswer {
		*answer += size
		return r
	}
	if op.Kind == OperationRead || b.o.Atomic {
		return value.Failed(errAnswerTooLarge)
	}
	r.Item = r.Item.WithoutBody()
	return r
}

// checkSession asks each range that the batch is about to reach for the positions of the session, where it
// reads something.
func (b *batch) checkSession(ctx context.Context) error {
	reads := func(op Operation) bool { return op.Kind == OperationRead }
	if len(b.o.Session) == 0 || !slices.ContainsFunc(b.ops, reads) {
		return nil
	}
	if err := b.c.checkPositions(ctx, b.o.Session); err != nil {
		return err
	}
	st := b.c.state.Load()
	asked := make(map[*partition]bool)
	for _, p := range b.list {
		if p == nil {
			continue
		}
		s := st.rangeOf(p.epk)
		if asked[s] {
			continue
		}
		asked[s] = true
		if err := b.c.checkSession(s, b.o.Session); err != nil {
			return err
		}
	}
	return nil
}

// runAtomic carries out all operations in one transaction. The first that fails, fails all.
func (b *batch) runAtomic(ctx context.Context) error {
	if b.list[0] == nil {
		b.skip(0, 0)
		return nil
	}
	culprit := -1
	r, err := b.c.updateConditional(ctx, together(b.list), b.list, func(t *tx) error {
		t.prefetch(b.list)
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
			return errUndone
		}
		return nil
	})
	b.receipt = r
	if culprit >= 0 {
		b.skip(0, culprit)
		return nil
	}
	return err
}

// skip says of the operations from the first on, but for the one that failed, that they failed because of it.
func (b *batch) skip(first, culprit int) {
	for i := first; i < len(b.results); i++ {
		if i != culprit {
			b.results[i] = OperationResult{Err: errFailedDependency}
		}
	}
}

// runEach carries out each operation for itself, up to the first that fails.
func (b *batch) runEach(ctx context.Context) {
	for i, p := range b.list {
		if p != nil {
			b.runRanges(ctx, []int{i})
		}
		if b.results[i].Refused() {
			b.skip(i+1, i)
			return
		}
	}
}

// runAll carries out all operations, whatever becomes of the others.
func (b *batch) runAll(ctx context.Context) {
	var list []int
	for i, p := range b.list {
		if p != nil {
			list = append(list, i)
		}
	}
	b.runRanges(ctx, list)
}

// runRanges carries out the operations of a list. Those whose items lie in one range share a transaction,
// since what takes time is the wait for the disk; operations on one item keep their order. Where a shared
// transaction fails as such, for its size perhaps, each gets one of its own: none fails because of the
// others.
func (b *batch) runRanges(ctx context.Context, list []int) {
	for len(list) > 0 {
		left, err := b.runRange(ctx, list)
		if err == nil {
			list = left
			continue
		}
		if len(list) == 1 {
			b.results[list[0]] = value.Failed(err)
			return
		}
		for _, i := range list {
			b.runRanges(ctx, []int{i})
		}
		return
	}
}

// runRange carries out, in one transaction, those operations of a list whose items lie in the range of the
// first. The others are left.
func (b *batch) runRange(ctx context.Context, list []int) (left []int, err error) {
	answer := b.answer
	patches := make([]*prepared, 0, len(list))
	for _, i := range list {
		patches = append(patches, b.list[i])
	}
	r, err := b.c.updateConditional(ctx, together(patches), patches, func(t *tx) error {
		t.prefetch(patches)
		left, answer = left[:0], b.answer
		for _, i := range list {
			if !t.s.holds(b.list[i].epk) {
				left = append(left, i)
				continue
			}
			if b.results[i] = b.apply(t, i, &answer); b.results[i].Fatal() {
				return b.results[i].Err
			}
		}
		return nil
	})
	r.Lint |= b.receipt.Lint
	b.receipt = r
	if err == nil {
		b.answer = answer
	}
	return left, err
}

// together is the place of the first of several operations, with the keys of the others.
func together(list []*prepared) itemLocation {
	at := list[0].itemLocation
	for _, p := range list[1:] {
		if p != nil {
			at.others = append(at.others, p.point)
		}
	}
	return at
}

// prefetch reads the items of several operations together, where they are far away. What cannot be read is
// told when it is needed.
func (t *tx) prefetch(list []*prepared) {
	far, ok := t.Txn.(engine.Ahead)
	if !ok {
		return
	}
	var points, items [][]byte
	for _, p := range list {
		if p != nil {
			points = append(points, p.point)
		}
	}
	far.Bring(points)
	for _, point := range points {
		if v, err := t.Get(point); err == nil {
			if rid, ok := layout.NumberOf(v); ok {
				items = append(items, t.itemKey(rid))
			}
		}
	}
	far.Bring(items)
}
