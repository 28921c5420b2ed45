package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

const (
	// maxQueryList is how many documents are picked in a set, and perGroup is how many times less a group
	// has.
	maxQueryList = 10_000
	perGroup     = 100
	// queryCache holds all that the queries over a group touch, and all of the smaller sets.
	queryCache = readCache
)

// layout says what the documents of a set have in common. A set of any size has as many picked documents, and
// as many in a group, as a larger one; they are spread evenly over the whole, and those of some groups are
// all picked.
type layout struct {
	docs int // in the set, a multiple of list
	list int // how many are picked, a multiple of perGroup
}

func (l layout) rows() int         { return l.list / perGroup } // of a group
func (l layout) groups() int       { return l.docs / l.rows() }
func (l layout) picked(i int) bool { return i%(l.docs/l.list) == 0 }
func (l layout) group(i int) int   { return i % l.groups() }

// seq numbers the documents from 0 on in another order than the one in which they were stored.
func (l layout) seq(i int) int {
	const stride = 1<<31 - 1 // a prime that is larger than the set, so that no two are the same
	return i * stride % l.docs
}

// queryTurns is how many values a query is asked with in turn, so that it is not the same documents each
// time.
const queryTurns = 16

// askedGroup is the k-th of the groups that are asked for; all of its documents are picked.
func (l layout) askedGroup(k int) int {
	return k % queryTurns * (perGroup / queryTurns) * (l.docs / l.list)
}

// asked is the k-th of as many numbers below the size of the set.
func (l layout) asked(k int) int { return k % queryTurns * (l.docs / queryTurns) }

// weights is how many values the property has that scans look for.
const weights = 1000

// json is the text of the i-th document. The weight is in the middle of its properties. A coin is tossed for
// heads or tails.
func (l layout) json(i int) []byte {
	d, r := newDocument(i), rand.New(rand.NewPCG(uint64(i), 2))
	b := make([]byte, 0, benchDocBytes)
	b = fmt.Appendf(b, idStart+
		`%s","pk":"%s","type":"order","status":"%s","group":%d,"seq":%d,"picked":%t,"weight":%d,`,
		d.id, d.pk, []string{"open", "paid", "sent",
			"done"}[r.IntN(4)], l.group(i), l.seq(i), l.picked(i), i%weights)
	heads := r.IntN(2) == 0
	b = fmt.Appendf(b, `"heads":%t,"tails":%t,"name":"%s","email":"%s@example.com","address":{"city":"%s"},"note":"`,
		heads, !heads, letters(r, 12), letters(r, 10), letters(r, 8))
	return pad(b, r)
}

// pad fills a document up to its size with the text of its last property.
func pad(b []byte, r *rand.Rand) []byte {
	b = append(b, letters(r, benchDocBytes-len(b)-len(`"}`))...)
	return append(b, `"}`...)
}

// querySpec indexes everything but what scans look for and the text that pads the documents.
func querySpec() definition.ContainerSpec {
	spec := benchSpec()
	spec.ID = "queries"
	spec.Indexing = index.Policy{
		Included:  []index.PathSpec{{Path: "/*"}},
		Excluded:  []index.PathSpec{{Path: "/weight/?"}, {Path: "/nothing/?"}, {Path: "/note/?"}},
		Composite: [][]index.CompositePath{{{Path: "/group"}, {Path: "/seq"}}},
	}
	return spec
}

// near is where the documents of a group lie on the globe: closer together than nearMetres, and far from all
// others.
func (l layout) near(group int) (longitude, latitude float64) {
	side := 1
	for side*side < l.groups() {
		side++
	}
	return -170 + 340*float64(group%side)/float64(side), -60 + 120*float64(group/side)/float64(side)
}

const nearMetres = 2000

// topic is a word in the texts of a group alone.
func (l layout) topic(group int) string { return fmt.Sprintf("topic%06d", group) }

// placedJSON is the text of the i-th document with a place and a text of words.
func (l layout) placedJSON(i int) []byte {
	const words, vocabulary, jitter = 20, 2000, 0.005 // degrees: less than 800 m
	d, r := newDocument(i), rand.New(rand.NewPCG(uint64(i), 3))
	group := l.group(i)
	x, y := l.near(group)
	b := make([]byte, 0, benchDocBytes)
	b = fmt.Appendf(b, idStart+`%s","pk":"%s","at":{"type":"Point","coordinates":[%.6f,%.6f]},"text":"`,
		d.id, d.pk, x+jitter*(2*r.Float64()-1), y+jitter*(2*r.Float64()-1))
	at := r.IntN(words)
	for w := range words {
		word := fmt.Sprintf("word%04d ", r.IntN(vocabulary))
		if w == at {
			word = l.topic(group) + " "
		}
		b = append(b, word...)
	}
	return pad(append(b, `","note":"`...), r)
}

// placedSpec indexes places and words alone.
func placedSpec() definition.ContainerSpec {
	spec := benchSpec()
	spec.ID = "places"
	spec.FullText = &definition.FullTextPolicy{DefaultLanguage: "en-US",
		Paths: []definition.FullTextPath{{Path: "/text"}}}
	spec.Indexing = index.Policy{
		Excluded: []index.PathSpec{{Path: "/*"}},
		Spatial:  []index.SpatialPath{{Path: "/at/?", Types: []string{"Point"}}},
		FullText: []index.FullTextPath{{Path: "/text"}},
	}
	return spec
}

// queryContainer opens a store and the container of a spec in it, and makes both where they are missing.
func (b *Bench) queryContainer(ctx context.Context, o opening, spec definition.ContainerSpec) (db *store.DB,
	c *store.Container, err error) {
	db, _, err = b.open(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	d, err := db.Database(benchDatabase)
	if err == nil {
		if c, err = d.Container(spec.ID); err != nil {
			c, err = d.CreateContainer(ctx, spec, definition.Throughput{})
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, c, nil
}

// makeQueryData makes a compacted store of a set of documents.
func (b *Bench) makeQueryData(ctx context.Context, dir string, spec definition.ContainerSpec, l layout,
	text func(i int) []byte) error {
	db, c, err := b.queryContainer(ctx, opening{engine: pebble.Options{Dir: dir}}, spec)
	if err != nil {
		return err
	}
	b.progress.Start("filling a store to query: "+thousands(int64(l.docs)), l.docs)
	err = workers(ctx, benchLoaders, 0, l.docs, func(i int) error {
		b.progress.Step(1)
		_, _, err := c.Create(ctx, newDocument(i).key(), text(i), store.WriteOptions{})
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	b.progress.Start("compacting", 1)
	return compactFolder(ctx, dir)
}

// parameter is a named value of a query.
func parameter(name string, v doc.Value) store.Parameter {
	return store.Parameter{Name: name, Value: v}
}

func number(n int) doc.Value { return doc.NumberValue(float64(n)) }
