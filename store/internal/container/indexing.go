package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/split"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// IndexDefinition returns the definition of the index of a container. recent adds the composite index of
// recency, which orders the documents of a partition by _ts.
func IndexDefinition(spec *definition.ContainerSpec, recent bool) index.IndexingSettings {
	d := index.IndexingSettings{Policy: spec.Indexing, Geometry: spec.Geospatial == definition.Geometry,
		Vectors: map[string]int{}}
	if recent {
		d.Own = [][]index.CompositePathSpec{recency(spec)}
	}
	for _, p := range spec.ComputedProperties {
		d.Computed = append(d.Computed, index.ComputedProperty{Name: p.Name, Query: p.Query})
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
// one key per document, which usually has about twenty keys. With this index, such a query reads only the
// documents of its page, and not the whole container.
func recency(spec *definition.ContainerSpec) (keys []index.CompositePathSpec) {
	for _, path := range spec.PartitionKey.ParsedPaths() {
		keys = append(keys, index.CompositePathSpec{Path: path.String()})
	}
	return append(keys, index.CompositePathSpec{Path: "/_ts"})
}

// KeepsRecency reports whether a container that is created with this definition gets a composite index that
// orders the documents of each logical partition by _ts. It gets none if its partition key is the id or ends
// with it, because each logical partition is then a single document.
func KeepsRecency(spec *definition.ContainerSpec) bool {
	paths := spec.PartitionKey.ParsedPaths()
	return len(paths) > 0 && paths[len(paths)-1].String() != "/id"
}

func newIndexer(d index.IndexingSettings) (*index.Indexer, error) {
	return index.NewIndexer(d, definition.Evaluators(d.Computed))
}

// Compile creates the indexers of the current and the older indexing policies from the state's record.
func (st *State) Compile() error {
	x, err := newIndexer(IndexDefinition(&st.Spec, st.Rec.Recent))
	if err != nil {
		return fmt.Errorf("%w: an indexing policy: %v", engine.ErrCorrupt, err)
	}
	st.OlderIndexers = nil
	for _, raw := range st.Rec.IndexedBy {
		spec, _, err := definition.ParseContainerSpec(raw, false)
		if err != nil {
			return fmt.Errorf("%w: an older container record: %v", engine.ErrCorrupt, err)
		}
		old, err := newIndexer(IndexDefinition(&spec, st.Rec.Recent))
		if err != nil {
			return fmt.Errorf("%w: an older indexing policy: %v", engine.ErrCorrupt, err)
		}
		st.OlderIndexers = append(st.OlderIndexers, old)
	}
	st.Terms = x.WithOlder(st.OlderIndexers...)
	return st.compileLives()
}

// compileLives sets st.LifeRules, by which the times to live of items are computed, from the state's record.
func (st *State) compileLives() (err error) {
	basis := func(path string) view.TTLStartProperty {
		b, perr := view.NewBasis(path)
		if perr != nil && err == nil {
			err = fmt.Errorf("%w: a ttlPropertyPath: %v", engine.ErrCorrupt, perr)
		}
		return b
	}
	st.LifeRules = view.LifetimeRules{Basis: basis(st.Rec.Basis)}
	for i, e := range st.Rec.Eras {
		after := st.Rec.Basis
		if i+1 < len(st.Rec.Eras) {
			after = st.Rec.Eras[i+1].Path
		}
		st.LifeRules.Eras = append(st.LifeRules.Eras,
			view.TTLStartPropertyChange{PropertyPathPeriod: e.PropertyPathPeriod, After: basis(after)})
	}
	return err
}

// StillIndexedBy returns the older specs by which documents may be indexed after the change from st to
// next. The specs of st and next are not among them.
func (st *State) StillIndexedBy(next *State) (list []json.RawMessage) {
	for i, old := range st.OlderIndexers[:len(st.Rec.IndexedBy)] {
		d := old.Definition()
		if !d.Equal(IndexDefinition(&st.Spec, st.Rec.Recent)) &&
			!d.Equal(IndexDefinition(&next.Spec, next.Rec.Recent)) {
			list = append(list, st.Rec.IndexedBy[i])
		}
	}
	return list
}

// IsEmpty reports whether the container stores no document, not even a dead one (expired or deleted, but
// not purged).
func (st *State) IsEmpty(r engine.Reader) (bool, error) {
	for _, s := range st.Ranges {
		n, err := view.Count(r, layout.ScopeFamily(s.Scope, layout.FamilyItem), 1)
		if err != nil || n > 0 {
			return false, err
		}
	}
	return true, nil
}

// CheckEmpty fails with *OutdatedStateError if a change of the indexing policy was prepared for an empty
// container, and another server has written documents since.
func (st *State) CheckEmpty(r engine.Reader, next *State) error {
	if next.Rec.IndexRound == st.Rec.IndexRound || next.Unsettled() {
		return nil
	}
	empty, err := st.IsEmpty(r)
	if err == nil && !empty {
		err = &OutdatedStateError{st.Version}
	}
	return err
}

// Unsettled reports whether there may still be items that are indexed by an older policy, or whose times to
// live are stored as they counted from an earlier ttlPropertyPath.
func (st *State) Unsettled() bool { return len(st.Rec.IndexedBy) > 0 || len(st.Rec.Eras) > 0 }

// Rebased reports whether next, the state that follows st, counts times to live from another property than
// st.
func (st *State) Rebased(next *State) bool { return st.Rec.Basis != next.Rec.Basis }

// SetPolicy computes the expiry policy of next, the state that follows st, from its new spec. now is the
// second of the change.
func (st *State) SetPolicy(next *State, now int64) {
	path := definition.PathKey(next.Spec.TTLPropertyPath)
	if path == st.Rec.Basis {
		next.Rec.Policy = st.Policy().With(next.Spec.DefaultTTL, now)
		return
	}
	policy, era := st.Policy().Rebase(next.Spec.DefaultTTL, now)
	next.Rec.Policy, next.Rec.Basis = policy, path
	next.Rec.Eras = append(slices.Clip(st.Rec.Eras),
		record.TTLStartPropertyEra{PropertyPathPeriod: era, Path: st.Rec.Basis})
}

// LoadReindexed loads the stored progress of reindexing a range.
func (st *State) LoadReindexed(r engine.Reader, s *Partition) error {
	v, err := r.Get(layout.IndexedKey(s.Scope))
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	if round, rid, ok := layout.DecodeReindexed(v); err == nil && ok && round == st.Rec.IndexRound {
		s.Reindexed.Store(rid)
	}
	return err
}

// SplitPolicy returns the policy by which a split creates the index entries in the new ranges.
func (st *State) SplitPolicy() split.CopiedItemIndexAndTTLPolicy {
	return split.CopiedItemIndexAndTTLPolicy{Terms: st.Terms, Lives: st.LifeRules, Round: st.Rec.IndexRound}
}
