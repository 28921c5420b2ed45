package index

import (
	"maps"
	"slices"
	"sync"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// IndexingSettings holds all settings of a container's definition on which the index entries of a document
// depend.
type IndexingSettings struct {
	Policy    Policy
	Computed  []ComputedProperty
	Geometry  bool                // geometries lie in a plane, not on the globe
	Languages map[string]Language // of the texts at paths, as printed by jsondoc.Path
	Language  Language            // of the texts at all other paths
	// Vectors maps each path of the vector embedding policy, as printed by jsondoc.Path, to the number of
	// dimensions of its vectors.
	Vectors map[string]int
	// composite indexes that the container has in addition to those of its indexing policy
	Own [][]CompositePathSpec
}

// ComputedProperty is a computed property. It hides a property of the same name in documents. Its values are
// indexed only if it can be evaluated, and if an included path begins with its name (/* does not) or a
// composite index contains it.
type ComputedProperty struct{ Name, Query string }

// Equal reports whether both definitions give every document the same entries.
func (d IndexingSettings) Equal(e IndexingSettings) bool {
	return d.Policy.WithoutLegacy().Equal(e.Policy.WithoutLegacy()) &&
		slices.Equal(d.Computed, e.Computed) && d.Geometry == e.Geometry &&
		maps.Equal(d.Vectors, e.Vectors) && d.sameLanguages(e)
}

// sameLanguages reports whether both definitions analyse all indexed texts in the same languages.
func (d IndexingSettings) sameLanguages(e IndexingSettings) bool {
	return !slices.ContainsFunc(d.Policy.FullText, func(f FullTextPath) bool {
		p, err := jsondoc.ParsePath(f.Path)
		return err == nil && d.language(p.String()) != e.language(p.String())
	})
}

// ComputedPropertyFunc returns the value of a document's computed property, or undefined. It must depend only
// on the document's text and be safe for concurrent use.
type ComputedPropertyFunc func(body []byte) jsondoc.Value

// Indexer computes the index entries of documents by one definition, and the keys by which they are found.
// It is immutable and safe for concurrent use. A nil Indexer indexes nothing.
//
// Two kinds of methods differ. Included reports what the definition indexes, which determines which queries
// the service accepts. RangeIndexed and similar methods report what the index certainly contains, which
// determines how queries are executed. The results differ only while documents are being indexed anew: see
// WithOlder.
type Indexer struct {
	def        IndexingSettings
	none       bool
	matcher    *PolicyMatcher
	composites []*CompositeIndex // those of the policy, then the additional ones
	named      int               // number of composites in the policy
	special    *indexPathNode
	wanted     int                       // total number of paths of the composite indexes
	hidden     map[string]bool           // names of all computed properties
	computed   []indexedComputedProperty // the indexed computed properties
	vectors    []vectorIndex

	older []*Indexer // policies by which documents may still be indexed

	scratch *sync.Pool // of *walk
}

// indexedComputedProperty is a computed property that is indexed, with the function that evaluates it.
type indexedComputedProperty struct {
	name     string
	evaluate ComputedPropertyFunc
	included bool // an included path begins with it; otherwise it is in composite indexes only
}

// NewIndexer compiles a definition with a normalised policy. evaluate has the functions of computed
// properties by their names; a computed property without a function is not indexed. The error is a
// *PolicyError.
func NewIndexer(d IndexingSettings, evaluate map[string]ComputedPropertyFunc) (*Indexer, error) {
	m, err := Compile(d.Policy)
	if err != nil {
		return nil, err
	}
	x := &Indexer{def: d, matcher: m, special: &indexPathNode{}, hidden: map[string]bool{},
		scratch: &sync.Pool{New: func() any { return new(documentWalk) }}}
	for _, c := range d.Computed {
		x.hidden[c.Name] = true
	}
	if x.none = d.Policy.Mode == None; x.none {
		return x, nil
	}
	for _, c := range d.Computed {
		included := x.includes(c.Name)
		if e := evaluate[c.Name]; e != nil && (included || x.composes(c.Name)) {
			x.computed = append(x.computed, indexedComputedProperty{c.Name, e, included})
		}
	}
	if err := x.addSpecial(); err != nil {
		return nil, err
	}
	return x, nil
}

// includes reports whether an included path begins with the property name.
func (x *Indexer) includes(name string) bool {
	return slices.ContainsFunc(x.def.Policy.Included, func(s IncludedOrExcludedPath) bool {
		p, err := ParsePattern(s.Path)
		return err == nil && len(p.segments) > 0 && p.segments[0].Name == name
	})
}

// composes reports whether a path of a composite index begins with the property name.
func (x *Indexer) composes(name string) bool {
	return slices.ContainsFunc(x.def.Policy.Composite, func(keys []CompositePathSpec) bool {
		return slices.ContainsFunc(keys, func(k CompositePathSpec) bool {
			p, err := jsondoc.ParsePath(k.Path)
			return err == nil && p.Segments()[0] == name
		})
	})
}

// evaluates reports whether the value of a top-level property is available when a document is indexed. It
// returns false for a computed property without a function, and for a system property other than _ts.
func (x *Indexer) evaluates(name string) bool {
	if x.hidden[name] {
		return slices.ContainsFunc(x.computed, func(c indexedComputedProperty) bool { return c.name == name })
	}
	return !jsondoc.IsSystem(name) || name == "_ts"
}

// WithOlder returns an Indexer that computes the same entries as x, for a container whose documents may
// still be indexed by an older indexer. Its lookups use only paths that all of the older indexers index
// too.
func (x *Indexer) WithOlder(older ...*Indexer) *Indexer {
	if len(older) == 0 {
		return x
	}
	y := *x
	y.older = older
	return &y
}

// Definition returns the definition from which x was compiled.
func (x *Indexer) Definition() IndexingSettings { return x.def }

// Policy returns the indexing policy.
func (x *Indexer) Policy() Policy {
	if x == nil {
		return Policy{Mode: None}
	}
	return x.def.Policy
}

// Included reports whether the definition indexes scalars at path. Cosmos DB refuses to sort by a single
// path that is not included.
func (x *Indexer) Included(p Path) bool {
	if x == nil || x.none || !p.sound() {
		return false
	}
	first := p[0].Name
	switch {
	case len(p) == 1 && (first == "id" || first == "_ts"):
		return true
	case jsondoc.IsSystem(first), x.hidden[first] && !x.includes(first):
		return false
	}
	c := x.matcher.Root()
	for _, s := range p {
		if s.Element {
			c = c.Element()
		} else {
			c = c.Property(s.Name)
		}
	}
	return c.Indexed()
}

// RangeIndexed reports whether the range index has an entry for every document with a value at path. The
// entry of a scalar contains the value, or the beginning of a long string. That of an array or object
// contains only the kind.
func (x *Indexer) RangeIndexed(p Path) bool {
	return x.inAllVersions(p, func(x *Indexer) bool { return x.Included(p) && x.evaluates(p[0].Name) })
}

// inAllVersions reports whether all documents have index entries for a path, also those that were indexed by
// an older policy. This is so if indexed returns true for x and for all indexers of older policies, and a
// computed property at the path has the same definition in all of them.
func (x *Indexer) inAllVersions(p Path, indexed func(*Indexer) bool) bool {
	if x == nil || !p.sound() || !indexed(x) {
		return false
	}
	return !slices.ContainsFunc(x.older, func(old *Indexer) bool {
		return !indexed(old) ||
			!x.sameValue(old, p)
	})
}

// sameValue reports whether a path has the same value for both indexers. It returns false if the path
// begins with a computed property that only one of them has, or that they compute differently.
func (x *Indexer) sameValue(old *Indexer, p Path) bool {
	name := func(c ComputedProperty) bool { return c.Name == p[0].Name }
	i, j := slices.IndexFunc(x.def.Computed, name), slices.IndexFunc(old.def.Computed, name)
	if i < 0 || j < 0 {
		return i == j
	}
	return x.def.Computed[i] == old.def.Computed[j]
}

// Composites returns the composite indexes in the policy's order. CompositeIndex.Ready reports which of
// them can be used. The slice must not be modified.
func (x *Indexer) Composites() []*CompositeIndex {
	if x == nil {
		return nil
	}
	return x.markReady(x.composites[:x.named])
}

// Own returns all composite indexes: those of the indexing policy, followed by those that the container
// has in addition (IndexingSettings.Own). A query that Cosmos DB refuses without an index is refused even
// if an additional index could serve it.
func (x *Indexer) Own() []*CompositeIndex {
	if x == nil {
		return nil
	}
	return x.markReady(x.composites)
}

// Unnamed returns the number of entries per document that belong to composite indexes which are not part of
// the indexing policy.
func (x *Indexer) Unnamed() int {
	if x == nil {
		return 0
	}
	return len(x.composites) - x.named
}

// markReady returns copies of composite indexes in which Ready is false if an older indexer, by which
// documents may still be indexed, computes other entries for the index.
func (x *Indexer) markReady(all []*CompositeIndex) []*CompositeIndex {
	if len(x.older) == 0 {
		return all
	}
	list := make([]*CompositeIndex, len(all))
	for i, c := range all {
		copied := *c
		copied.Ready = c.Ready &&
			!slices.ContainsFunc(x.older, func(old *Indexer) bool { return !x.sameEntries(old, c) })
		list[i] = &copied
	}
	return list
}

// sameEntries reports whether an older indexer computes the same entries for a composite index.
func (x *Indexer) sameEntries(old *Indexer, c *CompositeIndex) bool {
	return slices.ContainsFunc(old.composites,
		func(o *CompositeIndex) bool { return o.id == c.id && o.Ready }) &&
		!slices.ContainsFunc(c.Keys, func(k CompositePath) bool { return !x.sameValue(old, PathTo(k.Path)) })
}

// indexPathNode is a node of the tree of paths that have an index other than the range index. The tree is
// walked together with the document.
type indexPathNode struct {
	names     map[string]*indexPathNode
	element   *indexPathNode
	deep      *indexPathNode    // all other positions below: nil, or a node whose deep is itself
	composite []int             // positions of the value among the paths of all composite indexes
	vector    int               // 1 + the index in vectors; 0: none
	text      bool              // full-text index
	language  Language          // of the text
	spatial   *spatialIndexArea // spatial index of geometries here
	below     *spatialIndexArea // spatial index of geometries at any depth below
}

// spatialIndexArea is the area that a spatial index covers: the plane within box or, if box is nil, the
// globe.
type spatialIndexArea struct{ box *SpatialIndexBoundingBox }

func (p *indexPathNode) property(name string) *indexPathNode {
	if p == nil {
		return nil
	}
	if child := p.names[name]; child != nil {
		return child
	}
	return p.deep
}

func (p *indexPathNode) elements() *indexPathNode {
	if p == nil {
		return nil
	}
	if p.element != nil {
		return p.element
	}
	return p.deep
}

// inheritBelow makes a spatial index whose path ends in /* apply to all nodes below p, except to those
// that have a spatial index of their own. below is the index that p itself inherits; nil: none.
func (p *indexPathNode) inheritBelow(below *spatialIndexArea) {
	if p.below != nil {
		below = p.below
	}
	if below != nil {
		p.deep = &indexPathNode{spatial: below}
		p.deep.deep = p.deep
	}
	for _, child := range p.names {
		child.inherit(below)
	}
	if p.element != nil {
		p.element.inherit(below)
	}
}

func (p *indexPathNode) inherit(below *spatialIndexArea) {
	if p.spatial == nil {
		p.spatial = below
	}
	p.inheritBelow(below)
}

// grow returns the node at a path and creates it if it is missing.
func (p *indexPathNode) grow(segments []PathSegment) *indexPathNode {
	for _, s := range segments {
		next := p.names[s.Name]
		if s.Element {
			next = p.element
		}
		if next == nil {
			next = &indexPathNode{}
			if s.Element {
				p.element = next
			} else {
				if p.names == nil {
					p.names = map[string]*indexPathNode{}
				}
				p.names[s.Name] = next
			}
		}
		p = next
	}
	return p
}

// addSpecial compiles all parts of the policy except included and excluded paths.
func (x *Indexer) addSpecial() error {
	p := x.def.Policy
	for i, keys := range append(slices.Clip(p.Composite), x.def.Own...) {
		c, err := newCompositeIndex(keys)
		if err != nil {
			return at(err, "compositeIndexes[%d]", i)
		}
		if slices.ContainsFunc(x.composites, func(o *CompositeIndex) bool { return o.id == c.id }) {
			continue
		}
		x.composites = append(x.composites, c)
		for _, k := range c.Keys {
			node := x.special.grow(PathTo(k.Path))
			node.composite = append(node.composite, x.wanted)
			x.wanted++
			c.Ready = c.Ready && x.evaluates(k.Path.Segments()[0])
		}
		if i < len(p.Composite) {
			x.named = len(x.composites)
		}
	}
	for i, s := range p.Spatial {
		pattern, err := ParsePattern(s.Path)
		if err != nil {
			return at(err, "spatialIndexes[%d].path", i)
		}
		node := x.special.grow(pattern.segments)
		node.spatial = &spatialIndexArea{s.Box}
		if pattern.subtree {
			node.below = node.spatial
		}
	}
	if err := x.addVectors(p.Vector); err != nil {
		return err
	}
	if err := x.addTexts(p.FullText); err != nil {
		return err
	}
	x.special.inheritBelow(nil)
	return nil
}
