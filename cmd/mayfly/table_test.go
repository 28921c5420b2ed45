package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestTableWidths: columns stand below each other where letters take two columns of a terminal, or none.
func TestTableWidths(t *testing.T) {
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

// TestTableObeysNobody: nothing in a cell or a column's name is an order to the terminal.
func TestTableObeysNobody(t *testing.T) {
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
