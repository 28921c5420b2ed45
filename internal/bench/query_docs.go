package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

const (
	// queryDocBytes is the size of each document of a query set.
	queryDocBytes = 480
	// fewDocs is the number of documents with the same name, mail, city or tag, in a set of any size.
	fewDocs = 100
	// rareDocs is the number of documents with the property rare, in a set of any size.
	rareDocs = 200
	// quietDocs is the number of documents in the partition that was written first, before all others.
	quietDocs = 200
	// maxGroups is the number of values of the property grp in a set that is large enough.
	maxGroups = 100_000
	// weights is the number of different values of the property that is not indexed.
	weights = 1000
	// queryCache is the size in bytes of the block cache for scans, of Mayfly and of bare Pebble. It holds
	// all data that a scan reads.
	queryCache = readCache
)

// valueDistribution defines the values that the documents of a set share. The number of matches of an indexed
// query is the same in a set of any size; an aggregate covers the same fraction of each set.
type valueDistribution struct{ docs int }

// Primes larger than any set. The multiples of a prime, modulo the size of the set, are a permutation of all
// numbers below the size. Each property uses its own prime, so no property of a document determines another.
const (
	strideN      = 2_147_483_647
	strideStatus = 1_610_612_741
	strideCat    = 805_306_457
	strideTen    = 402_653_189
	strideGroup  = 201_326_611
	strideName   = 100_663_319
	strideMail   = 2_147_483_629
)

// shuffled maps the number i of a document to a number below the number of documents, each to a different
// one, in an order that looks random. stride is a prime that selects the permutation.
func (l valueDistribution) shuffled(i, stride int) int { return i * stride % l.docs }

// share assigns each document one of the numbers below parts, each number to equally many documents, in a
// pseudo-random order that the prime stride determines. It returns the number of the i-th document.
func (l valueDistribution) share(i, stride, parts int) int {
	return l.shuffled(i, stride) * parts / l.docs
}

func (l valueDistribution) groups() int    { return min(l.docs/2, maxGroups) }
func (l valueDistribution) fewGroups() int { return l.docs / fewDocs }

// partition returns the partition key of the i-th document. Two partitions were written first and never
// again, one of them with a hundredth of all documents. One has a tenth of all documents. The others have few
// documents each and are written all the time.
func (l valueDistribution) partition(i int) string {
	switch {
	case i < quietDocs:
		return "quiet"
	case i < quietDocs+l.docs/100:
		return "old"
	case i%10 == 0:
		return "big"
	}
	return smallPartition(i % l.fewGroups())
}

func smallPartition(k int) string { return fmt.Sprintf("p%06d", k) }

func active(l valueDistribution, k int) string { return smallPartition(l.askedFew(k)) }
func inQuiet(valueDistribution, int) string    { return "quiet" }
func inOld(valueDistribution, int) string      { return "old" }
func inBig(valueDistribution, int) string      { return "big" }

func statuses() []string { return []string{"open", "paid", "sent", "done"} }

// queryTurns is the number of values with which a query runs in turn, so that it does not read the same
// documents each time.
const queryTurns = 16

// asked returns the number of the document that a query reads in its k-th run. The runs read queryTurns
// different documents, spread over the whole set, and then the same ones again.
func (l valueDistribution) asked(k int) int { return k % queryTurns * (l.docs / queryTurns) }

// askedFew returns the number of the group of about fewDocs documents that the k-th run of a query reads. The
// number repeats after queryTurns runs. It ends in 1, because there is no small partition whose number ends
// in 0.
func (l valueDistribution) askedFew(k int) int {
	return (1 + k%queryTurns*max(10, l.fewGroups()/queryTurns/10*10)) % l.fewGroups()
}

// json returns the text of the i-th document.
func (l valueDistribution) json(i int) []byte {
	r := rand.New(rand.NewPCG(uint64(i), 2))
	b := make([]byte, 0, queryDocBytes)
	b = fmt.Appendf(b, idStart+`%s","pk":"%s","status":"%s","cat":"cat-%02d","ten":%d,"grp":%d,`,
		newDocument(i).id, l.partition(i), statuses()[l.share(i, strideStatus, 4)],
		l.share(i, strideCat, 100), l.share(i, strideTen, 10), l.shuffled(i, strideGroup)%l.groups())
	b = fmt.Appendf(b, `"n":%d,"seq":%d,"ts":%d,`, l.shuffled(i, strideN), i, firstTS+i)
	if i%(l.docs/rareDocs) == 0 {
		b = fmt.Appendf(b, `"rare":%d,`, i)
	}
	heads, first := l.share(i, strideTen, 20)%2 == 0, "cold"
	if l.share(i, strideMail, 2) == 0 {
		first = "hot"
	}
	b = fmt.Appendf(b, `"tags":["%s","t%06d"],"name":"%06d-%s","mail":"%s@%06d.org","weight":%d,`,
		first, i%l.fewGroups(), l.share(i, strideName, l.fewGroups()), letters(r, 6),
		letters(r, 7), l.share(i, strideMail, l.fewGroups()), i%weights)
	b = fmt.Appendf(b, `"heads":%t,"tails":%t,"address":{"city":"city%06d"},"note":"`,
		heads, !heads, i%l.fewGroups())
	return pad(b, r, queryDocBytes)
}

// firstTS is the property ts of the first document; it grows by one with each document.
const firstTS = 1_800_000_000

// pad fills a document to its size with the text of its last property.
func pad(b []byte, r *rand.Rand, size int) []byte {
	b = append(b, letters(r, max(0, size-len(b)-len(`"}`)))...)
	return append(b, `"}`...)
}

// querySpec returns the definition of the container for query sets. Everything is indexed except the
// property weight, by which scans filter, and the text that pads the documents.
func querySpec() definition.ContainerSpec {
	spec := benchSpec()
	spec.ID = "queries"
	spec.Indexing = index.Policy{
		Included: []index.IncludedOrExcludedPath{{Path: "/*"}},
		Excluded: []index.IncludedOrExcludedPath{{Path: "/weight/?"}, {Path: "/nothing/?"},
			{Path: "/note/?"}},
		Composite: [][]index.CompositePathSpec{{{Path: "/status"}, {Path: "/n"}},
			{{Path: "/cat"}, {Path: "/ts"}}},
	}
	return spec
}

// queryContainer opens a store and its container, and creates both if they do not exist.
func (b *BenchmarkRun) queryContainer(ctx context.Context, o storeOpenOptions,
	spec definition.ContainerSpec) (db *store.DB,
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

// queryLoaders is the number of concurrent batches that fill a set.
const queryLoaders = 4

// makeQuerySet creates a compacted store of a set of documents.
func (b *BenchmarkRun) makeQuerySet(ctx context.Context, s queryBenchmarkDataSet) error {
	db, c, err := b.queryContainer(ctx, storeOpenOptions{engine: pebble.Options{Dir: s.dir}}, s.spec)
	if err != nil {
		return err
	}
	b.progress.Start("filling a store to query: "+thousands(int64(s.docs)), s.docs)
	batches := (s.docs + store.MaxBatchOperations - 1) / store.MaxBatchOperations
	err = workers(ctx, queryLoaders, 0, batches, func(i int) error {
		from := i * store.MaxBatchOperations
		to := min(from+store.MaxBatchOperations, s.docs)
		b.progress.Step(to - from)
		return s.load(ctx, c, from, to)
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	b.progress.Start("compacting", 1)
	return compactFolder(ctx, s.dir)
}

// load stores the documents [from, to) in one batch.
func (s queryBenchmarkDataSet) load(ctx context.Context, c *store.Container, from, to int) error {
	var ops []store.ItemOperation
	for i := from; i < to; i++ {
		body := s.text(i)
		ops = append(ops, store.ItemOperation{Kind: store.OperationCreate, Partition: c.PartitionKeyOf(body),
			Body: body, NoContent: true})
	}
	done, _, err := c.Batch(ctx, definition.PartitionKey{}, ops, store.BatchOptions{ContinueOnError: true})
	if err != nil {
		return err
	}
	for _, r := range done.Results {
		if r.Err != nil {
			return r.Err
		}
	}
	return nil
}

// parameter is a named value of a query.
func parameter(name string, v jsondoc.Value) store.QueryParameter {
	return store.QueryParameter{Name: name, Value: v}
}

func number(n int) jsondoc.Value { return jsondoc.NumberValue(float64(n)) }
