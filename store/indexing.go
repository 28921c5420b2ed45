package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/split"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// indexDefinition returns what a container's definition says about index entries. recent adds the composite
// index of recency, which orders the documents of a partition by _ts.
func indexDefinition(spec *definition.ContainerSpec, recent bool) index.Definition {
	d := index.Definition{Policy: spec.Indexing, Geometry: spec.Geospatial == definition.Geometry,
		Vectors: map[string]int{}}
	if recent {
		d.Own = [][]index.CompositePath{recency(spec)}
	}
	for _, p := range spec.ComputedProperties {
		d.Computed = append(d.Computed, index.Computed{Name: p.Name, Query: p.Query})
	}
	if spec.VectorEmbedding != nil {
		for _, e := range spec.VectorEmbedding.Embeddings {
			d.Vectors[definition.PathKey(e.Path)] = e.Dimensions
		}
	}
	if spec.FullText != nil {
		d.Language, _ = index.LanguageOf(spec.FullText.DefaultLanguage)
		d.Languages = map[string]index.Language{}
		for _, p := range spec.FullText.Paths {
			if p.Language != "" {
				d.Languages[definition.PathKey(p.Path)], _ = index.LanguageOf(p.Language)
			}
		}
	}
	return d
}

// recency returns the composite index of a partition's documents by _ts. Queries ask most often for the
// latest documents of a partition, which may be far from the latest of the whole container. The index costs
// one key per document, about one in twenty. With it such a query reads as much as its page has, and not
// the whole container.
func recency(spec *definition.ContainerSpec) (keys []index.CompositePath) {
	for _, path := range spec.PartitionKey.ParsedPaths() {
		keys = append(keys, index.CompositePath{Path: path.String()})
	}
	return append(keys, index.CompositePath{Path: "/_ts"})
}

// keepsRecency reports whether a new container has the index of recency. It has none if each partition is a
// single document.
func keepsRecency(spec *definition.ContainerSpec) bool {
	paths := spec.PartitionKey.ParsedPaths()
	return len(paths) > 0 && paths[len(paths)-1].String() != "/id"
}

func newIndexer(d index.Definition) (*index.Indexer, error) {
	return index.NewIndexer(d, definition.Evaluators(d.Computed))
}

// compile makes the indexers from the state's record.
func (st *containerState) compile() error {
	x, err := newIndexer(indexDefinition(&st.spec, st.rec.Recent))
	if err != nil {
		return fmt.Errorf("%w: an indexing policy: %v", engine.ErrCorrupt, err)
	}
	st.olders = nil
	for _, raw := range st.rec.IndexedBy {
		spec, _, err := definition.ParseContainerSpec(raw, false)
		if err != nil {
			return fmt.Errorf("%w: an older container record: %v", engine.ErrCorrupt, err)
		}
		old, err := newIndexer(indexDefinition(&spec, st.rec.Recent))
		if err != nil {
			return fmt.Errorf("%w: an older indexing policy: %v", engine.ErrCorrupt, err)
		}
		st.olders = append(st.olders, old)
	}
	st.terms = x.Beside(st.olders...)
	return st.compileLives()
}

// changeIndex prepares next, whose spec has been replaced, to index by the new spec. If the index
// definition or the base of times to live has changed and there are documents, they must be reindexed.
func (c *Container) changeIndex(ctx context.Context, next, st *containerState) error {
	same := indexDefinition(&next.spec, next.rec.Recent).Equal(indexDefinition(&st.spec, st.rec.Recent))
	if same && !st.rebased(next) {
		return nil
	}
	next.rec.IndexRound++
	next.rec.IndexedBy = nil
	var empty bool
	err := c.ds.view(ctx, func(r engine.Reader) (err error) {
		empty, err = st.isEmpty(r)
		return err
	})
	if err != nil {
		return classify.ToFault(err)
	}
	switch {
	case empty:
		next.rec.Eras = nil
	case same:
		next.rec.IndexedBy = st.stillIndexedBy(next)
	default:
		next.rec.IndexedBy = append(st.stillIndexedBy(next), st.rec.Spec)
	}
	return classify.ToFault(next.compile())
}

// stillIndexedBy returns the older specs that must be kept besides the present one and the next.
func (st *containerState) stillIndexedBy(next *containerState) (list []json.RawMessage) {
	for i, old := range st.olders[:len(st.rec.IndexedBy)] {
		d := old.Definition()
		if !d.Equal(indexDefinition(&st.spec, st.rec.Recent)) &&
			!d.Equal(indexDefinition(&next.spec, next.rec.Recent)) {
			list = append(list, st.rec.IndexedBy[i])
		}
	}
	return list
}

// isEmpty reports whether the container has no document.
func (st *containerState) isEmpty(r engine.Reader) (bool, error) {
	for _, s := range st.ranges {
		n, err := view.Count(r, layout.SlotFamily(s.scope, layout.FamilyItem), 1)
		if err != nil || n > 0 {
			return false, err
		}
	}
	return true, nil
}

// checkEmpty fails with *elsewhereError if a change of the indexing policy was prepared for an empty
// container, and another store has written documents meanwhile.
func (st *containerState) checkEmpty(r engine.Reader, next *containerState) error {
	if next.rec.IndexRound == st.rec.IndexRound || next.unsettled() {
		return nil
	}
	empty, err := st.isEmpty(r)
	if err == nil && !empty {
		err = &elsewhereError{st.version}
	}
	return err
}

// terms are index entries of an item that were made before the transaction that writes them: by one
// indexer, for one _ts and one slot. Their rid is not set.
type terms struct {
	by      *index.Indexer
	ts      int64
	slot    *partition
	entries []index.Entry
}

func makeTerms(by *index.Indexer, ts int64, s *partition, body []byte) *terms {
	return &terms{by, ts, s, by.EntriesWithin(nil, s.scope, layout.RIDLen, body, ts)}
}

// termsOf returns the index entries of an item that is being written, by the present policy and in the
// order of their keys. It uses the entries made in advance, once, if they still fit. The second differs
// only for a few writes.
func (t *tx) termsOf(item *stored) ([]index.Entry, error) {
	made := item.terms
	item.terms = nil
	if made == nil || made.by != t.st.terms || made.ts != item.head.Life.TS || made.slot != t.s {
		made = makeTerms(t.st.terms, item.head.Life.TS, t.s, item.body)
	}
	view.SetRID(made.entries, item.rid)
	return made.entries, t.listShape(made.entries, false)
}

// termsToDelete returns all index entries that an item may have, in the order of their keys: by the present
// policy, and by the older ones that documents may still be indexed by.
func (t *tx) termsToDelete(item *stored) ([]index.Entry, error) {
	all, err := t.termsBy(nil, t.st.terms, item)
	if len(t.st.olders) == 0 || err != nil {
		return all, err
	}
	for _, old := range t.st.olders {
		if all, err = t.termsBy(all, old, item); err != nil {
			return nil, err
		}
	}
	return sortTerms(all), nil
}

// termsBy appends the index entries that an item has if it was indexed by x.
func (t *tx) termsBy(dst []index.Entry, x *index.Indexer, item *stored) ([]index.Entry, error) {
	n := len(dst)
	plain := item.plain()
	dst = view.AppendTerms(dst, x, t.s.scope, &plain)
	return dst, t.listShape(dst[n:], true)
}

// sortTerms sorts entries and removes duplicates.
func sortTerms(list []index.Entry) []index.Entry {
	slices.SortFunc(list, view.CompareTerms)
	return slices.CompactFunc(list, func(a, b index.Entry) bool { return view.CompareTerms(a, b) == 0 })
}

// shapeBook caches the shapes that have a record in a slot. A record is never removed while documents have
// index entries, so the cache stays valid. Shapes that are not in it are looked up.
type shapeBook struct {
	mu    sync.RWMutex
	wiped uint32 // the last wipe of the index that the cache knows, if marks have it: see takeOver
	known map[shapeName]struct{}
	full  bool // there are view.MaxShapes records; no more will be added
}

type shapeName = split.Shape

func (b *shapeBook) lookUp(name shapeName) (known, full bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	_, known = b.known[name]
	return known, b.full
}

// follow empties the cache if another wipe than the one it knows was the last one.
func (b *shapeBook) follow(wipe uint32) {
	b.mu.RLock()
	same := b.wiped == wipe
	b.mu.RUnlock()
	if same {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known, b.full, b.wiped = nil, false, wipe
}

// learn adds the shapes that a transaction has found, after its commit. wipe is the last wipe of the index
// before the transaction: if there has been another one since, the shapes are out of date.
func (b *shapeBook) learn(names []shapeName, full bool, wipe uint32) {
	if len(names) == 0 && !full {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wiped != wipe {
		return
	}
	if b.known == nil {
		b.known = make(map[shapeName]struct{})
	}
	for _, n := range names {
		b.known[n] = struct{}{}
	}
	b.full = b.full || full
}

func (b *shapeBook) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known, b.full = nil, false
}

// listShape makes sure that the index entry for a document's shape refers to a record. It creates the
// record of a new shape. If there are too many shapes already, it changes the entry to the name for
// unlisted shapes. It creates no record for entries that are to be deleted.
func (t *tx) listShape(entries []index.Entry, deleted bool) error {
	i := index.ShapeOf(entries, layout.ScopeLen)
	if i < 0 {
		return nil
	}
	name := shapeName(index.ShapeName(entries[i], layout.ScopeLen))
	if name == index.Unlisted() {
		return nil
	}
	known, full := t.s.shapes.lookUp(name)
	if known || slices.Contains(t.listed, name) {
		return nil
	}
	listed, err := view.IsListed(t, t.s.scope, name[:])
	if err != nil {
		return err
	}
	if !listed && !deleted && !full {
		n, err := view.Count(t, engine.Prefix(layout.SlotPrefix(t.s.scope, index.ShapeRecordKey(nil))),
			view.MaxShapes)
		if err != nil {
			return err
		}
		if listed = n < view.MaxShapes; listed {
			t.setShape(name[:], index.AppendShape(nil, entries, layout.ScopeLen))
		} else {
			t.full = true
		}
	}
	if listed {
		t.listed = append(t.listed, name)
		if !deleted { // not for a deletion: the whole index may be wiped by the time of learn
			t.shapes = append(t.shapes, name)
		}
		return nil
	}
	entries[i].Key = bytes.Clone(entries[i].Key) // the old key may be shared
	unlisted := index.Unlisted()
	copy(index.ShapeName(entries[i], layout.ScopeLen), unlisted[:])
	return nil
}

// queryInfo returns what the query compiler needs of a state of the container.
func (c *Container) queryInfo(st *containerState) query.Info {
	info := query.Info{
		Index: st.terms, PartitionPaths: c.def.ParsedPaths(), Lenient: c.ds.opts.Lenient,
		Geometry: st.spec.Geospatial == definition.Geometry, Superset: c.ds.opts.Lenient,
	}
	for _, p := range st.spec.ComputedProperties {
		info.Computed = append(info.Computed, query.Computed{Name: p.Name, Query: p.Query})
	}
	if st.spec.VectorEmbedding != nil {
		info.Vectors = make(map[string]string)
		for _, e := range st.spec.VectorEmbedding.Embeddings {
			info.Vectors[e.Path] = e.DistanceFunction
		}
	}
	return info
}
