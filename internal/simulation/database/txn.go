package database

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/mayflydb/mayfly/engine"
)

// maxNext is the highest possible next LSN of a scope.
const maxNext = engine.MaxLSN + 1

// groupCommitTxn is one transaction of the database. It runs the functions of several Updates, which are
// committed together.
type groupCommitTxn struct {
	e       *Engine
	s       *databaseSideTransaction
	scopes  []*lockedEngineScope
	writes  []txnWrite
	state   *rowSet // the committed data, with the writes of the attempt
	version uint64
	at      int64           // the time of the locks
	fetched map[string]bool // keys that need no exchange
	lost    error           // why the transaction cannot be committed
}

// lockedEngineScope is an engine scope (a key prefix with its own sequence of LSNs) that a simulated
// transaction has locked, with the next LSN that the scope issues.
type lockedEngineScope struct {
	key         []byte
	next, first uint64 // the next LSN; the next LSN at the beginning
	bad         error  // error of reading the ceiling
}

// begin begins a transaction: it locks the scopes and fetches the keys in ahead.
func (e *Engine) begin(ctx context.Context, scopes [][]byte, ahead [][]byte) (*groupCommitTxn, error) {
	a := &groupCommitTxn{e: e, s: e.d.start(e.name, scopes), fetched: make(map[string]bool)}
	err := e.exchange(NetworkExchange{Operation: ExchangeBegin, Keys: scopes}, beginLimit,
		func(giveUp <-chan struct{}) error {
			if err := a.s.lockAll(ctx, giveUp); err != nil {
				return err
			}
			e.d.work(e.d.o.Load.Trip)
			a.rebase()
			return nil
		})
	if err != nil {
		a.drop()
		return nil, err
	}
	a.s.rest()
	e.tell(a.at)
	for _, key := range ahead {
		a.fetched[string(key)] = true
	}
	for _, key := range scopes {
		s := &lockedEngineScope{key: key, next: 1}
		a.fetched[string(engine.CeilingKey(key))] = true
		a.fetched[string(engine.MarkKey(key))] = true
		if v := get(a.state, engine.CeilingKey(key)); v != nil {
			if s.next, s.bad = engine.ParseCeiling(v); s.bad != nil {
				s.bad = fmt.Errorf("scope %x: %w", key, s.bad)
			}
		}
		s.first = s.next
		a.scopes = append(a.scopes, s)
	}
	return a, nil
}

// drop abandons a transaction whose connection may be broken. The database ends it at once or a little
// later.
func (a *groupCommitTxn) drop() {
	d := a.e.d
	if !d.timed() {
		a.s.abort()
		return
	}
	wait := d.between(0, idleLimit/4)
	d.late.Go(func() {
		pause(context.Background(), d.clock, wait)
		a.s.abort()
	})
}

// rebase sets the state that the transaction reads to the data that are committed now, with the transaction's
// own writes applied to them.
func (a *groupCommitTxn) rebase() {
	var now int64
	if a.state, a.version, now = a.e.d.snapshot(); a.at == 0 {
		a.at = now
	}
	for _, w := range a.writes {
		w.apply(a.state)
	}
}

// statement sends one request within the transaction to the database and waits for the response.
func (a *groupCommitTxn) statement(x NetworkExchange) error {
	if a.lost != nil {
		return a.lost
	}
	err := a.e.exchange(x, readLimit, func(<-chan struct{}) error {
		if err := a.s.enter(); err != nil {
			return err
		}
		a.e.d.work(a.e.d.o.Load.Trip)
		a.rebase()
		return nil
	})
	a.s.rest()
	if err != nil {
		a.lost = fmt.Errorf("%w: %w", engine.ErrUnavailable, err)
	}
	return a.lost
}

// txn is the engine.Txn of one Update, whose function runs in a groupCommitTxn.
type txn struct {
	snapshotOrTransactionReader
	a      *groupCommitTxn
	ctx    context.Context
	size   engine.TxnSize
	writes int      // number of the attempt's writes before the function
	starts []uint64 // the next LSNs of the scopes before the function
	wrote  bool
	err    error // the first error of a method that returns none
}

var _ engine.Txn = (*txn)(nil)

func (a *groupCommitTxn) txn(ctx context.Context) *txn {
	t := &txn{a: a, ctx: ctx, writes: len(a.writes)}
	for _, s := range a.scopes {
		t.starts = append(t.starts, s.next)
	}
	t.from = t
	return t
}

// end is called after the function of an Update. If keep is set, it keeps the function's writes, otherwise it
// undoes them. wrote reports whether it has kept any.
func (t *txn) end(keep bool) (wrote bool) {
	t.finish()
	a := t.a
	if keep && t.wrote {
		for i, s := range a.scopes {
			if s.next != t.starts[i] {
				a.write(txnWrite{key: engine.CeilingKey(s.key), value: ceiling(s.next)})
			}
		}
		return true
	}
	for i, s := range a.scopes {
		s.next = t.starts[i]
	}
	if len(a.writes) > t.writes {
		a.writes = a.writes[:t.writes:t.writes]
		a.rebase()
	}
	return false
}

func (a *groupCommitTxn) write(w txnWrite) {
	a.writes = append(a.writes, w)
	w.apply(a.state)
}

// The methods of a source.

func (t *txn) fetch(keys ...[]byte) error {
	missing := false
	for _, key := range keys {
		missing = missing || !t.a.fetched[string(key)]
	}
	if !missing {
		return t.a.lost
	}
	for _, key := range keys {
		t.a.fetched[string(key)] = true
	}
	return t.a.statement(NetworkExchange{Operation: ExchangeRead, Keys: keys})
}

func (t *txn) fetchPage(at []byte) error {
	return t.a.statement(NetworkExchange{Operation: ExchangePage, Keys: [][]byte{at}})
}

func (t *txn) rows() *rowSet            { return t.a.state }
func (t *txn) context() context.Context { return t.ctx }

func (t *txn) now() int64 {
	if t.a.e.d.o.Defects.OwnTime {
		return t.a.e.tell(0)
	}
	return t.a.at
}

func (t *txn) hides(key []byte) bool {
	hidden := t.a.e.d.o.Defects.Hidden
	return hidden != nil && hidden(key)
}

func (t *txn) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// set adds a write of n bytes, unless the transaction becomes too large.
func (t *txn) set(w txnWrite, n int) {
	if err := t.size.Add(w.key, n); err != nil {
		t.fail(err)
	}
	if t.err == nil {
		t.force(w)
	}
}

func (t *txn) force(w txnWrite) {
	t.wrote = true
	t.a.fetched[string(w.key)] = true
	t.a.write(w)
}

// Set sets a key when the transaction commits.
func (t *txn) Set(key, value []byte) {
	t.set(txnWrite{key: bytes.Clone(key), value: append([]byte{}, value...)}, len(key)+len(value))
}

// Delete deletes a key when the transaction commits.
func (t *txn) Delete(key []byte) { t.set(txnWrite{key: bytes.Clone(key), deleted: true}, len(key)) }

// DeleteRange deletes the keys in a range when the transaction commits.
func (t *txn) DeleteRange(r engine.Range) {
	if r.End != nil && bytes.Compare(r.Start, r.End) >= 0 {
		return
	}
	t.size.Bytes += len(r.Start) + len(r.End)
	if t.err == nil {
		t.wrote = true
		t.a.write(txnWrite{within: &engine.Range{Start: bytes.Clone(r.Start), End: bytes.Clone(r.End)}})
	}
}

// Enlarge raises the size limit of the transaction to engine.MaxLargeTxnBytes.
func (t *txn) Enlarge() { t.size.Large = true }

// Relax does nothing. In other engines it lets Update return before the commit is durable; here every commit
// becomes durable first, since other servers see it at once. It implements engine.TxnLSNAndCommitControl.
func (t *txn) Relax() {}

// named returns the scope with the given key if it is one of the scopes that the transaction has locked,
// otherwise nil.
func (a *groupCommitTxn) named(key []byte) *lockedEngineScope {
	for _, s := range a.scopes {
		if bytes.Equal(s.key, key) {
			return s
		}
	}
	return nil
}

func (t *txn) scope(key []byte) *lockedEngineScope {
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

// RaiseLSN makes a scope issue no LSN below first: see engine.TxnLSNAndCommitControl.
func (t *txn) RaiseLSN(key []byte, first uint64) {
	if first > maxNext {
		t.fail(fmt.Errorf("%w: scope %x cannot begin at LSN %d", engine.ErrCorrupt, key, first))
		return
	}
	raised := txnWrite{key: engine.CeilingKey(key), value: ceiling(first)}
	s := t.a.named(key)
	if s == nil {
		have, err := engine.Ceiling(t, key)
		if err != nil {
			t.fail(err)
		} else if first > have {
			t.force(raised)
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
		t.force(raised)
	}
}

// SetMark stores a number with a scope, by which callers notice that cached data have changed: see
// engine.TxnLSNAndCommitControl.
func (t *txn) SetMark(key []byte, mark uint64) {
	w := txnWrite{key: engine.MarkKey(key), deleted: mark == 0}
	if mark != 0 {
		w.value = binary.BigEndian.AppendUint64(nil, mark)
	}
	t.force(w)
}

// Mark returns the number that SetMark has stored with a scope, or 0: see engine.TxnLSNAndCommitControl.
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

// issued lists the LSNs that the transaction has taken.
func (a *groupCommitTxn) issued() (list []LSNRange) {
	for _, s := range a.scopes {
		if s.next > s.first {
			list = append(list, LSNRange{Scope: string(s.key), First: s.first, Next: s.next})
		}
	}
	return list
}

// positions returns the LSN and the mark (a number that callers store with a scope: see SetMark) that each
// scope has after the transaction.
func (a *groupCommitTxn) positions(scopes [][]byte) []engine.LSNScopeStatus {
	list := make([]engine.LSNScopeStatus, len(scopes))
	for i, key := range scopes {
		list[i], _ = position(a.state, key) // the LSN is 0 if the ceiling is invalid
		if list[i].Now = a.at; a.e.d.o.Defects.OwnTime {
			list[i].Now = a.e.tell(0)
		}
	}
	return list
}
