package store

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store/definition"
)

// benchSearch creates a container with n random documents. Each has a text of 30 words, few frequent and
// most rare, and a vector with the given number of dimensions, or none if that is 0.
func benchSearch(b *testing.B, n, dimensions int, policy string) *Container {
	b.Helper()
	db, _, _ := benchStore(b, 0)
	p, err := index.Parse([]byte(policy))
	if err != nil {
		b.Fatal(err)
	}
	spec := definition.ContainerSpec{ID: "search", Indexing: p,
		PartitionKey: definition.PartitionKeyDefinition{Paths: []string{"/pk"}, Kind: definition.KindHash,
			Version: 2},
		FullText: &definition.FullTextPolicy{DefaultLanguage: "en-US",
			Paths: []definition.FullTextPath{{Path: "/text"}}}}
	if dimensions > 0 {
		spec.VectorEmbedding = &definition.VectorEmbeddingPolicy{Embeddings: []definition.VectorEmbedding{
			{Path: "/v", DataType: "float32", DistanceFunction: "cosine", Dimensions: dimensions}}}
	}
	d, err := db.Database("d")
	if err != nil {
		b.Fatal(err)
	}
	c, err := d.CreateContainer(b.Context(), spec, definition.Throughput{})
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		k := benchKey(i)
		body := fmt.Appendf(nil, `{"id":%q,"pk":"user-%06d","n":%d,"text":"`, k.ID, i/10, i)
		for range 30 {
			body = fmt.Appendf(body, "word%d ", int(math.Exp(r.Float64()*9)))
		}
		if body = append(body, '"'); dimensions > 0 {
			body = append(body, `,"v":`...)
			body = append(appendVector(body, r, dimensions), ' ')
		}
		if _, _, err := c.Create(b.Context(), k.Partition, append(body, '}'), WriteOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	return c
}

func appendVector(dst []byte, r *rand.Rand, dimensions int) []byte {
	for i := range dimensions {
		dst = fmt.Appendf(append(dst, "[,"[min(i, 1)]), "%.6f", r.NormFloat64())
	}
	return append(dst, ']')
}

// BenchmarkFullTextScore measures ranking 20,000 texts by words that occur in one of 5, of 50 and of 400
// texts.
func BenchmarkFullTextScore(b *testing.B) {
	c := benchSearch(b, benchQueryDocs, 0,
		`{"excludedPaths":[{"path":"/text/?"}],"fullTextIndexes":[{"path":"/text"}]}`)
	for _, q := range []struct{ name, where, rank string }{
		{"word", "", `FullTextScore(c.text, "word60")`},
		{"words", "", `FullTextScore(c.text, "word13", "word160", "word1500")`},
		{"fuzzy", "", `FullTextScore(c.text, {"term": "word160", "distance": 1})`},
		{"phrase", "", `FullTextScore(c.text, "word13 word20")`},
		{"filter", "WHERE c.n < 1000 ", `FullTextScore(c.text, "word13", "word160")`},
		{"fusion", "", `RRF(FullTextScore(c.text, "word13"), FullTextScore(c.text, "word160"))`},
	} {
		b.Run(q.name, func(b *testing.B) {
			benchQuery(b, c, 10, `SELECT TOP 10 c.id FROM c `+q.where+`ORDER BY RANK `+q.rank)
		})
	}
	b.Run("statistics", func(b *testing.B) {
		benchQuery(b, c, 1, `SELECT COUNT(1), SUM(_FullTextWordCount(c.text)),
			COUNTIF(FullTextContains(c.text, "word60")) FROM c`)
	})
	b.Run("component", func(b *testing.B) {
		benchQuery(b, c, 120, `SELECT TOP 120 c.id FROM c
			ORDER BY _FullTextScore(c.text, ["word60"], 20000, 600000, [1000]) DESC`)
	})
}

// benchVectorPolicy returns an indexing policy with a vector index of the given type; "none": without one.
func benchVectorPolicy(kind string) string {
	policy := `{"excludedPaths":[{"path":"/text/?"},{"path":"/v/*"}]`
	if kind != "none" {
		policy += `,"vectorIndexes":[{"path":"/v","type":"` + kind + `"}]`
	}
	return policy + "}"
}

// BenchmarkVectorDistance measures queries for the 10 nearest of 20,000 vectors of 128 dimensions, with
// and without a further condition.
func BenchmarkVectorDistance(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	query := string(appendVector(nil, r, 128))
	for _, kind := range []string{"flat", "quantizedFlat", "none"} {
		c := benchSearch(b, benchQueryDocs, 128, benchVectorPolicy(kind))
		for _, q := range []struct{ name, where string }{
			{"all", ""}, {"100", "WHERE c.n < 100 "}, {"2000", "WHERE c.n < 2000 "},
			{"half", "WHERE c.n < 10000 "},
		} {
			b.Run(kind+"/"+q.name, func(b *testing.B) {
				benchQuery(b, c, 10,
					`SELECT TOP 10 c.id FROM c `+q.where+`ORDER BY VectorDistance(c.v, `+query+`)`)
			})
		}
	}
}

// BenchmarkNearest measures queries for the 10 nearest of 100,000 vectors of 384 dimensions.
func BenchmarkNearest(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	query := string(appendVector(nil, r, 384))
	for _, kind := range []string{"flat", "quantizedFlat"} {
		b.Run(kind, func(b *testing.B) {
			c := benchSearch(b, 100_000, 384, benchVectorPolicy(kind))
			benchQuery(b, c, 10, `SELECT TOP 10 c.id FROM c ORDER BY VectorDistance(c.v, `+query+`)`)
		})
	}
}
