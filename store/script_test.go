package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	js "github.com/mayflydb/mayfly/internal/script"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// newPatientBench opens a testStore with one range and very long time limits for scripts and queries, for
// busy machines.
func newPatientBench(t *testing.T, spec string) *testStore {
	t.Helper()
	return newBenchWith(t, testdisk.New(t), spec, store.Options{Ranges: 1, ManualReaper: true,
		QueryTime: time.Hour, ScriptTime: time.Hour})
}

// procedure creates a stored procedure with the given id and JavaScript text.
func (b *testStore) procedure(id, body string) {
	b.t.Helper()
	b.script(store.KindStoredProcedure, id, body)
}

func (b *testStore) function(id, body string) {
	b.t.Helper()
	b.script(store.KindFunction, id, body)
}

func (b *testStore) script(kind store.ResourceKind, id, body string) {
	b.t.Helper()
	text := jsondoc.StringValue(body).AppendJSON([]byte(`{"id":"` + id + `","body":`))
	if _, _, err := b.c.Resources(kind).Upsert(b.ctx, append(text, '}'),
		store.WriteOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

// trigger creates a pre-trigger for all kinds of writes, with the given id and JavaScript text.
func (b *testStore) trigger(id, body string) {
	b.t.Helper()
	text := jsondoc.StringValue(body).AppendJSON([]byte(`{"id":"` + id +
		`","triggerType":"Pre","triggerOperation":"All","body":`))
	if _, _, err := b.c.Resources(store.KindTrigger).Upsert(b.ctx, append(text, '}'),
		store.WriteOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

// execute runs a stored procedure in the partition "a".
func (b *testStore) execute(id string, args ...jsondoc.Value) (string, error) {
	done, _, err := b.c.Execute(b.ctx, definition.NewPartitionKey(jsondoc.StringValue("a")), id, args,
		store.ProcedureExecutionOptions{})
	return string(done.Body), err
}

// TestScriptRollsBack lets a stored procedure of eight writes fail after each write, in every possible
// way, and checks that nothing has changed.
func TestScriptRollsBack(t *testing.T) {
	t.Parallel()
	b := newPatientBench(t, `"defaultTtl":-1,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}`)
	defer b.close()
	for i := range 4 {
		b.put(fmt.Sprintf(`{"id":"%d","pk":"a","u":%d}`, i, i))
	}
	b.put(`{"id":"0","pk":"b","u":0}`, `{"id":"dead","pk":"a","u":99,"ttl":1}`)
	b.clock.Advance(2e9)
	b.procedure("p", `function (n, how) {
		var self = __.getSelfLink(), at = id => __.getAltLink() + "/docs/" + id, step = 0;
		var steps = [
			cb => __.createDocument(self, { id: "new", pk: "a", u: 99 }, cb),
			cb => __.replaceDocument(at("0"), { id: "0", pk: "a", u: 100, ttl: 5 }, cb),
			cb => __.deleteDocument(at("1"), cb),
			cb => __.upsertDocument(self, { id: "2", pk: "a", u: 1 }, cb),
			cb => __.upsertDocument(self, { id: "dead", pk: "a" }, cb),
			cb => __.createDocument(self, { id: "1", pk: "a", u: 0 }, cb),
			cb => __.createDocument(self, { id: "clash", pk: "a", u: 3 }, e => cb(e.number === 409 ? undefined : e)),
			cb => __.deleteDocument(at("new"), cb)
		];
		(function next(err) {
			if (err) throw err;
			if (step === n) {
				if (how === "throw") throw new Error("stop");
				if (how === "abort") getContext().abort(new Error("stop"));
				if (how === "fail") return __.createDocument(self, { id: "3", pk: "a" });
				if (how === "large") return getContext().getResponse().setBody("x".repeat(5e6));
				if (how === "undo") throw undefined;
			}
			if (step === steps.length) return getContext().getResponse().setBody(step);
			if (!steps[step++](next)) throw new Error("not accepted");
		})();
	}`)
	before := b.dump()
	for _, how := range []string{"throw", "abort", "fail", "large", "undo"} {
		for n := 0; n <= 8; n++ {
			got, err := b.execute("p", jsondoc.NumberValue(float64(n)), jsondoc.StringValue(how))
			want := fault.CodeBadRequest
			if how == "large" {
				want = fault.CodeTooLarge
			}
			if err == nil || fault.ErrorCode(err) != want {
				t.Fatalf("%s after %d: %s, %v", how, n, got, err)
			}
			if after := b.dump(); after != before {
				t.Fatalf("%s after %d left\n%s\nof\n%s", how, n, after, before)
			}
		}
		checkClean(t, b.db)
	}
	if got, err := b.execute("p", jsondoc.NumberValue(-1), jsondoc.StringValue("")); err != nil || got != "8" {
		t.Fatalf("%s, %v", got, err)
	}
	b.expect("SELECT VALUE [c.id, c.u] FROM c WHERE c.pk = 'a'", `["0",100] ["2",1] ["3",3] ["dead"] ["1",0]`)
	checkClean(t, b.db)
	b.clock.Advance(6e9)
	b.expect("SELECT VALUE c.id FROM c WHERE c.pk = 'a'", `"2" "3" "dead" "1"`)
	checkClean(t, b.db)
}

// TestScriptSeesItsOwnWrites checks that queries inside a stored procedure, after its writes, have the
// same results as after its commit.
func TestScriptSeesItsOwnWrites(t *testing.T) {
	t.Parallel()
	queries := []string{
		"SELECT * FROM c", "SELECT VALUE COUNT(1) FROM c", "SELECT c.id FROM c WHERE c.n > 3", "SELECT c.id FROM c WHERE c.n = 2 AND c.s = 'x'",
		"SELECT c.id, c.n FROM c ORDER BY c.n", "SELECT c.id FROM c ORDER BY c.m DESC", "SELECT VALUE MAX(c.n) FROM c", "SELECT DISTINCT VALUE c.s FROM c",
		"SELECT c.s, COUNT(1) AS n FROM c GROUP BY c.s", "SELECT c.id FROM c WHERE NOT IS_DEFINED(c.m)", "SELECT VALUE t FROM c JOIN t IN c.tags",
		"SELECT c.id FROM c ORDER BY c.n, c.s DESC", "SELECT c.id FROM c WHERE ARRAY_CONTAINS(c.tags, 1)",
	}
	list := `["` + strings.Join(queries, `","`) + `"]`
	b := newPatientBench(t, `"defaultTtl":-1,"indexingPolicy":{"includedPaths":[{"path":"/*"}],"excludedPaths":[],"compositeIndexes":[[{"path":"/n","order":"ascending"},{"path":"/s","order":"descending"}]]}`)
	defer b.close()
	b.procedure("p", `function (steps, queries) {
		var self = __.getSelfLink(), answers = [];
		steps.forEach(function (s) {
			var link = __.getAltLink() + "/docs/" + s.id;
			if (s.del) __.deleteDocument(link, () => 0);
			else __.upsertDocument(self, s.doc);
		});
		queries.forEach(q => __.queryDocuments(self, q, { pageSize: 1000 }, function (err, rows) {
			if (err) throw err;
			answers.push(rows);
			getContext().getResponse().setBody(answers);
		}));
	}`)
	r := rand.New(rand.NewPCG(3, 5))
	for round := range 30 {
		b.clock.Advance(1e9)
		steps := []string{}
		for range r.IntN(12) {
			id := r.IntN(15)
			if r.IntN(4) == 0 {
				steps = append(steps, fmt.Sprintf(`{"id":"%d","del":true}`, id))
				continue
			}
			more := ""
			if r.IntN(2) == 0 {
				more += fmt.Sprintf(`,"n":%d`, r.IntN(6))
			}
			if r.IntN(2) == 0 {
				more += fmt.Sprintf(`,"m":%d`, r.IntN(6))
			}
			if r.IntN(3) == 0 {
				more += fmt.Sprintf(`,"tags":[%d,"t"],"extra%d":1`, r.IntN(3), r.IntN(4))
			}
			if r.IntN(5) == 0 {
				more += fmt.Sprintf(`,"ttl":%d`, 1+r.IntN(3))
			}
			steps = append(steps, fmt.Sprintf(`{"id":"%d","doc":{"id":"%d","pk":"a","s":"%c"%s}}`, id, id,
				'x'+r.IntN(3), more))
		}
		args := `[` + strings.Join(steps, ",") + `]`
		got, err := b.execute("p", jsondoc.Of([]byte(args)), jsondoc.Of([]byte(list)))
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		jsondoc.Of([]byte(got)).Each(func(_ string, inside jsondoc.Value) bool {
			page, _, err := b.c.Query(b.ctx,
				store.QueryRequest{Text: queries[i], ListOptions: store.ListOptions{MaxItems: -1}})
			if err != nil {
				t.Fatal(err)
			}
			after := `[`
			for n, row := range page.Rows {
				if n > 0 {
					after += ","
				}
				after += string(row)
			}
			if !jsondoc.Equal(inside, jsondoc.Of([]byte(after+`]`))) {
				t.Errorf("round %d, %s:\ninside %s\nafter  %s]", round, queries[i], inside.Raw(), after)
			}
			i++
			return true
		})
		if i != len(queries) {
			t.Fatalf("%d answers: %s", i, got)
		}
	}
	checkClean(t, b.db)
}

// TestScriptsAreSerial checks that concurrent stored procedures that read and then write one document do
// not lose each other's updates.
func TestScriptsAreSerial(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	b.put(`{"id":"n","pk":"a","n":0}`)
	b.procedure("add", `function () {
		__.readDocument(__.getAltLink() + "/docs/n", function (err, d) { d.n++; __.replaceDocument(d._self, d); });
	}`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				if _, err := b.execute("add"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.expect("SELECT VALUE c.n FROM c", "80")
}

func TestScriptErrorCodes(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	b.procedure("number", `function () { throw new Error(4711, "x"); }`)
	_, err := b.execute("number")
	var thrown *js.Error
	if !errors.As(err, &thrown) || thrown.Number != 4711 || fault.ErrorCode(err) != fault.CodeBadRequest {
		t.Errorf("%v", err)
	}
	if _, err := b.execute("none"); fault.ErrorCode(err) != fault.CodeNotFound {
		t.Errorf("%v", err)
	}
	// A request that ends takes its procedure with it.
	b.procedure("forever", `function () { __.createDocument(__.getSelfLink(), {id: "x", pk: "a"}, function () { for (;;) ; }); }`)
	done := make(chan error)
	go func() {
		_, _, err := b.c.Execute(ctx, definition.NewPartitionKey(jsondoc.StringValue("a")), "forever", nil,
			store.ProcedureExecutionOptions{})
		done <- err
	}()
	cancel()
	if err := <-done; fault.ErrorCode(err) != fault.CodeCanceled {
		t.Errorf("%v", err)
	}
	b.expect("SELECT * FROM c", "")
}
