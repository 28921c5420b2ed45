package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// queryTestCase is one case of testdata/query-cases.json: a query, its documents and the result or error of
// Cosmos DB.
type queryTestCase struct {
	ID, Group  string
	Docs       json.RawMessage
	Query      string
	Parameters []struct {
		Name  string
		Value json.RawMessage
	}
	Expected json.RawMessage
	Error    *struct {
		Code            string
		MessageContains string
	}
	Ordered bool
	Compare struct {
		RelTol          float64
		UnorderedArrays bool
	}
}

type testDataset struct {
	Docs           []json.RawMessage
	PartitionKey   string
	IndexingPolicy json.RawMessage
}

func readJSON(t testing.TB, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

func (c *queryTestCase) params() []bind.Parameter {
	var list []bind.Parameter
	for _, p := range c.Parameters {
		list = append(list, bind.Parameter{Name: p.Name, Value: jsondoc.Of(p.Value)})
	}
	return list
}

// queryCaseRunSettings is a way to run each case, by its index, number of partition ranges and page size. The
// result must be the same for all variants.
type queryCaseRunSettings struct {
	name    string
	policy  func(own index.Policy) index.Policy
	lenient bool
	sources int
	page    int
}

func variants() []queryCaseRunSettings {
	own := func(p index.Policy) index.Policy { return p }
	none := func(index.Policy) index.Policy { return mustPolicy(`{"indexingMode":"none","automatic":false}`) }
	excluded := func(index.Policy) index.Policy {
		return mustPolicy(`{"indexingMode":"consistent","excludedPaths":[{"path":"/*"}]}`)
	}
	composite := func(p index.Policy) index.Policy {
		q := mustPolicy(`{"indexingMode":"consistent","includedPaths":[{"path":"/*"}],"compositeIndexes":[
			[{"path":"/age"},{"path":"/name"}],[{"path":"/team"},{"path":"/id"}],[{"path":"/team"},{"path":"/age","order":"descending"}],
			[{"path":"/s"},{"path":"/n"}],[{"path":"/g"},{"path":"/n"}],[{"path":"/v"},{"path":"/id"}]]}`)
		q.Composite = append(q.Composite, p.Composite...)
		return q
	}
	var list []queryCaseRunSettings
	for _, page := range []int{0, 1, 2} {
		for _, sources := range []int{1, 3} {
			list = append(list,
				queryCaseRunSettings{"own", own, false, sources, page}, queryCaseRunSettings{"lenient", own,
					true,
					sources, page},
				queryCaseRunSettings{"none", none, true, sources, page}, queryCaseRunSettings{"excluded",
					excluded,
					true, sources,
					page},
				queryCaseRunSettings{"composite", composite, true, sources, page})
		}
	}
	return list
}

func mustPolicy(text string) index.Policy {
	p, err := index.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return p
}

// TestCases runs each case of testdata/query-cases.json in all variants and compares the results with
// those of Cosmos DB.
func TestCases(t *testing.T) {
	racetest.Sequential(t)
	var cases []queryTestCase
	readJSON(t, "testdata/query-cases.json", &cases)
	var sets map[string]testDataset
	readJSON(t, "testdata/query-datasets.json", &sets)
	for _, v := range variants() {
		t.Run(fmt.Sprintf("%s/%d/%d", v.name, v.sources, v.page), func(t *testing.T) {
			wrong := 0
			for i := range cases {
				if v.lenient && cases[i].Error != nil {
					continue // a lenient container may answer what others refuse
				}
				if err := cases[i].run(t, v, sets); err != nil {
					wrong++
					t.Errorf("%s: %s\n%v", cases[i].ID, cases[i].Query, err)
				}
			}
			if wrong > 0 {
				t.Errorf("%d of %d cases are wrong", wrong, len(cases))
			}
		})
	}
}

func (c *queryTestCase) run(t *testing.T, v queryCaseRunSettings, sets map[string]testDataset) error {
	set := sets[strings.Trim(string(c.Docs), `"`)]
	if c.Docs[0] == '[' {
		if err := json.Unmarshal(c.Docs, &set.Docs); err != nil {
			return err
		}
	}
	policy := index.Default()
	if set.IndexingPolicy != nil {
		policy = mustPolicy(string(set.IndexingPolicy))
	}
	x, err := index.NewIndexer(index.IndexingSettings{Policy: v.policy(policy)}, nil)
	if err != nil {
		return err
	}
	bodies := make([][]byte, len(set.Docs))
	for i, d := range set.Docs {
		bodies[i] = d
	}
	sources := newPageStateStore(t, x, bodies, v.sources)
	got, err := runAll(c.Query, c.params(), bind.ContainerInfo{Index: x, Lenient: v.lenient}, sources,
		exec.RunOptions{MaxItems: v.page})
	for _, s := range sources {
		if n := s.(*fakePartitionRangeSource).opened; n != 0 {
			t.Errorf("%s: %d iterators were left open", c.ID, n)
		}
	}
	if c.Error != nil {
		return c.refused(err)
	}
	if err != nil {
		return err
	}
	return c.compare(got)
}

// runAll prepares a query, runs it page by page and returns the rows of all pages.
func runAll(text string, params []bind.Parameter, info bind.ContainerInfo, sources []source.DocumentSource,
	o exec.RunOptions) ([]jsondoc.Value, error) {
	p, err := Prepare(text, params, info)
	if err != nil {
		return nil, err
	}
	return runPlan(p, sources, o)
}

// runPlan runs a plan page by page and returns the rows of all pages. It checks that no page has more rows
// than requested and that only the last one may be empty.
func runPlan(p *Plan, sources []source.DocumentSource, o exec.RunOptions) ([]jsondoc.Value, error) {
	var rows []jsondoc.Value
	env := eval.Env{Now: time.Unix(1_780_000_000, 0).UTC(), Random: func() float64 { return 0.5 }}
	for n := 0; ; n++ {
		page, err := p.Run(context.Background(), sources, env, o)
		if err != nil {
			return nil, err
		}
		if o.MaxItems > 0 && p.Form != cursor.Blocking && p.Form != cursor.Grouping &&
			len(page.Rows) > o.MaxItems {
			return nil, fmt.Errorf("a page of %d rows, %d were asked for", len(page.Rows), o.MaxItems)
		}
		full := exec.ReadsAll(p.Plan) && !o.Certain && len(rows) > 0 && page.Cursor == ""
		if len(page.Rows) == 0 && (page.Cursor != "" || n > 0 && !full) {
			return nil, fmt.Errorf("page %d has no rows, and the cursor %q", n, page.Cursor)
		}
		for _, row := range page.Rows {
			if err := jsondoc.Valid(row, jsondoc.Limits{}); err != nil {
				return nil, fmt.Errorf("%s: %w", row, err)
			}
			rows = append(rows, jsondoc.Of(row))
		}
		if o.Cursor = page.Cursor; o.Cursor == "" {
			return rows, nil
		}
		if len(o.Cursor) > 1024 || n > 10_000 {
			return nil, fmt.Errorf("cursor of %d characters after %d pages", len(o.Cursor), n)
		}
	}
}

func (c *queryTestCase) refused(err error) error {
	var e *queryerror.Error
	switch {
	case !errors.As(err, &e):
		return fmt.Errorf("got %v, want an error", err)
	case c.Error.Code != "" && e.Code != c.Error.Code:
		return fmt.Errorf("code %s, want %s", e.Code, c.Error.Code)
	case !strings.Contains(e.JSON(), c.Error.MessageContains):
		return fmt.Errorf("message %s, want %s", e.JSON(), c.Error.MessageContains)
	}
	return nil
}

func (c *queryTestCase) compare(got []jsondoc.Value) error {
	var want []jsondoc.Value
	jsondoc.Of(c.Expected).Each(func(_ string, v jsondoc.Value) bool {
		want = append(want, v)
		return true
	})
	for i := range got {
		got[i] = c.clean(got[i])
	}
	for i := range want {
		want[i] = c.clean(want[i])
	}
	if !c.Ordered {
		slices.SortFunc(got, jsondoc.Compare)
		slices.SortFunc(want, jsondoc.Compare)
	}
	if slices.EqualFunc(got, want,
		func(a, b jsondoc.Value) bool { return alike(a, b, max(c.Compare.RelTol, 1e-12)) }) {
		return nil
	}
	return fmt.Errorf("got  %s\nwant %s", arrayOf(got).Raw(), arrayOf(want).Raw())
}

// clean returns a result without system properties, and with sorted arrays if the case says that their
// order does not matter, so that results can be compared.
func (c *queryTestCase) clean(v jsondoc.Value) jsondoc.Value {
	switch v.Kind() {
	case jsondoc.Object:
		var keys []string
		var values []jsondoc.Value
		v.Each(func(key string, elem jsondoc.Value) bool {
			if !jsondoc.IsSystem(key) {
				keys, values = append(keys, strings.Clone(key)), append(values, c.clean(elem))
			}
			return true
		})
		return objectOf(keys, values)
	case jsondoc.Array:
		var values []jsondoc.Value
		v.Each(func(_ string, elem jsondoc.Value) bool {
			values = append(values, c.clean(elem))
			return true
		})
		if c.Compare.UnorderedArrays {
			slices.SortFunc(values, jsondoc.Compare)
		}
		return arrayOf(values)
	}
	return v
}
