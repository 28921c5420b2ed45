package scan

import (
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/posting"
)

// Lacking returns the rids of the documents that have no value at a path, from a rid on. A shape is the set
// of paths of a document. Lacking merges the postings of the shapes without the path with the posting of
// the documents whose shape has no record, which may have the path. It returns false if an error, kept in
// s.err, ended it.
func (s *DocumentSource) Lacking(path index.Path, from uint64, reverse bool) (query.PostingIterator, bool) {
	names, err := s.shapesWithout(path)
	if err != nil {
		s.err = err
		return nil, false
	}
	prefixes := make([][]byte, len(names))
	for i, name := range names {
		prefixes[i] = layout.ScopePrefix(s.Range.Scope, index.ShapeKey(name))
	}
	return posting.Merge(s.Reader, prefixes, from, reverse), true
}

// shapesWithout returns the names of the shapes (sets of document paths) that do not have a path. The last
// name is index.Unlisted, the common name of all shapes that have no record.
func (s *DocumentSource) shapesWithout(path index.Path) (names [][]byte, err error) {
	prefix := layout.ScopePrefix(s.Range.Scope, index.ShapeRecordKey(nil))
	it := s.Reader.Scan(engine.Prefix(prefix), false)
	for it.Next() {
		if !index.ShapeHas(it.Value(), path) {
			names = append(names, slices.Clone(it.Key()[len(prefix):len(it.Key())-layout.RIDLen]))
		}
	}
	unlisted := index.Unlisted()
	return append(names, unlisted[:]), it.Close()
}
