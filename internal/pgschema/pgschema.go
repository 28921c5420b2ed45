package pgschema

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Variable is the environment variable with the connection string.
const Variable = "MAYFLY_POSTGRES"

// URL returns the connection string of the database, and skips the test if there is none.
func URL(t testing.TB) string {
	t.Helper()
	url := os.Getenv(Variable)
	if url == "" {
		t.Skip(Variable + " names no PostgreSQL")
	}
	return url
}

// prefix is the beginning of the names of all schemas that this package creates.
const prefix = "mayfly_test_"

// maxName is the maximum length of a name in PostgreSQL, in bytes.
const maxName = 63

// nameSize is the length in bytes of the schema names that New returns. The names of copies begin with such a
// name.
const nameSize = len(prefix) + 26

// New returns the name of a schema that does not exist yet. The schema and its copies are dropped at the end
// of the test.
func New(t testing.TB) string {
	t.Helper()
	name := prefix + strings.ToLower(rand.Text())[:nameSize-len(prefix)]
	url := URL(t)
	t.Cleanup(func() {
		// An engine that was left open can hold locks.
		execute(t, url, "SET lock_timeout = '10s'", fmt.Sprintf(`DO $$ DECLARE name text; BEGIN
			FOR name IN SELECT nspname FROM pg_namespace WHERE starts_with(nspname, '%s') LOOP
				EXECUTE format('DROP SCHEMA %%I CASCADE', name);
			END LOOP; END $$`, name))
	})
	return name
}

// Copy copies the committed tables of a schema that New or Copy has named to a new schema, in one
// snapshot, and returns the new name. Both schemas are dropped when the test ends, after all cleanups that
// were registered after New.
func Copy(t testing.TB, from string) string {
	t.Helper()
	to := Beside(from)
	execute(t, URL(t),
		"CREATE SCHEMA "+quote(to),
		"BEGIN ISOLATION LEVEL REPEATABLE READ",
		fmt.Sprintf(`DO $$ DECLARE name text; BEGIN
			FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = '%[1]s' LOOP
				EXECUTE format('CREATE TABLE %%I.%%I (LIKE %%I.%%I INCLUDING ALL)', '%[2]s', name, '%[1]s', name);
				EXECUTE format('INSERT INTO %%I.%%I SELECT * FROM %%I.%%I', '%[2]s', name, '%[1]s', name);
			END LOOP; END $$`, from, to),
		"COMMIT")
	return to
}

// Beside returns the name of a schema that does not exist yet. It is dropped together with schema, which is a
// name that New or Copy has returned.
func Beside(schema string) string {
	return (schema[:nameSize] + "_" + strings.ToLower(rand.Text()))[:maxName]
}

// execute opens a connection and runs statements on it, one after the other. It can still be called after
// t's context has ended.
func execute(t testing.TB, url string, statements ...string) {
	t.Helper()
	ctx := context.Background()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	for _, s := range statements {
		if _, err := c.Exec(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
