package store_test

import (
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// TestScriptsOfSeveralStores checks that a store runs the current version of a script that another store
// has created, replaced or deleted, without a call of CatchUp.
func TestScriptsOfSeveralStores(t *testing.T) {
	t.Parallel()
	const text = `SELECT VALUE udf.f() FROM c WHERE c.id = "1"`
	a, b := newServers(t, `"defaultTtl":-1`, 1)
	b.put(`{"id":"1","pk":"a"}`)
	key := definition.NewPartitionKey(jsondoc.StringValue("a"))

	// uses are what runs a script at b, by its name: each returns what the script has returned.
	uses := map[string]func() (string, error){
		"query": func() (string, error) {
			page, _, err := b.c.Query(b.ctx, store.QueryRequest{Text: text})
			return rowsOf(page.Rows), err
		},
		"feed": func() (string, error) {
			page, _, err := b.c.QueryChanges(b.ctx, store.ChangesRequest{}, store.QueryRequest{Text: text})
			return rowsOf(page.Rows), err
		},
		"procedure": func() (string, error) { return b.execute("p") },
		"trigger": func() (string, error) {
			it, _, err := b.c.Upsert(b.ctx, key, []byte(`{"id":"t","pk":"a"}`),
				store.WriteOptions{PreTriggers: []string{"t"}})
			if err != nil {
				return "", err
			}
			return string(jsondoc.Of(it.Body()).Member("n").AppendJSON(nil)), nil
		},
	}
	want := func(result string) { // empty: there is no such script
		t.Helper()
		for name, use := range uses {
			got, err := use()
			absent := is(err, fault.CodeBadRequest) || is(err, fault.CodeNotFound)
			if got != result || absent != (result == "") || err != nil && !absent {
				t.Errorf("%s: %q, %v, want %q", name, got, err, result)
			}
		}
	}
	define := func(n string) {
		a.function("f", `function () { return `+n+` }`)
		a.procedure("p", `function () { getContext().getResponse().setBody(`+n+`) }`)
		a.trigger("t", `function () { var d = getContext().getRequest().getBody(); d.n = `+n+`;
			getContext().getRequest().setBody(d) }`)
	}
	define("7")
	want("7")
	define("8")
	want("8")
	for kind, id := range map[store.ResourceKind]string{
		store.KindFunction: "f", store.KindStoredProcedure: "p", store.KindTrigger: "t"} {
		if err := a.c.Resources(kind).Delete(a.ctx, id, store.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	want("")
}

// rowsOf returns the rows as one text.
func rowsOf(rows [][]byte) (text string) {
	for _, r := range rows {
		text += string(r)
	}
	return text
}
