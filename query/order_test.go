package query

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// randomValue returns a random JSON value from a small list, so that equal values are frequent. "" stands
// for a missing value.
func randomValue(r *rand.Rand) string {
	long := strings.Repeat("long ", 40)
	pool := []string{"", "", "null", "true", "false", "0", "1", "1.0", "2", "-3.5", "1e3", `""`, `"a"`,
		`"ab"`, `"b"`, `"é"`, `"a\u0000b"`,
		`"` + long + `"`, `"` + long + `x"`, `"` + long +
			`y"`, "[]", "[1]", `["a",1]`, `{}`, `{"x":1}`, `{"x":"a"}`, `{"x":"a","y":2}`,
		`{"y":[1]}`, `{"y":"` + long + `z"}`}
	return pool[r.IntN(len(pool))]
}

func randomDocuments(r *rand.Rand, n int) [][]byte {
	bodies := make([][]byte, n)
	for i := range bodies {
		b := fmt.Appendf(nil, `{"id":"%d"`, i)
		for _, name := range []string{"a", "b", "s", "o"} {
			if v := randomValue(r); v != "" {
				b = fmt.Appendf(b, `,"%s":%s`, name, v)
			}
		}
		if r.IntN(3) > 0 {
			b = append(b, `,"t":[`...)
			for j := range r.IntN(4) {
				if v := randomValue(r); v != "" {
					if j > 0 && b[len(b)-1] != '[' {
						b = append(b, ',')
					}
					b = append(b, v...)
				}
			}
			b = append(b, ']')
		}
		bodies[i] = append(b, '}')
	}
	return bodies
}

func randomCondition(r *rand.Rand, depth int) string {
	path := []string{"c.a", "c.b", "c.s", "c.o.x", "c.id", "c._ts"}[r.IntN(6)]
	value := func() string {
		if v := randomValue(r); v != "" {
			return v
		}
		return "undefined"
	}
	switch n := r.IntN(18); {
	case n < 3 && depth > 0:
		return "(" + randomCondition(r, depth-1) + " AND " + randomCondition(r, depth-1) + ")"
	case n < 5 && depth > 0:
		return "(" + randomCondition(r, depth-1) + " OR " + randomCondition(r, depth-1) + ")"
	case n < 7:
		return path + " = " + value()
	case n < 9:
		return path + " " + []string{"<", "<=", ">", ">=", "!="}[r.IntN(5)] + " " + value()
	case n == 9:
		list := value() + ", " + value() + ", " + value()
		if r.IntN(3) == 0 {
			for i := range 20 {
				list += ", " + strconv.Itoa(i-10)
			}
		}
		return path + " IN (" + list + ")"
	case n == 10:
		return "(" + path + " BETWEEN " + value() + " AND " + value() + ")"
	case n == 11:
		return []string{"IS_STRING", "IS_DEFINED", "NOT IS_DEFINED", "IS_NUMBER", "IS_ARRAY",
			"IS_PRIMITIVE"}[r.IntN(6)] + "(" + path + ")"
	case n == 12:
		return "STARTSWITH(" + path + `, "` + []string{"", "a", "long ",
			strings.Repeat("long ", 40)}[r.IntN(4)] + `")`
	case n == 13:
		return "ARRAY_CONTAINS(c.t, " + value() + []string{")", ", false)", ", true)"}[r.IntN(3)]
	case n == 15 && depth > 0:
		return "NOT (" + randomCondition(r, depth-1) + ")"
	case n == 16:
		return []string{"CONTAINS", "ENDSWITH", "STARTSWITH", "STRINGEQUALS"}[r.IntN(4)] + "(" + path + ", " +
			[]string{`"a"`, `"O"`, `"long "`, `""`}[r.IntN(4)] + []string{")", ", true)",
			", false)"}[r.IntN(3)]
	case n == 17:
		return []string{"UPPER(" + path + `) = "A"`, path + " + 1 > 2", "(" + path + " ?? 0) = 0",
			"ABS(" + path + ") <= 1", "NOT IS_NULL(" + path + ")", path + ".x = 1", path +
				"[0] = 1", "c.t[1] = " + value(), "c.t[0].x > 1",
			"ARRAY_CONTAINS_ANY(c.t, 1, " + value() + ")", "ARRAY_CONTAINS_ALL(c.t, 1, " + value() + ")",
			"REGEXMATCH(" + path + `, "^a")`}[r.IntN(12)]
	case n == 14:
		return "EXISTS(SELECT VALUE u FROM u IN c.t WHERE u = " + value() + ")"
	}
	return path + ` LIKE "` + []string{"a%", "%", "a_", "ab"}[r.IntN(4)] + `"`
}

func randomQuery(r *rand.Rand) string {
	where := ""
	if r.IntN(4) > 0 {
		where = " WHERE " + randomCondition(r, 2)
	}
	keys := []string{"c.a", "c.b", "c.s", "c.a DESC", "c.s DESC", "c.id DESC", "c.o.x", "c.o", "c.a, c.b",
		"c.a DESC, c.b DESC", "c.b, c.a DESC",
		"c.b DESC, c.a", "c._ts DESC", "c.s, c.b"}
	order := " ORDER BY " + keys[r.IntN(len(keys))]
	window := []string{"", "", fmt.Sprintf(" OFFSET %d LIMIT %d", r.IntN(20), r.IntN(6))}[r.IntN(3)]
	switch r.IntN(13) {
	case 7:
		part := strings.ReplaceAll(strings.ReplaceAll(randomCondition(r, 1), "c.o.x", "c.x"), "c.", "o.")
		return "SELECT * FROM c.o AS o WHERE " + part + " ORDER BY o." + []string{"x", "y", "x DESC",
			"y DESC"}[r.IntN(4)] + window
	case 8:
		return "SELECT t AS t, t.x FROM t IN c.t WHERE t >= 1 OR t.x = 1" + window
	case 0:
		return "SELECT VALUE c.id FROM c" + where + window
	case 1:
		return "SELECT c.id, t FROM c JOIN t IN c.t" + where + window
	case 2:
		return "SELECT DISTINCT VALUE c.a FROM c" + where
	case 3:
		return "SELECT c.b, COUNT(1) AS n, MIN(c.s) AS low, MAX(c.id) AS high FROM c" + where +
			" GROUP BY c.b"
	case 4:
		return "SELECT COUNT(1) AS n, MIN(c.b) AS low, MAX(c.b) AS high FROM c" + where
	case 11, 12:
		path := []string{"c.a", "c.b", "c.s", "c.o.x", "c.o"}[r.IntN(5)]
		at := " WHERE " + []string{path + " > 1", path + " >= 'a'", "IS_DEFINED(" + path + ")",
			"CONTAINS(" + path + ", 'o')", path + " != 1", path + " IN (1, 'a', true)", "NOT IS_ARRAY(" +
				path + ")",
			"LENGTH(" + path + ") > 2", "IS_ARRAY(" + path + ")"}[r.IntN(9)]
		if r.IntN(2) == 0 {
			at = ""
		}
		return []string{
			"SELECT MIN(c.a) AS a, MAX(c.b) AS b, MAX(c.s) AS s FROM c",
			"SELECT COUNT(1) AS n FROM c" + where,
			"SELECT COUNT(1) AS n, COUNT(" + path + ") AS m FROM c" + at,
			"SELECT COUNT(1) AS n FROM c" + at,
			"SELECT SUM(" + path + ") AS s, AVG(" + path + ") AS m, COUNT(1) AS n FROM c" + at +
				[]string{"", " AND IS_NUMBER(" + path + ")"}[r.IntN(2)*min(len(at), 1)],
			"SELECT COUNT(c) AS n, MIN(" + path + ") AS l, MAX(" + path + ") AS h FROM c" + at,
			"SELECT " + path + " AS p, COUNT(1) AS n, MIN(" + path + ") AS h FROM c" + at + " GROUP BY " +
				path,
			"SELECT VALUE " + path + " FROM c" + at + " GROUP BY " + path,
			"SELECT DISTINCT VALUE " + path + " FROM c" + at + " ORDER BY " + path +
				[]string{"", " DESC"}[r.IntN(2)],
			"SELECT DISTINCT " + path + " FROM c" + at,
			"SELECT DISTINCT VALUE " + path + " FROM c" + at,
			"SELECT VALUE [" + path + "] FROM c" + at + " ORDER BY " + path + window,
			"SELECT c.id, " + path + " FROM c" + at + " ORDER BY " + path + " DESC" + window,
		}[r.IntN(13)]
	case 5:
		return "SELECT DISTINCT VALUE c.s FROM c" + where + " ORDER BY c.s" +
			[]string{"", " DESC"}[r.IntN(2)] + window
	case 6:
		return "SELECT c.id, t FROM c JOIN t IN c.t" + where + order + window
	}
	return "SELECT VALUE c.id FROM c" + where + order + window
}

// randomTuning returns random limits for the choice of access paths, so that paths are tested that would
// otherwise not be chosen. It returns nil, for the default limits, now and then.
func randomTuning(r *rand.Rand) *exec.AccessPathLimits {
	if r.IntN(4) == 0 {
		return nil
	}
	n := func() int { return []int{0, 1, 3, 10, 1000}[r.IntN(5)] }
	return &exec.AccessPathLimits{Probe: n(), Gather: n(), Every: n(), Sort: n(), Leap: n(), Trial: 1 + n(),
		Share: n(),
		Rows:  n(), Walk: n(),
		Patience: n(), Groups: 4 + n()}
}

// buried wraps sources so that the documents in dead count as expired, and those in outside as not
// belonging to the partition that is queried. All of them keep their index entries.
func buried(sources []source.DocumentSource, dead, outside map[uint64]bool) []source.DocumentSource {
	gone := maps.Clone(dead)
	for rid := range outside {
		gone[rid] = true
	}
	for i, src := range sources {
		sources[i] = &mostlyExpiredSource{fakePartitionRangeSource: src.(*fakePartitionRangeSource),
			dead: gone, outside: outside}
	}
	return sources
}

// IndexesChangeNothing runs random queries over random documents with several indexing policies, numbers
// of sources and page sizes. It checks that the rows and their order equal those of a full scan of one
// source in one page.
func IndexesChangeNothing(t *testing.T, first uint64) {
	racetest.Sequential(t)
	policies := []string{
		`{"indexingMode":"consistent","includedPaths":[{"path":"/*"}]}`,
		`{"indexingMode":"consistent","includedPaths":[{"path":"/a/?"},{"path":"/t/[]/?"}],"excludedPaths":[{"path":"/*"}]}`,
		`{"indexingMode":"consistent","includedPaths":[{"path":"/*"}],"compositeIndexes":[[{"path":"/a"},{"path":"/b"}],
			[{"path":"/b"},{"path":"/a","order":"descending"}],[{"path":"/b"},{"path":"/s"}],[{"path":"/s","order":"descending"},{"path":"/a"}]]}`,
	}
	seeds := []uint64{939968284715} // that have failed
	for i := range uint64(differences) {
		seeds = append(seeds, first+i)
	}
	for _, seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		bodies := randomDocuments(r, 5+r.IntN(60))
		dead := map[uint64]bool{}
		for i := range bodies {
			dead[uint64(i+1)] = r.IntN(4) == 0 && seed%2 == 0
		}
		var outside map[uint64]bool
		if seed%3 == 0 {
			outside = map[uint64]bool{}
			for i := range bodies {
				if r.IntN(3) > 0 {
					outside[uint64(i+1)] = true
				}
			}
		}
		plain := buried(newPageStateStore(t, nil, bodies, 1), dead, outside)
		for _, policy := range policies {
			x, err := index.NewIndexer(index.IndexingSettings{Policy: mustPolicy(policy)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			sources := map[int][]source.DocumentSource{1: buried(newPageStateStore(t, x, bodies, 1), dead,
				outside),
				3: buried(newPageStateStore(t, x, bodies, 3), dead, outside)}
			for range 40 {
				text := randomQuery(r)
				want, err := runAll(text, nil, bind.ContainerInfo{Lenient: true}, plain, exec.RunOptions{})
				if err != nil {
					t.Fatalf("seed %d: %s: %v", seed, text, err)
				}
				n, page := 1+2*r.IntN(2), []int{0, 1, 2, 5}[r.IntN(4)]
				o := exec.RunOptions{MaxItems: page, MaxBytes: []int{0, 0, 1, 30}[r.IntN(4)],
					Tune: randomTuning(r)}
				p, err := Prepare(text, nil, bind.ContainerInfo{Index: x, Lenient: true})
				if err != nil {
					t.Fatalf("seed %d: %s: %v", seed, text, err)
				}
				if with := prepareWith(t, r, text, bind.ContainerInfo{Index: x, Lenient: true}); with != nil {
					p = with
				}
				got, err := runPlan(p, sources[n], o)
				if err != nil {
					t.Fatalf("seed %d: %s: %v", seed, text, err)
				}
				if (strings.HasPrefix(text, "SELECT DISTINCT") || strings.Contains(text, "GROUP BY")) &&
					!strings.Contains(text, "ORDER BY") {
					slices.SortFunc(got, jsondoc.Compare)
					slices.SortFunc(want, jsondoc.Compare)
				}
				if a, b := arrayOf(got).Raw(), arrayOf(want).Raw(); string(a) != string(b) {
					t.Fatalf("seed %d, %d sources, pages of %d: %s\ngot  %s\nwant %s\n%s", seed, n, page,
						text, a, b, p)
				}
			}
		}
	}
}

// TestOrderByWithoutIndex checks ORDER BY without an index, with which other tests compare: values are
// ordered as by package jsondoc, except arrays and objects, which are ordered by their hashes.
func TestOrderByWithoutIndex(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	bodies := randomDocuments(r, 300)
	rows, err := runAll("SELECT VALUE [c.a ?? '?'] FROM c ORDER BY c.a", nil,
		bind.ContainerInfo{Lenient: true},
		newPageStateStore(t, nil, bodies, 1), exec.RunOptions{MaxItems: 7})
	if err != nil || len(rows) != len(bodies) {
		t.Fatalf("%d rows of %d, %v", len(rows), len(bodies), err)
	}
	missing := 0
	for _, b := range bodies {
		if jsondoc.Get(b, jsondoc.PathOf("a")).Kind() == jsondoc.Undefined {
			missing++
		}
	}
	for i := missing + 1; i < len(rows); i++ {
		if a, b := lang.Element(rows[i-1], 0), lang.Element(rows[i], 0); jsondoc.Compare(a, b) > 0 &&
			a.Kind() < jsondoc.Array || bytes.Compare(eval.OrderedBy(a).Append(nil),
			eval.OrderedBy(b).Append(nil)) > 0 {
			t.Fatalf("%s comes before %s", a.Raw(), b.Raw())
		}
	}
}

// TestFullPageOfSortedRows checks that an ORDER BY without an index, which must read all documents before
// the first row, returns a full page even if reading has exceeded the page's time budget.
func TestFullPageOfSortedRows(t *testing.T) {
	var bodies [][]byte
	for i := range 200 {
		bodies = append(bodies, fmt.Appendf(nil, `{"id":"%d","n":%d}`, i, i*7%200))
	}
	p, err := Prepare("SELECT VALUE c.n FROM c ORDER BY c.n", nil, bind.ContainerInfo{Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	slow := eval.Env{Elapsed: func() time.Duration { return 2 * exec.DefaultBudget }}
	for _, n := range []int{1, 3} {
		page, err := p.Run(t.Context(), newPageStateStore(t, nil, bodies, n), slow,
			exec.RunOptions{MaxItems: 90})
		if err != nil || len(page.Rows) != 90 || page.Cursor == "" || string(page.Rows[89]) != "89" {
			t.Errorf("%d sources: %d rows, %v", n, len(page.Rows), err)
		}
	}
}
