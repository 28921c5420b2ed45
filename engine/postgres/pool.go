package postgres

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// session is what the engine knows of a connection.
type session struct {
	stamp  []byte      // the key of its stamp
	n      int64       // its transactions so far
	warned atomic.Bool // the server said that a commit is not on the standby
}

// sessionKey is where a connection keeps its session.
const sessionKey = "mayfly"

func sessionOf(c *pgconn.PgConn) *session {
	s, _ := c.CustomData()[sessionKey].(*session)
	return s
}

// pool opens one of the two pools. A connection of either writes its stamp before it is used: where the
// server has become the primary, or has started again, what the connection is going to read is safe then,
// too.
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
		s := &session{stamp: random()}
		c.PgConn().CustomData()[sessionKey] = s
		_, err := c.Exec(ctx, `INSERT INTO mayfly_stamp(conn, n) VALUES ($1, 0)`, s.stamp)
		if err == nil && s.warned.Load() {
			return fmt.Errorf("the database could not reach its standby")
		}
		return err
	}
	return pgxpool.NewWithConfig(context.Background(), config)
}

// discard closes a connection and gives its place back.
func discard(c *pgxpool.Conn) {
	own, cancel := context.WithTimeout(context.Background(), connectLimit)
	defer cancel()
	_ = c.Conn().Close(own) // it is of no use
	c.Release()
}

// done gives a connection back, or closes one that is not idle.
func done(c *pgxpool.Conn) {
	if c.Conn().IsClosed() || c.Conn().PgConn().TxStatus() != 'I' {
		discard(c)
		return
	}
	c.Release()
}

// abandon ends the transaction of a connection without effect, and gives the connection back.
func abandon(c *pgxpool.Conn) {
	if !c.Conn().IsClosed() && c.Conn().PgConn().TxStatus() != 'I' {
		own, cancel := context.WithTimeout(context.Background(), readLimit)
		_, _ = c.Exec(own, "ROLLBACK") // where it fails the connection is closed
		cancel()
	}
	done(c)
}

// collect reads the rows of a statement.
func collect(rows pgx.Rows, err error) ([]row, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []row
	for rows.Next() {
		var k, v []byte
		if err := rows.Scan(&k, &v); err != nil {
			return nil, err
		}
		r, ok := load(k, v)
		if !ok {
			return nil, fmt.Errorf("%w: the value of a long key", errRow)
		}
		if r.value == nil {
			r.value = []byte{}
		}
		out = append(out, r)
	}
	return out, rows.Err()
}
