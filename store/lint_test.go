package store_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

func TestLint(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	b := newBenchWith(t, testdisk.New(t), "", store.Options{Logger: logger, Ranges: 1, ManualReaper: true})
	defer b.close()
	n := 0
	write := func(own string) string {
		t.Helper()
		n++
		_, r, err := b.c.Create(b.ctx, pk("p"), fmt.Appendf(nil, `{"id":"%d","pk":"p"%s}`, n, own),
			store.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Lint.String()
	}
	check := func(def string, want map[string]string) {
		t.Helper()
		b.setDefault(def)
		for own, rules := range want {
			if got := write(own); got != rules {
				t.Errorf("default %s, item%s: %q, want %q", def, own, got, rules)
			}
		}
	}
	check("null", map[string]string{``: "", `,"ttl":-1`: "", `,"ttl":60`: "ttl-off",
		`,"ttl":86400000`: "ttl-off,ttl-milliseconds"})
	check("-1", map[string]string{``: "", `,"ttl":-1`: "", `,"ttl":60`: "", `,"ttl":86399000`: "",
		`,"ttl":86400000`: "ttl-milliseconds", `,"ttl":86400001`: "",
		`,"ttl":315360000`: "ttl-milliseconds", `,"ttl":315360001`: "ttl-over-ten-years", `,"ttl":604800000`: "ttl-milliseconds,ttl-over-ten-years"})

	// The lock of a change feed processor is no mistake, but only what looks like one in full is one.
	b.setDefault("null")
	for _, lock := range []struct {
		body string
		want definition.BrokenLintRules
	}{
		{`{"id":"h_AAAAAA==_AAAAAIAAAAA=.lock","pk":"p","ttl":30}`,
			definition.LintOff}, {`{"id":"h.locks","ttl":30}`, definition.LintOff},
		{`{"id":"h_AAAAAA==_AAAAAIAAAAA=.lock","ttl":30}`, 0}, {`{"id":"h.lock","partitionKey":"x","ttl":30}`,
			0},
	} {
		c := b.c
		if lock.want == 0 {
			c = b.container("leases"+fmt.Sprint(len(lock.body)), "/id", "")
		}
		_, r, err := c.Create(b.ctx, definition.PartitionKey{}, []byte(lock.body), store.WriteOptions{})
		if err != nil || r.Lint != lock.want {
			t.Errorf("%s: %v, %v", lock.body, r.Lint, err)
		}
	}
	b.setDefault("-1")

	counts := b.c.LintCounts()
	for i, want := range []struct {
		rule  definition.BrokenLintRules
		count uint64
	}{{definition.LintOff, 4}, {definition.LintMilliseconds, 4}, {definition.LintLong, 2}} {
		c := counts[i]
		if c.Rule != want.rule || c.Count != want.count || c.Last == nil || c.Last.At != epoch || i > 0 &&
			c.Last.Key.Partition.String() != `["p"]` {
			t.Errorf("%+v, want %v %d times", c, want.rule, want.count)
		}
	}
	// Patches and batches are writes like others.
	it, r, err := b.c.Patch(b.ctx, pk("p"), "1", *patchOf(t, `{"op":"set","path":"/ttl","value":86400000}`),
		store.WriteOptions{})
	if err != nil || r.Lint != definition.LintMilliseconds {
		t.Errorf("patch of %s: %v, %v", it.ID(), r.Lint, err)
	}
	_, r, err = b.c.Batch(b.ctx, pk("p"), []store.ItemOperation{
		{Kind: store.OperationCreate, Body: []byte(`{"id":"x","pk":"p","ttl":86400000}`)},
		{Kind: store.OperationCreate, Body: []byte(`{"id":"y","pk":"p","ttl":315360001}`)},
	}, store.BatchOptions{})
	if err != nil || r.Lint != definition.LintMilliseconds|definition.LintLong {
		t.Errorf("batch: %v, %v", r.Lint, err)
	}
	// The log has a line for the 1st, the 10th ... time of each rule, and one for each change of the default
	// that is odd.
	for range 20 {
		write(`,"ttl":604800000`)
	}
	b.setDefault("604800000")
	for _, want := range []string{"rule=ttl-off times=1 ", "rule=ttl-milliseconds times=10 ",
		"rule=ttl-over-ten-years times=10 ", "defaultTtl=604800000"} {
		if strings.Count(log.String(), want) != 1 {
			t.Errorf("not one line with %q in\n%s", want, &log)
		}
	}
	if lines := strings.Count(log.String(), "\n"); lines != 6 {
		t.Errorf("%d lines in the log:\n%s", lines, &log)
	}
}

func TestLintOfContainers(t *testing.T) {
	t.Parallel()
	for def, want := range map[ttl.Seconds]string{ttl.Absent: "", ttl.Never: "", 60: "",
		86_400_000: "ttl-milliseconds", ttl.Max: "ttl-over-ten-years"} {
		spec := definition.ContainerSpec{DefaultTTL: def}
		if got := spec.Lint(); got.String() != want || (got.Text() == "") != (want == "") {
			t.Errorf("%d: %v: %s", def, got, got.Text())
		}
	}
}

// TestLintOfVectors checks that a document whose vector does not have the length in the vector policy is
// stored, and is counted as a lint violation.
func TestLintOfVectors(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"vectorEmbeddingPolicy":{"vectorEmbeddings":[{"path":"/v","dataType":"float32","distanceFunction":"cosine","dimensions":3}]}`, 1)
	defer b.close()
	for member, want := range map[string]string{
		``: "", `,"v":[1,2,3]`: "", `,"v":[1,2]`: "vector-length", `,"v":[]`: "vector-length", `,"v":[1,2,3,4]`: "vector-length",
		`,"v":null`: "", `,"v":"text"`: "", `,"w":[1]`: "", `,"v":[1],"ttl":60`: "ttl-off,vector-length",
	} {
		_, r, err := b.c.Upsert(b.ctx, pk("p"), []byte(`{"id":"1","pk":"p"`+member+`}`), store.WriteOptions{})
		if err != nil || r.Lint.String() != want {
			t.Errorf("%s: %q, not %q (%v)", member, r.Lint, want, err)
		}
	}
	if n := b.c.LintCounts()[3]; n.Rule != definition.LintVector || n.Count != 4 || n.Last == nil {
		t.Errorf("%+v", n)
	}
	// The policy that counts is the present one.
	d, err := b.db.Database("db")
	if err != nil {
		t.Fatal(err)
	}
	spec := b.c.Info().Spec
	spec.VectorEmbedding = &definition.VectorEmbeddingPolicy{
		Embeddings: append(spec.VectorEmbedding.Embeddings[:1:1],
			definition.VectorEmbedding{Path: "/w", DataType: "int8", DistanceFunction: "euclidean",
				Dimensions: 2})}
	if _, err := d.ReplaceContainer(b.ctx, "c", spec, store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, r, err := b.c.Upsert(b.ctx, pk("p"), []byte(`{"id":"1","pk":"p","w":[1]}`),
		store.WriteOptions{}); err != nil || r.Lint != definition.LintVector {
		t.Errorf("%v, %v", r.Lint, err)
	}
}

// TestLintOfTTLPropertyPath checks the lint violations for unusual values of the property at ttlPropertyPath,
// and that a null ttl is refused.
func TestLintOfTTLPropertyPath(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b := newBenchWith(t, testdisk.New(t), `"defaultTtl":10,"ttlPropertyPath":"/base"`,
		store.Options{ManualReaper: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	defer b.close()
	for base, want := range map[string]definition.BrokenLintRules{`,"base":1700000000`: 0, `,"base":0`: 0,
		`,"base":99999999999`: 0, ``: definition.LintBaseAbsent, `,"base":null`: definition.LintBaseType,
		`,"base":"1700000000"`:  definition.LintBaseType,
		`,"base":1700000000000`: definition.LintBaseMilliseconds} {
		_, r, err := b.c.Upsert(b.ctx, pk("p"), []byte(`{"id":"a","pk":"p"`+base+`}`), store.WriteOptions{})
		if err != nil || r.Lint != want {
			t.Errorf("%s: %v, %v", base, r.Lint, err)
		}
	}
	for i := range 12 {
		body := fmt.Appendf(nil, `{"id":"n%d","pk":"p","ttl":null}`, i)
		_, _, err := b.c.Upsert(b.ctx, pk("p"), body, store.WriteOptions{})
		if !is(err, fault.CodeBadRequest) {
			t.Error(err)
		}
	}
	last := b.c.LintCounts()[definition.LintRules-1]
	if last.Rule != definition.LintNull || last.Count != 12 || last.Last.Key.ID != "n11" {
		t.Errorf("%+v", last)
	}
	n := strings.Count(log.String(), "rule=ttl-null")
	if n != 1 || !strings.Contains(log.String(), "WhenWritingNull") {
		t.Errorf("%d lines about null in\n%s", n, &log)
	}
}
