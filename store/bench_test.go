package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/work"
	"github.com/mayflydb/mayfly/ttl"
)

// These benchmarks measure the store on an engine in memory, where nothing waits for a disk: what the store
// itself costs, in time and allocations. The command mayfly bench measures the same operations on a disk,
// beside the bare engine.

// benchStart returns the time at which the clock of the benchmarks begins.
func benchStart() time.Time { return time.Unix(1_800_000_000, 0) }

// benchStore returns a container in memory with n documents of 1 KB whose ttl is a minute, its store, and
// the clock.
func benchStore(b *testing.B, n int) (*DB, *Container, *ttl.VirtualClock) {
	b.Helper()
	clock := ttl.NewManual(benchStart())
	e, err := pebble.Open(b.Context(), pebble.Options{Memory: true, CacheBytes: 512 << 20})
	if err != nil {
		b.Fatal(err)
	}
	db, err := Open(b.Context(), e, Options{Clock: clock, ManualReaper: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	d, err := db.CreateDatabase(b.Context(), "d", definition.Throughput{})
	if err != nil {
		b.Fatal(err)
	}
	c, err := d.CreateContainer(b.Context(), definition.ContainerSpec{
		ID: "c",
		PartitionKey: definition.PartitionKeyDefinition{Paths: []string{"/pk"}, Kind: definition.KindHash,
			Version: 2},
		DefaultTTL: 60,
	}, definition.Throughput{})
	if err != nil {
		b.Fatal(err)
	}
	benchFill(b, c, 0, n)
	return db, c, clock
}

// benchKey returns the partition key and id of the i-th document.
func benchKey(i int) ItemKey {
	return ItemKey{Partition: definition.NewPartitionKey(jsondoc.StringValue(fmt.Sprintf("user-%06d", i/10))),
		ID: fmt.Sprintf("%010d", i)}
}

// benchBody returns the i-th document: 12 values in 1,024 bytes.
func benchBody(i int) []byte {
	b := fmt.Appendf(nil, `{"id":"%010d","pk":"user-%06d","type":"order","status":"open","name":"n%08d","email":"e%08d@example.com",`+
		`"age":%d,"score":%d.5,"active":true,"created":"2027-03-01T12:00:00Z","address":{"city":"c%08d"},"note":"`, i, i/10, i, i, i%80, i%100, i)
	for len(b) < 1022 {
		b = append(b, 'a'+byte((i+len(b)*len(b))%26))
	}
	return append(b, `"}`...)
}

func benchFill(b *testing.B, c *Container, from, to int) {
	b.Helper()
	for i := from; i < to; i++ {
		if _, _, err := c.Create(context.Background(), benchKey(i).Partition, benchBody(i),
			WriteOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func benchReads(b *testing.B, stored, read int) {
	_, c, _ := benchStore(b, stored)
	keys := make([]ItemKey, read)
	for i := range keys {
		keys[i] = benchKey(i * 7919 % stored)
	}
	next := 0
	one := func() {
		k := keys[next%read]
		next++
		if _, _, err := c.Read(b.Context(), k.Partition, k.ID, ReadOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	for range read { // into the block cache
		one()
	}
	b.ReportAllocs()
	for b.Loop() {
		one()
	}
}

// BenchmarkPointReadCold measures point reads of many items in turn, more than the cache of item locations
// holds.
func BenchmarkPointReadCold(b *testing.B) {
	n := 4 * work.RIDStripes * work.RIDPerStripe
	benchReads(b, n, n)
}

// BenchmarkPointReadRepeated measures point reads of the same few items.
func BenchmarkPointReadRepeated(b *testing.B) { benchReads(b, 10_000, 100) }

func BenchmarkCreate(b *testing.B) {
	_, c, _ := benchStore(b, 0)
	keys, bodies := make([]ItemKey, 0, b.N), make([][]byte, 0, b.N)
	for i := range b.N {
		keys, bodies = append(keys, benchKey(i)), append(bodies, benchBody(i))
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if _, _, err := c.Create(b.Context(), keys[i].Partition, bodies[i], WriteOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkList1000 measures a list of 1,000 documents in one page.
func BenchmarkList1000(b *testing.B) {
	_, c, _ := benchStore(b, 10_000)
	b.ReportAllocs()
	continuation := ""
	for b.Loop() {
		page, _, err := c.List(b.Context(), ListOptions{MaxItems: 1000, Continuation: continuation})
		if err != nil {
			b.Fatal(err)
		}
		if continuation = page.Continuation; continuation != "" && len(page.Items) != 1000 {
			b.Fatalf("a page of %d documents", len(page.Items))
		}
	}
}

// BenchmarkSweep measures purges of expired documents. Its figures are per document.
func BenchmarkSweep(b *testing.B) {
	const batch = 10_000
	db, c, clock := benchStore(b, 0)
	b.ReportAllocs()
	for done := 0; done < b.N; {
		n := min(batch, b.N-done)
		b.StopTimer()
		benchFill(b, c, done, done+n)
		clock.Advance(time.Minute)
		b.StartTimer()
		purged, err := db.SweepNow(b.Context())
		if err != nil || purged != n {
			b.Fatalf("%d documents purged of %d: %v", purged, n, err)
		}
		done += n
	}
}
