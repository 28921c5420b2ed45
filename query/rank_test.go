package query

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// inMemoryPartitionSource is an in-memory source restricted to the documents of one partition key. Its index
// also has entries of expired documents and of other partition keys.
type inMemoryPartitionSource struct {
	*fakePartitionRangeSource
	part  []uint64 // the rids of the partition, the dead among them; nil: all
	dead  []uint64
	blind bool // nobody knows who is dead
}

func (s *inMemoryPartitionSource) has(rid uint64) bool {
	_, gone := slices.BinarySearch(s.dead, rid)
	_, in := slices.BinarySearch(s.part, rid)
	return !gone && (s.part == nil || in)
}

func (s *inMemoryPartitionSource) Fetch(rid uint64) (source.Document, bool, error) {
	if !s.has(rid) {
		return nil, false, nil
	}
	return s.fakePartitionRangeSource.Fetch(rid)
}

func (s *inMemoryPartitionSource) Dead(int) ([]uint64, bool, error) {
	return s.dead, !s.blind && s.part == nil, nil
}
func (s *inMemoryPartitionSource) Count() (int64, bool) { return 0, false }

func (s *inMemoryPartitionSource) Partition() (source.PostingIterator, bool) {
	if s.part == nil {
		return nil, false
	}
	return s.rids(s.part), true
}

func (s *inMemoryPartitionSource) Scan(after uint64) source.DocumentIterator {
	s.opened++
	return &inMemoryPartitionScan{memoryDocumentIterator{m: s.fakePartitionRangeSource,
		at: s.find(after+1) - 1}, s}
}

type inMemoryPartitionScan struct {
	memoryDocumentIterator
	s *inMemoryPartitionSource
}

func (s *inMemoryPartitionScan) Next() bool {
	for s.memoryDocumentIterator.Next() {
		if s.s.has(s.Document().RID()) {
			return true
		}
	}
	return false
}

// RanksOfTheLiving checks that an index with entries of expired documents and of other partitions does not
// change the results of ORDER BY RANK. It compares the results of random queries on such an index with those
// of the same queries on the live documents without an index. first is the first seed.
func RanksOfTheLiving(t *testing.T, first uint64) {
	racetest.Sequential(t)
	x, err := index.NewIndexer(index.IndexingSettings{Policy: mustPolicy(specialPolicy),
		Vectors: map[string]int{"/v": 3}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d", first)
	for seed := first; seed < first+6; seed++ {
		r := rand.New(rand.NewPCG(seed, 5))
		n := 20 + r.IntN(100)
		if seed%3 == 0 {
			n = 2 * (exec.FewMembers + 50) // half of them are looked up
		}
		bodies := specialDocuments(r, n)
		blind, parted, sources := r.IntN(3) == 0, seed%3 == 0 || r.IntN(2) == 0, 1+r.IntN(3)
		var alive [][]byte
		indexed := newPageStateStore(t, x, bodies, sources)
		for i, src := range indexed {
			s := &inMemoryPartitionSource{fakePartitionRangeSource: src.(*fakePartitionRangeSource),
				blind: blind}
			for _, d := range s.docs {
				if r.IntN(4) == 0 {
					s.dead = append(s.dead, d.rid)
				}
				if parted && (len(s.part) == 0 || r.IntN(20) > 0) {
					s.part = append(s.part, d.rid)
				}
			}
			for _, d := range s.docs {
				if s.has(d.rid) {
					alive = append(alive, d.body)
				}
			}
			indexed[i] = s
		}
		plain := newPageStateStore(t, nil, alive, 1)
		for range 40 {
			text := randomRank(r)
			if r.IntN(3) == 0 {
				text = randomMerged(r)
			}
			page := r.IntN(2) * 7
			info := bind.ContainerInfo{Lenient: true, Vectors: map[string]string{"/v": "cosine"}}
			want, err := runAll(text, nil, info, plain, exec.RunOptions{})
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			info.Index = x
			got, err := runAll(text, nil, info, indexed, exec.RunOptions{MaxItems: page})
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if a, b := arrayOf(got).Raw(), arrayOf(want).Raw(); string(a) != string(b) {
				t.Fatalf("seed %d, %d documents, %d sources, parted %t, blind %t: %s\ngot  %s\nwant %s", seed,
					n, sources, parted, blind, text, a, b)
			}
		}
	}
}

// TestRankWithEqualScores checks ORDER BY RANK with more equal scores than the number of best rows that
// are taken by each score: with and without an index the same rows are returned.
func TestRankWithEqualScores(t *testing.T) {
	t.Parallel()
	x, err := index.NewIndexer(index.IndexingSettings{Policy: mustPolicy(specialPolicy)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var bodies [][]byte
	for i := range 600 {
		words := "sea hill"
		if i < 200 {
			words = "bike hill"
		} else if i >= 500 {
			words = "bike sea"
		}
		bodies = append(bodies, fmt.Appendf(nil, `{"id": "%d", "x": "%s"}`, i, words))
	}
	const text = `SELECT TOP 50 VALUE c.id FROM c
		ORDER BY RANK RRF(FullTextScore(c.x, "sea"), FullTextScore(c.x, "bike"))`
	want, err := runAll(text, nil, bind.ContainerInfo{Lenient: true}, newPageStateStore(t, nil, bodies, 1),
		exec.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := runAll(text, nil, bind.ContainerInfo{Lenient: true, Index: x}, newPageStateStore(t, x, bodies,
		1),
		exec.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := arrayOf(got).Raw(), arrayOf(want).Raw(); string(a) != string(b) {
		t.Errorf("got  %s\nwant %s", a, b)
	}
}

// randomRank returns a random query with ORDER BY RANK over the documents of specialDocuments.
func randomRank(r *rand.Rand) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	term := func() string {
		return pick(`"mountain"`, `"bike"`, `"the"`, `"blue sea"`, `"red"`, `"nowhere"`, `"road red"`,
			`{"term": "roat", "distance": 1}`, `{"term": "see swin", "distance": 2}`, `"biking mountains"`)
	}
	text := func() string {
		terms := []string{term()}
		for r.IntN(2) == 0 {
			terms = append(terms, term())
		}
		return "FullTextScore(c.x, " + strings.Join(terms, ", ") + ")"
	}
	score := func() string {
		if r.IntN(3) > 0 {
			return text()
		}
		return "VectorDistance(c.v, " + pick("[1,0,2]", "[0.5,1,1]", "[1,2]") +
			pick(")", `, false, {"distanceFunction":"euclidean"})`)
	}
	rank := score()
	if r.IntN(2) == 0 {
		rank = "RRF(" + score() + ", " + score() + pick("", ", [2, 1]", ", [1, -1]") + ")"
	}
	limit := pick("", fmt.Sprintf(" OFFSET %d LIMIT %d", r.IntN(5), r.IntN(80)))
	top := ""
	if limit == "" {
		top = pick("", "TOP 5 ", "TOP 40 ")
	}
	return "SELECT " + top + "VALUE " + pick("c.id", "c.id", "c.g.coordinates[0]") + " FROM c" +
		pick("", " WHERE c.k = 1", " WHERE c.k > 0", ` WHERE FullTextContains(c.x, "swim")`,
			" WHERE c.k = 0 AND c.id > \"3\"") + " ORDER BY RANK " + rank + limit
}

// randomMerged returns a random query of the kind that merging clients send to each partition range for an
// ORDER BY RANK.
func randomMerged(r *rand.Rand) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	term := func() string { return pick(`"swim"`, `"red"`, `"blue sea"`, `"nowhere"`, `"the"`) }
	if r.IntN(3) == 0 {
		return `SELECT COUNT(1) AS documentCount, [{"totalWordCount": SUM(_FullTextWordCount(c.x)), ` +
			`"hitCounts": [COUNTIF(FullTextContains(c.x, ` + term() + `)), ` +
			`COUNTIF(FullTextContains(c.x, ` + term() + `))]}] AS s FROM c`
	}
	score := `_FullTextScore(c.x, [` + term() + `, ` + term() + `], 1000, 7000, [` + pick("0", "3", "990") +
		`, 20])`
	return `SELECT ` + pick("", "TOP 3 ", "TOP 60 ") + `c.id, ` + score + ` AS score FROM c` +
		pick("", " WHERE c.k = 1", " WHERE c.k > 0", ` WHERE c.id < "2"`) + ` ORDER BY ` + score + ` DESC`
}

// TestRankReadsFewDocuments checks that ORDER BY RANK with an index reads no more than a given number of
// documents.
func TestRankReadsFewDocuments(t *testing.T) {
	t.Parallel()
	x, err := index.NewIndexer(index.IndexingSettings{Policy: mustPolicy(specialPolicy),
		Vectors: map[string]int{"/v": 3}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sources := newPageStateStore(t, x, specialDocuments(rand.New(rand.NewPCG(1, 1)), 2000), 2)
	fused := `RRF(VectorDistance(c.v, [1,0,2]), FullTextScore(c.x, "sea"))`
	for _, c := range []struct {
		text string
		most int64
	}{
		{`SELECT TOP 10 c.id FROM c ORDER BY RANK FullTextScore(c.x, "mountain", "road")`, 10},
		{`SELECT TOP 9 c.id FROM c ORDER BY RANK FullTextScore(c.x, {"term": "montain", "distance": 1})`, 9},
		{`SELECT TOP 10 c.id FROM c ORDER BY _FullTextScore(c.x, ["sea", "road"], 9, 30, [3, 4]) DESC`, 11},
		{`SELECT TOP 10 c.id FROM c ORDER BY _FullTextScore(c.x, ["nowhere"], 9, 30, [3]) DESC`, 11},
		{`SELECT SUM(_FullTextWordCount(c.x)), COUNTIF(FullTextContains(c.x, "swim")) FROM c`, 0},
		{`SELECT c.id FROM c WHERE c.id IN ("3", "4", "5") ORDER BY RANK FullTextScore(c.x, "sea")`, 9},
		{`SELECT TOP 5 c.id FROM c ORDER BY RANK FullTextScore(c.x, "nowhere")`, 5},
		{`SELECT TOP 5 c.id FROM c ORDER BY RANK VectorDistance(c.v, [1,0,2])`, 5},
		{`SELECT TOP 5 c.id FROM c WHERE c.id < "12" ORDER BY RANK VectorDistance(c.v, [1,0,2])`, 5},
		{`SELECT TOP 5 c.id FROM c WHERE c.id < "12" ORDER BY VectorDistance(c.v, [1,0,2])`, 6},
		{`SELECT TOP 5 c.id FROM c ORDER BY VectorDistance(c.v, [1,0,2])`, 6},
		// twice the 120 best by each score, and the rows
		{`SELECT TOP 5 c.id FROM c ORDER BY RANK ` + fused, 240},
		{`SELECT TOP 5 c.id FROM c WHERE c.id < "12" ORDER BY RANK ` + fused, 300},
	} {
		p, err := Prepare(c.text, nil,
			bind.ContainerInfo{Index: x, Vectors: map[string]string{"/v": "cosine"}})
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		page, err := p.Run(context.Background(), sources, eval.Env{}, exec.RunOptions{})
		if err != nil || page.Stats.Loaded > c.most {
			t.Errorf("%s reads %d documents (%v), want at most %d", c.text, page.Stats.Loaded, err, c.most)
		}
	}
}
