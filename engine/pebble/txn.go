package pebble

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mayflydb/mayfly/engine"
)

// txn is a transaction: a batch over the committed state. Until something is written, it reads from the
// database. The first read after a write gives the batch an index; most transactions read first and then
// write, so they need none.
type txn struct {
	openReadResources
	ctx       context.Context
	e         *Engine
	scopes    []*lsnScopeState
	firstLSNs []uint64 // each scope's next LSN before this transaction; 0 while the scope is not loaded
	forced    []bool   // the scope's ceiling was raised while this transaction ran
	batch     *pebble.Batch
	size      engine.TxnSize
	sets      int
	deletes   int
	ranges    int
	rows      []uint64 // hashes of the changed keys of which the row cache holds values
	relaxed   bool
	marks     []uncommittedCacheInvalidation // set by this transaction
	err       error                          // first error of a method that returns none

	committing bool
}

var _ engine.Txn = (*txn)(nil)

// uncommittedCacheInvalidation is the mark of a scope, a number by which callers notice that their caches are
// outdated, that a transaction has set and not committed yet.
type uncommittedCacheInvalidation struct {
	scope *lsnScopeState
	mark  uint64
}

func (t *txn) begin(ctx context.Context, e *Engine, scopes []*lsnScopeState) {
	t.ctx, t.e, t.scopes = ctx, e, scopes
	for _, s := range scopes {
		s.promote()
		t.firstLSNs = append(t.firstLSNs, s.next)
		t.forced = append(t.forced, false)
	}
}

// end commits the writes of fn, or discards them if fn or an earlier step failed.
func (t *txn) end(err error) error {
	leak := t.finish(t.e)
	if err == nil {
		err = t.err
	}
	if err == nil {
		err = leak
	}
	if err == nil && t.batch != nil {
		return t.commit()
	}
	t.rollback()
	return err
}

func (t *txn) commit() error {
	if err := t.e.space.admit(int64(t.size.Bytes), t.deletes+t.ranges > t.sets); err != nil {
		t.rollback()
		return err
	}
	t.moveCeilings()
	if err := t.sortKeys(); err != nil {
		t.rollback()
		return err
	}
	t.committing = true
	for _, s := range t.scopes {
		s.begun.Add(1)
	}
	for _, m := range t.marks {
		m.scope.setMark(m.mark)
	}
	written := t.batch.Reader() // Apply may take the batch's data
	t.e.rows.begin(t.rows, t.ranges > 0)
	// The fence handles failures of the log. An error of Apply itself would mean a malformed batch.
	t.e.fence.check(t.e.db.Apply(t.batch, pebble.NoSync))
	t.e.rows.end(t.rows, t.ranges > 0)
	t.committing = false
	if watcher := t.e.watcher.Load(); watcher != nil {
		t.e.fence.check(changes(written, *watcher))
	}
	for i, s := range t.scopes {
		if s.next > t.firstLSNs[i] {
			s.issued.Store(s.next - 1)
		}
		s.applied.Add(1)
	}
	t.e.commits.Add(1)
	if t.ranges > 0 {
		t.e.compactions.rangeDeleted()
	}
	t.drop()
	return t.e.fence.err()
}

// moveCeilings writes higher ceilings with the transaction for the scopes whose LSNs come close to their
// stored ceilings. A scope's ceiling is a stored bound below which it issues LSNs, so that it issues none
// twice after a crash. It also writes again the ceilings that the transaction may have overwritten or
// deleted.
func (t *txn) moveCeilings() {
	for i, s := range t.scopes {
		if s.next == t.firstLSNs[i] {
			continue
		}
		if s.pendingCeiling == 0 && s.ceiling-s.next < t.e.block/2 {
			s.pendingCeiling, s.pendingCommit = min(s.ceiling+t.e.block, maxLSN), s.applied.Load()+1
			t.set(engine.CeilingKey(s.key), ceilingValue(s.pendingCeiling))
		} else if t.forced[i] || t.ranges > 0 {
			// The transaction itself may have set or deleted the ceiling's key, so the valid ceiling is
			// written after that.
			t.set(engine.CeilingKey(s.key), ceilingValue(s.storedCeiling()))
		}
	}
}

// rollback discards the batch and takes the LSNs of the transaction back, so that they are issued again.
func (t *txn) rollback() {
	t.finish(t.e)
	t.drop()
	for i, s := range t.scopes {
		if t.firstLSNs[i] != 0 {
			s.next = t.firstLSNs[i]
		}
	}
}

func (t *txn) drop() {
	if t.batch != nil {
		_ = t.batch.Close() // returns the batch to Pebble's pool; it cannot fail
		t.batch = nil
	}
}

func (t *txn) recycle() {
	t.openReadResources.recycle()
	clear(t.marks)
	*t = txn{openReadResources: t.openReadResources, firstLSNs: t.firstLSNs[:0], forced: t.forced[:0],
		marks: t.marks[:0], rows: t.rows[:0]}
}

// index returns the position in the transaction's list of scopes of the scope with this key prefix, or -1.
func (t *txn) index(key []byte) int {
	return slices.IndexFunc(t.scopes, func(s *lsnScopeState) bool { return bytes.Equal(s.key, key) })
}

// source returns the reader for reads: the committed state, with the transaction's own writes over it.
func (t *txn) source() pebble.Reader {
	if t.batch == nil {
		return t.e.db
	}
	if !t.batch.Indexed() {
		indexed := t.e.db.NewIndexedBatch()
		if err := indexed.Apply(t.batch, nil); err != nil {
			t.fail(err)
		}
		t.drop()
		t.batch = indexed
	}
	return t.batch
}

// Get returns the value of a key, or engine.ErrNotFound.
func (t *txn) Get(key []byte) ([]byte, error) {
	v, closer, err := t.source().Get(key)
	if err != nil {
		return nil, readError(err)
	}
	v = t.copyToArena(v)
	return v, readError(closer.Close())
}

// GetMany returns the values of keys, nil for an absent key: see engine.Reader.
func (t *txn) GetMany(keys [][]byte) (values [][]byte, err error) {
	it, err := t.source().NewIter(&pebble.IterOptions{})
	if err != nil {
		return nil, readError(err)
	}
	values, err = t.findAll(t.ctx, it, keys)
	if cerr := readError(it.Close()); err == nil {
		err = cerr
	}
	return values, err
}

// Positions returns the position of each scope: among others its highest durable LSN, and whether all data
// that were read are durable.
func (t *txn) Positions(scopes [][]byte) ([]engine.LSNScopeStatus, error) {
	return t.e.positions(scopes)
}

// Scan returns an iterator over the keys in a range: see engine.Reader. The iterator shows the writes of
// the transaction up to this call.
func (t *txn) Scan(r engine.Range, reverse bool) engine.Iterator {
	return t.scan(t.source().NewIter, r, reverse)
}

// Set sets a key when the transaction commits.
func (t *txn) Set(key, value []byte) {
	if t.room(key, len(key)+len(value)) {
		t.sets++
		t.changeRow(key)
		t.set(key, value)
	}
}

// Delete deletes a key when the transaction commits.
func (t *txn) Delete(key []byte) {
	if t.room(key, len(key)) {
		t.deletes++
		t.changeRow(key)
		t.fail(t.write().Delete(key, nil))
	}
}

// DeleteRange deletes the keys in a range when the transaction commits.
func (t *txn) DeleteRange(r engine.Range) {
	start, end := r.Start, r.End
	if len(start) == 0 {
		start = []byte{0} // the lowest possible key
	}
	if end == nil {
		// Pebble requires an upper bound, and there is no highest key: end just behind the last existing key.
		it := t.Scan(r, true)
		if it.Next() {
			end = append(bytes.Clone(it.Key()), 0)
		}
		t.fail(it.Close())
	}
	if bytes.Compare(start, end) < 0 && t.room(start, len(start)+len(end)) {
		t.ranges++
		t.fail(t.write().DeleteRange(start, end, nil))
	}
}

// Enlarge raises the size limit of the transaction to engine.MaxLargeTxnBytes.
func (t *txn) Enlarge() { t.size.Large = true }

// Relax lets Update return before the commit is durable.
func (t *txn) Relax() { t.relaxed = true }

// NextLSN issues the next LSN of the scope (key prefix) key: see engine.TxnLSNAndCommitControl.
func (t *txn) NextLSN(key []byte) uint64 {
	i := t.index(key)
	if i < 0 {
		t.fail(fmt.Errorf("%w: %x is none of this Update's", engine.ErrScope, key))
		return 0
	}
	s := t.scopes[i]
	if s.next == 0 {
		ceiling, err := readCeiling(t.Get, key, t.e.first)
		if err != nil {
			t.fail(err)
			return 0
		}
		s.start(ceiling)
		t.firstLSNs[i] = ceiling
	}
	if s.next == s.ceiling && !t.force(i) {
		return 0
	}
	s.next++
	return s.next - 1
}

// RaiseLSN makes the scope (key prefix) key issue no LSN below first: see engine.TxnLSNAndCommitControl.
func (t *txn) RaiseLSN(key []byte, first uint64) {
	if first > maxLSN {
		t.fail(fmt.Errorf("%w: scope %x cannot begin at LSN %d", engine.ErrCorrupt, key, first))
		return
	}
	if i := t.index(key); i >= 0 && t.scopes[i].next > 0 {
		if first > t.scopes[i].next {
			t.fail(fmt.Errorf("%w: %x has issued LSNs already", engine.ErrScope, key))
		}
		return
	}
	have, err := readCeiling(t.Get, key, t.e.first)
	if err != nil {
		t.fail(err)
	} else if first > have {
		t.set(engine.CeilingKey(key), ceilingValue(first))
	}
}

// SetMark stores the number mark for the scope key; all later reads of the scope return it. Callers change it
// when others must discard what they have cached about the scope: see engine.TxnLSNAndCommitControl.
func (t *txn) SetMark(key []byte, mark uint64) {
	s := t.e.scopes.get(key)
	t.marks = append(t.marks, uncommittedCacheInvalidation{s, mark})
	if mark == 0 {
		t.fail(t.write().Delete(engine.MarkKey(key), nil))
	} else {
		t.set(engine.MarkKey(key), binary.BigEndian.AppendUint64(nil, mark))
	}
}

// Mark returns the mark of a scope (a number by which callers notice that cached data are outdated), as
// this transaction may have set it: see engine.TxnLSNAndCommitControl.
func (t *txn) Mark(key []byte) uint64 {
	i := t.index(key)
	if i < 0 {
		t.fail(fmt.Errorf("%w: %x is none of this Update's", engine.ErrScope, key))
		return 0
	}
	for n := len(t.marks) - 1; n >= 0; n-- {
		if t.marks[n].scope == t.scopes[i] {
			return t.marks[n].mark
		}
	}
	mark, err := t.scopes[i].readMark(t.e.get)
	if err != nil {
		t.fail(err)
	}
	return mark
}

// force stores a higher ceiling for a scope's LSNs and syncs it, if the next LSN has reached the old one,
// since only LSNs below the stored ceiling may be issued. i is the index of the scope. It returns false if
// the transaction has failed.
func (t *txn) force(i int) bool {
	s := t.scopes[i]
	if s.promote(); s.next < s.ceiling {
		return true
	}
	if s.ceiling == maxLSN {
		t.fail(fmt.Errorf("%w: scope %x has used up its LSNs", engine.ErrCorrupt, s.key))
		return false
	}
	m := scopeCommitPosition{scope: s, applied: s.applied.Load(), last: t.firstLSNs[i] - 1}
	ceiling, err := s.pendingCeiling, error(nil)
	if ceiling == 0 {
		ceiling = min(s.ceiling+t.e.block, maxLSN)
		err = t.e.db.Set(engine.CeilingKey(s.key), ceilingValue(ceiling), pebble.NoSync)
	}
	if err == nil {
		err = t.e.sync()
	}
	if err != nil {
		t.fail(err)
		return false
	}
	m.settle()
	s.ceiling, s.pendingCeiling = ceiling, 0
	t.forced[i] = true
	return true
}

func (t *txn) write() *pebble.Batch {
	if t.batch == nil {
		t.batch = t.e.db.NewBatch()
	}
	return t.batch
}

// largeValueSlack is the spare room, in bytes, of a transaction's batch that is created for a large value, so
// that the writes after it need no larger buffer.
const largeValueSlack = 64 << 10

// writeValue returns the batch, to which the caller adds a value of n bytes. A batch that begins with a large
// value is allocated at full size, since a batch that grows is in memory several times.
func (t *txn) writeValue(n int) *pebble.Batch {
	if t.batch == nil && n > engine.MaxTxnBytes/16 {
		t.batch = t.e.db.NewBatchWithSize(n + largeValueSlack)
	}
	return t.write()
}

func (t *txn) set(key, value []byte) { t.fail(t.writeValue(len(value)).Set(key, value, nil)) }

// room adds n bytes that are about to be written at key to the size of the transaction. It returns false if
// they must not be written, because the transaction would become too large or has already failed.
func (t *txn) room(key []byte, n int) bool {
	if err := t.size.Add(key, n); err != nil {
		t.fail(err)
	}
	return t.err == nil
}

// fail records the first error.
func (t *txn) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}
