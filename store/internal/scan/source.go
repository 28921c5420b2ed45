package scan

import (
	"bytes"
	"errors"
	"math"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/store/internal/work"
)

// DocumentSource gives a query the documents of one partition range that are in the query's scope.
type DocumentSource struct {
	State  *view.ContainerAtTime // at the moment of the snapshot
	Range  *view.PartitionRange
	Span   *ResolvedKeyOrRange
	Reader engine.Reader
	Watch  *work.ScanTimeLimiter // limits the reads through Reader

	At   engine.LSNScopeStatus // the range's position (LSN and mark) that the engine returned with the snapshot
	Seen uint64                // the highest LSN returned from the range; 0: none

	Tallies *work.IndexEntryCountCache // counts of earlier queries; nil: no such cache
	Before  uint64                     // the highest LSN known to be durable before the snapshot was opened
	Indexed bool                       // all documents are indexed by the current policy

	items    engine.Iterator // iterator of Fetch; nil before the first call
	entries  engine.Iterator // iterator of Value; nil before the first call
	fetched  StoredDocument
	fetching bool   // Fetch has been called
	key      []byte // scratch
	scratch  []byte
	version  work.IndexEntryCountVersion
	tallied  entryCountVersionLookupState // whether version has been determined
	err      error                        // error of an iterator that a method could not return
}

var (
	_ query.DocumentSource              = (*DocumentSource)(nil)
	_ query.DocumentCounter             = (*DocumentSource)(nil)
	_ query.DocumentsWithoutPathLister  = (*DocumentSource)(nil)
	_ query.IndexEntryReader            = (*DocumentSource)(nil)
	_ query.ContainerWideDocumentFinder = (*DocumentSource)(nil)
	_ query.DeadDocumentLister          = (*DocumentSource)(nil)

	_ query.DocumentSetVersionReporter = (*DocumentSource)(nil)

	_ query.ScopePartitionKeyReporter = (*DocumentSource)(nil)

	_ query.Prefetcher = (*DocumentSource)(nil)

	_ query.IndexEntryCounter = (*DocumentSource)(nil)

	_ query.InsertCountEstimator = (*DocumentSource)(nil)
)

// Close closes the iterators of the source and returns the first error of the source.
func (s *DocumentSource) Close() error {
	for _, it := range []*engine.Iterator{&s.items, &s.entries} {
		if *it == nil {
			continue
		}
		if err := (*it).Close(); s.err == nil {
			s.err = err
		}
		*it = nil
	}
	return s.err
}

// Index returns the indexer of the container's current policy: it computes which index entries a document
// has.
func (s *DocumentSource) Index() *index.Indexer { return s.State.Terms }

// Computed returns the container's computed properties.
func (s *DocumentSource) Computed() []definition.ComputedProperty {
	return s.State.Spec.ComputedProperties
}

// StoredDocument is a stored document, in the form in which a query reads it (query.Document).
type StoredDocument struct {
	of   *view.ContainerIdentity
	rid  uint64
	head layout.ItemHeader
	body []byte
}

// NewStoredDocument returns the document of a stored item.
func NewStoredDocument(of *view.ContainerIdentity, rid uint64, head layout.ItemHeader,
	body []byte) *StoredDocument {
	return &StoredDocument{of: of, rid: rid, head: head, body: body}
}

// Borrow returns the document as an item of the container of, which is valid until the next document is read.
func (r *StoredDocument) Borrow(of value.ContainerStateProvider) value.Item {
	return value.NewItem(of, r.rid, r.head, r.body, "")
}

// Item returns a copy of the document as an item of the container of, which stays valid after the snapshot is
// closed.
func (r *StoredDocument) Item(of value.ContainerStateProvider) value.Item {
	return r.Borrow(of).Clone()
}

// RID returns the rid of the document.
func (r *StoredDocument) RID() uint64 { return r.rid }

// Body returns the document as JSON without system properties.
func (r *StoredDocument) Body() []byte { return r.body }

// TS returns _ts alone, for queries that use no other system property.
func (r *StoredDocument) TS() int64 { return r.head.Life.TS }

// System returns the system properties.
func (r *StoredDocument) System() jsondoc.SystemProperties {
	return r.of.System(r.rid, &r.head)
}

// AppendTo appends the document with its system properties.
func (r *StoredDocument) AppendTo(dst []byte) []byte {
	return r.of.AppendItem(dst, r.body, r.rid, &r.head)
}

// Take sets r to the document of an item and returns true if the item is live and in the scope; otherwise it
// returns false. The caller sets listed if it has found the item in the posting of the scope's partition key,
// so that Take need not compare the key.
func (s *DocumentSource) Take(r *StoredDocument, rid uint64, value []byte, listed bool) (bool, error) {
	h, body, err := layout.DecodeItem(value)
	if err != nil {
		return false, err
	}
	if !s.Span.Contains(h.EPK) || s.State.Expired(&h, body) {
		return false, nil
	}
	if s.Span.Prefix != nil && !listed && !s.inPartition(h, body) {
		return false, nil
	}
	if s.State.Tombstoned(h, func() []byte { return s.State.Keys.PartitionOf(body) }) {
		return false, nil
	}
	r.of, r.rid, r.head, r.body = &s.State.Identity, rid, h, body
	return true, nil
}

// inPartition reports whether an item's partition key equals the key of the scope or begins with it. It
// compares the hashes first, because almost all items of other partitions have another hash, and then the
// values.
func (s *DocumentSource) inPartition(h layout.ItemHeader, body []byte) bool {
	if !bytes.HasPrefix(h.EPK, s.Span.EPK) {
		return false
	}
	s.scratch = s.scratch[:0]
	for _, p := range s.State.Keys.Def.ParsedPaths()[:s.Span.Levels] {
		v := jsondoc.Get(body, p)
		if v.Kind() >= jsondoc.Array {
			v = jsondoc.Value{}
		}
		s.scratch = jsondoc.AppendOrdered(s.scratch, v)
	}
	return bytes.Equal(s.Span.PK, s.scratch)
}

// maxPrefetch is the maximum number of documents that are prefetched at a time.
const maxPrefetch = 128

// ahead returns the engine's prefetching methods, or nil if the engine is local and does not need them.
func (s *DocumentSource) ahead() engine.Prefetcher { return work.Far(s.Reader) }

// Prefetches returns how many documents should be prefetched at a time; 0 if prefetching is useless.
func (s *DocumentSource) Prefetches() int {
	if s.ahead() != nil {
		return maxPrefetch
	}
	return 0
}

// Prefetch reads documents ahead of calls of Fetch.
func (s *DocumentSource) Prefetch(rids []uint64) {
	if far := s.ahead(); far != nil {
		keys := make([][]byte, len(rids))
		for i, rid := range rids {
			keys[i] = layout.AppendScopeKey(nil, s.Range.Scope, layout.FamilyItem, rid)
		}
		far.Prefetch(keys)
	}
}

// Fetch returns a document by its rid, or false if it is not live or not in the scope. The engine keeps
// documents that are read often in its row cache. Of the others, the first is read by a single get, since a
// query often fetches no other. For further documents Fetch uses an iterator, which is faster.
func (s *DocumentSource) Fetch(rid uint64) (query.Document, bool, error) {
	if s.ahead() != nil {
		return s.get(&s.fetched, rid, false)
	}
	s.key = layout.AppendScopeKey(s.key[:0], s.Range.Scope, layout.FamilyItem, rid)
	rows, _ := s.Reader.(engine.RowCacher)
	if rows != nil {
		if value, ok := rows.Cached(s.key); ok {
			live, err := s.Take(&s.fetched, rid, value, false)
			return &s.fetched, live, err
		}
	}
	value, ok, err := s.find()
	if !ok || err != nil {
		return nil, false, err
	}
	if rows != nil {
		rows.Cache(s.key, value)
	}
	live, err := s.Take(&s.fetched, rid, value, false)
	return &s.fetched, live, err
}

// find reads the stored value under s.key: for the first document by a get, for others by an iterator.
func (s *DocumentSource) find() (value []byte, ok bool, err error) {
	if !s.fetching {
		s.fetching = true
		value, err = s.Reader.Get(s.key)
		if errors.Is(err, engine.ErrNotFound) {
			return nil, false, nil
		}
		return value, err == nil, err
	}
	if s.items == nil {
		s.items = s.Reader.Scan(layout.ScopeFamily(s.Range.Scope, layout.FamilyItem), false)
	}
	if !s.items.SeekGE(s.key) || !bytes.Equal(s.items.Key(), s.key) {
		return nil, false, nil
	}
	return s.items.Value(), true, nil
}

// get reads a document by a single get of the engine. If Prefetch has read the document already, or has
// found that it does not exist, get uses that result. listed means that the rid comes from the index
// entries of the partition key in the scope, so that the key need not be compared.
func (s *DocumentSource) get(r *StoredDocument, rid uint64, listed bool) (query.Document, bool, error) {
	s.key = layout.AppendScopeKey(s.key[:0], s.Range.Scope, layout.FamilyItem, rid)
	value, err := s.Reader.Get(s.key)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	ok, err := s.Take(r, rid, value, listed)
	return r, ok, err
}

func (s *DocumentSource) fetch(items engine.Iterator, r *StoredDocument, rid uint64,
	listed bool) (query.Document, bool, error) {
	if s.ahead() != nil {
		return s.get(r, rid, listed)
	}
	s.key = layout.AppendScopeKey(s.key[:0], s.Range.Scope, layout.FamilyItem, rid)
	if !items.SeekGE(s.key) || !bytes.Equal(items.Key(), s.key) {
		return nil, false, nil
	}
	ok, err := s.Take(r, rid, items.Value(), listed)
	return r, ok, err
}

// Find returns a document by its rid from any partition range of the container, even if it is not in the
// scope. It returns false if there is no such document or it is not live.
func (s *DocumentSource) Find(rid uint64) (query.Document, bool, error) {
	for i := range s.State.Ranges {
		v, err := s.Reader.Get(layout.AppendScopeKey(nil, s.State.Ranges[i].Scope, layout.FamilyItem, rid))
		if errors.Is(err, engine.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		item, err := s.State.Keys.Decode(rid, v)
		if err != nil {
			return nil, false, err
		}
		return NewStoredDocument(&s.State.Identity, rid, item.Head, item.Body), s.State.Live(&item), nil
	}
	return nil, false, nil
}

// Scan returns an iterator over the documents whose rids are greater than after. Like all methods of a
// Source it returns only documents in the scope, the part of the container that a query or list reads.
func (s *DocumentSource) Scan(after uint64) query.DocumentIterator { return s.Documents(after) }

// Documents returns an iterator over the documents of the scope whose rids are greater than after, like Scan.
// It returns the concrete type *DocumentIterator, for the lists and feeds of the store.
func (s *DocumentSource) Documents(after uint64) *DocumentIterator {
	d := &DocumentIterator{s: s}
	if after == math.MaxUint64 {
		return d
	}
	rg := layout.ScopeFamily(s.Range.Scope, layout.FamilyItem)
	if s.Span.Prefix != nil {
		d.posting, _ = s.Partition()
		d.from = after + 1
	} else {
		rg.Start = layout.AppendScopeKey(nil, s.Range.Scope, layout.FamilyItem, after+1)
	}
	d.items = s.Reader.Scan(rg, false)
	return d
}
