package source

import (
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// Source is what a query may ask of one partition range: the documents of the query's scope in one snapshot,
// at one moment. What has expired by that moment, and what was deleted with its partition key, is never
// handed out as a document; entries of the index only propose and may name such rids, or rids outside the
// scope.
//
// A rid is the number that a document keeps from birth to death. Ascending rids are the order of insertion.
//
// A Source, and all that it hands out, belongs to one goroutine. Iterators must be closed.
type Source interface {
	// Scan walks the live documents of the scope in rid order, behind the rid after.
	Scan(after uint64) Documents
	// Postings walks the rids below one exact index key, ascending; not yet checked for life.
	Postings(prefix []byte) Postings
	// Terms walks the index keys in [lo, hi) with their rids, in key order; rids ascend inside a term where
	// the walk goes forwards and descend in reverse. hi nil is the end of the index.
	Terms(lo, hi []byte, reverse bool) Terms
	// Fetch returns a live document of the scope; false where there is none. The document is valid until the
	// next Fetch.
	Fetch(rid uint64) (Document, bool, error)
	// Partition walks the posting of the partition key that the scope names; false: the scope is the whole
	// range.
	Partition() (Postings, bool)
}

// Prefetcher is what a Source may be whose documents are far away: it profits from knowing which of them will
// be fetched.
type Prefetcher interface {
	// Prefetches is how many rids it takes at a time; 0: it has its documents at hand.
	Prefetches() int
	// Prefetch tells it what is going to be fetched. Not all of it may be.
	Prefetch(rids []uint64)
}

// Documents iterates over documents. For Next, until it returns false; then Err, then Close, which returns
// the same error.
type Documents interface {
	Next() bool
	Document() Document
	Err() error
	Close() error
}

// Skipping is a Documents that may pass over much before it comes to a document: what is dead, or outside the
// scope.
type Skipping interface {
	// Skip sets what Next tells of each rid that it passes over: nothing lies between the document before and
	// that rid. Where it is false Next returns false.
	Skip(on func(rid uint64) bool)
}

// Postings iterates over rids in ascending order. SeekGE moves to the first rid that is not less, never
// backwards; it costs more than a Next, so up to 16 Next before a SeekGE is the caller's habit. Close returns
// the first error met.
type Postings interface {
	Next() bool
	SeekGE(rid uint64) bool
	RID() uint64
	Close() error
}

// Terms iterates over index entries. Key and Value are valid until the next call; Key is without the rid.
// Close returns the first error met.
type Terms interface {
	Next() bool
	Key() []byte
	Value() []byte
	RID() uint64
	Close() error
}

// Seeker is a Terms, walked forwards, that moves to the first entry whose key is not less than a key. It
// costs more than a Next, and less than another walk.
type Seeker interface {
	Seek(key []byte) bool
}

// Values is a Source that finds a single entry of an index.
type Values interface {
	// Value returns the value of the entry that a document has under one exact index key; false where it has
	// none. It is valid until the next call.
	Value(key []byte, rid uint64) (value []byte, ok bool, err error)
}

// Document is a stored document. What it hands out is valid until the next call of what handed it out.
type Document interface {
	RID() uint64
	Body() []byte
	System() jsondoc.System
}

// Counter is a Source that may count without looking at documents.
type Counter interface {
	// Count returns the number of live documents of the scope; false where only a scan can tell.
	Count() (n int64, ok bool)
}

// Census is a Source that knows which rids the index has of documents that are dead: then what a query wants
// may be read off the index alone.
type Census interface {
	// Dead returns those rids in order; false where they are more than most, and where the index has
	// documents outside the scope.
	Dead(most int) (rids []uint64, ok bool, err error)
}

// Versioned is a Source that can tell whether its documents are the same as another time: then a page may go
// on with what the page before has made of them.
type Versioned interface {
	// Version stands for the live documents of the scope; false where that cannot be told.
	Version() (version string, ok bool, err error)
}

// Partitioned is a Source that knows which partition key its scope names.
type Partitioned interface {
	// PartitionValues are what all documents of the scope have at the paths of the partition key; nil: that
	// is not known.
	PartitionValues() []jsondoc.Value
}

// Finder is a Source that finds a document wherever in the container it is. A page that goes on behind a
// document may be one over a part of what the page before was over, and the document in another.
type Finder interface {
	// Find returns a live document; false where there is none. It is valid until the next Find.
	Find(rid uint64) (Document, bool, error)
}

// Shapes is a Source that knows which documents lack a path.
type Shapes interface {
	// Lacking walks the documents in which nothing is at path, one that RangeIndexed accepts and that enters
	// no array: those that a walk of the path's terms does not meet. It begins at the rid from, and goes down
	// from there where reverse is set; SeekGE is for walks upwards. Like all postings it proposes: a document
	// may have something there all the same, and is then met among the terms. False: the source cannot tell.
	Lacking(path index.Path, from uint64, reverse bool) (Postings, bool)
}

// Timestamped is a Document that knows its _ts without its other system properties, which have to be written
// out.
type Timestamped interface{ TS() int64 }

// Complete is a Document whose text holds its system properties already. Nothing is added to it, and they are
// read off it.
type Complete interface{ Complete() }
