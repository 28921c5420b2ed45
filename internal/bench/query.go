package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// measureQueries runs queries of every kind on sets of documents of the sizes in --docs. Unless --shapes
// selects some kinds, it also measures scans in comparison with bare Pebble, writes with and without an
// index, and the memory that long queries use.
func (b *BenchmarkRun) measureQueries(ctx context.Context) (err error) {
	sets := b.querySets()
	defer func() {
		for _, s := range sets {
			drop(s.dir)
		}
	}()
	for _, s := range sets {
		if err := b.makeQuerySet(ctx, s); err != nil {
			return err
		}
	}
	if err := b.measureShapes(ctx, "queries of every shape", shapes(), sets); err != nil {
		return err
	}
	if err := b.measureSearches(ctx); err != nil || b.Shapes != "" {
		return err
	}
	for _, part := range []func(context.Context, []queryBenchmarkDataSet) error{
		b.measureScans, b.measureIndexing, b.measureHeap,
	} {
		if err := part(ctx, sets); err != nil {
			return err
		}
	}
	return nil
}

// queryBenchmarkDataSet is a closed store in the folder dir, with one of the document sets on which the
// benchmark measures queries, and the definition of these documents.
type queryBenchmarkDataSet struct {
	valueDistribution
	dir  string
	spec definition.ContainerSpec
	text func(i int) []byte // text of the i-th document
}

func (s queryBenchmarkDataSet) String() string { return thousands(int64(s.docs)) + " documents" }

func (b *BenchmarkRun) querySets() (sets []queryBenchmarkDataSet) {
	for _, n := range b.queryDocs() {
		l := valueDistribution{n}
		sets = append(sets, queryBenchmarkDataSet{l, b.path("query-" + strconv.Itoa(n)), querySpec(), l.json})
	}
	return sets
}

// queryDocs returns the numbers of documents of the data sets that the section query measures.
func (b *BenchmarkRun) queryDocs() []int {
	if len(b.Docs) == 0 {
		return []int{defaultQueryDocs}
	}
	return b.Docs
}

const (
	defaultQueryDocs = 10_000
	minQueryDocs     = 1000
	maxQueryDocs     = 100_000_000
)

// validateQueries checks the options of the section query. The size of each set of documents must be a
// multiple of minQueryDocs, so that valueDistribution can divide the set.
func (b *BenchmarkRun) validateQueries() error {
	for _, n := range b.queryDocs() {
		if n < minQueryDocs || n > maxQueryDocs || n%minQueryDocs != 0 {
			return &OptionError{"docs", fmt.Sprintf(" %d: to query, a multiple of %d up to %d is needed", n,
				minQueryDocs, maxQueryDocs)}
		}
	}
	if _, err := regexp.Compile(b.Shapes); err != nil {
		return &OptionError{"shapes", " " + b.Shapes + ": " + err.Error()}
	}
	return nil
}

// measureSearches runs spatial, full text and vector queries on a separate set.
func (b *BenchmarkRun) measureSearches(ctx context.Context) error {
	list := b.chosen(searchShapes())
	if len(list) == 0 {
		return nil
	}
	sizes := b.queryDocs()
	l := valueDistribution{min(sizes[len(sizes)-1], searchDocs)}
	set := queryBenchmarkDataSet{l, b.path("search"), searchSpec(), l.searchedJSON}
	defer drop(set.dir)
	if err := b.makeQuerySet(ctx, set); err != nil {
		return err
	}
	what := fmt.Sprintf("places, words and vectors of %d dimensions", dimensions)
	return b.measureShapes(ctx, what, list, []queryBenchmarkDataSet{set})
}

// chosen returns the kinds of queries in list that --shapes selects.
func (b *BenchmarkRun) chosen(list []queryShape) (some []queryShape) {
	re := regexp.MustCompile(b.Shapes)
	for _, s := range list {
		if re.MatchString(s.name) {
			some = append(some, s)
		}
	}
	return some
}

// openSets opens the stores with the sets of documents that queries are measured on. The caller closes the
// returned stores even if there is an error.
func (b *BenchmarkRun) openSets(ctx context.Context, sets []queryBenchmarkDataSet) (open []io.Closer,
	containers []*store.Container, err error) {
	for _, s := range sets {
		db, c, err := b.queryContainer(ctx, storeOpenOptions{engine: pebble.Options{Dir: s.dir}}, s.spec)
		if err != nil {
			return open, nil, err
		}
		open, containers = append(open, db), append(containers, c)
	}
	return open, containers, nil
}

func closeAll(open []io.Closer, err *error) {
	for _, c := range open {
		*err = errors.Join(*err, c.Close())
	}
}
