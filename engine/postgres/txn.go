package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/mayflydb/mayfly/engine"
)

// maxNext is the highest possible next LSN of a scope.
const maxNext = engine.MaxLSN + 1

// txn is the transaction that the function of one Update gets. The functions of several Updates, a group,
// run one after the other in one database transaction, each with its own txn.
type txn struct {
	overlayReader
	a      *txnAttempt
	before txnOverlay // the state to return to on failure
	starts []uint64   // the next LSNs of the scopes before the function
	src    *cachingSnapshotReader
	size   engine.TxnSize
	wrote  bool
	err    error // first error of a method that returns none
}

var (
	_ engine.Txn                   = (*txn)(nil)
	_ engine.LikelyAbsentKeySetter = (*txn)(nil)
)

func newTxn(a *txnAttempt, ctx context.Context) *txn {
	t := &txn{a: a, before: a.overlay.copy()}
	for _, s := range a.scopes {
		t.starts = append(t.starts, s.next)
	}
	// The function has its own context and its own iterators over what the group has read.
	t.src = a.s.share(ctx)
	t.overlayReader = overlayReader{s: t.src, overlay: &a.overlay}
	return t
}

// end is called after the Update's function has run. It keeps the function's writes if the function
// succeeded and otherwise undoes them, and reports whether the function wrote. ran is false if the
// function ended its goroutine.
func (t *txn) end(r *runningEngineUpdate, ran bool) (wrote bool) {
	if t.src.finish() {
		t.a.e.log.Error(errLeak.Error())
	}
	t.a.s.adopt(t.src)
	if r.err == nil && ran {
		r.err = t.err
	}
	if ran && !r.ended() && r.err == nil && t.wrote {
		for i, s := range t.a.scopes {
			if s.next != t.starts[i] {
				t.a.overlay.set(s.ceilingKey, binary.BigEndian.AppendUint64(nil, s.next))
			}
		}
		t.a.wrote = true
		return true
	}
	t.a.overlay = t.before
	for i, s := range t.a.scopes {
		s.next = t.starts[i]
	}
	return false
}

func (t *txn) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// room reports whether n bytes may be written at key. It adds them to the size of the transaction and fails
// the transaction if that exceeds a limit. It returns false if the transaction has failed.
func (t *txn) room(key []byte, n int) bool {
	if err := t.size.Add(key, n); err != nil {
		t.fail(err)
	}
	return t.err == nil
}

// Set sets a key when the transaction commits.
func (t *txn) Set(key, value []byte) {
	if t.room(key, len(key)+len(value)) {
		t.set(bytes.Clone(key), append([]byte{}, value...))
	}
}

// SetFresh sets a key that the caller expects not to be stored: see engine.LikelyAbsentKeySetter.
func (t *txn) SetFresh(key, value []byte) {
	if t.room(key, len(key)+len(value)) {
		t.wrote = true
		t.a.overlay.setFresh(bytes.Clone(key), append([]byte{}, value...))
	}
}

func (t *txn) set(key, value []byte) {
	t.wrote = true
	t.a.overlay.set(key, value)
}

// Delete deletes a key when the transaction commits.
func (t *txn) Delete(key []byte) {
	if t.room(key, len(key)) {
		t.wrote = true
		t.a.overlay.delete(bytes.Clone(key))
	}
}

// DeleteRange deletes the keys in a range when the transaction commits.
func (t *txn) DeleteRange(r engine.Range) {
	start, end := bytes.Clone(r.Start), bytes.Clone(r.End)
	if end != nil && bytes.Compare(start, end) >= 0 {
		return
	}
	if t.size.Bytes += len(start) + len(end); t.err != nil {
		return
	}
	t.wrote = true
	if len(start) < longKey && len(end) < longKey {
		t.a.overlay.deleteRange(engine.Range{Start: start, End: end})
		return
	}
	// The stored order of long keys differs from their byte order, so delete key by key.
	it := t.Scan(engine.Range{Start: start, End: end}, false)
	for it.Next() {
		t.a.overlay.delete(bytes.Clone(it.Key()))
	}
	if err := it.Close(); err != nil {
		t.fail(err)
	}
}

// Enlarge raises the size limit of the transaction to engine.MaxLargeTxnBytes.
func (t *txn) Enlarge() { t.size.Large = true }

// Relax would let Update return before the commit is durable. It does nothing here, since another server
// could read such a commit before it is lost.
func (t *txn) Relax() {}

// scope returns the scope with this key. If the Update does not name the scope, it returns nil, and the
// transaction fails.
func (t *txn) scope(key []byte) *lockedLSNScope {
	s := t.a.named(key)
	if s == nil {
		t.fail(fmt.Errorf("%w: %x is none of this Update's", engine.ErrScope, key))
	}
	return s
}

// NextLSN issues the next LSN of a scope: see engine.TxnLSNAndCommitControl.
func (t *txn) NextLSN(key []byte) uint64 {
	s := t.scope(key)
	switch {
	case s == nil:
		return 0
	case s.bad != nil:
		t.fail(s.bad)
		return 0
	case s.next == maxNext:
		t.fail(fmt.Errorf("%w: scope %x has used up its LSNs", engine.ErrCorrupt, key))
		return 0
	}
	s.next++
	return s.next - 1
}

// RaiseLSN makes the engine scope with the prefix key issue no LSN below first: see
// engine.TxnLSNAndCommitControl.
func (t *txn) RaiseLSN(key []byte, first uint64) {
	if first > maxNext {
		t.fail(fmt.Errorf("%w: scope %x cannot begin at LSN %d", engine.ErrCorrupt, key, first))
		return
	}
	s := t.a.named(key)
	if s == nil {
		have, err := engine.Ceiling(t, key)
		if err != nil {
			t.fail(err)
		} else if first > have {
			t.set(engine.CeilingKey(key), binary.BigEndian.AppendUint64(nil, first))
		}
		return
	}
	switch {
	case s.bad != nil:
		t.fail(s.bad)
	case first <= s.next:
	case s.next > 1:
		t.fail(fmt.Errorf("%w: %x has issued LSNs already", engine.ErrScope, key))
	default:
		s.next = first
		t.set(bytes.Clone(s.ceilingKey), binary.BigEndian.AppendUint64(nil, first))
	}
}

// SetMark stores the number mark for the scope key; all later reads of the scope return it. Servers change it
// when others must discard what they have cached about the scope: see engine.TxnLSNAndCommitControl.
func (t *txn) SetMark(key []byte, mark uint64) {
	if t.wrote = true; mark == 0 {
		t.a.overlay.delete(engine.MarkKey(key))
	} else {
		t.a.overlay.set(engine.MarkKey(key), binary.BigEndian.AppendUint64(nil, mark))
	}
}

// Mark returns the mark of a scope, a number stored by SetMark, including one that this transaction has
// set. It implements engine.TxnLSNAndCommitControl.
func (t *txn) Mark(key []byte) uint64 {
	if t.scope(key) == nil {
		return 0
	}
	mark, err := engine.Mark(t, key)
	if err != nil {
		t.fail(err)
	}
	return mark
}
