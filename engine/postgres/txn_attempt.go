package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mayflydb/mayfly/engine"
)

// errCollision is the error of an attempt that may succeed when it is run again.
var errCollision = errors.New("the transaction collided with another one")

// errStored is the error of an attempt that has written a key with SetFresh although the key is stored.
var errStored = errors.New("a key that was expected to be new is stored")

// txnAttempt is one database transaction, in which the functions of a group run.
type txnAttempt struct {
	e       *Engine
	c       *pgxpool.Conn
	stamp   []byte // of the connection
	n       int64  // number of the transaction, written to the stamp
	s       *cachingSnapshotReader
	scopes  []*lockedLSNScope
	overlay txnOverlay
	wrote   bool
	upsert  bool // SetFresh is the same as Set: see errStored
}

// lockedLSNScope is the state of a scope, with its next LSN, in an attempt that has locked it.
type lockedLSNScope struct {
	key, ceilingKey, markKey []byte
	next                     uint64 // the next LSN
	base                     uint64 // the next LSN as it is stored
	bad                      error  // error of reading the stored ceiling
	isNew                    bool   // the scope has no ceiling yet; a row of another table locks it
}

const (
	beginUpdate = "BEGIN ISOLATION LEVEL READ COMMITTED"
	setStamp    = "UPDATE mayfly_stamp SET n = $2, at = now() WHERE conn = $1"
	lockScopes  = `SELECT k, v FROM mayfly_kv WHERE k = ANY($1::bytea[]) ORDER BY k FOR UPDATE`
	makeScopes  = `INSERT INTO mayfly_newscope(k) SELECT k FROM unnest($1::bytea[]) AS k
		ORDER BY k ON CONFLICT (k) DO NOTHING`
	insertRows = "INSERT INTO mayfly_kv(k, v) SELECT * FROM unnest($1::bytea[], $2::bytea[])"
	lockUnmade = `SELECT k, k FROM mayfly_newscope WHERE k = ANY($1::bytea[]) ORDER BY k FOR UPDATE`
)

// attempt begins a transaction for the group of r: it locks the scopes and reads the keys in ahead.
func (e *Engine) attempt(r *runningEngineUpdate, first bool, ahead [][]byte) (*txnAttempt, error) {
	a := &txnAttempt{e: e, overlay: newOverlay()}
	a.s = &cachingSnapshotReader{ctx: context.Background(), e: e, known: map[string][]byte{}}
	for _, l := range r.queues {
		a.scopes = append(
			a.scopes,
			&lockedLSNScope{key: l.key, ceilingKey: engine.CeilingKey(l.key), markKey: engine.MarkKey(l.key)},
		)
	}
	ctx := r.ctx
	if !first || r.started {
		// Functions have run already, so the caller's context must not end the transaction.
		ctx = context.Background()
	} else if err := ctx.Err(); err != nil {
		return nil, err
	}
	epoch := e.epoch.Load()
	err := withLimit(ctx, beginLimit, func(own context.Context) (err error) {
		if a.c, err = e.writers.Acquire(own); err != nil {
			return err
		}
		s := sessionOf(a.c.Conn().PgConn())
		s.n++
		a.stamp, a.n = s.stamp, s.n
		s.warned.Store(false)
		a.s.q = a.c
		return a.lock(own, ahead)
	})
	if err == nil {
		return a, nil
	}
	if a.c != nil {
		a.abandon()
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errRow):
		return nil, err
	case classify(err) == collide:
		return nil, fmt.Errorf("%w: %w", errCollision, err)
	case classify(err) == lost:
		e.lost(epoch)
	}
	return nil, toEngine(err)
}

// lock begins a transaction, locks the scopes, and reads their marks and the values of the keys in ahead.
func (a *txnAttempt) lock(ctx context.Context, ahead [][]byte) error {
	var ceilings, keys [][]byte
	for _, s := range a.scopes {
		ceilings = append(ceilings, storedKey(s.ceilingKey))
		keys = append(keys, s.markKey)
	}
	keys = append(keys, ahead...)
	sql, args := rowsOf(keys, engine.ManyBytes)
	sql += withLockedTime
	batch := &pgx.Batch{}
	batch.Queue(beginUpdate)
	batch.Queue(setStamp, a.stamp, a.n)
	batch.Queue(lockScopes, ceilings)
	batch.Queue(sql, args...)
	unmade, err := a.lockCeilings(ctx, batch, keys, began)
	for err == nil && len(unmade) > 0 {
		batch = &pgx.Batch{}
		batch.Queue(makeScopes, unmade)
		batch.Queue(lockUnmade, unmade)
		batch.Queue(lockScopes, ceilings)
		batch.Queue(sql, args...)
		unmade, err = a.lockCeilings(ctx, batch, keys, a.lockedUnmade)
	}
	return err
}

// lockCeilings sends batch, whose last two statements lock the ceilings of scopes (rows with their next LSNs)
// and read keys. first reads the results before those. unmade are the keys of missing ceilings.
func (a *txnAttempt) lockCeilings(ctx context.Context, batch *pgx.Batch, keys [][]byte,
	first func(pgx.BatchResults) error) (unmade [][]byte, err error) {
	a.e.trip()
	results := a.c.SendBatch(ctx, batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	if err := first(results); err != nil {
		return nil, err
	}
	return a.read(results, keys)
}

// began reads the results of the two statements that begin a transaction.
func began(results pgx.BatchResults) error {
	if _, err := results.Exec(); err != nil {
		return err
	}
	_, err := results.Exec()
	return err
}

// lockedUnmade reads the results of the statements that lock scopes without a stored LSN, and sets isNew.
func (a *txnAttempt) lockedUnmade(results pgx.BatchResults) error {
	if _, err := results.Exec(); err != nil {
		return err
	}
	locked, _, err := a.e.collect(results.Query())
	if err != nil {
		return err
	}
	for _, s := range a.scopes {
		s.isNew = slices.ContainsFunc(locked,
			func(r keyValue) bool { return bytes.Equal(r.key, storedKey(s.ceilingKey)) })
	}
	return nil
}

// read reads the scopes' ceilings, and keys. It returns the keys of those ceilings that are not stored yet.
func (a *txnAttempt) read(results pgx.BatchResults, keys [][]byte) (unlocked [][]byte, err error) {
	ceilings, _, err := a.e.collect(results.Query())
	if err != nil {
		return nil, err
	}
	rows, now, err := a.e.collect(results.Query())
	if err != nil {
		return nil, err
	}
	keys = slices.Clone(keys[:covered(keys, rows, engine.ManyBytes)])
	for _, s := range a.scopes {
		s.next, s.base, s.bad = 1, 1, nil
		var value []byte
		for _, r := range ceilings {
			if bytes.Equal(r.key, s.ceilingKey) {
				value = r.value
			}
		}
		switch {
		case value == nil && !s.isNew:
			unlocked = append(unlocked, storedKey(s.ceilingKey))
		case value != nil:
			s.isNew = false
			if s.next, s.bad = engine.ParseCeiling(value); s.bad != nil {
				s.bad = fmt.Errorf("scope %x: %w", s.key, s.bad)
			}
			s.base = s.next
		}
		keys = append(keys, s.ceilingKey)
	}
	a.s.remember(keys, append(ceilings, rows...))
	a.s.now = now
	return unlocked, nil
}

// abandon rolls the transaction back in another goroutine. The database releases the scopes when the
// ROLLBACK arrives, so the next transaction on them does not wait for the response.
func (a *txnAttempt) abandon() { a.e.ending.Go(func() { abandon(a.c) }) }

// commit makes the writes durable. If there are none, it only ends the transaction, since everything that
// the functions can have read is durable.
func (a *txnAttempt) commit() error {
	if !a.wrote || a.overlay.empty() {
		a.abandon()
		return nil
	}
	if a.e.rerun != nil && a.e.rerun() {
		a.abandon()
		return errCollision
	}
	batch, size := a.statements()
	limit := commitLimit + time.Duration(size/commitBytes)*time.Second
	own, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	a.e.trip()
	err := a.send(own, batch)
	if err == nil && sessionOf(a.c.Conn().PgConn()).warned.Load() {
		if err = a.confirm(); err != nil {
			discard(a.c)
			return fmt.Errorf("%w: %w", engine.ErrUnknownOutcome, err)
		}
	}
	switch {
	case err == nil:
		a.e.groups.Add(1)
		done(a.c)
		return nil
	case classify(err) == lost:
		discard(a.c)
		return a.resolve(err)
	case classify(err) == collide:
		a.abandon()
		return fmt.Errorf("%w: %w", errCollision, err)
	case isStored(err) && !a.upsert:
		a.abandon()
		return fmt.Errorf("%w: %w", errStored, err)
	}
	a.abandon()
	return toEngine(err)
}

// statements returns the writes and COMMIT as a batch, and the size of the batch in bytes.
func (a *txnAttempt) statements() (batch *pgx.Batch, size int) {
	batch = &pgx.Batch{}
	for _, r := range a.overlay.ranges {
		start := r.Start
		if start == nil {
			start = []byte{}
		}
		if r.End == nil {
			batch.Queue("DELETE FROM mayfly_kv WHERE k >= $1", start)
		} else {
			batch.Queue("DELETE FROM mayfly_kv WHERE k >= $1 AND k < $2", start, r.End)
		}
	}
	var gone, keys, values, freshKeys, freshValues [][]byte
	a.overlay.tree.Scan(func(w keyWrite) bool {
		k := storedKey(w.key)
		size += len(k) + len(w.value)
		switch {
		case w.deleted:
			gone = append(gone, k)
		case w.fresh && !a.upsert:
			freshKeys, freshValues = append(freshKeys, k), append(freshValues, storedValue(w.key, w.value))
		default:
			keys, values = append(keys, k), append(values, storedValue(w.key, w.value))
		}
		return true
	})
	if len(gone) > 0 {
		batch.Queue("DELETE FROM mayfly_kv WHERE k = ANY($1::bytea[])", gone)
	}
	if len(freshKeys) > 0 {
		batch.Queue(insertRows, freshKeys, freshValues)
	}
	if len(keys) > 0 {
		batch.Queue(insertRows+" ON CONFLICT (k) DO UPDATE SET v = excluded.v", keys, values)
	}
	var made [][]byte
	for _, s := range a.scopes {
		if _, deleted, decided := a.overlay.get(s.ceilingKey); s.isNew && decided && !deleted {
			made = append(made, storedKey(s.ceilingKey))
		}
	}
	if len(made) > 0 {
		batch.Queue("DELETE FROM mayfly_newscope WHERE k = ANY($1::bytea[])", made)
	}
	if !a.e.silent.Load() {
		var scopes [][]byte
		for _, s := range a.scopes {
			scopes = append(scopes, s.key)
		}
		batch.Queue(notifyAwaited, a.e.channel, scopes)
	}
	batch.Queue("COMMIT")
	return batch, size
}

// errNotCommitted is the error of a COMMIT that rolled back, because its transaction had failed.
var errNotCommitted = errors.New("the database has rolled the transaction back")

// send sends the statements and reads their results.
func (a *txnAttempt) send(ctx context.Context, batch *pgx.Batch) (err error) {
	results := a.c.SendBatch(ctx, batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	for n := range batch.Len() {
		tag, err := results.Exec()
		if err != nil {
			return err
		}
		if n == batch.Len()-1 && tag.String() != "COMMIT" {
			return errNotCommitted
		}
	}
	return nil
}

// confirm waits until a commit has reached a standby, after the server has warned that it may not have. It
// makes one more commit on the same connection, which the server acknowledges only after the first one.
func (a *txnAttempt) confirm() error {
	s := sessionOf(a.c.Conn().PgConn())
	own, cancel := context.WithTimeout(context.Background(), commitLimit)
	defer cancel()
	s.warned.Store(false)
	if _, err := a.c.Exec(own, "UPDATE mayfly_stamp SET at = now() WHERE conn = $1", a.stamp); err != nil {
		return err
	}
	if s.warned.Load() {
		return errStandby
	}
	return nil
}

// errStandby is returned for a commit that has not reached a required standby.
var errStandby = errors.New("the commit has not reached a standby")

// resolve determines the outcome of a commit whose response was lost.
func (a *txnAttempt) resolve(cause error) error {
	limit, cancel := context.WithTimeout(context.Background(), outageLimit)
	defer cancel()
	for try := 0; ; try++ {
		var n int64
		err := withLimit(limit, beginLimit, func(own context.Context) error {
			a.e.trip()
			return a.e.writers.QueryRow(own, "SELECT n FROM mayfly_stamp WHERE conn = $1 FOR UPDATE", a.stamp).
				Scan(&n)
		})
		switch {
		case err == nil && n == a.n:
			a.e.groups.Add(1)
			return nil
		case err == nil:
			return fmt.Errorf("%w: %w", engine.ErrUnavailable, cause) // not committed: it may run again
		case errors.Is(err, pgx.ErrNoRows), isServer(err) && classify(err) == fails, limit.Err() != nil:
			return fmt.Errorf("%w: %w", engine.ErrUnknownOutcome, errors.Join(cause, err))
		}
		pause(limit, backoff(try))
	}
}

// backoff returns the pause before a retry.
func backoff(try int) time.Duration { return min(time.Millisecond<<min(try, 10), 500*time.Millisecond) }

// named returns the scope with the given key if the transaction has locked it, otherwise nil.
func (a *txnAttempt) named(key []byte) *lockedLSNScope {
	for _, s := range a.scopes {
		if bytes.Equal(s.key, key) {
			return s
		}
	}
	return nil
}

// positions returns the last LSN and the mark of each scope after the transaction.
func (a *txnAttempt) positions(scopes [][]byte) []engine.LSNScopeStatus {
	list := make([]engine.LSNScopeStatus, len(scopes))
	for i, key := range scopes {
		s := a.named(key)
		list[i] = engine.LSNScopeStatus{Settled: true, Now: a.s.now}
		if s.bad == nil {
			list[i].LSN = s.next - 1
		}
		mark, _, decided := a.overlay.get(s.markKey)
		if !decided {
			mark, _ = a.s.cached(s.markKey)
		}
		if mark != nil {
			list[i].Mark, _ = engine.ParseMark(mark) // 0 if it is invalid; Mark returns the error
		}
	}
	return list
}
