package exec

import (
	"context"
	"slices"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// CallerProvidedObject is a JSON object of a short list that is queried without being stored in a container.
// Its text is complete: it has only those system properties that are in the text.
type CallerProvidedObject struct {
	// Position takes the place of the object's rid. It is greater than 0, ascends along the list, and stays
	// the same when other objects are added or removed.
	Position uint64
	Text     []byte
}

// RunValues makes one page of a query over a list of values, as Run does over the documents of sources. All
// values are read, since a list has no index. The page has a cursor only if another row follows.
func RunValues(ctx context.Context, p *plan.Plan, list []CallerProvidedObject, env eval.Env,
	o RunOptions) (Page, error) {
	sources := []source.DocumentSource{&inMemoryObjectSource{list: list}}
	page, err := Run(ctx, p, sources, env, o)
	if err != nil || page.Cursor == "" {
		return page, err
	}
	o.Cursor, o.MaxItems = page.Cursor, 1
	ahead, err := Run(ctx, p, sources, env, o)
	if err != nil {
		return Page{Stats: page.Stats}, err
	}
	if len(ahead.Rows) == 0 && ahead.Cursor == "" {
		page.Cursor = ""
	}
	return page, nil
}

// inMemoryObjectSource is a Source over a list, without an index. The rid of a value is its position.
type inMemoryObjectSource struct{ list []CallerProvidedObject }

func (s *inMemoryObjectSource) find(position uint64) (int, bool) {
	return slices.BinarySearchFunc(s.list, position, func(v CallerProvidedObject, at uint64) int {
		switch {
		case v.Position < at:
			return -1
		case v.Position > at:
			return 1
		}
		return 0
	})
}

// Scan iterates over the values whose positions are greater than after.
func (s *inMemoryObjectSource) Scan(after uint64) source.DocumentIterator {
	i, found := s.find(after)
	if found {
		i++
	}
	return &inMemoryScan{rest: s.list[i:]}
}

// Fetch returns the value at a position, or false if there is none.
func (s *inMemoryObjectSource) Fetch(rid uint64) (source.Document, bool, error) {
	i, found := s.find(rid)
	if !found {
		return nil, false, nil
	}
	return &inMemoryDocument{&s.list[i]}, true, nil
}

// Postings returns an iterator without rids, because the source is a list of objects in memory, which has no
// index.
func (s *inMemoryObjectSource) Postings([]byte) source.PostingIterator {
	return &SortedRIDListIterator{}
}

// Terms returns no entries, because a list has no index.
func (s *inMemoryObjectSource) Terms(_, _ []byte, _ bool) source.IndexEntryIterator {
	return emptyIndexEntryIterator{}
}

// Partition returns false, because a list has no partitions.
func (s *inMemoryObjectSource) Partition() (source.PostingIterator, bool) { return nil, false }

// emptyIndexEntryIterator is an iterator over index entries that returns none, for values in memory, which
// have no index.
type emptyIndexEntryIterator struct{}

func (emptyIndexEntryIterator) Next() bool    { return false }
func (emptyIndexEntryIterator) Key() []byte   { return nil }
func (emptyIndexEntryIterator) Value() []byte { return nil }
func (emptyIndexEntryIterator) RID() uint64   { return 0 }
func (emptyIndexEntryIterator) Close() error  { return nil }

// inMemoryScan iterates over values in memory as if they were the documents of a container: see RunValues.
type inMemoryScan struct {
	rest []CallerProvidedObject
	at   *CallerProvidedObject
}

// Next moves to the next value of the list and returns false at the end.
func (s *inMemoryScan) Next() bool {
	if len(s.rest) == 0 {
		return false
	}
	s.at, s.rest = &s.rest[0], s.rest[1:]
	return true
}

// Document returns the current value.
func (s *inMemoryScan) Document() source.Document { return &inMemoryDocument{s.at} }

// Err returns nil: reading a list cannot fail.
func (s *inMemoryScan) Err() error { return nil }

// Close does nothing.
func (s *inMemoryScan) Close() error { return nil }

// inMemoryDocument is a Value as a source.Document.
type inMemoryDocument struct{ *CallerProvidedObject }

// Complete marks the value as a source.DocumentIncludingSystemProperties: its text includes its system
// properties.
func (v *inMemoryDocument) Complete() {}

// RID returns the position of the value in the list that the query reads, which serves as its rid.
func (v *inMemoryDocument) RID() uint64 { return v.Position }

// Body returns the text of the value.
func (v *inMemoryDocument) Body() []byte { return v.Text }

// System returns no system properties: nothing is added to the text.
func (v *inMemoryDocument) System() jsondoc.SystemProperties { return jsondoc.SystemProperties{} }
