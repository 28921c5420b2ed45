package exec_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/internal/plan"
)

// valueList returns a list of objects with these texts. Their positions have gaps: 2, 5, 8 and so on.
func valueList(texts ...string) (list []exec.CallerProvidedObject) {
	for i, text := range texts {
		list = append(list, exec.CallerProvidedObject{Position: uint64(3*i + 2), Text: []byte(text)})
	}
	return list
}

// runValues runs a query over a list in pages of size rows. It returns a string for each page: its rows,
// separated by blanks.
func runValues(t *testing.T, text string, size int, list []exec.CallerProvidedObject) (pages []string) {
	t.Helper()
	p, err := plan.Prepare(text, nil, bind.ContainerInfo{Lenient: true})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	o := exec.RunOptions{MaxItems: size}
	for {
		page, err := exec.RunValues(t.Context(), p, list, eval.Env{Now: time.Unix(0, 0)}, o)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var rows []string
		for _, row := range page.Rows {
			rows = append(rows, string(row))
		}
		pages = append(pages, strings.Join(rows, " "))
		if o.Cursor = page.Cursor; o.Cursor == "" {
			return pages
		}
	}
}

func TestQueryOverInMemorySource(t *testing.T) {
	list := valueList(`{"id":"a","_rid":"A","n":3}`, `{"id":"b","_rid":"B", "n":1,"_ts":7}`,
		`{"id":"c","tags":["x","y"]}`)
	for text, want := range map[string]string{
		// A text is the whole of its value, blanks included.
		`SELECT * FROM c`:                                             `{"id":"a","_rid":"A","n":3} {"id":"b","_rid":"B", "n":1,"_ts":7} {"id":"c","tags":["x","y"]}`,
		`SELECT VALUE c FROM c WHERE c._rid = "B"`:                    `{"id":"b","_rid":"B", "n":1,"_ts":7}`,
		`SELECT VALUE [c._rid, c._ts, c._etag] FROM c`:                `["A"] ["B",7] []`,
		`SELECT VALUE c.id FROM c WHERE NOT IS_DEFINED(c._rid)`:       `"c"`,
		`SELECT VALUE c.id FROM c ORDER BY c.n`:                       `"c" "b" "a"`,
		`SELECT VALUE c.id FROM c ORDER BY c.n DESC, c.id`:            `"a" "b" "c"`,
		`SELECT VALUE c.id FROM c ORDER BY c._rid DESC`:               `"b" "a" "c"`,
		`SELECT c.id, t FROM c JOIN t IN c.tags`:                      `{"id":"c","t":"x"} {"id":"c","t":"y"}`,
		`SELECT VALUE COUNT(c.n) FROM c`:                              `2`,
		`SELECT VALUE MAX(c.n) FROM c`:                                `3`,
		`SELECT DISTINCT VALUE IS_DEFINED(c.n) FROM c`:                `true false`,
		`SELECT VALUE c.id FROM c OFFSET 1 LIMIT 1`:                   `"b"`,
		`SELECT VALUE EXISTS(SELECT VALUE t FROM t IN c.tags) FROM c`: `false false true`,
	} {
		if got := runValues(t, text, 0, list); len(got) != 1 || got[0] != want {
			t.Errorf("%s\ngot  %q\nwant %s", text, got, want)
		}
	}
	if got := runValues(t, "SELECT VALUE COUNT(1) FROM c", 0, nil); got[0] != "0" {
		t.Errorf("an empty list: %q", got)
	}
}

// TestPagesOfInMemorySource checks queries over a list of objects in memory. A page has a cursor only if
// another row follows. A page also resumes at a cursor if the object at that position has been removed from
// the list.
func TestPagesOfInMemorySource(t *testing.T) {
	list := valueList(`{"n":0}`, `{"n":1}`, `{"n":2}`, `{"n":3}`, `{"n":4}`, `{"n":5}`)
	for text, want := range map[string]int{
		"SELECT * FROM c": 3, "SELECT * FROM c ORDER BY c.n DESC": 3, "SELECT * FROM c WHERE c.n < 4": 2,
		"SELECT * FROM c WHERE c.n < 3": 2,
		"SELECT * FROM c WHERE c.n < 2": 1, "SELECT TOP 4 * FROM c": 2,
		"SELECT TOP 4 * FROM c ORDER BY c.n": 2, "SELECT VALUE COUNT(1) FROM c": 1,
		"SELECT * FROM c WHERE c.n = 9": 1, "SELECT VALUE c.nope FROM c": 1,
	} {
		if got := runValues(t, text, 2, list); len(got) != want {
			t.Errorf("%s: pages %q", text, got)
		}
	}
	for _, text := range []string{"SELECT VALUE c.n FROM c", "SELECT VALUE c.n FROM c ORDER BY c.n"} {
		p, err := plan.Prepare(text, nil, bind.ContainerInfo{Lenient: true})
		if err != nil {
			t.Fatal(err)
		}
		first, err := exec.RunValues(t.Context(), p, list, eval.Env{}, exec.RunOptions{MaxItems: 3})
		if err != nil || first.Cursor == "" {
			t.Fatal(first, err)
		}
		// without the last one given and the next one
		fewer := append(append([]exec.CallerProvidedObject{}, list[:2]...), list[4:]...)
		rest, err := exec.RunValues(t.Context(), p, fewer, eval.Env{},
			exec.RunOptions{Cursor: first.Cursor})
		if err != nil || fmt.Sprintf("%s", rest.Rows) != "[4 5]" || rest.Cursor != "" {
			t.Errorf("%s: %s %v", text, rest.Rows, err)
		}
	}
}
