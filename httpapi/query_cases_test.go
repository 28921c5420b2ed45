package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// queryTestCase is a query, the dataset to run it on, and the rows or the error that Cosmos DB returns.
type queryTestCase struct {
	ID, Query  string
	Docs       string // name of a dataset
	Parameters json.RawMessage
	Expected   []any
	Error      *struct {
		Status                int
		Code, MessageContains string
	}
	Ordered bool
	Compare struct {
		RelTol          float64
		UnorderedArrays bool
	}
}

// queryCaseDocuments is the documents of a container for query cases, with its partition key and indexing
// policy.
type queryCaseDocuments struct {
	Docs           []map[string]json.RawMessage
	PartitionKey   string
	IndexingPolicy json.RawMessage

	path string
	pk   string // that all documents were given, as JSON; empty where they have keys of their own
}

func readCases(t *testing.T) (cases []queryTestCase, sets map[string]*queryCaseDocuments) {
	t.Helper()
	for path, into := range map[string]any{"query-cases.json": &cases, "query-datasets.json": &sets} {
		raw, err := os.ReadFile("../query/testdata/" + path)
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(into); err != nil {
			t.Fatal(path, err)
		}
	}
	return cases, sets
}

// TestQueryCases runs all query cases over HTTP: within one partition key, and across partition keys that
// are in one range or in several.
func TestQueryCases(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		name   string
		onePK  bool
		ranges int
	}{{"one partition key", true, 1}, {"one range", false, 1}, {"four ranges", false, 4}} {
		t.Run(v.name, func(t *testing.T) {
			cases, sets := readCases(t)
			w := newServerUnderTest(t, ranges(v.ranges))
			w.do("POST", "/dbs", `{"id":"d"}`).want(201)
			for name, set := range sets {
				set.load(w, name, v.onePK)
			}
			wrong := 0
			for _, c := range cases {
				if err := c.run(w, sets[c.Docs]); err != nil {
					wrong++
					t.Errorf("%s: %s\n%v", c.ID, c.Query, err)
				}
			}
			if wrong > 0 {
				t.Errorf("%d of %d cases are wrong", wrong, len(cases))
			}
		})
	}
}

// load creates the container of a dataset with its documents. If the dataset has no partition key, all
// documents get the same key if onePK is set, and otherwise their ids are the keys.
func (d *queryCaseDocuments) load(w *serverUnderTest, name string, onePK bool) {
	w.t.Helper()
	key := d.PartitionKey
	switch {
	case key != "":
	case onePK:
		key, d.pk = "/pk", `"p"`
	default:
		key = "/id"
	}
	settings := `{"id":` + jsonString(name) + `,"partitionKey":{"paths":["` + key +
		`"],"kind":"Hash","version":2}`
	if d.IndexingPolicy != nil {
		settings += `,"indexingPolicy":` + string(d.IndexingPolicy)
	}
	w.do("POST", colls, settings+"}").want(201)
	d.path = colls + "/" + name + "/docs"
	for _, one := range d.Docs {
		if d.pk != "" {
			one["pk"] = json.RawMessage(d.pk)
		}
		body, err := json.Marshal(one)
		if err != nil {
			w.t.Fatal(err)
		}
		w.do("POST", d.path, string(body)).want(201)
	}
}

func (c *queryTestCase) run(w *serverUnderTest, set *queryCaseDocuments) error {
	body := `{"query":` + jsonString(c.Query)
	if c.Parameters != nil {
		body += `,"parameters":` + string(c.Parameters)
	}
	headers := queryHeaders("x-ms-max-item-count", "-1")
	if set.pk != "" {
		headers = append(headers, pk("["+set.pk+"]")...)
	} else {
		headers = append(headers, "x-mayfly-serve-cross-partition", "true")
	}
	a := w.do("POST", set.path, body+"}", headers...)
	if c.Error != nil {
		return c.refused(a)
	}
	var rows []any
	for { // a page for each range at least, where nothing has to be merged
		var got struct{ Documents []any }
		d := json.NewDecoder(bytes.NewReader(a.body))
		d.UseNumber()
		if err := d.Decode(&got); err != nil || a.code != 200 {
			return fmt.Errorf("%d %s: %v", a.code, a.body, err)
		}
		rows = append(rows, got.Documents...)
		token := a.header.Get("X-Ms-Continuation")
		if token == "" {
			break
		}
		a = w.do("POST", set.path, body+"}", append(headers[:len(headers):len(headers)], "x-ms-continuation",
			token)...)
	}
	if strip(rows, set.pk != ""); !c.same(c.Expected, rows, !c.Ordered) {
		return fmt.Errorf("got  %v\nwant %v", rows, c.Expected)
	}
	return nil
}

// refused returns an error unless the response is the error that the case expects: its status, and the
// code and the message of its first error.
func (c *queryTestCase) refused(a *testResponse) error {
	var code, text string
	if inner := a.inner(); len(inner) > 0 {
		if code, text = inner[0].Get("code").String(), inner[0].Get("message").Str; !inner[0].IsObject() {
			text = inner[0].Str
		}
	}
	if a.code != c.Error.Status || c.Error.Code != "" && code != c.Error.Code ||
		!strings.Contains(text, c.Error.MessageContains) {
		return fmt.Errorf("%d %s\nwant %v", a.code, a.body, *c.Error)
	}
	return nil
}

// strip removes from a returned document what the dataset does not contain: system properties and, if pk
// is set, the partition key that was given to all documents.
func strip(x any, pk bool) {
	switch x := x.(type) {
	case map[string]any:
		for name, elem := range x {
			if jsondoc.IsSystem(name) || pk && name == "pk" {
				delete(x, name)
			} else {
				strip(elem, pk)
			}
		}
	case []any:
		for _, elem := range x {
			strip(elem, pk)
		}
	}
}

// same reports whether two lists have the same elements: in any order if bag is set, otherwise in the same
// order.
func (c *queryTestCase) same(want, got []any, bag bool) bool {
	if !bag {
		return slices.EqualFunc(want, got, c.alike)
	}
	rest := slices.Clone(got)
	for _, x := range want {
		i := slices.IndexFunc(rest, func(y any) bool { return c.alike(x, y) })
		if i < 0 {
			return false
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return len(rest) == 0
}

// alike reports whether two values are equal; numbers may differ by the case's relative tolerance.
func (c *queryTestCase) alike(want, got any) bool {
	switch x := want.(type) {
	case json.Number:
		y, ok := got.(json.Number)
		if !ok {
			return false
		}
		a, errA := x.Float64()
		b, errB := y.Float64()
		return x == y || errA == nil && errB == nil &&
			math.Abs(a-b) <= max(c.Compare.RelTol, 1e-12)*max(math.Abs(a), math.Abs(b))
	case []any:
		y, ok := got.([]any)
		return ok && c.same(x, y, c.Compare.UnorderedArrays)
	case map[string]any:
		y, ok := got.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for name, elem := range x {
			if other, ok := y[name]; !ok || !c.alike(elem, other) {
				return false
			}
		}
		return true
	}
	return want == got
}
