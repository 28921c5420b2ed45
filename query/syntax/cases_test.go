package syntax

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

type queryTestCase struct {
	ID, Group, Query string
	Error            *struct{ Code string }
}

// wrong reports whether the text of the case has a syntax error. Cases with other errors have a valid
// syntax and fail only when the query is prepared or run.
func (c *queryTestCase) wrong() bool {
	return c.Error != nil && (c.Error.Code == CodeSyntax || c.Group == "errors-syntax")
}

func queryCases(t testing.TB) []queryTestCase {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "testdata", "query-cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []queryTestCase
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 900 {
		t.Fatalf("only %d cases", len(cases))
	}
	return cases
}

func TestCases(t *testing.T) {
	for _, c := range queryCases(t) {
		q, err := Parse(c.Query)
		if c.wrong() {
			wantError(t, c.ID, c.Query, err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %s\n%v", c.ID, c.Query, err)
			continue
		}
		roundTrip(t, q)
	}
}

// wantError checks that err is an *Error whose Start and End are the position of its token in the text.
func wantError(t *testing.T, id, text string, err error) {
	t.Helper()
	e, ok := err.(*Error)
	if !ok {
		t.Errorf("%s: %s\nerror %v, want an *Error", id, text, err)
		return
	}
	chars := []rune(text)
	if e.Start < 0 || e.End > len(chars) || string(chars[e.Start:e.End]) != e.Token {
		t.Errorf("%s: %s\nthe token %q is not at %d..%d", id, text, e.Token, e.Start, e.End)
	}
}

// roundTrip checks that parsing the text that Print writes for q gives the same tree, and that Print
// writes the same text for that tree.
func roundTrip(t *testing.T, q *QueryTree) {
	t.Helper()
	text := Print(q)
	again, err := reparse(text, q.Select == nil)
	if err != nil {
		t.Errorf("printed as\n%s\n%v", text, err)
		return
	}
	if got := Print(again); got != text {
		t.Errorf("printed as\n%s\nand then as\n%s", text, got)
	}
	if want, got := tree(q), tree(again); got != want {
		t.Errorf("printed as\n%s\nthe tree was\n%s\nand is\n%s", text, want, got)
	}
}

func reparse(text string, condition bool) (*QueryTree, error) {
	if condition {
		return ParseCondition(text)
	}
	return Parse(text)
}
