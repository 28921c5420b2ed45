package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mayflydb/mayfly/engine"
)

// schemaVersion is the version of the tables. Open brings older tables up to date, and does not open newer
// ones. Version 2 has the table mayfly_awaited. It no longer has mayfly_lease, which prevented a second
// server in version 1.
const schemaVersion = 2

// tables are the statements that create missing parts of the schema.
var tables = []string{
	`CREATE TABLE IF NOT EXISTS mayfly_meta (one boolean PRIMARY KEY DEFAULT true CHECK (one),
		version int NOT NULL,
		incarnation bytea NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS mayfly_kv (k bytea NOT NULL, v bytea NOT NULL,
		CONSTRAINT mayfly_kv_pkey PRIMARY KEY (k))`,
	`CREATE TABLE IF NOT EXISTS mayfly_newscope (k bytea NOT NULL PRIMARY KEY)`,
	`CREATE TABLE IF NOT EXISTS mayfly_stamp (conn bytea NOT NULL PRIMARY KEY, n bigint NOT NULL,
		at timestamptz NOT NULL DEFAULT now())`,
	`CREATE TABLE IF NOT EXISTS mayfly_awaited (scope bytea NOT NULL PRIMARY KEY,
		until timestamptz NOT NULL)`,
}

// optionalSettings are settings of the tables that databases other than PostgreSQL may not support.
var optionalSettings = []string{
	`ALTER TABLE mayfly_kv SET (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02,
		autovacuum_vacuum_insert_scale_factor = 0.1)`,
	`ALTER TABLE mayfly_kv ALTER COLUMN k SET STORAGE PLAIN, ALTER COLUMN v SET STORAGE EXTERNAL`,
	`ALTER TABLE mayfly_stamp SET (fillfactor = 50)`,
}

// concurrentCreateCodes are the error codes of a statement that creates something while another client
// creates the same: a unique violation, an object that exists, and PostgreSQL's "tuple concurrently updated".
var concurrentCreateCodes = []string{"23505", "42P07", "42P06", "42710", "XX000", "40001", "40P01"}

// prepare creates the tables of a new database and checks those of an existing one.
func prepare(ctx context.Context, o Options) error {
	config, err := o.config(1)
	if err != nil {
		return err
	}
	var c *pgx.Conn
	connecting := func(own context.Context) (err error) {
		c, err = pgx.ConnectConfig(own, config.ConnConfig.Copy())
		return err
	}
	if err := withLimit(ctx, openLimit, connecting); err != nil {
		return opening(err)
	}
	defer func() {
		own, cancel := context.WithTimeout(context.Background(), connectLimit)
		defer cancel()
		_ = c.Close(own) // no statement is running: an error does not matter
	}()
	return opening(withLimit(ctx, openLimit, func(own context.Context) error {
		if err := safe(own, c, o); err != nil {
			return err
		}
		if complete, err := version(own, c); complete || err != nil {
			return err
		}
		for _, statement := range append([]string{"CREATE SCHEMA IF NOT EXISTS " + quote(o.Schema)},
			tables...) {
			if err := makeTable(own, c, statement); err != nil {
				return err
			}
		}
		for _, statement := range optionalSettings {
			if _, err := c.Exec(own, statement); err != nil && !isServer(err) {
				return err
			}
		}
		_, err := c.Exec(
			own,
			`INSERT INTO mayfly_meta(version, incarnation) VALUES ($1, $2)
				ON CONFLICT (one) DO UPDATE SET version = greatest(mayfly_meta.version, excluded.version)`,
			schemaVersion,
			random(),
		)
		if err != nil {
			return err
		}
		_, err = version(own, c)
		return err
	}))
}

// makeTable runs a statement that creates a table or a schema. It retries if another client is creating the
// same.
func makeTable(ctx context.Context, c *pgx.Conn, statement string) error {
	for try := 0; ; try++ {
		_, err := c.Exec(ctx, statement)
		var pe *pgconn.PgError
		if err == nil || try == 10 || !errors.As(err, &pe) || !slices.Contains(concurrentCreateCodes,
			pe.Code) {
			return err
		}
		pause(ctx, 10*time.Millisecond<<try)
	}
}

// version checks the schema's version. It returns false if there is no schema yet, or an older one.
func version(ctx context.Context, c *pgx.Conn) (current bool, err error) {
	var there bool
	if err := c.QueryRow(ctx, `SELECT to_regclass('mayfly_meta') IS NOT NULL`).Scan(&there); err != nil ||
		!there {
		return false, err
	}
	var v int
	err = c.QueryRow(ctx, `SELECT version FROM mayfly_meta`).Scan(&v)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err != nil:
		return false, err
	case v > schemaVersion:
		return true, fmt.Errorf(
			"%w: the tables have version %d, this release knows %d",
			engine.ErrNewerFormat,
			v,
			schemaVersion,
		)
	}
	return v == schemaVersion, nil
}

// durable lists the settings of PostgreSQL that decide whether acknowledged commits survive a crash.
var durable = []string{"synchronous_commit", "fsync", "full_page_writes"}

// unsafe reports whether value, the value of one of the settings in durable, means that the database may
// lose acknowledged commits.
func unsafe(value string) bool { return value == "off" || value == "local" }

// safe returns ErrUnsafe if the database may lose acknowledged commits because of its settings, unless o
// allows that. It ignores settings that the database does not have.
func safe(ctx context.Context, c *pgx.Conn, o Options) error {
	for _, setting := range durable {
		var value string
		if err := c.QueryRow(ctx, "SHOW "+setting).Scan(&value); err != nil {
			if isServer(err) {
				continue
			}
			return err
		}
		if !unsafe(value) {
			continue
		}
		if !o.AllowUnsafe {
			return fmt.Errorf("%w: %s is %s", ErrUnsafe, setting, value)
		}
		o.Logger.Warn("the database may lose acknowledged writes", "setting", setting, "value", value)
	}
	return nil
}

// random returns 16 random bytes: a name for a connection or for a newly created schema.
func random() []byte {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return b
}
