//go:build long

package peers

import (
	"context"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// BenchmarkQuestions runs each query repeatedly on Mayfly in this process and on SQLite, so that they can
// be profiled. It also reports the processor time, which depends less on other programs than the elapsed
// time does.
//
//	go test -tags long -run '^$' -bench Questions/Mayfly -docs 100000 -folder /tmp/peers -cpuprofile FILE
func BenchmarkQuestions(b *testing.B) {
	n, err := strconv.Atoi(*sizes)
	if err != nil {
		b.Fatal(err)
	}
	s := documentSet{n}
	at := func(name string) string { return filepath.Join(b.TempDir(), name) }
	if *keep != "" {
		at = func(name string) string { return keptAt(name, s) }
	}
	b.Run("Mayfly", func(b *testing.B) {
		path := at("Mayfly")
		filled := exists(path)
		c, err := openEmbedded(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		askAll(b, c, s, filled)
	})
	b.Run("SQLite", func(b *testing.B) {
		path := at("SQLite")
		filled := exists(path)
		c, err := openSQLite(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		askAll(b, c, s, filled)
	})
}

// askAll runs a benchmark of each query on the database c, and then closes it. filled says that c has the
// documents already.
func askAll(b *testing.B, c comparedDatabase, s documentSet, filled bool) {
	defer func() {
		if err := c.close(); err != nil {
			b.Error(err)
		}
	}()
	if !filled {
		if err := c.fill(b.Context(), s); err != nil {
			b.Fatal(err)
		}
	}
	for _, q := range questions() {
		b.Run(q.name, func(b *testing.B) {
			ask := func(ctx context.Context, k int) {
				if _, err := c.ask(ctx, &q, s, k); err != nil {
					b.Fatal(err)
				}
			}
			for k := range 32 { // so that the caches are filled
				ask(b.Context(), k)
			}
			b.ReportAllocs()
			began := processorTime()
			for k := 0; b.Loop(); k++ {
				ask(b.Context(), k)
			}
			b.ReportMetric(float64(processorTime()-began)/float64(b.N), "cpu-ns/op")
		})
	}
}

// processorTime returns the processor time that this process has used.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // the arguments are constants
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
