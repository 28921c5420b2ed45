package bench

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// benchSchema is the PostgreSQL schema with the tables of the comparison.
const benchSchema = "mayfly_bench"

// tableStatements create the plain table: one row per document, as jsonb, with an index for each way to
// find it.
var tableStatements = []string{
	"DROP SCHEMA IF EXISTS " + benchSchema + " CASCADE",
	"DROP SCHEMA IF EXISTS " + benchSchema + "_table CASCADE",
	"CREATE SCHEMA " + benchSchema + "_table",
	`CREATE TABLE docs (pk text NOT NULL, id text NOT NULL, seq bigserial NOT NULL, ts bigint NOT NULL,
		due bigint NOT NULL, doc jsonb NOT NULL, PRIMARY KEY (pk, id))`,
	"CREATE INDEX ON docs (due)",
	"CREATE INDEX ON docs (seq)",
	"CREATE INDEX ON docs ((doc->>'city'))",
	"CREATE INDEX ON docs (((doc->>'n')::bigint))",
}

// prepareEngines opens a connection pool to the PostgreSQL database at url and prepares it for the comparison
// of engines: it drops the data of an earlier comparison, and creates an ordinary SQL table with a row for
// each document, with which Mayfly is compared.
func prepareEngines(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 16
	config.ConnConfig.RuntimeParams["search_path"] = benchSchema + "_table"
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	for _, statement := range tableStatements {
		if _, err := pool.Exec(ctx, statement); err != nil {
			pool.Close()
			return nil, err
		}
	}
	return pool, nil
}

const insertDoc = `INSERT INTO docs (pk, id, ts, due, doc)
	SELECT d->>'pk', d->>'id', 0, 1, d FROM unnest($1::jsonb[]) AS d
	ON CONFLICT (pk, id) DO UPDATE SET doc = excluded.doc, seq = excluded.seq`

// newTableSubject returns the comparedStore that runs the operations on the plain table.
func newTableSubject(pool *pgxpool.Pool) *comparedStore {
	write := func(ctx context.Context, docs ...string) error {
		_, err := pool.Exec(ctx, insertDoc, docs)
		return err
	}
	read := func(ctx context.Context, sql string, args ...any) error {
		rows, err := pool.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		_, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	}
	city := func(n int) string { return fmt.Sprintf("c%d", n/batchSize%100) }
	s := &comparedStore{name: "table", close: func() error { pool.Close(); return nil }}
	s.ops = map[string]func(context.Context, int) error{
		"create": func(ctx context.Context, n int) error { return write(ctx, string(engineDoc(n))) },
		"replace": func(ctx context.Context, n int) error {
			return write(ctx, string(engineReplaced(n/batchSize%batchSize, n)))
		},
		"batch": func(ctx context.Context, n int) error {
			docs := make([]string, batchSize)
			for i := range docs {
				docs[i] = string(engineDoc(n + i))
			}
			return write(ctx, docs...)
		},
		"read": func(ctx context.Context, n int) error {
			id := fmt.Sprint(n / batchSize % batchSize)
			return read(ctx, "SELECT doc::text FROM docs WHERE pk = 'p0' AND id = $1", id)
		},
		"equality": func(ctx context.Context, n int) error {
			return read(ctx, "SELECT doc::text FROM docs WHERE doc->>'city' = $1 LIMIT 20", city(n))
		},
		"order": func(ctx context.Context, _ int) error {
			return read(ctx, "SELECT doc::text FROM docs ORDER BY (doc->>'n')::bigint LIMIT 20")
		},
		"both": func(ctx context.Context, n int) error {
			return read(ctx, `SELECT doc::text FROM docs WHERE doc->>'city' = $1 AND doc->'deep'->>'b' = 'x1'
				LIMIT 20`, city(n))
		},
		"count": func(ctx context.Context, _ int) error {
			return read(ctx, "SELECT count(*)::text FROM docs")
		},
		"feed": func(ctx context.Context, _ int) error {
			return read(ctx, "SELECT doc::text FROM docs WHERE seq > 0 ORDER BY seq LIMIT 100")
		},
	}
	s.purge = func(ctx context.Context) (n int, err error) {
		for {
			tag, err := pool.Exec(ctx, `DELETE FROM docs WHERE (pk, id) IN (
				SELECT pk, id FROM docs WHERE due <= 1 ORDER BY due LIMIT 256)`)
			if err != nil || tag.RowsAffected() == 0 {
				return n, err
			}
			n += int(tag.RowsAffected())
		}
	}
	return s
}
