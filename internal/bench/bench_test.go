package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	raw "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/progress"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

func TestBenchDocument(t *testing.T) {
	for _, i := range []int{0, 1, 999_999, 123_456_789} {
		d := newDocument(i)
		body := d.json()
		parsed, err := jsondoc.Parse(body, jsondoc.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if parsed.ID.Str() != d.id || len(body) != benchDocBytes || !bytes.Equal(parsed.Body, body) {
			t.Errorf("document %d: id %s, %d bytes, stored as %s", i, parsed.ID.Raw(), len(body), parsed.Body)
		}
		if got, ok := numberIn(append([]byte("a header"), body...)); !ok || got != i {
			t.Errorf("document %d was found as %d, %t", i, got, ok)
		}
		var fields map[string]any
		if err := json.Unmarshal(body, &fields); err != nil || len(fields) != 12 {
			t.Errorf("%d values, want 12: %v", len(fields), err)
		}
	}
	if _, ok := numberIn([]byte(idStart + "12")); ok {
		t.Error("a cut value was taken for a document")
	}
}

// TestReplay records the transactions of a store, replays them in bare Pebble, and checks that both then
// hold the same keys and values, except for those that the engine writes for itself.
func TestReplay(t *testing.T) {
	var rec *recordingEngine
	b := &BenchmarkRun{clock: ttl.NewManual(time.Unix(1_800_000_000, 0)), progress: &progress.Bar{}}
	db, c, err := b.open(t.Context(), storeOpenOptions{engine: pebble.Options{Memory: true},
		store: store.Options{ManualReaper: true}, wrap: func(e *pebble.Engine) engine.Engine {
			rec = &recordingEngine{Engine: e}
			return rec
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	bare, err := raw.Open("", &raw.Options{FS: vfs.NewMem(), Logger: fatalOnlyLogger{}})
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close()
	if err := b.load(t.Context(), c, 0, 50); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		d := newDocument(i)
		if _, err := c.Delete(t.Context(), d.key(), d.id, store.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	txns := rec.take()
	for _, txn := range txns {
		if err := replay(bare, txn, raw.Sync); err != nil {
			t.Fatal(err)
		}
	}

	want, keys := map[string]string{}, 0
	err = rec.View(t.Context(), func(r engine.Reader) error {
		it := r.Scan(engine.Range{}, false)
		for it.Next() {
			k := it.Key() // a scope's LSN ceiling and its mark are the engine's own
			if last := k[len(k)-1]; last != 's' && last != 'M' || len(k) != 2 && len(k) != 7 {
				want[fmt.Sprintf("%x", k)] = string(it.Value())
			}
		}
		return it.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	it, err := bare.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for it.First(); it.Valid(); it.Next() {
		got[fmt.Sprintf("%x", it.Key())] = string(it.Value())
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if keys = keysOf(txns); keys < len(got) {
		t.Errorf("%d keys were recorded, %d are there", keys, len(got))
	}
	if again := rec.take(); len(again) != 0 {
		t.Errorf("%d transactions were handed out twice", len(again))
	}
}

// TestRawOptions checks that bare Pebble, the baseline, is opened with the same options as Mayfly's
// engine.
func TestRawOptions(t *testing.T) {
	dir := t.TempDir()
	e, err := pebble.Open(t.Context(), pebble.Options{Dir: dir, CacheBytes: 12 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	o, err := rawOptions(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "OPTIONS-*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no options: %v", err)
	}
	noted, err := os.ReadFile(slices.Max(files))
	if err != nil {
		t.Fatal(err)
	}
	o.EnsureDefaults()
	if diff := cmp.Diff(string(noted), o.String()); diff != "" {
		t.Error(diff)
	}
	if _, err := rawOptions(t.TempDir()); err == nil {
		t.Error("an empty folder had options")
	}
}

func TestBenchNumbers(t *testing.T) {
	for _, c := range []struct {
		unit measurementUnit
		v    float64
		want string
	}{
		{seconds, 0, "0.00 ns"}, {seconds, 5e-8, "50.0 ns"}, {seconds, 1.234e-6, "1.23 µs"}, {seconds, 0.0456, "45.6 ms"}, {seconds, 123.4, "123 s"},
		{perSecond, 999.6, "1,000/s"}, {perSecond, 1234567, "1,234,567/s"},
		{byteCount, 1191.4, "1,191 B"}, {byteCount, 22e6, "22.0 MB"},
	} {
		if got := c.unit.text(c.v); got != c.want {
			t.Errorf("%v in %s: %q, want %q", c.v, c.unit, got, c.want)
		}
	}
	for _, c := range []struct {
		of   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 3}, 3}, {[]float64{4, 1, 3, 9}, 3.5}} {
		if got := median(c.of); got != c.want {
			t.Errorf("median of %v: %v, want %v", c.of, got, c.want)
		}
	}
	if !math.IsNaN(median(nil)) {
		t.Error("the median of nothing is a number")
	}
	var l latencies
	for i := range 100 {
		l = append(l, time.Duration(100-i))
	}
	l.sorted()
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 50, 0.99: 99, 1: 100} {
		if got := l.quantile(q); got != want {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
}

func TestRatiosAndBudgets(t *testing.T) {
	d := baselineComparisonTimes{mayfly: []float64{2, 4, 10}, baseline: []float64{1, 1, 5}}
	f := d.speed("x", ratioAtLeast(0.5))
	if f.Value != 4 || *f.Against != 1 || *f.Ratio != 0.5 || !f.Budget.holds(&f) {
		t.Errorf("speed %+v, against %v, ratio %v", f, *f.Against, *f.Ratio)
	}
	if f := d.rate("x", ratioAtLeast(0.6)); f.Value != 0.25 || *f.Against != 1 || *f.Ratio != 0.5 || f.Budget.holds(&f) {
		t.Errorf("rate %+v, against %v, ratio %v", f, *f.Against, *f.Ratio)
	}
	if f := (Measurement{Value: 2}); valueAtMost(1.9).holds(&f) || !valueAtMost(2).holds(&f) {
		t.Error("a budget on the value")
	}
	if got := ratioAtLeast(0.45).text(seconds) + ", " + valueAtMost(0.05).text(seconds); got != ">= 0.45, <= 50.0 ms" {
		t.Errorf("budgets read %q", got)
	}
}

func TestBenchEpochs(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, docs := range []int{minBenchDocs, 12_345, 1_000_000} {
		b := &BenchmarkRun{Options: Options{Docs: []int{docs}}, clock: ttl.NewManual(now)}
		from, epochs := 0, b.epochs()
		for i, e := range epochs {
			if e.from != from || e.to <= e.from || i > 0 && e.at.Sub(epochs[i-1].at) != epochGap {
				t.Errorf("%d documents, epoch %d: %+v", docs, i, e)
			}
			from = e.to
		}
		if last := epochs[len(epochs)-1]; from != docs || !last.at.Add(epochGap).Before(now) || purgeTTL < epochGap*time.Duration(len(epochs)) {
			t.Errorf("%d documents: the epochs end at %d, %s", docs, from, last.at)
		}
	}
}
