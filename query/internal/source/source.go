package source

import (
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// DocumentSource is the data of one partition range for a query: the documents of the query's scope (see
// package query) in one snapshot, at one moment. Dead documents, which have expired by that moment or were
// deleted with their partition key, are never returned. Index entries are only candidates: their rids may
// belong to such documents, or to documents outside the scope.
//
// A rid is the number that a document keeps for its whole life. Ascending rids are the order of insertion.
//
// A Source, and everything that it returns, belongs to one goroutine. Iterators must be closed.
type DocumentSource interface {
	// Scan iterates over the live documents of the scope whose rids are greater than after, in rid order.
	Scan(after uint64) DocumentIterator
	// Postings iterates over the rids under one exact index key, ascending. Some may belong to dead
	// documents.
	Postings(prefix []byte) PostingIterator
	// Terms iterates over the index keys in [lo, hi) with their rids, in key order. The rids of a term ascend
	// in a forward walk and descend if reverse is set. A nil hi is the end of the index.
	Terms(lo, hi []byte, reverse bool) IndexEntryIterator
	// Fetch returns a live document of the scope, or false if there is none. The document is valid until the
	// next Fetch.
	Fetch(rid uint64) (Document, bool, error)
	// Partition iterates over the posting list of the partition key that the scope names. It returns false if
	// the scope is the whole range.
	Partition() (PostingIterator, bool)
}

// Prefetcher is implemented by a DocumentSource whose documents are slow to reach: it can read documents in
// advance if it is given their rids.
type Prefetcher interface {
	// Prefetches returns how many rids one call of Prefetch accepts; 0: there is no need to prefetch.
	Prefetches() int
	// Prefetch announces the rids that will probably be fetched.
	Prefetch(rids []uint64)
}

// DocumentIterator iterates over documents. The caller calls Next until it returns false, then Err, then
// Close, which returns the same error.
type DocumentIterator interface {
	Next() bool
	Document() Document
	Err() error
	Close() error
}

// SkippedRIDReporter is implemented by a DocumentIterator that may skip many rids between two documents, and
// reports them: rids outside the scope, or of documents that have expired or were deleted with their
// partition key.
type SkippedRIDReporter interface {
	// Skip sets a function that Next calls with each rid that it skips: no document lies between the previous
	// document and that rid. If the function returns false, Next returns false.
	Skip(on func(rid uint64) bool)
}

// PostingIterator iterates over rids in ascending order. SeekGE moves to the first rid that is not less than
// its argument, never backwards. It costs more than a Next, so callers usually try up to 16 calls of Next
// first. Close returns the first error of the iteration.
type PostingIterator interface {
	Next() bool
	SeekGE(rid uint64) bool
	RID() uint64
	Close() error
}

// IndexEntryIterator iterates over index entries. Key and Value are valid until the next call of a method;
// Key does not include the rid. Close returns the first error of the iteration.
type IndexEntryIterator interface {
	Next() bool
	Key() []byte
	Value() []byte
	RID() uint64
	Close() error
}

// IndexEntryCounter is implemented by a DocumentSource that counts index entries faster than Terms returns
// them. Entries of dead documents, or of documents outside the scope, count as well.
type IndexEntryCounter interface {
	// CountEntries returns the number of index entries with keys in [lo, hi). While it reads entries it
	// calls pass with the number read since the last call. If pass returns an error, CountEntries returns
	// it.
	CountEntries(lo, hi []byte, pass func(n int) error) (n int64, err error)
	// KnownEntries returns the number of index entries with keys in [lo, hi). ok is false if the number is
	// not known without reading the entries.
	KnownEntries(lo, hi []byte) (n int64, ok bool)
}

// InsertCountEstimator is implemented by a DocumentSource that can estimate, without reading, how many
// documents were inserted.
type InsertCountEstimator interface {
	// InsertsBetween returns about how many documents of all partitions of the range were inserted with rids
	// from first to last. Other writes in that time may count as well.
	InsertsBetween(first, last uint64) uint64
}

// SeekableIndexEntryIterator is implemented by a forward IndexEntryIterator that can move to the first entry
// whose key is not less than a given key. This costs more than a Next, and less than a new iterator.
type SeekableIndexEntryIterator interface {
	Seek(key []byte) bool
}

// IndexEntryReader is implemented by a DocumentSource that can read a single index entry.
type IndexEntryReader interface {
	// Value returns the value of a document's entry under one exact index key, or false if there is no such
	// entry. The value is valid until the next call.
	Value(key []byte, rid uint64) (value []byte, ok bool, err error)
}

// Document is a stored document. Its results are valid until the next call of the iterator or method that
// returned it.
type Document interface {
	RID() uint64
	Body() []byte
	System() jsondoc.SystemProperties
}

// DocumentCounter is implemented by a DocumentSource that can sometimes count documents without reading them.
type DocumentCounter interface {
	// Count returns the number of live documents of the scope. ok is false if they have to be scanned.
	Count() (n int64, ok bool)
}

// DeadDocumentLister is implemented by a DocumentSource that can list its dead documents (expired, or deleted
// with their partition key) that still have index entries. With this list a query can be answered from the
// index alone.
type DeadDocumentLister interface {
	// Dead returns the rids of the dead documents of the scope that still have index entries, in order. ok
	// is false if there are more than most, or if Partition does not list exactly the documents of the
	// scope although the scope is not the whole range.
	Dead(most int) (rids []uint64, ok bool, err error)
}

// DocumentSetVersionReporter is implemented by a DocumentSource that can report whether its documents have
// changed since the previous page. If they have not, a page may continue with rows that the previous page has
// made and not returned.
type DocumentSetVersionReporter interface {
	// Version returns a string that changes whenever a live document of the source changes. ok is false if
	// there is no such string.
	Version() (version string, ok bool, err error)
}

// ScopePartitionKeyReporter is implemented by a DocumentSource that can report the partition key of its
// scope.
type ScopePartitionKeyReporter interface {
	// PartitionValues returns the values that all documents of the scope have at the paths of the partition
	// key, or nil if these are not known.
	PartitionValues() []jsondoc.Value
}

// ContainerWideDocumentFinder is implemented by a DocumentSource that finds a document anywhere in the
// container. This is needed if a page covers only a part of what the previous page covered, since the last
// document of the previous page may be in another part.
type ContainerWideDocumentFinder interface {
	// Find returns a live document, or false if there is none. The document is valid until the next Find.
	Find(rid uint64) (Document, bool, error)
}

// DocumentsWithoutPathLister is implemented by a DocumentSource that can list the documents that lack a path.
type DocumentsWithoutPathLister interface {
	// Lacking iterates over the documents in which path is missing: those that a walk over the path's terms
	// does not return. The path must not enter arrays, and the source's RangeIndexed must accept it. The
	// iteration begins at the rid from, and goes downwards if reverse is set; SeekGE may be used upwards
	// only. As with all postings, the rids are only candidates: a listed document may have the path, and then
	// also appears among the terms. The result is false if the source cannot list the documents.
	Lacking(path index.Path, from uint64, reverse bool) (PostingIterator, bool)
}

// TimestampedDocument is implemented by a Document that returns its _ts without building its other system
// properties.
type TimestampedDocument interface{ TS() int64 }

// DocumentTextAppender is implemented by a Document that can append its text with the system properties to
// dst at less cost than making the result of Document.System first.
type DocumentTextAppender interface{ AppendTo(dst []byte) []byte }

// DocumentIncludingSystemProperties is implemented by a Document whose text already includes its system
// properties. They are read from the text, and none are added.
type DocumentIncludingSystemProperties interface{ Complete() }
