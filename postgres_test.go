package mayfly_test

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mayflydb/mayfly"
	"github.com/mayflydb/mayfly/engine"
)

// TestPostgres checks that a store in a PostgreSQL database keeps its data when it is closed and opened
// again.
func TestPostgres(t *testing.T) {
	server := os.Getenv("MAYFLY_POSTGRES")
	if server == "" {
		t.Skip("MAYFLY_POSTGRES names no PostgreSQL")
	}
	name := fmt.Sprintf("mayfly_test_%d", os.Getpid())
	execute := func(sql string) {
		c := must(pgx.Connect(t.Context(), server))
		defer func() { _ = c.Close(t.Context()) }()
		must(c.Exec(t.Context(), sql))
	}
	execute("DROP DATABASE IF EXISTS " + name)
	execute("CREATE DATABASE " + name)
	at := must(url.Parse(server))
	at.Path = "/" + name

	clock := mayfly.NewClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	for run := range 2 {
		db := must(mayfly.Open(mayfly.Postgres(at.String()), mayfly.WithClock(clock)))
		c := must(db.Container(t.Context(), "app/c", mayfly.DefaultTTL(mayfly.Forever)))
		n := must(mayfly.One[int](t.Context(), c, "SELECT VALUE COUNT(1) FROM c"))
		if n != 0 { // the first run's document has expired
			t.Errorf("run %d: %d documents", run, n)
		}
		must(c.Create(t.Context(), map[string]string{"id": fmt.Sprint(run)}, mayfly.TTL(time.Minute)))
		if _, err := c.Read(t.Context(), fmt.Sprint(run), fmt.Sprint(run)); err != nil {
			t.Error(err)
		}
		clock.Advance(time.Minute)
		if _, err := c.Read(t.Context(), fmt.Sprint(run), fmt.Sprint(run)); !errors.Is(err, mayfly.ErrNotFound) {
			t.Errorf("after its TTL: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	execute("DROP DATABASE " + name)
}

// TestPostgresMissing checks the errors of opening PostgreSQL databases that do not exist.
func TestPostgresMissing(t *testing.T) {
	_, err := mayfly.Open(mayfly.Postgres("postgres://nobody@127.0.0.1:1/none?connect_timeout=1&sslmode=disable"))
	if !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("no server: %v", err)
	}
	if _, err := mayfly.Open(mayfly.PostgresDatabase{}); !errors.Is(err, mayfly.ErrBadRequest) {
		t.Errorf("no database: %v", err)
	}
}
