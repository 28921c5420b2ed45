package query

import (
	"github.com/mayflydb/mayfly/query/internal/exec"
	"strings"
	"testing"
)

// TestGroupByItem checks GROUP BY whole items or whole values bound in FROM: the key may occur anywhere in
// the select list, and each distinct item is a group.
func TestGroupByItem(t *testing.T) {
	t.Parallel()
	info := defaultInfo(t)
	const item = `{"id":"%","n":%,"o":{"k":%},"l":[%]}`
	for _, c := range []struct{ text, row string }{
		{"SELECT VALUE c FROM c GROUP BY c", item},
		{"SELECT c FROM c GROUP BY c", `{"c":` + item + `}`},
		{"SELECT c, c.n FROM c GROUP BY c, c.n", `{"c":` + item + `,"n":%}`},
		{"SELECT c.n, c FROM c GROUP BY c.n, c", `{"n":%,"c":` + item + `}`},
		{"SELECT VALUE {d: c} FROM c GROUP BY c", `{"d":` + item + `}`},
		{"SELECT VALUE [c, c.n] FROM c GROUP BY c", `[` + item + `,%]`},
		{"SELECT VALUE [[c]] FROM c GROUP BY c", `[[` + item + `]]`},
		{"SELECT c, COUNT(1) AS k FROM c GROUP BY c", `{"c":` + item + `,"k":1}`},
		{"SELECT VALUE c.o FROM c GROUP BY c", `{"k":%}`},
		{"SELECT VALUE c FROM c GROUP BY c ORDER BY c.id", item},
		{"SELECT VALUE x FROM c AS x GROUP BY x", item},
		{"SELECT VALUE x FROM (SELECT VALUE c FROM c) x GROUP BY x", item},
		{"SELECT VALUE x.c FROM (SELECT c FROM c GROUP BY c) x", item},
		{"SELECT VALUE x FROM (SELECT VALUE c FROM c GROUP BY c) x", item},
		{"SELECT VALUE o FROM c.o o GROUP BY o", `{"k":%}`},
		{"SELECT VALUE {o: o} FROM c JOIN c.o o GROUP BY o", `{"o":{"k":%}}`},
		{"SELECT VALUE [c, v] FROM c JOIN v IN c.l GROUP BY c, v", `[` + item + `,%]`},
		{"SELECT VALUE v FROM v IN c.l GROUP BY v", `%`},
		{"SELECT VALUE (IS_OBJECT(c) ? c : 0) FROM c GROUP BY c", item},
		{"SELECT VALUE (c ?? 0) FROM c GROUP BY c", item},
		{"SELECT VALUE DOCUMENTID(c) != null FROM c GROUP BY c", ""},
		{"SELECT DISTINCT VALUE c FROM c GROUP BY c", item},
		{"SELECT (SELECT VALUE c) AS x FROM c GROUP BY c", `{"x":` + item + `}`},
		{"SELECT VALUE ARRAY(SELECT VALUE c) FROM c GROUP BY c", `[` + item + `]`},
		{"SELECT VALUE (SELECT VALUE c.n) FROM c GROUP BY c", `%`},
		{"SELECT VALUE ARRAY(SELECT VALUE {d: c} FROM v IN c.l) FROM c GROUP BY c, c.l",
			`[{"d":` + item + `}]`},
		{"SELECT VALUE (SELECT VALUE COUNT(c) FROM v IN c.l) FROM c GROUP BY c, c.l", `1`},
		{"SELECT VALUE ARRAY_CONCAT([c], []) FROM c GROUP BY c", `[` + item + `]`},
	} {
		for _, n := range []int{1, 2} {
			rows, err := runAll(c.text, nil, info, newPageStateStore(t, info.Index, numbered(4, item), n),
				exec.RunOptions{})
			var want []string
			for _, i := range []string{"0", "1", "2", "3"} {
				want = append(want, strings.ReplaceAll(c.row, "%", i))
			}
			var got []string
			for _, row := range rows {
				got = append(got, withoutSystem(string(row.Raw())))
			}
			if c.row != "" && strings.Join(got, "\n") != strings.Join(want, "\n") || err != nil {
				t.Errorf("%s: %v\ngot  %s\nwant %s", c.text, err, strings.Join(got, " "),
					strings.Join(want, " "))
			}
		}
	}
}

// withoutSystem returns the text of a row without the system properties of the items in it.
func withoutSystem(text string) string {
	for {
		i := strings.Index(text, `,"_rid"`)
		if i < 0 {
			return text
		}
		j := strings.IndexByte(text[i:], '}')
		text = text[:i] + text[i+j:]
	}
}
