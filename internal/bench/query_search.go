package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

const (
	// searchDocs is the maximum number of documents of the set for spatial, full text and vector queries.
	searchDocs  = 20_000
	dimensions  = 128
	nearMetres  = 2000
	vocabulary  = 2000
	textWords   = 20
	clusters    = 64
	clusterSize = 0.3 // distance of a vector from the center of its cluster, in each dimension
)

// near returns the location of a group of few documents, which are less than nearMetres apart and far from
// all others.
func (l valueDistribution) near(group int) (longitude, latitude float64) {
	side := 1
	for side*side < l.fewGroups() {
		side++
	}
	return -170 + 340*float64(group%side)/float64(side), -60 + 120*float64(group/side)/float64(side)
}

// topic returns a word that occurs only in the texts of a group.
func topic(group int) string { return fmt.Sprintf("topic%06d", group) }

// word draws a word of the vocabulary; the first words are much more frequent than the last.
func word(r *rand.Rand) string {
	u := r.Float64()
	return fmt.Sprintf("word%04d", int(vocabulary*u*u*u))
}

// searchedJSON returns the text of the i-th document, with a location, a text of words, and the same vector
// at four paths.
func (l valueDistribution) searchedJSON(i int) []byte {
	const jitter = 0.005 // degrees: less than 800 m
	r := rand.New(rand.NewPCG(uint64(i), 3))
	group := i % l.fewGroups()
	x, y := l.near(group)
	b := fmt.Appendf(nil, idStart+`%s","pk":"%s","n":%d,`, newDocument(i).id, l.partition(i),
		l.shuffled(i, strideN))
	b = fmt.Appendf(b, `"at":{"type":"Point","coordinates":[%.6f,%.6f]},"text":"`, x+jitter*(2*r.Float64()-1),
		y+jitter*(2*r.Float64()-1))
	at := r.IntN(textWords)
	for w := range textWords {
		if w == at {
			b = append(b, topic(group)+" "...)
			continue
		}
		b = append(b, word(r)+" "...)
	}
	b = append(b, '"')
	vector := vectorText(r, i%clusters)
	for _, name := range append(vectorIndexes(), "none") {
		b = fmt.Appendf(b, `,"%s":%s`, name, vector)
	}
	return append(b, '}')
}

// vectorIndexes returns the kinds of vector index; each kind is also the name of its path.
func vectorIndexes() []string { return []string{"flat", "quantizedFlat", "diskANN"} }

// vectorText returns a vector near the center of a cluster.
func vectorText(r *rand.Rand, cluster int) []byte {
	middle := rand.New(rand.NewPCG(uint64(cluster), 4))
	b := []byte{'['}
	for d := range dimensions {
		if d > 0 {
			b = append(b, ',')
		}
		v := middle.NormFloat64() + clusterSize*r.NormFloat64()
		b = strconv.AppendFloat(b, math.Round(v*1e4)/1e4, 'f', -1, 64)
	}
	return append(b, ']')
}

// searchSpec returns the definition of a container that indexes locations, words, vectors and the numbers
// that filters use.
func searchSpec() definition.ContainerSpec {
	spec := benchSpec()
	spec.ID = "search"
	spec.FullText = &definition.FullTextPolicy{DefaultLanguage: "en-US",
		Paths: []definition.FullTextPath{{Path: "/text"}}}
	spec.Indexing = index.Policy{
		Included: []index.IncludedOrExcludedPath{{Path: "/n/?"}},
		Excluded: []index.IncludedOrExcludedPath{{Path: "/*"}},
		Spatial:  []index.SpatialPath{{Path: "/at/?", Types: []string{"Point"}}},
		FullText: []index.FullTextPath{{Path: "/text"}},
	}
	spec.VectorEmbedding = &definition.VectorEmbeddingPolicy{}
	for _, name := range append(vectorIndexes(), "none") {
		spec.VectorEmbedding.Embeddings = append(spec.VectorEmbedding.Embeddings, definition.VectorEmbedding{
			Path: "/" + name, DataType: "float32", DistanceFunction: "cosine", Dimensions: dimensions})
	}
	for _, name := range vectorIndexes() {
		spec.Indexing.Vector = append(spec.Indexing.Vector, index.VectorPath{Path: "/" + name, Type: name})
	}
	return spec
}

// target returns the parameter @t of the k-th run of a query: a vector near the center of the k-th
// cluster.
func target(_ valueDistribution, k int) []store.QueryParameter {
	r := rand.New(rand.NewPCG(uint64(k), 5))
	return []store.QueryParameter{parameter("@t", jsondoc.Of(vectorText(r, k%clusters)))}
}

// hereParam returns the parameter @here of the k-th run of a query: a GeoJSON point at the location of a
// group of documents, another group for each k.
func hereParam(l valueDistribution, k int) []store.QueryParameter {
	x, y := l.near(l.askedFew(k))
	return []store.QueryParameter{parameter("@here",
		jsondoc.Of(fmt.Appendf(nil, `{"type":"Point","coordinates":[%.6f,%.6f]}`, x, y)))}
}

// aroundParam returns the parameter @around of the k-th run of a query: a square around the location of a
// group of documents, another group for each k.
func aroundParam(l valueDistribution, k int) []store.QueryParameter {
	const d = 0.02
	x, y := l.near(l.askedFew(k))
	return []store.QueryParameter{parameter("@around", jsondoc.Of(fmt.Appendf(nil,
		`{"type":"Polygon","coordinates":[[[%.6f,%.6f],[%.6f,%.6f],[%.6f,%.6f],[%.6f,%.6f],[%.6f,%.6f]]]}`,
		x-d, y-d, x+d, y-d, x+d, y+d, x-d, y+d, x-d, y-d)))}
}

// searchShapes returns the queries for a set of at most searchDocs documents.
func searchShapes() []queryShape {
	list := []queryShape{
		{name: "ST_DISTANCE < r (100)", with: hereParam,
			text: fmt.Sprintf(`SELECT VALUE c.id FROM c WHERE ST_DISTANCE(c["at"], @here) < %d`, nearMetres)},
		{name: "ST_WITHIN (100)", text: `SELECT VALUE c.id FROM c WHERE ST_WITHIN(c["at"], @around)`,
			with: aroundParam},
		{name: "FullTextContains (100)", text: `SELECT VALUE c.id FROM c WHERE FullTextContains(c.text, @v)`,
			with: one("topic%06d")},
		{name: "FullTextScore, TOP 10",
			text: `SELECT TOP 10 c.id FROM c ORDER BY RANK
				FullTextScore(c.text, 'word0007', 'word0150', 'word0500')`},
		{name: "RRF of words and diskANN, TOP 10", with: target,
			text: `SELECT TOP 10 c.id FROM c ORDER BY RANK RRF(
				FullTextScore(c.text, 'word0007', 'word0150'), VectorDistance(c.diskANN, @t))`},
	}
	for _, name := range append(vectorIndexes(), "none") {
		what := name
		if name == "none" {
			what = "no index"
		}
		list = append(list, queryShape{name: "vector, " + what + ", TOP 10", with: target,
			text: fmt.Sprintf(`SELECT TOP 10 c.id FROM c ORDER BY VectorDistance(c["%s"], @t)`, name)},
			queryShape{name: "vector, " + what + ", TOP 10, where range (100)", with: all(target, last(100)),
				text: fmt.Sprintf(`SELECT TOP 10 c.id FROM c WHERE c.n >= @from
					ORDER BY VectorDistance(c["%s"], @t)`, name)})
	}
	return list
}
