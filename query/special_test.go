package query

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
)

const specialPolicy = `{"indexingMode":"consistent","includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/v/*"}],
	"spatialIndexes":[{"path":"/g/*","types":["Point","Polygon"]}],"vectorIndexes":[{"path":"/v","type":"flat"}],
	"fullTextIndexes":[{"path":"/x"}]}`

// specialDocuments returns n random documents, most of which have a point (g), a vector (v) and a text
// (x).
func specialDocuments(r *rand.Rand, n int) [][]byte {
	words := []string{"red", "blue", "mountain", "mountains", "bike", "biking", "the", "road", "swim", "sea"}
	bodies := make([][]byte, n)
	for i := range bodies {
		b := fmt.Appendf(nil, `{"id":"%d","k":%d`, i, r.IntN(3))
		if r.IntN(8) > 0 {
			b = fmt.Appendf(b, `,"g":{"type":"Point","coordinates":[%d.5,%d.25]}`, r.IntN(20)-10,
				r.IntN(20)-10)
		}
		switch r.IntN(8) {
		case 0:
		case 1:
			b = append(b, `,"v":[0,0,0]`...)
		case 2:
			b = append(b, `,"v":[1,2]`...)
		default:
			b = fmt.Appendf(b, `,"v":[%v,%v,%v]`, r.Float64(), r.Float64(), r.IntN(3))
		}
		if r.IntN(8) > 0 {
			var text []string
			for range r.IntN(12) {
				text = append(text, words[r.IntN(len(words))])
			}
			b = fmt.Appendf(b, `,"x":"%s"`, strings.Join(text, " "))
		}
		bodies[i] = fmt.Appendf(b, `,"o":{"k":%d,"x":"red sea %d"}}`, r.IntN(3), i)
	}
	return bodies
}

// TestResultsWithSpecialIndexes checks that queries that use spatial, vector and full text indexes
// return the same as without an index.
func TestResultsWithSpecialIndexes(t *testing.T) {
	racetest.Sequential(t)
	point := `{"type":"Point","coordinates":[0.4,0.3]}`
	box := `{"type":"Polygon","coordinates":[[[-3,-3],[4,-3],[4,5],[-3,5],[-3,-3]]]}`
	queries := []string{
		`SELECT VALUE c.id FROM c WHERE ST_DISTANCE(c.g, ` + point + `) < 400000`,
		`SELECT VALUE c.id FROM c WHERE 300000 >= ST_DISTANCE(` + point + `, c.g) AND c.k = 1`,
		`SELECT VALUE c.id FROM c WHERE ST_WITHIN(c.g, ` + box + `)`,
		`SELECT VALUE c.id FROM c WHERE ST_INTERSECTS(` + box + `, c.g) ORDER BY c.k DESC`,
		`SELECT VALUE c.id FROM c WHERE FullTextContains(c.x, "mountain bike")`,
		`SELECT VALUE c.id FROM c WHERE FullTextContainsAll(c.x, "red", "road") AND c.k > 0`,
		`SELECT VALUE c.id FROM c WHERE FullTextContainsAny(c.x, "swim", "blue sea")`,
		`SELECT VALUE c.id FROM c WHERE FullTextContains(c.x, {"term": "swam", "distance": 1})`,
		`SELECT VALUE c.id FROM c ORDER BY VectorDistance(c.v, [1,0,2])`,
		`SELECT TOP 5 c.id, VectorDistance(c.v, [1,0,2]) AS d FROM c WHERE c.k < 2 ORDER BY VectorDistance(c.v, [1,0,2])`,
		`SELECT VALUE c.id FROM c ORDER BY VectorDistance([0.5,1,1], c.v, false, {"distanceFunction":"Euclidean"}) OFFSET 1 LIMIT 7`,
		`SELECT VALUE c.id FROM c ORDER BY VectorDistance(c.v, [1,0,2], false, {"distanceFunction":"dotproduct"})`,
		`SELECT VALUE c.id FROM c ORDER BY VectorDistance(c.v, [1,2])`,
		`SELECT TOP 6 VALUE c.id FROM c ORDER BY RANK FullTextScore(c.x, "mountain", "road")`,
		`SELECT g FROM c.g g ORDER BY VectorDistance(g.coordinates, [1,2])`,
		`SELECT TOP 9 * FROM c.o o WHERE o.k > 0 ORDER BY RANK FullTextScore(o.x, "sea")`,
		`SELECT TOP 6 VALUE c.id FROM c WHERE c.k != 1 ORDER BY RANK FullTextScore(c.x, "blue sea")`,
		`SELECT VALUE c.id FROM c ORDER BY RANK RRF(FullTextScore(c.x, "bike"), VectorDistance(c.v, [1,1,1])) OFFSET 2 LIMIT 6`,
		`SELECT VALUE c.id FROM c ORDER BY RANK RRF(VectorDistance(c.v, [1,0,1]), FullTextScore(c.x, "swim", "red"), [1, -2])`,
	}
	x, err := index.NewIndexer(index.IndexingSettings{Policy: mustPolicy(specialPolicy),
		Vectors: map[string]int{"/v": 3}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	vectors := map[string]string{"/v": "cosine"}
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 3))
		bodies := specialDocuments(r, 10+r.IntN(80))
		plain := newPageStateStore(t, nil, bodies, 1)
		for _, text := range queries {
			want, err := runAll(text, nil, bind.ContainerInfo{Lenient: true, Vectors: vectors}, plain,
				exec.RunOptions{})
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			for _, n := range []int{1, 3} {
				for _, page := range []int{0, 3} {
					got, err := runAll(text, nil,
						bind.ContainerInfo{Index: x, Lenient: true, Vectors: vectors},
						newPageStateStore(t, x, bodies, n), exec.RunOptions{MaxItems: page})
					if err != nil {
						t.Fatalf("%s: %v", text, err)
					}
					if a, b := arrayOf(got).Raw(), arrayOf(want).Raw(); string(a) != string(b) {
						t.Fatalf("seed %d, %d sources, pages of %d: %s\ngot  %s\nwant %s", seed, n, page,
							text, a, b)
					}
				}
			}
		}
	}
}

// TestSpecialIndexesReadFewDocuments checks that queries that use an index read no more than a given number
// of documents.
func TestSpecialIndexesReadFewDocuments(t *testing.T) {
	t.Parallel()
	x, err := index.NewIndexer(index.IndexingSettings{Policy: mustPolicy(specialPolicy),
		Vectors: map[string]int{"/v": 3}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sources := newPageStateStore(t, x, specialDocuments(rand.New(rand.NewPCG(1, 1)), 400), 1)
	for text, most := range map[string]int64{
		`SELECT * FROM c WHERE ST_DISTANCE(c.g, {"type":"Point","coordinates":[0.5,0.25]}) < 1000`:                  20,
		`SELECT * FROM c WHERE FullTextContains(c.x, "swim") AND c.id = "7"`:                                        1,
		`SELECT TOP 3 * FROM c ORDER BY VectorDistance(c.v, [1,0,2])`:                                               20,
		`SELECT TOP 5 * FROM c ORDER BY c.id DESC`:                                                                  6,
		`SELECT * FROM c WHERE c.id IN ("3", "4") AND c.k >= 0`:                                                     2,
		`SELECT * FROM c WHERE c.id BETWEEN "10" AND "12"`:                                                          23,
		`SELECT VALUE COUNT(1) FROM c`:                                                                              0,
		`SELECT MIN(c.id), MAX(c.id) FROM c`:                                                                        2,
		`SELECT VALUE c.id FROM c WHERE STARTSWITH(c.id, "39")`:                                                     11,
		`SELECT VALUE c.id FROM c WHERE EXISTS(SELECT VALUE n FROM n IN c.g.coordinates WHERE n = -9.5)`:            60,
		`SELECT VALUE c.id FROM c JOIN n IN c.g.coordinates WHERE n = -9.5 AND (c.id = "1" OR c.id LIKE "2%")`:      60,
		`SELECT VALUE c.id FROM c WHERE (c.id = "1" AND c.k = 2) OR (c.id = "2" AND c.k = 2) OR c.id = "3"`:         3,
		`SELECT VALUE c.id FROM c WHERE c._ts = 1700000005`:                                                         1,
		`SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.k FROM c WHERE c.id < "100")`:                          3,
		`SELECT * FROM c WHERE ((c.id > "98") OR IS_ARRAY(c.id) OR IS_OBJECT(c.id)) ORDER BY c.id OFFSET 0 LIMIT 1`: 3,
	} {
		p, err := Prepare(text, nil, bind.ContainerInfo{Index: x, Vectors: map[string]string{"/v": "cosine"}})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		page, err := p.Run(context.Background(), sources, eval.Env{}, exec.RunOptions{})
		if err != nil || page.Stats.Loaded > most {
			t.Errorf("%s reads %d documents (%v), want at most %d\n%s", text, page.Stats.Loaded, err, most, p)
		}
	}
}

// TestRankFusion checks ORDER BY RANK with one and with several scores on four documents, whose ranks were
// computed by hand.
func TestRankFusion(t *testing.T) {
	t.Parallel()
	bodies := [][]byte{
		[]byte(`{"id":"a","x":"bike bike sea","v":[0,1]}`),
		[]byte(`{"id":"b","x":"bike road red","v":[1,0]}`),
		[]byte(`{"id":"c","x":"road","v":[1,0.1]}`),
		[]byte(`{"id":"d"}`),
	}
	sources := newPageStateStore(t, nil, bodies, 2)
	// By text: a, b, then c without the word, d without a text. By vector: b, c, a, d. So a has 1/61+1/63, b
	// 1/62+1/61, c 1/63+1/62.
	for text, want := range map[string]string{
		`SELECT VALUE c.id FROM c ORDER BY RANK FullTextScore(c.x, "biking")`:                                              `["a","b","c","d"]`,
		`SELECT VALUE c.id FROM c ORDER BY RANK VectorDistance(c.v, [1,0])`:                                                `["b","c","a","d"]`,
		`SELECT VALUE c.id FROM c ORDER BY RANK RRF(FullTextScore(c.x, "bike"), VectorDistance(c.v, [1,0]))`:               `["b","a","c","d"]`,
		`SELECT TOP 2 VALUE c.id FROM c ORDER BY RANK RRF(FullTextScore(c.x, "bike"), VectorDistance(c.v, [1,0]), [5, 1])`: `["a","b"]`,
	} {
		got, err := runAll(text, nil, bind.ContainerInfo{}, sources, exec.RunOptions{})
		if err != nil || string(arrayOf(got).Raw()) != want {
			t.Errorf("%s gives %s (%v), want %s", text, arrayOf(got).Raw(), err, want)
		}
	}
}

// TestVectorPolicy checks that VectorDistance uses the distance function of the container's vector policy.
func TestVectorPolicy(t *testing.T) {
	t.Parallel()
	sources := newPageStateStore(t, nil, [][]byte{[]byte(`{"id":"far","v":[9,0]}`), []byte(`{"id":"none"}`),
		[]byte(`{"id":"near","v":[1,1]}`)}, 1)
	for distance, want := range map[string][]string{"euclidean": {"near", "far", "none"},
		"dotproduct": {"far", "near", "none"}} {
		got, err := runAll(`SELECT VALUE c.id FROM c ORDER BY VectorDistance(c.v, [1,0])`, nil,
			bind.ContainerInfo{Vectors: map[string]string{"/v": distance}},
			sources, exec.RunOptions{MaxItems: 1})
		var ids []string
		for _, v := range got {
			ids = append(ids, v.Str())
		}
		if err != nil || !slices.Equal(ids, want) {
			t.Errorf("%s: %v (%v), want %v", distance, ids, err, want)
		}
	}
	got, err := runAll(`SELECT VALUE VectorDistance(c.v, [1,0]) FROM c WHERE c.id = "near"`, nil,
		bind.ContainerInfo{Vectors: map[string]string{"/v": "euclidean"}},
		sources, exec.RunOptions{})
	if err != nil || len(got) != 1 || !jsondoc.Equal(got[0], jsondoc.NumberValue(1)) {
		t.Errorf("got %v, %v", got, err)
	}
}
