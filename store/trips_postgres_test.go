package store_test

import (
	"bufio"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/postgres"
	"github.com/mayflydb/mayfly/internal/pgschema"
	"github.com/mayflydb/mayfly/internal/roundtrips"
)

// TestRoundTripsOfPostgres counts the round trips of each operation on connections to PostgreSQL, and checks
// that they are at most those in the golden table of TestRoundTrips.
func TestRoundTripsOfPostgres(t *testing.T) {
	at, err := url.Parse(pgschema.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	for ranges, table := range tripTables(t, "testdata/trips.txt") {
		t.Run(fmt.Sprint("ranges=", ranges), func(t *testing.T) {
			wire, err := roundtrips.NewRecordingProxy(at.Host)
			if err != nil {
				t.Fatal(err)
			}
			proxied := *at
			proxied.Host = wire.Addr()
			o := postgres.Options{URL: proxied.String(), AllowUnsafe: true,
				Logger: slog.New(slog.DiscardHandler),
				Schema: pgschema.New(t)}
			tr := &operationRoundTripCounter{t: t}
			turn := roundtrips.NewCountingLock()
			tr.open = func() engine.Engine {
				e, err := postgres.Open(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				return roundtrips.QuietOf(e, turn)
			}
			tr.begin = func() {
				turn.Take()
				wire.Take()
			}
			tr.end = func() (int, string) {
				defer turn.Give()
				return tripsOn(wire)
			}
			tr.b = newBenchOf(t, tr.open(), `"defaultTtl":-1`, tr.options(ranges))
			tr.b.ctx = roundtrips.Counted(tr.b.ctx)
			tr.all()
			tr.b.close()
			if err := wire.Close(); err != nil {
				t.Error(err)
			}
			for _, row := range tr.rows {
				most, ok := table[row.name]
				if !ok || row.total > most {
					t.Errorf("%s: %d trips (%s), the table has %d", row.name, row.total, row.detail, most)
				}
				t.Logf("%-56s %4d of %4d", row.name, row.total, most)
			}
			if len(tr.rows) != len(table) {
				t.Errorf("%d rows, the table has %d", len(tr.rows), len(table))
			}
		})
	}
}

// tripsOn returns the number of round trips that the proxy has recorded since the last call, without those
// that open connections or prepare statements, and their statements as text.
func tripsOn(wire *roundtrips.RecordingProxy) (n int, detail string) {
	for _, x := range wire.Take() {
		text := x.String()
		opens := func(prefix string) bool { return strings.HasPrefix(text, prefix) }
		connecting := []string{"show ", "INSERT INTO mayfly_stamp", "LISTEN "}
		if text == "" || slices.ContainsFunc(connecting, opens) {
			continue
		}
		n++
		detail += "\n\t" + text
	}
	return n, detail
}

// tripTables parses the tables in a golden file: for each number of ranges, the round trips of each
// operation by its name.
func tripTables(t *testing.T, path string) map[int]map[string]int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	tables, ranges := map[int]map[string]int{}, 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if text, ok := strings.CutPrefix(line, "trips ranges="); ok {
			if ranges, err = strconv.Atoi(text); err != nil {
				t.Fatal(err)
			}
			tables[ranges] = map[string]int{}
		} else if ranges > 0 && len(line) > tripNameWidth {
			n, err := strconv.Atoi(strings.Fields(line[tripNameWidth:])[0])
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			tables[ranges][strings.TrimSpace(line[:tripNameWidth])] = n
		}
	}
	if len(tables) == 0 {
		t.Fatalf("%s has no table", path)
	}
	return tables
}
