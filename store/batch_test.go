package store_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// patchOf parses a patch. operations are the elements of its JSON array, without the brackets.
func patchOf(t testing.TB, operations string) *store.Patch {
	t.Helper()
	p, err := jsondoc.ParsePatch([]byte("[" + operations + "]"))
	if err != nil {
		t.Fatal(err)
	}
	return &store.Patch{Operations: p}
}

// dump returns the whole state of the container as text, for comparisons: etag, resource id, timestamp and
// body of each item, and the LSN of each range.
func (b *testStore) dump() string {
	b.t.Helper()
	var s strings.Builder
	page, _, err := b.c.List(b.ctx, store.ListOptions{MaxItems: -1})
	if err != nil || page.Continuation != "" {
		b.t.Fatalf("list: %v, continuation %q", err, page.Continuation)
	}
	for _, it := range page.Items {
		fmt.Fprintf(&s, "%s %s %d %s\n", it.ETag(), it.RID(), it.Timestamp(), it.Body())
	}
	for _, r := range b.c.Ranges().Ranges {
		fmt.Fprintf(&s, "range %s at %d\n", r.ID, r.LSN)
	}
	return s.String()
}

func (b *testStore) batch(key definition.PartitionKey, o store.BatchOptions,
	ops ...store.ItemOperation) store.BatchResult {
	b.t.Helper()
	out, _, err := b.c.Batch(b.ctx, key, ops, o)
	if err != nil {
		b.t.Fatal(err)
	}
	if len(out.Results) != len(ops) {
		b.t.Fatalf("%d results of %d operations", len(out.Results), len(ops))
	}
	return out
}

// codes returns the results of a batch's operations as text: "ok" or the error code of each, separated by
// commas.
func codes(out store.BatchResult) string {
	var list []string
	for _, r := range out.Results {
		if r.Err == nil {
			list = append(list, "ok")
		} else {
			list = append(list, fault.ErrorCode(r.Err).String())
		}
	}
	return strings.Join(list, ", ")
}

func op(kind store.ItemOperationKind, id, body string) store.ItemOperation {
	return store.ItemOperation{Kind: kind, ID: id, Body: []byte(body)}
}

func withIfMatch(o store.ItemOperation, etag string) store.ItemOperation {
	o.IfMatch = etag
	return o
}

func withPartition(o store.ItemOperation, key string) store.ItemOperation {
	o.Partition = pk(key)
	return o
}

func withPatch(t testing.TB, id, operations string) store.ItemOperation {
	return store.ItemOperation{Kind: store.OperationPatch, ID: id, Patch: patchOf(t, operations)}
}

// TestAtomicBatchRollsBack checks that an atomic batch changes nothing if any of its operations fails.
func TestAtomicBatchRollsBack(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":-1,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}`, 1)
	defer b.close()
	b.put(`{"id":"old","pk":"p","u":1,"n":1}`, `{"id":"gone","pk":"p","u":2}`, `{"id":"ghost","pk":"p","u":9,"ttl":1}`)
	b.clock.Advance(2 * time.Second)
	good := []store.ItemOperation{
		op(store.OperationCreate, "", `{"id":"a","pk":"p","u":3}`),
		op(store.OperationUpsert, "", `{"id":"old","pk":"p","u":4}`),
		op(store.OperationDelete, "gone", ""),
		op(store.OperationCreate, "", `{"id":"ghost","pk":"p","u":9}`),
		withPatch(t, "a", `{"op":"incr","path":"/n","value":1}`),
		op(store.OperationRead, "a", ""),
		op(store.OperationReplace, "a", `{"id":"a","pk":"p","u":5}`),
	}
	for _, bad := range []struct {
		op   store.ItemOperation
		code fault.Code
	}{
		{op(store.OperationCreate, "", `{"id":"old","pk":"p","u":77}`), fault.CodeConflict},
		{op(store.OperationCreate, "", `{"id":"new","pk":"p","u":"taken"}`), fault.CodeConflict},
		{op(store.OperationDelete, "nobody", ""), fault.CodeNotFound},
		{op(store.OperationRead, "nobody", ""), fault.CodeNotFound},
		{op(store.OperationRead, "", ""), fault.CodeNotFound},
		{op(store.OperationReplace, "nobody", `{"id":"nobody","pk":"p"}`), fault.CodeNotFound},
		{withIfMatch(op(store.OperationUpsert, "", `{"id":"old","pk":"p","u":78}`), `"other"`), fault.CodePreconditionFailed},
		{withIfMatch(op(store.OperationDelete, "old", ""), `"other"`), fault.CodePreconditionFailed},
		{op(store.OperationCreate, "", `{"id":"x","pk":"other"}`), fault.CodePartitionKeyMismatch},
		{withPartition(op(store.OperationRead, "old", ""), "other"), fault.CodePartitionKeyMismatch},
		{op(store.OperationCreate, "", `{"id":"x","pk":"p","ttl":0}`), fault.CodeBadRequest},
		{op(store.OperationCreate, "", `{"id":`), fault.CodeBadRequest},
		{op(store.OperationReplace, "old", `{"id":"holder","pk":"p"}`), fault.CodeConflict},
		{op(store.OperationReplace, "nobody", `{"id":"young","pk":"p"}`), fault.CodeNotFound},
		{op(store.OperationReplace, "old", `{"id":"","pk":"p"}`), fault.CodeBadRequest},
		{store.ItemOperation{Kind: store.OperationPatch, ID: "old"}, fault.CodeBadRequest},
		{store.ItemOperation{Kind: 99}, fault.CodeBadRequest},
		{withPatch(t, "old", `{"op":"remove","path":"/nothing"}`), fault.CodeBadRequest},
		{store.ItemOperation{Err: &fault.Error{Code: fault.CodeForbidden}}, fault.CodeForbidden},
	} {
		b.put(`{"id":"holder","pk":"p","u":"taken"}`)
		before := b.dump()
		for at := range len(good) + 1 {
			ops := append(append(append([]store.ItemOperation{}, good[:at]...), bad.op), good[at:]...)
			out := b.batch(pk("p"), store.BatchOptions{Atomic: true}, ops...)
			for i, r := range out.Results {
				want := fault.CodeFailedDependency
				if i == at {
					want = bad.code
				}
				if !is(r.Err, want) || r.Item.Body() != nil || r.Inserted {
					t.Fatalf("%+v at %d: result %d is %v, want %v", bad.op, at, i, r.Err, want)
				}
			}
			if after := b.dump(); after != before || !out.Mixed {
				t.Fatalf("%+v at %d has changed\n%sto\n%s", bad.op, at, before, after)
			}
		}
	}
	out := b.batch(pk("p"), store.BatchOptions{Atomic: true}, good...)
	if codes(out) != "ok, ok, ok, ok, ok, ok, ok" || out.Mixed {
		t.Errorf("the batch without a failure: %s", codes(out))
	}
}

// TestAtomicBatch checks that each operation of an atomic batch sees the effects of those before it, and
// that all have the same LSN.
func TestAtomicBatch(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 4)
	defer b.close()
	out, r, err := b.c.Batch(b.ctx, pk("p"), []store.ItemOperation{
		op(store.OperationCreate, "", `{"id":"1","pk":"p","n":1}`),
		op(store.OperationRead, "1", ""),
		op(store.OperationUpsert, "", `{"id":"1","pk":"p","n":2}`),
		withPatch(t, "1", `{"op":"incr","path":"/n","value":40}`),
		op(store.OperationDelete, "1", ""),
		op(store.OperationCreate, "", `{"id":"1","pk":"p","n":3}`),
		op(store.OperationUpsert, "", `{"id":"2","pk":"p"}`),
		op(store.OperationReplace, "2", `{"id":"2","pk":"p","n":9}`),
	}, store.BatchOptions{Atomic: true})
	if err != nil || out.Mixed {
		t.Fatal(codes(out), err)
	}
	var bodies []string
	for _, r := range out.Results {
		bodies = append(bodies, fmt.Sprintf("%s %v", r.Item.Body(), r.Inserted))
	}
	want := `{"id":"1","pk":"p","n":1} false|{"id":"1","pk":"p","n":1} false|{"id":"1","pk":"p","n":2} false|{"id":"1","pk":"p","n":42} false| false|` +
		`{"id":"1","pk":"p","n":3} false|{"id":"2","pk":"p"} true|{"id":"2","pk":"p","n":9} false`
	if got := strings.Join(bodies, "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for i, o := range out.Results {
		if got := o.Item.LSN(); i != 4 && got != r.LSN {
			t.Errorf("operation %d has LSN %d, want %d", i, got, r.LSN)
		}
	}
	sum := 0.0
	for _, o := range out.Results {
		sum += o.Charge
	}
	if r.Charge < sum-0.01 || r.Charge > sum+0.01 {
		t.Errorf("receipt %+v; the charges are %v", r, sum)
	}
	if it, _, err := b.c.Read(b.ctx, pk("p"), "1", store.ReadOptions{}); err != nil || it.ETag() != out.Results[5].Item.ETag() {
		t.Errorf("read %v, %v", it.ETag(), err)
	}

	read := op(store.OperationRead, "2", "")
	read.IfNoneMatch = out.Results[7].Item.ETag()
	out = b.batch(pk("p"), store.BatchOptions{Atomic: true}, op(store.OperationDelete, "1", ""), read, op(store.OperationRead, "2", ""))
	if codes(out) != "ok, not modified, ok" || !out.Mixed {
		t.Errorf("with a read of what is known: %s", codes(out))
	}
	if _, _, err := b.c.Read(b.ctx, pk("p"), "1", store.ReadOptions{}); !is(err, fault.CodeNotFound) {
		t.Errorf("the batch took no effect: %v", err)
	}
}

// TestBulk checks that the operations of a batch that is not atomic are independent, and may be in
// different ranges.
func TestBulk(t *testing.T) {
	t.Parallel()
	for _, ranges := range []int{1, 5} {
		b := newTestStore(t, "", ranges)
		b.put(`{"id":"there","pk":"k0"}`)
		var ops []store.ItemOperation
		var want []string
		for i := range 30 {
			key := fmt.Sprintf("k%d", i%7)
			body := fmt.Sprintf(`{"id":"%d","pk":"%s","n":0}`, i, key)
			ops = append(ops, op(store.OperationCreate, "", body), withPartition(op(store.OperationCreate, "", body), key),
				withPartition(withPatch(t, fmt.Sprint(i), `{"op":"incr","path":"/n","value":2}`), key),
				withPartition(op(store.OperationRead, fmt.Sprint(i), ""), "nowhere"))[:len(ops)+3]
			want = append(want, "ok", "conflict", "ok")
		}
		ops = append(ops, op(store.OperationDelete, "there", ""), withPartition(op(store.OperationRead, "there", ""), "k0"), op(store.OperationUpsert, "", `[]`))
		want = append(want, "bad request", "ok", "bad request")
		out := b.batch(definition.PartitionKey{}, store.BatchOptions{ContinueOnError: true}, ops...)
		if got := codes(out); got != strings.Join(want, ", ") || !out.Mixed {
			t.Errorf("%d ranges: %s", ranges, got)
		}
		for i := range 30 {
			if got := string(out.Results[3*i+2].Item.Body()); !strings.HasSuffix(got, `"n":2}`) {
				t.Errorf("%d ranges: item %d was patched to %s", ranges, i, got)
			}
		}
		b.close()
	}
}

// TestBulkStops checks that a batch that is neither atomic nor has ContinueOnError stops at the first
// failure, and keeps the effects of the operations before it.
func TestBulkStops(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 3)
	defer b.close()
	out := b.batch(definition.PartitionKey{}, store.BatchOptions{},
		op(store.OperationCreate, "", `{"id":"1","pk":"a"}`), op(store.OperationCreate, "", `{"id":"1","pk":"b"}`),
		op(store.OperationCreate, "", `{"id":"1","pk":"a"}`), op(store.OperationCreate, "", `{"id":"1","pk":"c"}`))
	if got := codes(out); got != "ok, ok, conflict, failed dependency" {
		t.Error(got)
	}
	if page, _, err := b.c.List(b.ctx, store.ListOptions{}); err != nil || len(page.Items) != 2 {
		t.Errorf("%d items, %v", len(page.Items), err)
	}
}

func TestBatchIsRefused(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 2)
	defer b.close()
	one := op(store.OperationRead, "x", "")
	many := make([]store.ItemOperation, store.MaxBatchOperations+1)
	for i := range many {
		many[i] = one
	}
	big := op(store.OperationCreate, "", `{"id":"big","pk":"p","s":"`+strings.Repeat("x", 1100<<10)+`"}`)
	ahead := []store.SessionTokenEntry{{Range: "0", LSN: 1 << 40}, {Range: "1", LSN: 1 << 40}}
	for name, c := range map[string]struct {
		key  definition.PartitionKey
		ops  []store.ItemOperation
		o    store.BatchOptions
		code fault.Code
	}{
		"empty":    {pk("p"), nil, store.BatchOptions{Atomic: true}, fault.CodeBadRequest},
		"too many": {pk("p"), many, store.BatchOptions{Atomic: true}, fault.CodeBadRequest},
		"too large": {pk("p"), []store.ItemOperation{big, big}, store.BatchOptions{Atomic: true},
			fault.CodeTooLarge},
		"no key": {definition.PartitionKey{}, []store.ItemOperation{one},
			store.BatchOptions{Atomic: true}, fault.CodeBadRequest},
		"another key": {definition.NewPartitionKey(jsondoc.StringValue("p"), jsondoc.StringValue("q")),
			[]store.ItemOperation{one}, store.BatchOptions{Atomic: true}, fault.CodePartitionKeyMismatch},
		"unknown range": {pk("p"), []store.ItemOperation{one}, store.BatchOptions{Range: "77"},
			fault.CodeRangeGone},
		"ahead": {pk("p"), []store.ItemOperation{one},
			store.BatchOptions{Atomic: true, Session: ahead}, fault.CodeSessionNotAvailable},
	} {
		if _, _, err := b.c.Batch(b.ctx, c.key, c.ops, c.o); !is(err, c.code) {
			t.Errorf("%s: %v", name, err)
		}
	}
	write := op(store.OperationUpsert, "", `{"id":"x","pk":"p"}`)
	behind := store.BatchOptions{Atomic: true, Session: ahead}
	if _, _, err := b.c.Batch(b.ctx, pk("p"), []store.ItemOperation{write}, behind); err != nil {
		t.Errorf("a batch of writes alone looks at the session: %v", err)
	}
	mixed := []store.ItemOperation{write, one}
	if _, _, err := b.c.Batch(b.ctx, pk("p"), mixed, behind); !is(err, fault.CodeSessionNotAvailable) {
		t.Errorf("a batch that reads: %v", err)
	}
	if out := b.batch(pk("p"), store.BatchOptions{Atomic: true}, many[1:]...); len(out.Results) != 100 {
		t.Errorf("%d results", len(out.Results))
	}
}

// TestBulkOutsideOfItsRange checks that in a batch sent to one range the operations on items of other
// ranges fail with CodeRangeGone.
func TestBulkOutsideOfItsRange(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 4)
	defer b.close()
	var ops []store.ItemOperation
	for i := range 40 {
		ops = append(ops, op(store.OperationCreate, "", fmt.Sprintf(`{"id":"%d","pk":"k%d"}`, i, i)))
	}
	seen := 0
	for _, r := range b.c.Ranges().Ranges {
		out := b.batch(definition.PartitionKey{}, store.BatchOptions{ContinueOnError: true, Range: r.ID}, ops...)
		for i, o := range out.Results {
			if o.Err == nil {
				seen++
			} else if !is(o.Err, fault.CodeRangeGone) {
				t.Errorf("range %s, operation %d: %v", r.ID, i, o.Err)
			}
		}
	}
	if seen != len(ops) {
		t.Errorf("%d operations found their range, of %d", seen, len(ops))
	}
}

// TestBulkDuringSplits checks that batches that are not atomic succeed while ranges are being split.
func TestBulkDuringSplits(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for round := range 30 {
			var ops []store.ItemOperation
			for i := range 60 {
				ops = append(ops, op(store.OperationUpsert, "", fmt.Sprintf(`{"id":"%d","pk":"k%d","n":%d}`, i, i, round)))
			}
			out, _, err := b.c.Batch(b.ctx, definition.PartitionKey{}, ops, store.BatchOptions{ContinueOnError: true})
			if err != nil || out.Mixed {
				t.Errorf("round %d: %s, %v", round, codes(out), err)
			}
		}
	}()
	for n := 1; n < 6; n++ {
		if _, err := b.c.Split(b.ctx, b.c.Ranges().Ranges[n/2].ID, ""); err != nil {
			t.Error(err)
		}
	}
	<-done
	b.expect("SELECT VALUE COUNT(1) FROM c WHERE c.n = 29", "60")
}

// TestBatchResultSizeLimit checks that the documents in the results of a batch have at most 4 MB: an
// atomic batch with larger results fails.
func TestBatchResultSizeLimit(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	b.put(`{"id":"big","pk":"p","n":0,"s":"` + strings.Repeat("x", 1500<<10) + `"}`)
	before := b.dump()
	read, incr := op(store.OperationRead, "big", ""), withPatch(t, "big", `{"op":"incr","path":"/n","value":1}`)
	atomic, bulk := store.BatchOptions{Atomic: true}, store.BatchOptions{ContinueOnError: true}
	for _, ops := range [][]store.ItemOperation{{read, incr, read}, {read, read, read, incr, incr},
		{incr, incr, incr}} {
		want := strings.Repeat("failed dependency, ", len(ops)-1) + "too large"
		if got := codes(b.batch(pk("p"), atomic, ops...)); got != want {
			t.Error(got)
		}
	}
	if b.dump() != before {
		t.Error("the batch that was too large took effect")
	}
	out := b.batch(pk("p"), bulk, read, read, read, incr)
	if got := codes(out); got != "ok, ok, too large, ok" || out.Results[3].Item.Body() != nil {
		t.Error(got)
	}
	incr.NoContent = true
	if got := codes(b.batch(pk("p"), atomic, incr, incr, incr, read)); got != "ok, ok, ok, ok" {
		t.Error(got)
	}
	// All of it exceeds what one transaction may write. In bulk that is nobody's fault.
	many := make([]store.ItemOperation, 20)
	for i := range many {
		many[i] = incr
	}
	if out := b.batch(pk("p"), bulk, many...); out.Mixed {
		t.Error(codes(out))
	}
	if _, _, err := b.c.Batch(b.ctx, pk("p"), many, atomic); !is(err, fault.CodeTooLarge) {
		t.Error(err)
	}
	if got, err := b.rows(store.QueryRequest{Text: "SELECT VALUE c.n FROM c"}); got != "24" || err != nil {
		t.Errorf("n is %s, %v; want 24", got, err)
	}
}

// TestAtomicBatchIsolation checks that concurrent readers see all changes of an atomic batch or none.
func TestAtomicBatchIsolation(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 2)
	defer b.close()
	b.put(`{"id":"a","pk":"p","n":0}`, `{"id":"b","pk":"p","n":0}`)
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for i := range 25 {
				ops := []store.ItemOperation{withPatch(t, "a", `{"op":"incr","path":"/n","value":1}`),
					withPatch(t, "b", `{"op":"incr","path":"/n","value":-1}`)}
				if i%3 == 0 {
					ops = append(ops, op(store.OperationDelete, "nobody", ""))
				}
				if _, _, err := b.c.Batch(b.ctx, pk("p"), ops, store.BatchOptions{Atomic: true}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if got, err := b.rows(store.QueryRequest{Text: "SELECT VALUE SUM(c.n) FROM c"}); got != "0" || err != nil {
			t.Fatalf("the sum is %s, %v", got, err)
		}
	}
	if got, err := b.rows(store.QueryRequest{Text: "SELECT VALUE c.n FROM c WHERE c.id = 'a'"}); got != "64" || err != nil {
		t.Errorf("a is at %s, %v; want 64", got, err)
	}
}
