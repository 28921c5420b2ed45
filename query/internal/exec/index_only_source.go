package exec

import (
	"errors"
	"slices"

	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// onlyDead is the maximum number of dead documents (expired or deleted, but not purged) that a source is
// asked to list. If a source has more, documents are read instead of counting their index entries.
const onlyDead = 10_000

// entriesPerDocument is how many index entries take about as long to read as one document, less a margin.
const entriesPerDocument = 8

// indexOnlySource is a source of whose documents a query reads only the index entries. Its Terms returns
// entries of documents of the scope only.
type indexOnlySource struct {
	source.DocumentSource
	all  source.DocumentSource // the same without this limit, with its optional interfaces
	dead []uint64              // rids of dead documents that still have index entries, sorted
}

// indexOnlySources returns the sources of the run for a query that the indexes alone can answer. ok is false
// if a source cannot list its dead documents or has too many, or if it is cheaper to read the documents.
func (x *Execution) indexOnlySources() (list []indexOnlySource, ok bool, err error) {
	list = make([]indexOnlySource, len(x.sources))
	for i, src := range x.sources {
		one := indexOnlySource{DocumentSource: src, all: src}
		if partition, scoped := src.Partition(); scoped {
			in, ok, err := x.partitionRIDs(src, partition)
			if err != nil || !ok {
				return nil, false, err
			}
			one.DocumentSource = &partitionIndexSource{src, x, in}
		}
		c, ok := src.(source.DeadDocumentLister)
		if !ok {
			return nil, false, nil
		}
		if one.dead, ok, err = c.Dead(onlyDead); err != nil || !ok {
			return nil, false, err
		}
		list[i] = one
	}
	return list, true, nil
}

// partitionRIDs returns the rids of the logical partition that is the scope of src, and closes partition, the
// iterator over them. ok is false if it is
// cheaper to read the documents of the partition or of a condition, because they are few, than the index
// entries of the query, which belong to all partitions. It gives up after few rids if most documents that
// were inserted in the same time belong to other partitions.
func (x *Execution) partitionRIDs(src source.DocumentSource, partition source.PostingIterator) (in *ridSet,
	ok bool,
	err error) {
	defer func() { err = errors.Join(err, partition.Close()) }()
	entries, ok := src.(source.IndexEntryCounter)
	if !ok || slices.ContainsFunc(x.Plan.AccessPaths, plan.IndexAccess.Lists) {
		return nil, false, nil // the intersection with a posting list has few documents
	}
	var rids []uint64
	held := 0
	defer func() { x.Run.Used -= held }()
	for next := entriesPerDocument; partition.Next(); {
		if err := x.passEntry(); err != nil {
			return nil, false, err
		}
		if rids = append(rids, partition.RID()); len(rids) == next {
			next *= 2
			if e, ok := src.(source.InsertCountEstimator); ok &&
				e.InsertsBetween(rids[0], partition.RID()) > uint64(entriesPerDocument*len(rids)) {
				return nil, false, nil
			}
			if len(rids) < 8*entriesPerDocument { // a count would cost more than the documents
				continue
			}
			few, err := x.isAnyConstraintShorter(entries, len(rids)/entriesPerDocument)
			if few || err != nil {
				return nil, false, err
			}
		}
		x.Run.Hold(&held, 8*cap(rids)-held, "an index")
		if x.Run.Err != nil {
			return nil, false, x.Run.Err
		}
	}
	if len(rids) <= x.tune.Leap {
		return nil, false, nil
	}
	if cheap, err := x.isIndexCheaper(entries, int64(len(rids))); !cheap || err != nil {
		return nil, false, err
	}
	in = newRIDSet(rids)
	x.Run.Use(in.bytes(), "an index")
	return in, x.Run.Err == nil, x.Run.Err
}

// isAnyConstraintShorter reports whether a condition has at most the given number of index entries.
func (x *Execution) isAnyConstraintShorter(c source.IndexEntryCounter, most int) (bool, error) {
	for _, l := range x.Plan.Constraints {
		if n, err := x.countUpTo(c, l.Spans, int64(most)); n <= int64(most) || err != nil {
			return err == nil, err
		}
	}
	return false, nil
}

// isIndexCheaper reports whether it is cheaper to read the index entries of the query than the documents of
// a logical partition with the given number of documents.
func (x *Execution) isIndexCheaper(c source.IndexEntryCounter, documents int64) (bool, error) {
	read, most := documents, entriesPerDocument*documents
	for i, spans := range x.indexOnlySpans() {
		n, err := x.countUpTo(c, spans, most-read)
		if read += n; read > most || err != nil {
			return false, err
		}
		if i < len(x.Plan.Constraints) {
			documents = min(documents, n)
		}
	}
	return read <= entriesPerDocument*documents, nil
}

// errManyEntries ends the count of index entries that are more than a limit.
var errManyEntries = errors.New("query: more index entries than documents are worth")

// countUpTo returns the number of index entries in spans, or a number greater than most if there are more.
func (x *Execution) countUpTo(c source.IndexEntryCounter, spans []plan.KeySpan, most int64) (n int64,
	_ error) {
	for _, s := range spans {
		passed := n
		in, err := c.CountEntries(s.Lo, s.Hi, func(n int) error {
			if passed += int64(n); passed > most {
				return errManyEntries
			}
			return x.passCounted(n)
		})
		if errors.Is(err, errManyEntries) {
			return passed, nil
		}
		if err != nil {
			return 0, err
		}
		if n += in; n > most {
			break
		}
	}
	return n, nil
}

// indexOnlySpans returns the spans of index keys that the plan reads: first those of the constraints.
func (x *Execution) indexOnlySpans() (list [][]plan.KeySpan) {
	o := x.Plan.IndexOnly
	for _, l := range x.Plan.Constraints {
		list = append(list, l.Spans)
	}
	for _, a := range o.Args {
		if a.Path != nil {
			list = append(list, a.Bounds)
		}
	}
	if o.Path != nil {
		list = append(list, x.groupBounds())
	}
	return list
}

// partitionIndexSource is a source whose scope is one logical partition. Its Terms returns only the entries
// of documents of that partition. It has no optional interface, so that no entries are counted which nobody
// has read.
type partitionIndexSource struct {
	source.DocumentSource
	x  *Execution
	in *ridSet
}

// Terms implements source.DocumentSource.
func (s *partitionIndexSource) Terms(lo, hi []byte, reverse bool) source.IndexEntryIterator {
	return &partitionEntryIterator{s.DocumentSource.Terms(lo, hi, reverse), s, nil}
}

// partitionEntryIterator returns those entries of another iterator that belong to a document of the
// partition.
type partitionEntryIterator struct {
	source.IndexEntryIterator
	s   *partitionIndexSource
	err error // the time has run out
}

// Next implements source.IndexEntryIterator.
func (p *partitionEntryIterator) Next() bool {
	for p.IndexEntryIterator.Next() {
		if p.s.in.has(p.RID()) {
			return true
		}
		if p.err = p.s.x.passEntry(); p.err != nil {
			return false
		}
	}
	return false
}

// Close implements source.IndexEntryIterator.
func (p *partitionEntryIterator) Close() error {
	return errors.Join(p.err, p.IndexEntryIterator.Close())
}

// ridSet is an immutable set of rids.
type ridSet struct {
	first uint64
	bits  []uint64 // bit i: first+i is in the set; nil: see sorted
	// sorted has the rids if they are so far apart that bits would be larger.
	sorted []uint64
}

// newRIDSet returns the set of sorted rids, which it may keep. There must be at least one.
func newRIDSet(sorted []uint64) *ridSet {
	first, last := sorted[0], sorted[len(sorted)-1]
	if (last-first)/64 >= uint64(len(sorted)) {
		return &ridSet{sorted: sorted}
	}
	s := &ridSet{first: first, bits: make([]uint64, (last-first)/64+1)}
	for _, rid := range sorted {
		s.bits[(rid-first)/64] |= 1 << ((rid - first) % 64)
	}
	return s
}

func (s *ridSet) has(rid uint64) bool {
	if s.bits == nil {
		return hasRID(s.sorted, rid)
	}
	i := rid - s.first // wraps around below first
	return i/64 < uint64(len(s.bits)) && s.bits[i/64]>>(i%64)&1 == 1
}

// bytes returns the memory that the set takes.
func (s *ridSet) bytes() int { return 8 * (len(s.bits) + cap(s.sorted)) }
