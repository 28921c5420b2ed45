package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// newQueryBench opens a store with one container partitioned by /pk or, if hierarchical, by /pk and /sub.
// more holds further members of its definition as JSON.
func newQueryBench(t *testing.T, o store.Options, hierarchical bool, more string) *testStore {
	t.Helper()
	b := &testStore{t: t, ctx: context.Background(), clock: ttl.NewManual(time.Unix(1_700_000_000, 0))}
	e, err := testdisk.New(t).Open(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	o.Clock, o.ManualReaper = b.clock, true
	if b.db, err = store.Open(b.ctx, e, o); err != nil {
		t.Fatal(err)
	}
	d, err := b.db.CreateDatabase(b.ctx, "db", definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	spec := specOf(t, more)
	if hierarchical {
		spec.PartitionKey = definition.PartitionKeyDefinition{Paths: []string{"/pk", "/sub"}, Kind: definition.KindMultiHash, Version: 2}
	}
	if b.c, err = d.CreateContainer(b.ctx, spec, definition.Throughput{}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *testStore) put(bodies ...string) {
	b.t.Helper()
	for _, body := range bodies {
		if _, _, err := b.c.Upsert(b.ctx, definition.PartitionKey{}, []byte(body), store.WriteOptions{}); err != nil {
			b.t.Fatalf("%s: %v", body, err)
		}
	}
}

// rows runs a query to its end, in pages of two unless q says otherwise, and returns its rows separated by
// spaces.
func (b *testStore) rows(q store.QueryRequest) (string, error) {
	var rows []string
	if q.MaxItems == 0 {
		q.MaxItems = 2
	}
	for row, err := range b.c.Rows(b.ctx, q) {
		if err != nil {
			return "", err
		}
		rows = append(rows, string(row))
	}
	return strings.Join(rows, " "), nil
}

func (b *testStore) expect(text, want string) {
	b.t.Helper()
	if got, err := b.rows(store.QueryRequest{Text: text}); err != nil || got != want {
		b.t.Errorf("%s\n got  %s (%v)\n want %s", text, got, err, want)
	}
}

// TestRowsLoopLeftEarly checks that no iterator stays open when a loop over Rows is left early or its context
// ends: the store could not be closed then.
func TestRowsLoopLeftEarly(t *testing.T) {
	t.Parallel()
	b := newQueryBench(t, store.Options{Ranges: 3, Lenient: true}, false, `"indexingPolicy":{"excludedPaths":[{"path":"/s/?"}]}`)
	defer b.close()
	for i := range 200 {
		b.put(fmt.Sprintf(`{"id":"%d","pk":"p%d","n":%d,"s":%d,"tags":[1,2,3]}`, i, i%7, i%5, i))
	}
	for _, text := range []string{
		"SELECT * FROM c", "SELECT * FROM c ORDER BY c.n DESC", "SELECT * FROM c ORDER BY c.s", "SELECT * FROM c WHERE c.n = 3 AND c.id != '3'",
		"SELECT VALUE t FROM c JOIN t IN c.tags", "SELECT DISTINCT VALUE c.s FROM c", "SELECT c.s, COUNT(1) AS n FROM c GROUP BY c.s",
		"SELECT VALUE c.id FROM c WHERE c.n > 1 ORDER BY c.n, c.s",
	} {
		b.leaveEarly(text)
		b.cancelEarly(text)
	}
}

// leaveEarly runs a query in pages of 3 rows and breaks out of the loop over its rows after the fifth row.
// The test fails if the query fails or has fewer rows.
func (b *testStore) leaveEarly(text string) {
	b.t.Helper()
	n := 0
	for _, err := range b.c.Rows(b.ctx, store.QueryRequest{Text: text, ListOptions: store.ListOptions{MaxItems: 3}}) {
		if err != nil {
			b.t.Errorf("%s: %v", text, err)
		}
		if n++; n == 5 {
			break
		}
	}
	if n != 5 {
		b.t.Errorf("%s: only %d rows", text, n)
	}
}

// cancelEarly cancels the context of a loop over the rows of a query in its first page, and checks that no
// second page follows.
func (b *testStore) cancelEarly(text string) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	n := 0
	var failed error
	for _, err := range b.c.Rows(ctx, store.QueryRequest{Text: text, ListOptions: store.ListOptions{MaxItems: 3}}) {
		if failed = err; err == nil {
			n++
		}
		cancel()
	}
	whole := strings.Contains(text, "DISTINCT") || strings.Contains(text, "GROUP") // all rows on one page
	if !whole && (!is(failed, fault.CodeCanceled) || n != 3) {
		b.t.Errorf("%s: cancelled in its first page: %d rows, then %v", text, n, failed)
	}
	if _, _, err := b.c.Query(ctx, store.QueryRequest{Text: text}); !is(err, fault.CodeCanceled) {
		b.t.Errorf("%s: cancelled before it began: %v", text, err)
	}
}

// TestQueryWithoutScope checks which queries without a scope are accepted, depending on whether a query may
// cross partitions and whether its results must be merged.
func TestQueryWithoutScope(t *testing.T) {
	t.Parallel()
	b := newQueryBench(t, store.Options{Ranges: 4}, false, `"indexingPolicy":{"compositeIndexes":[[{"path":"/n"},{"path":"/id"}]]}`)
	defer b.close()
	for i := range 8 {
		b.put(fmt.Sprintf(`{"id":"%d","pk":"p%d","n":%d,"tags":[1]}`, i, i%4, i))
	}
	const (
		pinned = iota // served in any case
		stream        // needs several ranges, one after the other
		merged        // needs them merged
	)
	for text, kind := range map[string]int{
		"SELECT VALUE c.id FROM c WHERE c.pk = 'p1'":                                 pinned,
		"SELECT VALUE c.id FROM c WHERE 'p1' = c.pk AND c.n > 1":                     pinned,
		"SELECT VALUE c.id FROM c WHERE c['pk'] = @key":                              pinned,
		"SELECT VALUE c.id FROM c WHERE c.pk IN ('p1')":                              pinned,
		"SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'p1'":                             pinned,
		"SELECT VALUE c.id FROM c WHERE c.pk = 'p1' ORDER BY c.n DESC":               pinned,
		"SELECT DISTINCT VALUE c.n FROM c JOIN t IN c.tags WHERE c.pk = 'p1'":        pinned,
		"SELECT VALUE c.id FROM c WHERE c.pk = 'p1' AND c.pk = 'p2'":                 pinned,
		"SELECT VALUE c.id FROM c WHERE false":                                       pinned,
		"SELECT VALUE 1":                                                             pinned,
		"SELECT VALUE c.id FROM c":                                                   stream,
		"SELECT * FROM c WHERE c.pk != 'p1'":                                         stream,
		"SELECT * FROM c WHERE c.pk IN ('p1', 'p2')":                                 stream,
		"SELECT * FROM c WHERE c.pk = 'p1' OR c.n = 1":                               stream,
		"SELECT VALUE t FROM c JOIN t IN c.tags WHERE c.n = 1":                       stream,
		"SELECT VALUE c.id FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags)":     stream,
		"SELECT VALUE (SELECT VALUE COUNT(1) FROM t IN c.tags) FROM c WHERE c.n > 2": stream,
		"SELECT VALUE c.id FROM c ORDER BY c.n":                                      merged,
		"SELECT VALUE c.id FROM c ORDER BY c.n, c.id":                                merged,
		"SELECT TOP 1 VALUE c.id FROM c":                                             merged,
		"SELECT VALUE c.id FROM c OFFSET 0 LIMIT 1":                                  merged,
		"SELECT DISTINCT VALUE c.n FROM c":                                           merged,
		"SELECT VALUE COUNT(1) FROM c":                                               merged,
		"SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n":                              merged,
		"SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.n FROM c)":              merged,
	} {
		q := store.QueryRequest{Text: text, Parameters: []store.QueryParameter{{Name: "@key",
			Value: jsondoc.StringValue("p1")}}}
		served, err := b.rows(q)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		q.Cross = store.CrossRefuse
		if got, err := b.rows(q); (kind == pinned) != (err == nil) || err == nil && got != served || err != nil && !is(err, fault.CodeBadRequest) {
			t.Errorf("refused across partitions: %s: %s, %v", text, got, err)
		}
		q.Cross = store.CrossStream
		if got, err := b.rows(q); (kind != merged) != (err == nil) || err == nil && got != served || err != nil && !is(err, fault.CodeCrossPartition) {
			t.Errorf("streamed across partitions: %s: %s, %v", text, got, err)
		}
		for _, scope := range []store.KeyOrRange{{Range: b.c.Ranges().Ranges[0].ID},
			{MinEPK: "10", MaxEPK: "FF"}, {Partition: pk("p1")}} {
			q.Cross, q.Scope = store.CrossRefuse, scope // a scope is a scope, whatever is asked
			if got, err := b.rows(q); err != nil {
				t.Errorf("%+v: %s: %s, %v", scope, text, got, err)
			}
		}
	}
}

// TestPinnedPartitionKey checks that a query whose condition determines the partition key reads the range
// of this key only.
func TestPinnedPartitionKey(t *testing.T) {
	t.Parallel()
	b := newQueryBench(t, store.Options{Ranges: 8}, false, "")
	defer b.close()
	keys := []string{`"x"`, `"y"`, "null", "true", "false", "0", "1.0", "9007199254740993", `"` + strings.Repeat("k", 300) + `"`, `""`}
	for i, key := range keys {
		b.put(fmt.Sprintf(`{"id":"%d","pk":%s}`, i, key))
	}
	b.put(`{"id":"none"}`)
	for i, key := range keys {
		want, _, err := b.c.Read(b.ctx, definition.NewPartitionKey(jsondoc.Of([]byte(key))), strconv.Itoa(i), store.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		page, r, err := b.c.Query(b.ctx, store.QueryRequest{Text: "SELECT VALUE c._rid FROM c WHERE c.pk = " + key, Cross: store.CrossRefuse})
		if err != nil || len(page.Rows) != 1 || string(page.Rows[0]) != strconv.Quote(want.RID()) || page.Stats.Loaded != 1 {
			t.Errorf("pk = %s: %s, %+v, %v", key, page.Rows, page.Stats, err)
		}
		if _, at, _ := b.c.Read(b.ctx, definition.NewPartitionKey(jsondoc.Of([]byte(key))), strconv.Itoa(i), store.ReadOptions{}); r.Range != at.Range {
			t.Errorf("pk = %s: range %s answered, the item is in %s", key, r.Range, at.Range)
		}
	}
	b.expect("SELECT VALUE c.id FROM c WHERE c.pk", `"3"`)
	b.expect("SELECT VALUE c.id FROM c WHERE NOT c.pk", `"4"`)
	b.expect("SELECT VALUE c.id FROM c WHERE c.pk = -0.0", `"5"`)
	b.expect("SELECT VALUE c.id FROM c WHERE c.pk = 1", `"6"`)
	b.expect("SELECT VALUE c.id FROM c WHERE c.pk = 9007199254740992", `"7"`)
	b.expect("SELECT VALUE c.id FROM c WHERE c.pk = undefined", "")
	b.expect("SELECT VALUE c.id FROM c WHERE c.pk = [1]", "")
	b.expect(`SELECT VALUE c.id FROM c WHERE c.pk = {"a": 1}`, "")
	b.expect("SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'x' AND c.pk = 'y'", "0")
	b.expect("SELECT VALUE c.id FROM c WHERE NOT IS_DEFINED(c.pk)", `"none"`)
}

// TestQueryScopes checks queries with each kind of scope of a hierarchical partition key: the whole
// container, a prefix, a range, a part of a range, and conditions on levels of the key.
func TestQueryScopes(t *testing.T) {
	t.Parallel()
	b := newQueryBench(t, store.Options{Ranges: 3}, true, "")
	defer b.close()
	for i := range 24 {
		b.put(fmt.Sprintf(`{"id":"%02d","pk":"p%d","sub":"s%d","n":%d}`, i, i%3, i%2, i%4))
	}
	of := func(pk, sub int) string {
		var ids []string
		for i := range 24 {
			if i%3 == pk && (sub < 0 || i%2 == sub) {
				ids = append(ids, fmt.Sprintf(`"%02d"`, i))
			}
		}
		return strings.Join(ids, " ")
	}
	scoped := func(scope store.KeyOrRange, text string) string {
		t.Helper()
		q := store.QueryRequest{Text: text}
		q.Scope = scope
		got, err := b.rows(q)
		if err != nil {
			t.Errorf("%+v: %s: %v", scope, text, err)
		}
		return got
	}
	const all = "SELECT VALUE c.id FROM c"
	sorted := func(ids string) string {
		list := strings.Fields(ids)
		slices.Sort(list)
		return strings.Join(list, " ")
	}
	for name, c := range map[string]struct{ got, want string }{
		"a full key": {scoped(store.KeyOrRange{
			Partition: definition.NewPartitionKey(jsondoc.StringValue("p1"), jsondoc.StringValue("s0"))}, all), of(1, 0)},
		"a prefix": {scoped(store.KeyOrRange{Partition: pk("p1")}, all), of(1, -1)},
		"a prefix, in order": {scoped(store.KeyOrRange{Partition: pk("p1")},
			all+" ORDER BY c.id DESC"), reversed(of(1, -1))},
		"a full key in WHERE": {scoped(store.KeyOrRange{},
			all+" WHERE c.sub = 's0' AND c.pk = 'p1'"), of(1, 0)},
		"a prefix in WHERE": {scoped(store.KeyOrRange{}, all+" WHERE c.pk = 'p2'"), of(2, -1)},
		"a prefix in WHERE, and more": {scoped(store.KeyOrRange{},
			all+" WHERE c.pk = 'p2' AND c.sub != 's0' ORDER BY c.id"), of(2, 1)},
		"a key that is nowhere": {scoped(store.KeyOrRange{Partition: pk("nobody")}, all), ""},
		"the halves of the container": {sorted(scoped(store.KeyOrRange{MaxEPK: "1A"},
			all) + " " + scoped(store.KeyOrRange{MinEPK: "1A"}, all)), sorted(
			of(0, -1) + " " + of(1, -1) + " " + of(2, -1))},
		"bounds with nothing between": {scoped(store.KeyOrRange{MinEPK: "1A", MaxEPK: "1A"}, all),
			""},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", name, c.got, c.want)
		}
	}
	var ranges string
	for _, r := range b.c.Ranges().Ranges {
		ranges += " " + scoped(store.KeyOrRange{Range: r.ID}, all)
	}
	if whole, err := b.rows(store.QueryRequest{Text: all}); err != nil || strings.Join(strings.Fields(ranges), " ") != whole {
		t.Errorf("range after range %s, at once %s (%v)", ranges, whole, err)
	}
	for where, pinned := range map[string]bool{" WHERE c.sub = 's0' AND c.pk = 'p1'": true, " WHERE c.pk = 'p1' ORDER BY c.id": true, " WHERE c.sub = 's0'": false} {
		if err := second(b.rows(store.QueryRequest{Text: all + where, Cross: store.CrossRefuse})); pinned != (err == nil) || err != nil && !is(err, fault.CodeBadRequest) {
			t.Errorf("refused across partitions: %s: %v", where, err)
		}
	}
	q := store.QueryRequest{Text: all}
	if q.Scope.Range = "77"; !is(second(b.rows(q)), fault.CodeRangeGone) {
		t.Error("a range that does not exist was read")
	}
	if q.Scope = (store.KeyOrRange{MinEPK: "nonsense"}); !is(second(b.rows(q)),
		fault.CodeBadRequest) {
		t.Error("a bound that is no key was taken")
	}
}

func second(_ string, err error) error { return err }

func reversed(words string) string {
	list := strings.Fields(words)
	slices.Reverse(list)
	return strings.Join(list, " ")
}

// TestQuerySession checks that a query fails if its session token has a higher LSN than the store.
func TestQuerySession(t *testing.T) {
	t.Parallel()
	b := newQueryBench(t, store.Options{Ranges: 2}, false, "")
	defer b.close()
	_, r, err := b.c.Create(b.ctx, pk("x"), []byte(`{"id":"a","pk":"x"}`), store.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at store.SessionTokenEntry
		ok bool
	}{
		{store.SessionTokenEntry{Range: r.Range, LSN: r.LSN}, true},
		{store.SessionTokenEntry{Range: r.Range, LSN: r.LSN + 1}, false},
	} {
		for _, text := range []string{"SELECT VALUE c.id FROM c", "SELECT VALUE c.id FROM c WHERE c.pk = 'x'", "SELECT VALUE MIN(c.id) FROM c", "SELECT VALUE c.id FROM c ORDER BY c.id"} {
			q := store.QueryRequest{Text: text}
			q.Session = []store.SessionTokenEntry{c.at}
			if got, err := b.rows(q); c.ok && (err != nil || got != `"a"`) || !c.ok && !is(err, fault.CodeSessionNotAvailable) {
				t.Errorf("%s at %+v: %s, %v", text, c.at, got, err)
			}
		}
	}
}

// TestQueryErrors checks that errors of queries are a *fault.Error that wraps a *query.Error,
// *query.CursorError or *query.MemoryError.
func TestQueryErrors(t *testing.T) {
	t.Parallel()
	b := newQueryBench(t, store.Options{}, false, `"indexingPolicy":{"includedPaths":[{"path":"/n/?"},{"path":"/o/*"}],"excludedPaths":[{"path":"/*"}],
		"compositeIndexes":[[{"path":"/n"},{"path":"/o/x","order":"descending"}],[{"path":"/a"},{"path":"/b"}]]}`)
	defer b.close()
	b.put(`{"id":"a","pk":"x","n":1,"tags":[1,2]}`)
	for text, want := range map[string]struct {
		code   string
		number int
		start  int
	}{
		"SELECT * FROM c WHERE":                                 {"SC1002", 0, 21},
		"SELECT * FROM c WHERE c.order = 1":                     {"SC1001", 0, 24},
		"SELECT d.id FROM c":                                    {"SC2001", 0, 7},
		"SELECT FOO(c.id) FROM c":                               {"SC2005", 0, 7},
		"SELECT * FROM c GROUP BY c.n":                          {"SC2041", 0, 7},
		"SELECT ABS(c.n, 1) FROM c":                             {"SC2050", 0, 7},
		"SELECT MAX(MIN(c.n)) FROM c":                           {"SC2101", 0, 7},
		"SELECT c.id, COUNT(1) FROM c":                          {"SC2102", 0, 7},
		"SELECT ARRAY(SELECT TOP 1 VALUE 1 FROM c) FROM c":      {"SC2203", 0, 24},
		"SELECT * FROM c ORDER BY LOWER(c.id)":                  {"", 2206, 25},
		"SELECT * FROM c ORDER BY c.n + 1":                      {"", 2206, 25},
		"SELECT * FROM c ORDER BY c.s":                          {"", 0, 25}, // excluded
		"SELECT * FROM c ORDER BY c.a":                          {"", 0, 25}, // in a composite index alone
		"SELECT * FROM c ORDER BY c.n, c.o.x":                   {"", 0, 25}, // the directions are others
		"SELECT * FROM c ORDER BY c.o.x DESC, c.n":              {"", 0, 25}, // the order is another
		"SELECT * FROM c ORDER BY c.a, c.b, c.n":                {"", 0, 25}, // one path more than the composite index has
		"SELECT VALUE t FROM c JOIN t IN c.tags ORDER BY t":     {"", 0, 0},
		"SELECT VALUE (SELECT VALUE t FROM t IN c.tags) FROM c": {"SC2201", 0, 14},
	} {
		_, _, err := b.c.Query(b.ctx, store.QueryRequest{Text: text})
		var outer *fault.Error
		var inner *query.Error
		if !errors.As(err, &outer) || outer.Code != fault.CodeBadRequest || outer.Message == "" || !errors.As(outer.Err, &inner) {
			t.Errorf("%s: %v", text, err)
		} else if inner.Code != want.code || inner.Number != want.number || inner.Start != want.start {
			t.Errorf("%s: %s %d at %d: %v", text, inner.Code, inner.Number, inner.Start, inner)
		}
	}
	for _, text := range []string{"SELECT * FROM c ORDER BY c.n", "SELECT * FROM c ORDER BY c.n DESC", "SELECT * FROM c ORDER BY c.o.z", "SELECT * FROM c ORDER BY c.id",
		"SELECT * FROM c ORDER BY c._ts", "SELECT * FROM c ORDER BY c.n, c.o.x DESC", "SELECT * FROM c ORDER BY c.n DESC, c.o.x", "SELECT * FROM c ORDER BY c.a, c.b"} {
		if _, _, err := b.c.Query(b.ctx, store.QueryRequest{Text: text}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	q := store.QueryRequest{Text: "SELECT * FROM c",
		Parameters: []store.QueryParameter{{Name: "@a"}, {Name: "@a"}}}
	if inner := new(query.Error); !errors.As(second(b.rows(q)), &inner) || inner.Message != "Invalid query. Specified duplicate parameter name '@a'." {
		t.Errorf("a parameter given twice: %v", inner)
	}
	for _, token := range []string{"nonsense", "AAAA", "AQ"} {
		q := store.QueryRequest{Text: "SELECT * FROM c"}
		q.Continuation = token
		if inner := new(query.CursorError); !is(second(b.rows(q)), fault.CodeBadRequest) || !errors.As(second(b.rows(q)), &inner) {
			t.Errorf("continuation %s: %v", token, second(b.rows(q)))
		}
	}
}

// TestForeignContinuation checks that a continuation is refused for another query, other parameters or
// another scope.
func TestForeignContinuation(t *testing.T) {
	t.Parallel()
	b := newQueryBench(t, store.Options{Ranges: 2}, false, "")
	defer b.close()
	for i := range 10 {
		b.put(fmt.Sprintf(`{"id":"%d","pk":"p%d","n":%d}`, i, i%3, i%2))
	}
	one := []store.QueryParameter{{Name: "@n", Value: jsondoc.NumberValue(0)}}
	ask := func(text string, params []store.QueryParameter, scope store.KeyOrRange,
		token string) (store.QueryPage, error) {
		q := store.QueryRequest{Text: text, Parameters: params}
		q.Scope, q.MaxItems, q.Continuation = scope, 1, token
		page, _, err := b.c.Query(b.ctx, q)
		return page, err
	}
	for _, text := range []string{"SELECT * FROM c WHERE c.n = @n", "SELECT * FROM c WHERE c.n = @n ORDER BY c.id"} {
		first, err := ask(text, one, store.KeyOrRange{}, "")
		if err != nil || first.Continuation == "" {
			t.Fatal(first, err)
		}
		if _, err := ask(text, one, store.KeyOrRange{}, first.Continuation); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		for name, err := range map[string]error{
			"another query": second2(ask(strings.Replace(text, "*", "c.id", 1), one,
				store.KeyOrRange{}, first.Continuation)),
			"another parameter": second2(ask(text, []store.QueryParameter{{Name: "@n",
				Value: jsondoc.NumberValue(1)}}, store.KeyOrRange{}, first.Continuation)),
			"another scope": second2(ask(text, one, store.KeyOrRange{Partition: pk("p1")},
				first.Continuation)),
			"another range": second2(ask(text, one,
				store.KeyOrRange{Range: b.c.Ranges().Ranges[0].ID}, first.Continuation)),
		} {
			if inner := new(query.CursorError); !is(err, fault.CodeBadRequest) || !errors.As(err, &inner) {
				t.Errorf("%s, %s: %v", text, name, err)
			}
		}
	}
}

func second2(_ store.QueryPage, err error) error { return err }

// TestQueryMemory checks that a query fails with a *query.MemoryError if DISTINCT, GROUP BY or lists need
// more memory than is allowed.
func TestQueryMemory(t *testing.T) {
	t.Parallel()
	b := newQueryBench(t, store.Options{}, false, "")
	defer b.close()
	numbers := make([]string, 30)
	for i := range numbers {
		numbers[i] = strconv.Itoa(i)
	}
	b.put(`{"id":"a","pk":"x","s":"` + strings.Repeat("s", 100_000) + `","l":[` + strings.Join(numbers, ",") + `]}`)
	for _, text := range []string{
		`SELECT DISTINCT VALUE [c.s, COUNT(1)] FROM c JOIN t IN c.l JOIN u IN c.l GROUP BY c.s, [c.s, t, u]`,
		`SELECT VALUE MAKELIST(c.s) FROM c JOIN t IN c.l JOIN u IN c.l`,
		`SELECT COUNT(1) AS n FROM c JOIN t IN c.l JOIN u IN c.l GROUP BY [c.s, t, u]`,
		`SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE [c.s, t, u] FROM c JOIN t IN c.l JOIN u IN c.l)`,
	} {
		err := second(b.rows(store.QueryRequest{Text: text}))
		if inner := new(query.MemoryError); !is(err, fault.CodeBadRequest) || !errors.As(err, &inner) {
			t.Errorf("%s: %v", text, err)
		}
	}
	b.expect("SELECT DISTINCT VALUE t % 2 FROM c JOIN t IN c.l JOIN u IN c.l", "0 1")
}

// TestLenientOrderBy checks that with Options.Lenient an ORDER BY over several paths needs no composite
// index.
func TestLenientOrderBy(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{metamorphic.DefaultPolicy, metamorphic.NoIndex, metamorphic.SomePaths} {
		b := newQueryBench(t, store.Options{Ranges: 2, Lenient: true}, false,
			`"indexingPolicy":`+metamorphic.PolicyJSON(policy))
		b.put(`{"id":"1","pk":"x","a":1,"b":2,"o":{"y":1},"l":[{"k":"b"}]}`, `{"id":"2","pk":"y","a":1,"b":3,"o":{"y":3},"l":[{"k":"a"}]}`,
			`{"id":"3","pk":"z","b":1,"o":{"y":2},"l":[{"k":"c"}]}`)
		b.expect("SELECT VALUE c.id FROM c ORDER BY c.a DESC, c.b", `"1" "2" "3"`)
		b.expect("SELECT VALUE c.id FROM c ORDER BY c.b DESC", `"2" "1" "3"`)
		b.expect("SELECT VALUE c.id FROM c ORDER BY c.l[0].k DESC", `"3" "1" "2"`)
		b.expect("SELECT VALUE o.y FROM c.o AS o ORDER BY o.y DESC", "3 2 1")
		b.expect("SELECT VALUE o.y FROM c.o AS o WHERE o.y < 3 ORDER BY o.y", "1 2")
		b.expect("SELECT VALUE x.k FROM c.l[0] AS x ORDER BY x.k", `"a" "b" "c"`)
		for _, text := range []string{"SELECT * FROM c ORDER BY LOWER(c.id)", "SELECT * FROM c JOIN t IN c.l ORDER BY t"} {
			if err := second(b.rows(store.QueryRequest{Text: text})); !is(err, fault.CodeBadRequest) {
				t.Errorf("%s: %v", text, err)
			}
		}
		b.close()
	}
}

// TestComputedProperties checks that computed properties can be used in queries, and that other reads do
// not return them.
func TestComputedProperties(t *testing.T) {
	t.Parallel()
	const computed = `"computedProperties":[{"name":"low","query":"SELECT VALUE LOWER(c.name) FROM c"},{"name":"twice","query":"SELECT VALUE c.n * 2 FROM c"}]`
	for _, policy := range []string{
		`{"includedPaths":[{"path":"/*"},{"path":"/low/?"},{"path":"/twice/?"}],"compositeIndexes":[[{"path":"/low"},{"path":"/twice"}]]}`,
		`{"includedPaths":[{"path":"/*"},{"path":"/low/?"}],"compositeIndexes":[[{"path":"/low"},{"path":"/twice"}]]}`, `{}`, `{"indexingMode":"none"}`,
	} {
		b := newQueryBench(t, store.Options{Ranges: 2, Lenient: true}, false, computed+`,"indexingPolicy":`+policy)
		b.put(`{"id":"1","pk":"x","name":"Ab","n":2,"low":"stored"}`, `{"id":"2","pk":"x","name":"aB","n":1}`, `{"id":"3","pk":"x","name":7,"n":3}`, `{"id":"4","pk":"x","name":"C"}`)
		b.expect("SELECT VALUE c.id FROM c WHERE c.low = 'ab'", `"1" "2"`)
		b.expect("SELECT VALUE c.id FROM c WHERE c.low = 'stored'", "")
		b.expect("SELECT VALUE c.id FROM c WHERE c.twice > 2 AND c.low >= 'a'", `"1"`)
		b.expect("SELECT VALUE c.id FROM c WHERE NOT IS_DEFINED(c.low)", `"3"`)
		b.expect("SELECT c.id, c.low FROM c ORDER BY c.low DESC", `{"id":"4","low":"c"} {"id":"2","low":"ab"} {"id":"1","low":"ab"} {"id":"3"}`)
		b.expect("SELECT VALUE c.id FROM c ORDER BY c.low, c.twice", `"3" "2" "1" "4"`)
		b.expect("SELECT VALUE c.id FROM c WHERE c.low = 'ab' ORDER BY c.twice", `"2" "1"`)
		b.expect("SELECT c.low, COUNT(1) AS k FROM c WHERE c.n > 0 GROUP BY c.low", `{"k":1} {"low":"ab","k":2}`)
		b.expect("SELECT VALUE MAX(c.twice) FROM c", "6")
		b.expect("SELECT VALUE x.low FROM (SELECT VALUE c FROM c WHERE c.id = '1') AS x", `"stored"`)
		if got, err := b.rows(store.QueryRequest{Text: "SELECT * FROM c WHERE c.low = 'ab'"}); err != nil || !strings.Contains(got, `"low":"stored"`) || strings.Contains(got, "twice") {
			t.Errorf("SELECT * shows %s (%v)", got, err)
		}
		b.put(`{"id":"2","pk":"x","name":"CC","n":9}`) // an entry goes with its value
		b.expect("SELECT VALUE c.id FROM c WHERE c.low = 'ab'", `"1"`)
		b.expect("SELECT VALUE c.id FROM c ORDER BY c.twice DESC OFFSET 0 LIMIT 2", `"2" "3"`)
		b.close()
	}
	b := newQueryBench(t, store.Options{}, false, computed)
	defer b.close()
	if err := second(b.rows(store.QueryRequest{Text: "SELECT * FROM c ORDER BY c.low"})); !is(err, fault.CodeBadRequest) {
		t.Errorf("a computed property without an index of its own was sorted by: %v", err)
	}
}

// TestQueriesSeeNoGhosts checks that no kind of query returns an item from the second of its expiry on,
// whether it is purged or not.
func TestQueriesSeeNoGhosts(t *testing.T) {
	t.Parallel()
	for _, ranges := range []int{1, 3} {
		b := newQueryBench(t, store.Options{Ranges: ranges}, false, `"defaultTtl":10,"indexingPolicy":{"compositeIndexes":[[{"path":"/n"},{"path":"/id"}]]}`)
		b.put(`{"id":"a","pk":"x","n":3,"ttl":5,"tags":[7]}`, `{"id":"b","pk":"y","n":2}`, `{"id":"c","pk":"z","n":1,"ttl":-1}`, `{"id":"d","pk":"x","n":4,"ttl":12,"tags":[7]}`)
		at := func(second int64, alive string) {
			t.Helper()
			b.clock.Set(time.Unix(1_700_000_000+second, 0))
			ids := strings.Fields(alive)
			slices.Sort(ids)
			n := map[string]int{"a": 3, "b": 2, "c": 1, "d": 4}
			high, tagged := 0, 0
			for _, id := range ids {
				if high = max(high, n[id]); id == "a" || id == "d" {
					tagged++
				}
			}
			slices.SortFunc(ids, func(x, y string) int { return n[y] - n[x] })
			inOrder := `"` + strings.Join(ids, `" "`) + `"`
			count := strconv.Itoa(len(ids))
			b.expect("SELECT VALUE COUNT(1) FROM c", count)
			b.expect("SELECT VALUE COUNT(c) FROM c", count)
			b.expect("SELECT VALUE COUNT(c.n) FROM c", count)
			b.expect("SELECT COUNT(1) AS n, COUNT(c.id) AS m FROM c", `{"n":`+count+`,"m":`+count+`}`)
			b.expect("SELECT VALUE COUNT(1) FROM c WHERE c.n > 0", count)
			b.expect("SELECT VALUE COUNT(1) FROM c WHERE ARRAY_CONTAINS(c.tags, 7)", strconv.Itoa(tagged))
			b.expect("SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'x'", strconv.Itoa(tagged))
			b.expect("SELECT VALUE MAX(c.n) FROM c", strconv.Itoa(high))
			b.expect("SELECT VALUE MIN(-c.n) FROM c", strconv.Itoa(-high))
			b.expect("SELECT VALUE c.id FROM c ORDER BY c.n DESC", inOrder)
			b.expect("SELECT VALUE c.id FROM c ORDER BY c.n DESC, c.id DESC", inOrder)
			b.expect("SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.n FROM c)", count)
		}
		at(4, "a b c d")
		at(5, "b c d")
		at(9, "b c d")
		at(10, "c d")
		at(11, "c d")
		b.setDefault("-1,\"indexingPolicy\":{\"compositeIndexes\":[[{\"path\":\"/n\"},{\"path\":\"/id\"}]]}") // b stays dead, d's own ttl goes on
		at(11, "c d")
		at(12, "c")
		if _, err := b.db.SweepNow(b.ctx); err != nil {
			t.Error(err)
		}
		at(12, "c")
		b.close()
	}
}
