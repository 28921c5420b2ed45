package naivequery_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/naivequery"
	"github.com/mayflydb/mayfly/query/syntax"
)

type queryTestCase struct {
	ID         string
	Docs       json.RawMessage
	Query      string
	Parameters []struct {
		Name  string
		Value any
	}
	Expected any
	Error    *struct{ Status int }
	Ordered  bool
	Compare  struct {
		RelTol          float64
		UnorderedArrays bool
	}
}

func readCases(t *testing.T) (cases []queryTestCase, sets map[string]struct{ Docs []any }) {
	t.Helper()
	for name, into := range map[string]any{"query-cases.json": &cases, "query-datasets.json": &sets} {
		raw, err := os.ReadFile("../../query/testdata/" + name)
		if err == nil {
			err = json.Unmarshal(raw, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return cases, sets
}

// TestCases runs queries whose results in Cosmos DB are known, and checks that Run returns these results.
// It skips queries that Run does not support, and fails if too many are skipped.
func TestCases(t *testing.T) {
	cases, sets := readCases(t)
	answered := 0
	for _, c := range cases {
		tree, err := syntax.Parse(c.Query)
		if err != nil || c.Error != nil {
			continue // whether a query is refused is not asked here
		}
		docs := sets[strings.Trim(string(c.Docs), `"`)].Docs
		if c.Docs[0] == '[' {
			if err := json.Unmarshal(c.Docs, &docs); err != nil {
				t.Fatal(err)
			}
		}
		params := map[string]any{}
		for _, p := range c.Parameters {
			params[p.Name] = p.Value
		}
		got, err := naivequery.Run(tree, params, docs)
		if naivequery.IsUnknown(err) {
			continue
		}
		if answered++; err != nil || !c.agrees(got, c.Expected.([]any)) {
			t.Errorf("%s: %s\ngot  %s (%v)\nwant %s", c.ID, c.Query, naivequery.Text(got), err,
				naivequery.Text(c.Expected))
		}
	}
	if t.Logf("%d of %d cases answered", answered, len(cases)); answered < 500 {
		t.Error("that is too few")
	}
}

func (c *queryTestCase) agrees(got, want []any) bool {
	got, want = slices.Clone(got), slices.Clone(want)
	if !c.Ordered {
		slices.SortFunc(got, naivequery.Compare)
		slices.SortFunc(want, naivequery.Compare)
	}
	return c.alike(got, want)
}

// alike reports whether the value got equals the expected value want. Numbers may differ by the relative
// tolerance of the case; the order of arrays is ignored if the case says so.
func (c *queryTestCase) alike(got, want any) bool {
	switch got := got.(type) {
	case float64:
		want, ok := want.(float64)
		return ok && math.Abs(got-want) <= max(c.Compare.RelTol, 1e-12)*max(math.Abs(got), math.Abs(want))
	case []any:
		want, ok := want.([]any)
		if c.Compare.UnorderedArrays {
			got, want = slices.Clone(got), slices.Clone(want)
			slices.SortFunc(got, naivequery.Compare)
			slices.SortFunc(want, naivequery.Compare)
		}
		return ok && slices.EqualFunc(got, want, func(a, b any) bool { return c.alike(a, b) })
	case map[string]any:
		want, ok := want.(map[string]any)
		for name, v := range got {
			ok = ok && c.alike(v, want[name])
		}
		return ok && len(got) == len(want)
	}
	return got == want
}

func documents(t *testing.T) (docs []any) {
	t.Helper()
	for _, text := range []string{`{"id":"a","n":1,"l":[1,2]}`, `{"id":"b"}`, `{"id":"c","n":-0.0,"l":[3]}`, `{"id":"d","n":0,"l":[]}`, `{"id":"e","n":1,"l":[2,1]}`} {
		d, err := naivequery.Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, d)
	}
	return docs
}

// TestOrderOfRows checks what the cases of TestCases do not cover: the order of rows without ORDER BY, the
// order of rows with equal ORDER BY keys, and the text of numbers that JSON cannot represent, such as NaN.
func TestOrderOfRows(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT VALUE c.id FROM c":                                      `["a","b","c","d","e"]`,
		"SELECT VALUE c.id FROM c ORDER BY c.n":                         `["b","c","d","a","e"]`,
		"SELECT VALUE c.id FROM c ORDER BY c.n DESC":                    `["e","a","d","c","b"]`,
		"SELECT VALUE c.id FROM c ORDER BY c.x, c.n DESC":               `["a","e","c","d","b"]`,
		"SELECT VALUE l FROM c JOIN l IN c.l ORDER BY c.n DESC":         `[2,1,1,2,3]`,
		"SELECT DISTINCT VALUE c.n FROM c":                              `[1,0]`,
		"SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n":                 `[{"k":2,"n":1},{"k":1},{"k":2,"n":0}]`,
		"SELECT VALUE c.id FROM c OFFSET 1 LIMIT 2":                     `["b","c"]`,
		"SELECT TOP 1 VALUE l FROM l IN c.l WHERE l > 2":                `[3]`,
		"SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.n FROM c)": `[2]`,
		"SELECT VALUE [NaN, 1/0, -1/0, -0.0]":                           `[["NaN","Infinity","-Infinity",0]]`,
	} {
		tree, err := syntax.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := naivequery.Run(tree, nil, documents(t)); err != nil || naivequery.Text(got) != want {
			t.Errorf("%s\ngot  %s (%v)\nwant %s", text, naivequery.Text(got), err, want)
		}
	}
}

// TestConstants evaluates constant expressions: integers of 64 bits are calculated exactly and compared as
// doubles, and strings are counted in code points. The expected values are those of Cosmos DB's own query
// compiler.
func TestConstants(t *testing.T) {
	for text, want := range map[string]string{
		`LENGTH("😀")`:                                       "1",
		`SUBSTRING("😀é", 1, 1)`:                             `"é"`,
		"9007199254740993 + 1 > 9007199254740992":           "true",
		"9007199254740993.0 + 1 > 9007199254740992":         "false",
		"9007199254740993 % 10":                             "3",
		"9007199254740993 - 9007199254740992":               "1",
		"9007199254740993 * 1 - 9007199254740992":           "1",
		"-9007199254740993 + 9007199254740992":              "-1",
		"ABS(-9007199254740993) % 10":                       "3",
		"FLOOR(9007199254740993) % 10":                      "3",
		"9007199254740993 / 1 % 10":                         "3",
		"9223372036854775807 + 1 - 9223372036854775807":     "0",
		"9007199254740993 % 9":                              "6",
		"1152921504606846976.0 * 1.0 - 1152921504606846976": "0",
		"IS_INTEGER(9007199254740993)":                      "true",
		"IS_INTEGER(2251799813685248.5 * 8)":                "false",
		"IS_INTEGER(9007199254740991.0)":                    "true",
		"IS_INTEGER(9007199254740992.0)":                    "false",
	} {
		tree, err := syntax.Parse("SELECT VALUE " + text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := naivequery.Run(tree, nil, []any{nil}); err != nil ||
			naivequery.Text(got) != "["+want+"]" {
			t.Errorf("%s\ngot  %s (%v)\nwant %s", text, naivequery.Text(got), err, want)
		}
	}
}

func TestUnsupportedQueries(t *testing.T) {
	for text, unknown := range map[string]bool{
		"SELECT VALUE d.id FROM c":                           false,
		"SELECT VALUE (SELECT VALUE l FROM l IN c.l) FROM c": false,
		"SELECT TOP @n VALUE c.id FROM c":                    false,
		"SELECT VALUE RAND() FROM c":                         true,
		"SELECT VALUE udf.f(c) FROM c":                       true,
	} {
		tree, err := syntax.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if rows, err := naivequery.Run(tree, nil, documents(t)); err == nil ||
			naivequery.IsUnknown(err) != unknown {
			t.Errorf("%s: %s, %v", text, naivequery.Text(rows), err)
		}
	}
}
