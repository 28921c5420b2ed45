package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestTableWidths checks that the columns of a table are aligned if its texts contain characters that take
// two columns of a terminal, or none.
func TestTableWidths(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := tableWriter{out: &out}
	rows := []json.RawMessage{
		json.RawMessage(`{"name":"日本語","n":1}`), json.RawMessage(`{"name":"e\u0301a","n":2}`),
		json.RawMessage(`{"n":3}`), json.RawMessage(`{"name":"plain"}`),
	}
	if err := w.page(rows, 1); err != nil {
		t.Fatal(err)
	}
	const want = "name    n\n日本語  1\ne\u0301a      2\n        3\nplain\n"
	if out.String() != want {
		t.Errorf("%s\nnot\n%s", out.String(), want)
	}
}

// TestTableEscapesControlCharacters checks that control characters in a cell or in a column name are escaped,
// so that the terminal does not interpret them.
func TestTableEscapesControlCharacters(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := tableWriter{out: &out}
	row := json.RawMessage("{\"a\\u001bb\":\"x\\u001b[2J\",\"o\":{\"p\":\"\u009b2J\U000e0001\"}}")
	if err := w.page([]json.RawMessage{row}, 1); err != nil {
		t.Fatal(err)
	}
	const want = `"a\x1bb"    o` + "\n" + `"x\x1b[2J"  {"p":"\u009b2J\udb40\udc01"}` + "\n"
	if out.String() != want {
		t.Errorf("%s\nnot\n%s", out.String(), want)
	}
}

// TestTableColumns checks that a table of rows has the columns of the query's select list in their order,
// or for SELECT * the members of the rows.
func TestTableColumns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"SELECT c.status, c.absent, COUNT(1) AS n FROM c GROUP BY c.status, c.absent": "" +
			"status  absent  n\n                2\npaid            1\n",
		"SELECT * FROM c":                     "n  status\n2\n1  paid\n",
		"SELECT c._rid, c.n, c.status FROM c": "_rid  n  status\n      2\n      1  paid\n",
	} {
		var out strings.Builder
		w := newTableWriter(text, &out)
		rows := []json.RawMessage{json.RawMessage(`{"n":2}`), json.RawMessage(`{"status":"paid","n":1}`)}
		if err := w.page(rows, 1); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%s\n%s\nnot\n%s", text, out.String(), want)
		}
	}
}
