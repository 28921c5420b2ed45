package exec_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
)

// tens returns ten objects, {"n":n,"m":n%3,"l":[1,2]} for n from 0 to 9.
func tens() []exec.CallerProvidedObject {
	var texts []string
	for n := range 10 {
		texts = append(texts, fmt.Sprintf(`{"n":%d,"m":%d,"l":[1,2]}`, n, n%3))
	}
	return valueList(texts...)
}

// TestPagesMatchSinglePage checks with several queries that the rows of all pages together are the rows of a
// single large page, for pages of 1 to 4 rows.
func TestPagesMatchSinglePage(t *testing.T) {
	for _, text := range []string{
		"SELECT VALUE c.n FROM c",
		"SELECT VALUE c.n FROM c WHERE c.m = 1",
		"SELECT VALUE c.n FROM c ORDER BY c.m DESC, c.n",
		"SELECT DISTINCT VALUE c.m FROM c",
		"SELECT DISTINCT VALUE c.m FROM c ORDER BY c.m",
		"SELECT VALUE c.n FROM c OFFSET 2 LIMIT 5",
		"SELECT TOP 7 VALUE c.n FROM c ORDER BY c.n DESC",
		"SELECT c.m, COUNT(1) AS k FROM c GROUP BY c.m",
		"SELECT VALUE [c.n, x] FROM c JOIN x IN c.l",
		"SELECT VALUE SUM(c.n) FROM c",
	} {
		want := strings.Join(runValues(t, text, 1000, tens()), " ")
		for size := 1; size <= 4; size++ {
			var rows []string
			for _, page := range runValues(t, text, size, tens()) {
				if page != "" {
					rows = append(rows, page)
				}
			}
			if got := strings.Join(rows, " "); got != want {
				t.Errorf("%s, pages of %d\ngot  %s\nwant %s", text, size, got, want)
			}
		}
	}
}

// TestStats checks that the statistics of a page contain the numbers of documents that it has read, matched
// and returned.
func TestStats(t *testing.T) {
	for text, want := range map[string]exec.Stats{
		"SELECT VALUE c.n FROM c":               {Loaded: 10, Matched: 10, Joined: 10, Output: 10},
		"SELECT VALUE c.n FROM c WHERE c.m = 1": {Loaded: 10, Matched: 3, Joined: 3, Output: 3},
		"SELECT VALUE x FROM c JOIN x IN c.l WHERE c.m = 1 AND x = 2": {Loaded: 10, Matched: 3, Joined: 3,
			Output: 3},
		"SELECT VALUE COUNT(1) FROM c": {Loaded: 10, Matched: 10, Joined: 10, Output: 1},
	} {
		p, err := plan.Prepare(text, nil, bind.ContainerInfo{Lenient: true})
		if err != nil {
			t.Fatal(err)
		}
		page, err := exec.RunValues(t.Context(), p, tens(), eval.Env{}, exec.RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s := page.Stats
		got := exec.Stats{Loaded: s.Loaded, Matched: s.Matched, Joined: s.Joined, Output: s.Output}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

// TestForeignCursors checks that a cursor of another query or scope, or a malformed one, is refused with a
// *queryerror.CursorError.
func TestForeignCursors(t *testing.T) {
	prepare := func(text string) *plan.Plan {
		p, err := plan.Prepare(text, nil, bind.ContainerInfo{Lenient: true})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := prepare("SELECT VALUE c.n FROM c")
	o := exec.RunOptions{MaxItems: 3, Scope: "a"}
	page, err := exec.RunValues(t.Context(), p, tens(), eval.Env{}, o)
	if err != nil || page.Cursor == "" {
		t.Fatal(page, err)
	}
	for name, c := range map[string]struct {
		p             *plan.Plan
		scope, cursor string
	}{
		"another query":   {prepare("SELECT VALUE c.m FROM c"), "a", page.Cursor},
		"another scope":   {p, "b", page.Cursor},
		"not a cursor":    {p, "a", "nonsense"},
		"a part of it":    {p, "a", page.Cursor[:len(page.Cursor)/2]},
		"more than it is": {p, "a", page.Cursor + page.Cursor},
	} {
		_, err := exec.RunValues(t.Context(), c.p, tens(), eval.Env{}, exec.RunOptions{Scope: c.scope, Cursor: c.cursor})
		var wrong *queryerror.CursorError
		if !errors.As(err, &wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
