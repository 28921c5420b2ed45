package index

import (
	"maps"
	"slices"
	"sync"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// Definition is everything in a container's definition that decides what the index entries of a document are.
type Definition struct {
	Policy    Policy
	Computed  []Computed
	Geometry  bool                // geometries lie in a plane, not on the globe
	Languages map[string]Language // of the texts at paths, as jsondoc.Path prints these
	Language  Language            // of the texts at all other paths
	// paths of the vector embedding policy, as jsondoc.Path prints them, with their dimensions
	Vectors map[string]int
	// composite indexes that are kept although the policy does not name them: see Own
	Own [][]CompositePath
}

// Computed is a computed property. It hides a property of its name that documents hold. An index holds its
// values only where an included path begins with its name, or a composite index has it: /* does not; and only
// where it can be evaluated.
type Computed struct{ Name, Query string }

// Equal reports whether two definitions give every document the same entries.
func (d Definition) Equal(e Definition) bool {
	return d.Policy.WithoutLegacy().Equal(e.Policy.WithoutLegacy()) &&
		slices.Equal(d.Computed, e.Computed) && d.Geometry == e.Geometry &&
		maps.Equal(d.Vectors, e.Vectors) && d.sameLanguages(e)
}

// sameLanguages reports whether all texts that are indexed are analysed in the same languages.
func (d Definition) sameLanguages(e Definition) bool {
	return !slices.ContainsFunc(d.Policy.FullText, func(f FullTextPath) bool {
		p, err := jsondoc.ParsePath(f.Path)
		return err == nil && d.language(p.String()) != e.language(p.String())
	})
}

// Evaluate returns the value of a computed property of a document; undefined where it has none. It depends on
// the document's text alone and is safe for concurrent use.
type Evaluate func(body []byte) jsondoc.Value

// Indexer makes the index entries of documents by one definition, and the keys by which they are found. It is
// immutable and safe for concurrent use. A nil Indexer indexes nothing.
//
// Two questions are kept apart. What the definition indexes decides which queries the service accepts
// (Included); what can be relied on to be in the index decides how they are answered (RangeIndexed and the
// like). They differ only while documents are being indexed anew: see Beside.
type Indexer struct {
	def        Definition
	none       bool
	matcher    *Matcher
	composites []*Composite // those that the policy names, then the others
	named      int          // of the policy
	special    *special
	wanted     int             // paths of all composite indexes
	hidden     map[string]bool // names of all computed properties
	computed   []computed      // those that are in an index
	vectors    []vectorIndex

	older []*Indexer // documents may still be indexed by these

	scratch *sync.Pool // of *walk
}

// computed is a computed property that is in an index.
type computed struct {
	name     string
	evaluate Evaluate
	included bool // by an included path; else in composite indexes alone
}

// NewIndexer compiles a definition whose policy has been normalised. evaluate has computed properties by
// their names; those that it lacks are not indexed. The error is a *PolicyError.
func NewIndexer(d Definition, evaluate map[string]Evaluate) (*Indexer, error) {
	m, err := Compile(d.Policy)
	if err != nil {
		return nil, err
	}
	x := &Indexer{def: d, matcher: m, special: &special{}, hidden: map[string]bool{},
		scratch: &sync.Pool{New: func() any { return new(walk) }}}
	for _, c := range d.Computed {
		x.hidden[c.Name] = true
	}
	if x.none = d.Policy.Mode == None; x.none {
		return x, nil
	}
	for _, c := range d.Computed {
		included := x.includes(c.Name)
		if e := evaluate[c.Name]; e != nil && (included || x.composes(c.Name)) {
			x.computed = append(x.computed, computed{c.Name, e, included})
		}
	}
	if err := x.addSpecial(); err != nil {
		return nil, err
	}
	return x, nil
}

// includes reports whether an included path begins with a property of that name.
func (x *Indexer) includes(name string) bool {
	return slices.ContainsFunc(x.def.Policy.Included, func(s PathSpec) bool {
		p, err := ParsePattern(s.Path)
		return err == nil && len(p.segments) > 0 && p.segments[0].Name == name
	})
}

// composes reports whether a path of a composite index begins with a property of that name.
func (x *Indexer) composes(name string) bool {
	return slices.ContainsFunc(x.def.Policy.Composite, func(keys []CompositePath) bool {
		return slices.ContainsFunc(keys, func(k CompositePath) bool {
			p, err := jsondoc.ParsePath(k.Path)
			return err == nil && p.Segments()[0] == name
		})
	})
}

// evaluates reports whether the value of a top-level property is at hand when a document is indexed: not that
// of a computed property that is not evaluated, or of what the server provides, but the time of the write.
func (x *Indexer) evaluates(name string) bool {
	if x.hidden[name] {
		return slices.ContainsFunc(x.computed, func(c computed) bool { return c.name == name })
	}
	return !jsondoc.IsSystem(name) || name == "_ts"
}

// Beside returns an Indexer that makes the entries of x, and relies on nothing that one of the older ones
// does not index as well: documents may still have been indexed by any of them.
func (x *Indexer) Beside(older ...*Indexer) *Indexer {
	if len(older) == 0 {
		return x
	}
	y := *x
	y.older = older
	return &y
}

// Definition returns what x was compiled from.
func (x *Indexer) Definition() Definition { return x.def }

// Policy returns the indexing policy.
func (x *Indexer) Policy() Policy {
	if x == nil {
		return Policy{Mode: None}
	}
	return x.def.Policy
}

// Included reports whether the definition indexes scalars at path. Cosmos DB refuses to sort by a single path
// where it does not.
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

// RangeIndexed reports whether the index holds an entry at path for every document that has something there:
// a Term of each scalar, and of the kind of each array and object.
func (x *Indexer) RangeIndexed(p Path) bool {
	return x.everywhere(p, func(x *Indexer) bool { return x.Included(p) && x.evaluates(p[0].Name) })
}

// everywhere reports whether x and all older ones index something at a path in the same way.
func (x *Indexer) everywhere(p Path, indexed func(*Indexer) bool) bool {
	if x == nil || !p.sound() || !indexed(x) {
		return false
	}
	return !slices.ContainsFunc(x.older, func(old *Indexer) bool {
		return !indexed(old) ||
			!x.agrees(old, p)
	})
}

// agrees reports whether two indexers mean the same value by a path: not where it begins with a computed
// property that only one of them knows, or that the other computes in another way.
func (x *Indexer) agrees(old *Indexer, p Path) bool {
	name := func(c Computed) bool { return c.Name == p[0].Name }
	i, j := slices.IndexFunc(x.def.Computed, name), slices.IndexFunc(old.def.Computed, name)
	if i < 0 || j < 0 {
		return i == j
	}
	return x.def.Computed[i] == old.def.Computed[j]
}

// Composites returns the composite indexes in the policy's order; Ready reports which of them can be used.
// The slice must not be changed.
func (x *Indexer) Composites() []*Composite {
	if x == nil {
		return nil
	}
	return x.settled(x.composites[:x.named])
}

// Own returns all composite indexes that there are: those of the policy and behind them those that are kept
// beside it. What is refused without an index is refused although one of the latter would serve it.
func (x *Indexer) Own() []*Composite {
	if x == nil {
		return nil
	}
	return x.settled(x.composites)
}

// Unnamed is how many entries each document has that the policy does not ask for.
func (x *Indexer) Unnamed() int {
	if x == nil {
		return 0
	}
	return len(x.composites) - x.named
}

// settled says of composite indexes whether they are ready.
func (x *Indexer) settled(all []*Composite) []*Composite {
	if len(x.older) == 0 {
		return all
	}
	list := make([]*Composite, len(all))
	for i, c := range all {
		copied := *c
		copied.Ready = c.Ready &&
			!slices.ContainsFunc(x.older, func(old *Indexer) bool { return !x.shares(old, c) })
		list[i] = &copied
	}
	return list
}

// shares reports whether an older indexer makes the same entries for a composite index.
func (x *Indexer) shares(old *Indexer, c *Composite) bool {
	return slices.ContainsFunc(old.composites, func(o *Composite) bool { return o.id == c.id && o.Ready }) &&
		!slices.ContainsFunc(c.Keys, func(k CompositeKey) bool { return !x.agrees(old, PathTo(k.Path)) })
}

// special is a node of the tree of those paths that have more than a range index, walked together with the
// document.
type special struct {
	names     map[string]*special
	element   *special
	deep      *special // all other places below: nil, or a node that is its own deep
	composite []int    // what the value here is, among the paths of all composite indexes
	vector    int      // 1 + the number in vectors; 0: none
	text      bool     // words of a text
	language  Language // of the text
	spatial   *space   // geometries here
	below     *space   // and deeper down
}

// space is what the geometries of a spatial index lie in.
type space struct{ box *Box }

func (p *special) property(name string) *special {
	if p == nil {
		return nil
	}
	if child := p.names[name]; child != nil {
		return child
	}
	return p.deep
}

func (p *special) elements() *special {
	if p == nil {
		return nil
	}
	if p.element != nil {
		return p.element
	}
	return p.deep
}

// spread gives what lies below a place with geometries at any depth its share; where a deeper place says
// something itself, that holds.
func (p *special) spread(below *space) {
	if p.below != nil {
		below = p.below
	}
	if below != nil {
		p.deep = &special{spatial: below}
		p.deep.deep = p.deep
	}
	for _, child := range p.names {
		child.inherit(below)
	}
	if p.element != nil {
		p.element.inherit(below)
	}
}

func (p *special) inherit(below *space) {
	if p.spatial == nil {
		p.spatial = below
	}
	p.spread(below)
}

// grow returns the node at a path, and makes it where it is missing.
func (p *special) grow(segments []Segment) *special {
	for _, s := range segments {
		next := p.names[s.Name]
		if s.Element {
			next = p.element
		}
		if next == nil {
			next = &special{}
			if s.Element {
				p.element = next
			} else {
				if p.names == nil {
					p.names = map[string]*special{}
				}
				p.names[s.Name] = next
			}
		}
		p = next
	}
	return p
}

// addSpecial compiles all but the included and excluded paths.
func (x *Indexer) addSpecial() error {
	p := x.def.Policy
	for i, keys := range append(slices.Clip(p.Composite), x.def.Own...) {
		c, err := newComposite(keys)
		if err != nil {
			return at(err, "compositeIndexes[%d]", i)
		}
		if slices.ContainsFunc(x.composites, func(o *Composite) bool { return o.id == c.id }) {
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
		node.spatial = &space{s.Box}
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
	x.special.spread(nil)
	return nil
}
