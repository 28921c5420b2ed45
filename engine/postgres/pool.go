package postgres

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// connState is the engine's state of one connection to the database, with the key of the connection's stamp:
// a row in which each transaction first writes its number, so that its outcome can be found out after the
// connection broke.
type connState struct {
	stamp  []byte      // primary key of the connection's stamp row
	n      int64       // number of its transactions so far
	warned atomic.Bool // the server has warned that a commit may not have reached a standby
}

// sessionKey is the key under which the custom data of a pgconn.PgConn hold its connState.
const sessionKey = "mayfly"

func sessionOf(c *pgconn.PgConn) *connState {
	s, _ := c.CustomData()[sessionKey].(*connState)
	return s
}

// pool opens one of the two connection pools. Each new connection first inserts its row into the table
// mayfly_stamp. So if the server has just become the primary or has restarted, everything that the connection
// reads later is durable there.
func (e *Engine) pool(o Options, size int) (*pgxpool.Pool, error) {
	config, err := o.config(size)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.OnNotice = func(c *pgconn.PgConn, n *pgconn.Notice) {
		if s := sessionOf(c); s != nil && n.Severity == "WARNING" && n.Code == "01000" {
			s.warned.Store(true)
		}
	}
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		s := &connState{stamp: random()}
		c.PgConn().CustomData()[sessionKey] = s
		_, err := c.Exec(ctx, `INSERT INTO mayfly_stamp(conn, n) VALUES ($1, 0)`, s.stamp)
		if err == nil && s.warned.Load() {
			return fmt.Errorf("the database could not reach its standby")
		}
		return err
	}
	// A ping would add a round trip to most operations of a server with little work. A connection that has
	// broken while it was idle is detected at its next use: see lost.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	return pgxpool.NewWithConfig(context.Background(), config)
}

// lost must be called when a connection to the database has turned out to be broken. It closes all idle
// connections, since they may be broken for the same reason. epoch is the value that e.epoch had before the
// broken connection was used; if it has changed, another call of lost has closed them already.
func (e *Engine) lost(epoch uint64) {
	if e.epoch.CompareAndSwap(epoch, epoch+1) {
		e.readers.Reset()
		e.writers.Reset()
	}
}

// discard closes a connection and removes it from the pool.
func discard(c *pgxpool.Conn) {
	own, cancel := context.WithTimeout(context.Background(), connectLimit)
	defer cancel()
	_ = c.Conn().Close(own) // the connection is broken: an error does not matter
	c.Release()
}

// done returns a connection to the pool. It closes the connection if it is not idle.
func done(c *pgxpool.Conn) {
	if c.Conn().IsClosed() || c.Conn().PgConn().TxStatus() != 'I' {
		discard(c)
		return
	}
	c.Release()
}

// abandon rolls back the transaction of a connection and returns the connection to the pool.
func abandon(c *pgxpool.Conn) {
	if !c.Conn().IsClosed() && c.Conn().PgConn().TxStatus() != 'I' {
		own, cancel := context.WithTimeout(context.Background(), readLimit)
		_, _ = c.Exec(own, "ROLLBACK") // if it fails, done closes the connection
		cancel()
	}
	done(c)
}

// collect reads all rows of a statement. now is the database's time, if a row has it: see withTime.
func (e *Engine) collect(rows pgx.Rows, err error) (out []keyValue, now int64, _ error) {
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var k, v []byte
		if err := rows.Scan(&k, &v); err != nil {
			return nil, 0, err
		}
		if k == nil {
			if now, err = strconv.ParseInt(string(v), 10, 64); err != nil {
				return nil, 0, fmt.Errorf("%w: the time: %w", errRow, err)
			}
			e.tell(now)
			continue
		}
		r, ok := load(k, v)
		if !ok {
			return nil, 0, fmt.Errorf("%w: the value of a long key", errRow)
		}
		if r.value == nil {
			r.value = []byte{}
		}
		out = append(out, r)
	}
	return out, now, rows.Err()
}
