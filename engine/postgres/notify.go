package postgres

import (
	"context"
	"encoding/hex"
	"errors"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mayflydb/mayfly/engine"
)

// A commit notifies the servers that wait for a change of one of its scopes (LISTEN and NOTIFY). A commit
// with a notification takes a lock of the whole database server, so a commit notifies only if a server
// waits. Scopes for which servers wait have a row in the table mayfly_awaited, which each commit reads in
// its last round trip.

const (
	awaitScopes = `INSERT INTO mayfly_awaited(scope, until)
		SELECT s, now() + make_interval(secs => $2) FROM unnest($1::bytea[]) AS s ORDER BY s
		ON CONFLICT (scope) DO UPDATE SET until = excluded.until`
	forgetScopes = `DELETE FROM mayfly_awaited WHERE scope IN (SELECT scope FROM mayfly_awaited
		WHERE until < now() - make_interval(secs => $1) FOR UPDATE SKIP LOCKED)`
	notifyAwaited = `SELECT pg_notify($1, encode(scope, 'hex')) FROM mayfly_awaited
		WHERE scope = ANY($2::bytea[]) AND until > now()`

	// listenCheck is how long a connection that listens may be silent before it is checked.
	listenCheck = 20 * time.Second
	// listenPause is the pause before a lost connection is replaced.
	listenPause = time.Second
)

// channelOf returns the name of the channel for a schema. Names of channels are shorter than those of
// schemas.
func channelOf(schema string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(schema)) // never fails
	return "mayfly_" + strconv.FormatUint(h.Sum64(), 16)
}

// Await requests that commits in the scopes be reported to all Engines of this schema (see Listen), for
// the duration engine.AwaitTime. It implements engine.CommitNotifier.
func (e *Engine) Await(ctx context.Context, scopes [][]byte) error {
	if err := e.calls.Begin(); err != nil {
		return err
	}
	defer e.calls.End()
	if len(scopes) == 0 || e.silent.Load() {
		return ctx.Err()
	}
	batch := &pgx.Batch{}
	// A database without notifications refuses the first statement, so no commit finds an awaited scope
	// there.
	batch.Queue("SELECT pg_notify($1, '')", e.channel)
	batch.Queue(awaitScopes, scopes, engine.AwaitTime.Seconds())
	batch.Queue(forgetScopes, engine.AwaitTime.Seconds())
	err := withLimit(ctx, beginLimit, func(own context.Context) error {
		e.trip()
		return e.writers.SendBatch(own, batch).Close()
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case isServer(err) && classify(err) == fails:
		e.silent.Store(true)
		e.log.Warn("the database sends no notifications: waiting requests poll it every second", "error", err)
		return nil
	}
	return toEngine(err)
}

// Listen calls fn with the scope of each commit that is reported, in scopes for which an Engine of this
// schema has called Await, until ctx ends. It implements engine.CommitNotifier.
func (e *Engine) Listen(ctx context.Context, fn func(scope []byte)) {
	for ctx.Err() == nil {
		err := e.listen(ctx, fn)
		if ctx.Err() != nil {
			return
		}
		e.log.Debug("the connection for notifications broke", "error", err)
		pause(ctx, listenPause)
	}
}

// listen calls fn for each report that arrives on one connection, until the connection breaks or ctx ends.
func (e *Engine) listen(ctx context.Context, fn func(scope []byte)) error {
	var c *pgx.Conn
	err := withLimit(ctx, connectLimit, func(own context.Context) (err error) {
		if c, err = pgx.ConnectConfig(own, e.listener.Copy()); err != nil {
			return err
		}
		_, err = c.Exec(own, "LISTEN "+quote(e.channel))
		return err
	})
	if c != nil {
		defer func() {
			own, cancel := context.WithTimeout(context.Background(), connectLimit)
			defer cancel()
			_ = c.Close(own) // the connection has no transaction, so an error does not matter
		}()
	}
	if err != nil {
		return err
	}
	fn(nil)
	for {
		var scope []byte
		own, cancel := context.WithTimeout(ctx, listenCheck)
		n, err := c.WaitForNotification(own)
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			if err := withLimit(ctx, readLimit, c.Ping); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		if scope, err = hex.DecodeString(n.Payload); err == nil && len(scope) > 0 {
			fn(scope)
		}
	}
}
