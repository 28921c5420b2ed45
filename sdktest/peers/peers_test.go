//go:build long

package peers

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/sdktest"
)

var (
	sizes = flag.String("docs", "100000", "how many documents are asked about, separated by commas")
	keep  = flag.String("folder", "",
		"folder that keeps the documents of Mayfly and SQLite for later runs; none: they are deleted")
)

// keptAt returns the path below the flag -folder at which the documents of a database are kept between
// runs.
func keptAt(name string, s documentSet) string {
	return filepath.Join(*keep, name+strconv.Itoa(s.docs))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// comparedDatabase is a database that takes part in the comparison.
type comparedDatabase interface {
	name() string
	fill(ctx context.Context, s documentSet) error
	// ask runs a query and returns its rows: whole documents, or values. k chooses the values of the
	// parameters.
	ask(ctx context.Context, q *queryTestCase, s documentSet, k int) (rows [][]byte, err error)
	close() error
}

// Each query runs on each database at least minTurns times, then until it has taken the time share or has
// run maxTurns times.
const (
	minTurns = 3
	maxTurns = 200
	share    = time.Second
)

func TestPeers(t *testing.T) {
	for _, size := range strings.Split(*sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil || n < 1000 {
			t.Fatalf("-docs %s: numbers from 1000 on are needed", *sizes)
		}
		t.Run(size, func(t *testing.T) { compare(t, documentSet{n}) })
	}
}

func compare(t *testing.T, s documentSet) {
	all := contestants(t, s)
	t.Logf("%d documents of %d bytes; medians in ms, and how many times that of PostgreSQL it is", s.docs,
		docBytes)
	t.Logf("%-32s %10s %10s %10s %10s %8s | %8s %8s %8s", "", "embedded", "HTTP", "SQLite", "PostgreSQL",
		"rows",
		"embedded", "HTTP", "SQLite")
	for _, q := range questions() {
		rows := same(t, &q, s, all)
		times := measure(t, &q, s, all)
		line := fmt.Sprintf("%-32s", q.name)
		for _, took := range times {
			line += fmt.Sprintf(" %10.3f", took)
		}
		line += fmt.Sprintf(" %8d |", rows)
		for _, took := range times[:3] {
			line += fmt.Sprintf(" %8.2f", took/times[3])
		}
		t.Log(line)
	}
}

// contestants returns the databases with the documents: Mayfly embedded, Mayfly over HTTP, SQLite and
// PostgreSQL.
func contestants(t *testing.T, s documentSet) []comparedDatabase {
	ctx, dir := t.Context(), t.TempDir()
	pg, err := startPostgres(ctx)
	if errors.Is(err, errNoPostgres) {
		t.Skip(err)
	}
	must(t, err)
	t.Cleanup(func() { closed(t, pg) })
	folder, copied := filepath.Join(dir, "embedded"), filepath.Join(dir, "served")
	file := filepath.Join(dir, "sqlite.db")
	if *keep != "" {
		folder, file = keptAt("Mayfly", s), keptAt("SQLite", s)
	}
	filled := exists(folder) && exists(file)
	lite, err := openSQLite(ctx, file)
	if err != nil {
		t.Skip("SQLite needs cgo and a C compiler: ", err)
	}
	t.Cleanup(func() { closed(t, lite) })
	ours, err := openEmbedded(ctx, folder)
	must(t, err)
	for _, c := range []comparedDatabase{ours, lite, pg} {
		began := time.Now()
		if !filled || c == comparedDatabase(pg) {
			err = c.fill(ctx, s)
		}
		if c == comparedDatabase(ours) { // it must be closed to be copied
			err = errors.Join(err, ours.close())
		}
		must(t, err)
		t.Logf("%s: filled and indexed in %.1f s", c.name(), time.Since(began).Seconds())
	}
	must(t, os.CopyFS(copied, os.DirFS(folder)))
	ours, err = openEmbedded(ctx, folder)
	must(t, err)
	t.Cleanup(func() { closed(t, ours) })
	bin, err := sdktest.Build(dir)
	must(t, err)
	remote, err := serve(ctx, bin, copied)
	must(t, err)
	t.Cleanup(func() { closed(t, remote) })
	return []comparedDatabase{ours, remote, lite, pg}
}

func closed(t *testing.T, c comparedDatabase) {
	if err := c.close(); err != nil {
		t.Errorf("%s: %v", c.name(), err)
	}
}

// same runs a query on all databases, checks that they return the same rows, and returns the number of
// rows.
func same(t *testing.T, q *queryTestCase, s documentSet, all []comparedDatabase) int {
	t.Helper()
	var want []string
	for i, c := range all {
		rows, err := c.ask(t.Context(), q, s, 1)
		if err != nil {
			t.Fatalf("%s: %s: %v", q.name, c.name(), err)
		}
		var got []string
		for _, row := range rows {
			got = append(got, canonical(t, row))
		}
		if !q.ordered {
			slices.Sort(got)
		}
		if i == 0 {
			want = got
		}
		if !slices.Equal(got, want) || len(got) == 0 {
			t.Errorf("%s: %s has %d rows, %.200s, %s has %d, %.200s", q.name, c.name(), len(got), got,
				all[0].name(), len(want), want)
		}
	}
	return len(want)
}

// canonical converts a row to a text that is the same for all databases: the id of a document, category
// and count of a group, or a value.
func canonical(t *testing.T, row []byte) string {
	if len(row) == 0 || row[0] != '{' {
		return strings.Trim(string(row), `"`)
	}
	var v struct {
		ID, Category string
		N            int
	}
	must(t, json.Unmarshal(row, &v))
	if v.ID != "" {
		return v.ID
	}
	return fmt.Sprintf("%s|%d", v.Category, v.N)
}

// measure runs a query on all databases in turn and returns each one's median time in milliseconds.
func measure(t *testing.T, q *queryTestCase, s documentSet, all []comparedDatabase) (medians []float64) {
	t.Helper()
	took := make([][]float64, len(all))
	spent := make([]time.Duration, len(all))
	for turn, going := 0, true; going; turn++ {
		going = false
		for i, c := range all {
			if turn >= maxTurns || turn >= minTurns && spent[i] > share {
				continue
			}
			going = true
			began := time.Now()
			if _, err := c.ask(t.Context(), q, s, turn); err != nil {
				t.Fatalf("%s: %s: %v", q.name, c.name(), err)
			}
			d := time.Since(began)
			spent[i] += d
			took[i] = append(took[i], d.Seconds()*1000)
		}
	}
	for i := range took {
		slices.Sort(took[i])
		medians = append(medians, took[i][len(took[i])/2])
	}
	return medians
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
