package query

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
)

func numbered(n int, format string) [][]byte {
	bodies := make([][]byte, n)
	for i := range bodies {
		bodies[i] = []byte(strings.ReplaceAll(format, "%", fmt.Sprint(i)))
	}
	return bodies
}

func mustPrepare(t testing.TB, text string, info bind.ContainerInfo) *Plan {
	t.Helper()
	p, err := Prepare(text, nil, info)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

func rowsText(page exec.Page) string {
	texts := make([]string, len(page.Rows))
	for i, row := range page.Rows {
		texts[i] = string(row)
	}
	return strings.Join(texts, " ")
}

// TestPages checks the number and the lengths of pages. The last page has no cursor, except for a query of
// all documents, whose last full page has one even if no row follows.
func TestPages(t *testing.T) {
	t.Parallel()
	info := defaultInfo(t)
	sources := newPageStateStore(t, info.Index, numbered(10, `{"id":"%","n":%,"l":[%,%,%]}`), 2)
	for _, c := range []struct {
		text string
		max  int
		want string
	}{
		{"SELECT VALUE c.n FROM c", 5, "5 5 0"},
		{"SELECT VALUE c.n FROM c", 3, "3 3 3 1"},
		{"SELECT VALUE c.n FROM c ORDER BY c.n", 5, "5 5"},
		{"SELECT VALUE c.n FROM c ORDER BY c.n DESC", 3, "3 3 3 1"},
		{"SELECT TOP 6 VALUE c.n FROM c", 3, "3 3"},
		{"SELECT VALUE c.n FROM c OFFSET 2 LIMIT 4", 2, "2 2"},
		{"SELECT VALUE c.n FROM c OFFSET 2 LIMIT 40", 4, "4 4"},
		{"SELECT VALUE c.n FROM c WHERE c.n = 3", 1, "1"},
		{"SELECT VALUE c.n FROM c WHERE c.n % 2 = 0", 1, "1 1 1 1 1"},
		{"SELECT VALUE c.n FROM c WHERE c.n > 4", 5, "5"},
		{"SELECT VALUE c.n FROM c WHERE true", 5, "5 5"},
		{"SELECT VALUE l FROM c JOIN l IN c.l", 5, "5 5 5 5 5 5"},
		{"SELECT VALUE l FROM l IN c.l", 10, "10 10 10"},
		{"SELECT TOP 40 VALUE c.n FROM c", 5, "5 5"},
		{"SELECT VALUE n FROM c.nope n", 5, "0"},
		{"SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 2 LIMIT 40", 4, "4 4"},
		{"SELECT VALUE l FROM c JOIN l IN c.l", 7, "7 7 7 7 2"},
		{"SELECT DISTINCT VALUE c.n % 3 FROM c", 1, "1 1 1"},
		{"SELECT DISTINCT VALUE c.n % 3 FROM c", 2, "2 1"},
		{"SELECT DISTINCT VALUE c.n % 3 FROM c", 3, "3"},
		{"SELECT DISTINCT VALUE c.n % 5 FROM c OFFSET 1 LIMIT 3", 2, "2 1"},
		{"SELECT DISTINCT * FROM c", 4, "4 4 2"},
		{"SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n", 4, "4 4 2"},
		{"SELECT c.n % 2 FROM c GROUP BY c.n % 2", 1, "2"},
		{"SELECT VALUE COUNT(1) FROM c", 1, "1"},
		{"SELECT TOP 0 * FROM c", 1, "0"},
		{"SELECT * FROM c WHERE false", 1, "0"},
		{"SELECT VALUE c.nope FROM c", 5, "0"},
	} {
		p := mustPrepare(t, c.text, info)
		var sizes []string
		for o := (exec.RunOptions{MaxItems: c.max}); ; {
			page, err := p.Run(context.Background(), sources, eval.Env{}, o)
			if err != nil {
				t.Fatalf("%s: %v", c.text, err)
			}
			sizes = append(sizes, fmt.Sprint(len(page.Rows)))
			if o.Cursor = page.Cursor; o.Cursor == "" {
				break
			}
		}
		if got := strings.Join(sizes, " "); got != c.want {
			t.Errorf("%s by %d has the pages %s, want %s", c.text, c.max, got, c.want)
		}
	}
}

// TestBlockingPages checks a query that makes all rows before the first is returned, here a DISTINCT, if
// the rows do not fit into one page.
func TestBlockingPages(t *testing.T) {
	t.Parallel()
	sources := newPageStateStore(t, nil, numbered(10, `{"id":"%","n":%}`), 3)
	want := `[{"n":2},{"n":3},{"n":4},{"n":5},{"n":6}]`
	got, err := runAll("SELECT DISTINCT c.n FROM c OFFSET 2 LIMIT 5", nil, bind.ContainerInfo{}, sources,
		exec.RunOptions{MaxBytes: 16})
	if err != nil || string(arrayOf(got).Raw()) != want {
		t.Errorf("%s, %v", arrayOf(got).Raw(), err)
	}
}

// TestWritesBetweenPages checks that a page continues strictly after the last row of the previous page,
// even if documents were created and deleted in between.
func TestWritesBetweenPages(t *testing.T) {
	t.Parallel()
	info := defaultInfo(t)
	long := strings.Repeat("x", 400)
	for _, c := range []struct{ text, first, rest string }{
		{"SELECT VALUE c.id FROM c", `"a" "b"`, `"d" "f"`},
		{"SELECT VALUE c.id FROM c ORDER BY c.n", `"a" "b"`, `"f" "d"`},
		{"SELECT VALUE c.id FROM c ORDER BY c.n DESC", `"d" "c"`, `"b"`},
		{"SELECT VALUE c.id FROM c ORDER BY c.long", `"a" "b"`, `"d" "f"`}, // the cursor holds a part of the key, and the row is gone
	} {
		bodies := func(list ...string) (bodies [][]byte) {
			for _, text := range list {
				bodies = append(bodies, []byte(strings.ReplaceAll(text, "LONG", long)))
			}
			return bodies
		}
		p := mustPrepare(t, c.text, info)
		before := newPageStateStore(t, info.Index, bodies(`{"id":"a","n":1,"long":"LONG1"}`,
			`{"id":"b","n":2,"long":"LONG2"}`, `{"id":"c","n":3,"long":"LONG3"}`,
			`{"id":"d","n":4,"long":"LONG4"}`), 1)
		page, err := p.Run(context.Background(), before, eval.Env{}, exec.RunOptions{MaxItems: 2})
		if err != nil || rowsText(page) != c.first {
			t.Fatalf("%s begins with %s, %v", c.text, rowsText(page), err)
		}
		// c is deleted, e and f are new: e where the order has been already.
		after := newPageStateStore(t, info.Index, bodies(`{"id":"a","n":1,"long":"LONG1"}`,
			`{"id":"b","n":2,"long":"LONG2"}`, `{"id":"x"}`,
			`{"id":"d","n":4,"long":"LONG4"}`, `{"id":"f","n":3.5,"long":"LONG5"}`), 1)
		m := after[0].(*fakePartitionRangeSource)
		m.drop(3)
		page, err = p.Run(context.Background(), after, eval.Env{}, exec.RunOptions{Cursor: page.Cursor})
		if got := rowsText(page); err != nil || got != c.rest && !strings.HasPrefix(got, c.rest+" ") {
			t.Errorf("%s goes on with %s, %v, want %s", c.text, got, err, c.rest)
		}
	}
}

// drop deletes the document with that rid and its index entries.
func (m *fakePartitionRangeSource) drop(rid uint64) {
	m.docs = append(m.docs[:m.find(rid)], m.docs[m.find(rid)+1:]...)
	var left []inMemoryIndexEntry
	for _, e := range m.entries {
		if e.rid != rid {
			left = append(left, e)
		}
	}
	m.entries = left
}

// TestTruncatedCursorKey checks an ORDER BY whose key is too long for the cursor, so that the cursor has only
// its first bytes: the next page continues correctly whether the last row still exists or was deleted.
func TestTruncatedCursorKey(t *testing.T) {
	t.Parallel()
	info := defaultInfo(t)
	long := strings.Repeat("y", 2000)
	sources := newPageStateStore(t, info.Index, numbered(6, `{"id":"%","s":"`+long+`%"}`), 1)
	p := mustPrepare(t, "SELECT VALUE c.id FROM c ORDER BY c.s", info)
	page, err := p.Run(context.Background(), sources, eval.Env{}, exec.RunOptions{MaxItems: 2})
	if err != nil || rowsText(page) != `"0" "1"` || len(page.Cursor) > 1024 {
		t.Fatalf("%s, %v, %d", rowsText(page), err, len(page.Cursor))
	}
	next, err := p.Run(context.Background(), sources, eval.Env{}, exec.RunOptions{MaxItems: 2,
		Cursor: page.Cursor})
	if err != nil || rowsText(next) != `"2" "3"` {
		t.Errorf("%s, %v", rowsText(next), err)
	}
	sources[0].(*fakePartitionRangeSource).drop(2)
	next, err = p.Run(context.Background(), sources, eval.Env{}, exec.RunOptions{Cursor: page.Cursor})
	if err != nil || !strings.HasSuffix(rowsText(next), `"2" "3" "4" "5"`) {
		t.Errorf("%s, %v", rowsText(next), err)
	}
}

func TestForeignCursors(t *testing.T) {
	t.Parallel()
	info := defaultInfo(t)
	sources := newPageStateStore(t, info.Index, numbered(4, `{"id":"%","n":%}`), 1)
	p := mustPrepare(t, "SELECT * FROM c ORDER BY c.n", info)
	page, err := p.Run(context.Background(), sources, eval.Env{}, exec.RunOptions{MaxItems: 1, Scope: "s"})
	if err != nil || page.Cursor == "" {
		t.Fatal(err)
	}
	other := mustPrepare(t, "SELECT * FROM c ORDER BY c.id", info)
	for name, run := range map[string]func() (exec.Page, error){
		"another query": func() (exec.Page, error) {
			return other.Run(context.Background(), sources, eval.Env{}, exec.RunOptions{Cursor: page.Cursor,
				Scope: "s"})
		},
		"another scope": func() (exec.Page, error) {
			return p.Run(context.Background(), sources, eval.Env{}, exec.RunOptions{Cursor: page.Cursor,
				Scope: "t"})
		},
		"no base64": func() (exec.Page, error) {
			return p.Run(context.Background(), sources, eval.Env{}, exec.RunOptions{Cursor: "%%%",
				Scope: "s"})
		},
		"cut short": func() (exec.Page, error) {
			return p.Run(context.Background(), sources, eval.Env{},
				exec.RunOptions{Cursor: page.Cursor[:len(page.Cursor)-14], Scope: "s"})
		},
		"a part of the container that it does not cover": func() (exec.Page, error) {
			return p.Run(context.Background(), nil, eval.Env{}, exec.RunOptions{Cursor: cursorOver(p,
				cursor.SourceKeyRange{From: []byte{5}}), Scope: "s"})
		},
	} {
		var wrong *queryerror.CursorError
		if _, err := run(); !errors.As(err, &wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func cursorOver(p *Plan, s cursor.SourceKeyRange) string {
	x := exec.Execution{Plan: p.Plan, Opts: exec.RunOptions{Scope: "s"}}
	return cursor.PagePosition{Form: cursor.Sorting, Limit: -1}.Encode(x.Hash(), []cursor.SourceKeyRange{s})
}

// TestPageTimeBudget checks that a page ends with a cursor when its time budget is over, and that a canceled
// context ends the run.
func TestPageTimeBudget(t *testing.T) {
	info := defaultInfo(t)
	sources := newPageStateStore(t, info.Index, numbered(200, `{"id":"%","n":%}`), 2)
	for _, text := range []string{"SELECT VALUE c.n FROM c WHERE c.n % 50 = 0",
		"SELECT VALUE c.n FROM c WHERE c.n % 50 = 0 ORDER BY c.n"} {
		p := mustPrepare(t, text, info)
		clock := time.Duration(0)
		env := eval.Env{Elapsed: func() time.Duration { clock += time.Second; return clock }}
		var rows []string
		pages := 0
		for o := (exec.RunOptions{Budget: time.Second}); ; pages++ {
			clock = 0
			page, err := p.Run(context.Background(), sources, env, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range page.Rows {
				rows = append(rows, string(row))
			}
			if o.Cursor = page.Cursor; o.Cursor == "" {
				break
			}
		}
		if got := strings.Join(rows, " "); got != "0 50 100 150" || pages < 2 {
			t.Errorf("%s: %s in %d pages", text, got, pages)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := p.Run(ctx, sources, eval.Env{}, exec.RunOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestRunErrors checks the errors that can only occur while a query runs, such as an error of a user
// defined function.
func TestRunErrors(t *testing.T) {
	racetest.Sequential(t)
	t.Parallel()
	sources := newPageStateStore(t, nil, numbered(40, `{"id":"%","l":[1,2],"pad":"`+strings.Repeat("p",
		100_000)+`%"}`), 1)
	failed := errors.New("thrown")
	env := eval.Env{UDF: func(name string, args []jsondoc.Value) (jsondoc.Value, error) {
		if name == "twice" {
			return jsondoc.NumberValue(2 * args[0].Num()), nil
		}
		return jsondoc.Value{}, failed
	}}
	run := func(text string, env eval.Env) (exec.Page, error) {
		return mustPrepare(t, text, bind.ContainerInfo{}).Run(context.Background(), sources, env,
			exec.RunOptions{})
	}
	var wrong *queryerror.Error
	if _, err := run("SELECT VALUE udf.thrower(c.id) FROM c", env); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
	if _, err := run("SELECT VALUE udf.twice(1) FROM c", eval.Env{}); !errors.As(err, &wrong) {
		t.Errorf("%v", err)
	}
	if page, err := run("SELECT TOP 2 VALUE udf.twice(c.l[1]) FROM c WHERE udf.twice(1) = 2",
		env); err != nil || rowsText(page) != "4 4" || page.Stats.UDFCalls != 4 {
		t.Errorf("%s, %v, %+v", rowsText(page), err, page.Stats)
	}
	var much *queryerror.MemoryError
	if _,
		err := run("SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE [c.pad, a, b, d, e, f] FROM c JOIN a IN c.l JOIN b IN c.l "+
		"JOIN d IN c.l JOIN e IN c.l JOIN f IN c.l)", env); !errors.As(err, &much) ||
		much.Clause != "DISTINCT" {
		t.Errorf("%v", err)
	}
	if _,
		err := run("SELECT VALUE MAKELIST(REPLICATE(c.id, 4000) || c.pad || c.pad || c.pad || c.pad || c.pad || c.pad || c.pad || c.pad || c.pad || "+
		"c.pad || c.pad || c.pad || c.pad || c.pad || c.pad || c.pad || c.pad || c.pad || c.pad || c.pad) FROM c", env); !errors.As(err, &much) || much.Clause != "MAKELIST" {
		t.Errorf("%v", err)
	}
}

// TestNestedGroupBy checks a GROUP BY in a subquery of a query with GROUP BY: the groups of the two are
// kept apart.
func TestNestedGroupBy(t *testing.T) {
	t.Parallel()
	sources := newPageStateStore(t, nil,
		[][]byte{[]byte(`{"id":"1","g":[2,2,3]}`), []byte(`{"id":"2","g":[3]}`),
			[]byte(`{"id":"3","g":[2,2,3]}`)}, 1)
	for text, want := range map[string]string{
		"SELECT c.g[0] AS a, ARRAY(SELECT {k: x, n: COUNT(1), l: ARRAY_LENGTH(c.g)} FROM x IN c.g GROUP BY x) AS s, COUNT(1) AS n, c.g AS g FROM c GROUP BY c.g": `[{"a":2,"s":[{"$1":{"k":2,"n":2,"l":3}},` +
			`{"$1":{"k":3,"n":1,"l":3}}],"n":2,"g":[2,2,3]},{"a":3,"s":[{"$1":{"k":3,"n":1,"l":1}}],"n":1,"g":[3]}]`,
		"SELECT VALUE COUNT(1) FROM (SELECT x, COUNT(1) AS n FROM x IN c.g GROUP BY x) s WHERE s.n > 2": `[2]`,
	} {
		got, err := runAll(text, nil, bind.ContainerInfo{}, sources, exec.RunOptions{})
		if err != nil || string(arrayOf(got).Raw()) != want {
			t.Errorf("%s gives %s (%v), want %s", text, arrayOf(got).Raw(), err, want)
		}
	}
}

// TestSystemProperties checks that queries can use the properties that the server adds to documents, such
// as _ts and _rid.
func TestSystemProperties(t *testing.T) {
	t.Parallel()
	info := defaultInfo(t)
	sources := newPageStateStore(t, info.Index, numbered(2, `{"id":"%"}`), 1)
	for text, want := range map[string]string{
		"SELECT c._ts, c._rid FROM c WHERE c._ts = 1700000001": `[{"_ts":1700000001,"_rid":"AAAAAAAAAAABAAAAAAAAAA=="}]`,
		"SELECT VALUE DOCUMENTID(c) FROM c":                    `[1,2]`,
		"SELECT VALUE c._attachments FROM c":                   `["attachments/","attachments/"]`,
		"SELECT VALUE IS_STRING(c._etag) FROM c":               `[true,true]`,
		"SELECT VALUE c._lsn FROM c":                           `[]`,
		"SELECT VALUE x._self FROM (SELECT VALUE c FROM c) x":  `["dbs/AAAAAAAAAAABAAAAAAAAAA==","dbs/AAAAAAAAAAACAAAAAAAAAA=="]`,
		"SELECT VALUE c._ts FROM c ORDER BY c._ts DESC":        `[1700000002,1700000001]`,
	} {
		got, err := runAll(text, nil, info, sources, exec.RunOptions{})
		if err != nil || string(arrayOf(got).Raw()) != want {
			t.Errorf("%s gives %s, %v", text, arrayOf(got).Raw(), err)
		}
	}
	got, err := runAll("SELECT * FROM c WHERE c.id = '1'", nil, info, sources, exec.RunOptions{})
	if err != nil || len(got) != 1 || got[0].Member("_ts").Num() != 1700000002 {
		t.Errorf("%s, %v", arrayOf(got).Raw(), err)
	}
}
