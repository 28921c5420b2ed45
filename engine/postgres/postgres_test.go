package postgres

import (
	"context"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/enginetest"
	"github.com/mayflydb/mayfly/internal/pgschema"
)

var ctx = context.Background()

// testSchema is a PostgreSQL schema for one test, which is removed at the end of the test.
type testSchema struct {
	t      *testing.T
	url    string
	schema string
}

func newTestSchema(t *testing.T) *testSchema {
	t.Helper()
	return &testSchema{t: t, url: pgschema.URL(t), schema: pgschema.New(t)}
}

func (d *testSchema) exec(statements ...string) {
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

func (d *testSchema) open(o Options) *Engine {
	d.t.Helper()
	o.URL, o.Schema, o.AllowUnsafe = d.url, d.schema, true
	o.Logger = slog.New(slog.DiscardHandler)
	e, err := Open(ctx, o)
	if err != nil {
		d.t.Fatal(err)
	}
	return e
}

// cut copies the committed rows to a new schema, which d stands for from now on. It simulates a crash of
// the server.
func (d *testSchema) cut() {
	d.t.Helper()
	d.schema = pgschema.Copy(d.t, d.schema)
}

func TestConformance(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) enginetest.ReopenableStorage {
		d := newTestSchema(t)
		return enginetest.ReopenableStorage{
			Open: func(*testing.T) engine.Engine { return d.open(Options{}) },
			Cut:  func(*testing.T) { d.cut() },
		}
	})
}
