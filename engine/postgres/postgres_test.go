package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/enginetest"
)

// server is the connection string of a PostgreSQL in which tests may make schemas.
const server = "MAYFLY_POSTGRES"

var ctx = context.Background()

var schemas atomic.Int64

// database is a schema of its own, which is removed with the test.
type database struct {
	t      *testing.T
	url    string
	schema string
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	url := os.Getenv(server)
	if url == "" {
		t.Skip(server + " names no PostgreSQL")
	}
	d := &database{t: t, url: url}
	d.fresh()
	return d
}

// fresh names a schema that there is not yet.
func (d *database) fresh() {
	d.schema = fmt.Sprintf("mayfly_test_%d_%d", os.Getpid(), schemas.Add(1))
	schema := d.schema
	d.t.Cleanup(func() { d.exec("DROP SCHEMA IF EXISTS " + quote(schema) + " CASCADE") })
}

func (d *database) exec(statements ...string) {
	d.t.Helper()
	c, err := pgx.Connect(ctx, d.url)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	for _, s := range statements {
		if _, err := c.Exec(ctx, s); err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *database) open(o Options) *Engine {
	d.t.Helper()
	o.URL, o.Schema, o.AllowUnsafe = d.url, d.schema, true
	o.Logger = slog.New(slog.DiscardHandler)
	e, err := Open(ctx, o)
	if err != nil {
		d.t.Fatal(err)
	}
	return e
}

// cut goes on with a copy of what is committed now.
func (d *database) cut() {
	d.t.Helper()
	from := quote(d.schema)
	d.fresh()
	to := quote(d.schema)
	statements := []string{"CREATE SCHEMA " + to, "BEGIN ISOLATION LEVEL REPEATABLE READ"}
	for _, table := range []string{"mayfly_meta", "mayfly_kv", "mayfly_newscope", "mayfly_stamp", "mayfly_awaited"} {
		statements = append(statements,
			fmt.Sprintf("CREATE TABLE %s.%s (LIKE %s.%s INCLUDING ALL)", to, table, from, table),
			fmt.Sprintf("INSERT INTO %s.%s SELECT * FROM %s.%s", to, table, from, table))
	}
	d.exec(append(statements, "COMMIT")...)
}

func TestConformance(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) enginetest.Data {
		d := newDatabase(t)
		return enginetest.Data{
			Open: func(*testing.T) engine.Engine { return d.open(Options{}) },
			Cut:  func(*testing.T) { d.cut() },
		}
	})
}
