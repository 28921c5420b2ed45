package index

import (
	"bytes"
	"slices"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// Entry is one index entry of a document.
type Entry struct{ Key, Value []byte }

// Entries appends the index entries of a document that was written at ts, in seconds since 1970. They are
// sorted by key, and each key occurs once. The entries do not refer to body. Their keys and values share
// one allocation.
func (x *Indexer) Entries(dst []Entry, body []byte, ts int64) []Entry {
	return x.EntriesWithin(dst, nil, 0, body, ts)
}

// EntriesWithin appends the index entries of a document that was written at ts, in seconds since 1970, sorted
// by key. Their keys have the form in which the store writes them: each begins with lead and ends with tail
// zero bytes, into which the caller writes the rid.
func (x *Indexer) EntriesWithin(dst []Entry, lead []byte, tail int, body []byte, ts int64) []Entry {
	if x == nil || x.none {
		return dst
	}
	w := x.scratch.Get().(*documentWalk)
	defer w.release()
	w.begin(x)
	w.document(body, ts)
	w.composite()
	w.sort()
	w.addShape()
	return w.copyOut(dst, lead, tail)
}

// documentWalk collects the entries of one document. A single pass over the document creates the range terms
// and collects the values for the other indexes.
type documentWalk struct {
	x      *Indexer
	keys   []byte
	extra  []byte // values of the entries
	steps  []byte // the text of the current path
	depth  int    // number of steps in the current path
	enters int    // number of arrays that the current path enters
	spans  []indexEntryBeingBuilt
	wanted []jsondoc.Value // the values for the composite indexes

	vectors []float32 // scratch
}

// indexEntryBeingBuilt is an index entry while its key and value are being written: their offsets in the
// buffers keys and extra of the documentWalk.
type indexEntryBeingBuilt struct {
	start, end      int
	value, valueEnd int
	// length in bytes of the start of the key that consists of its family, its path and its kind; 0: the key
	// has no path
	path               int
	enters, rangeEntry bool
}

func (w *documentWalk) begin(x *Indexer) {
	w.x, w.keys, w.extra, w.steps, w.spans = x, w.keys[:0], w.extra[:0], w.steps[:0], w.spans[:0]
	w.depth, w.enters = 0, 0
	w.wanted = append(w.wanted[:0], make([]jsondoc.Value, x.wanted)...)
}

// release returns the walk to the pool for another document.
func (w *documentWalk) release() {
	clear(w.wanted) // the values refer to the body
	x := w.x
	w.x = nil
	if cap(w.keys) <= maxScratch {
		x.scratch.Put(w)
	}
}

const maxScratch = 1 << 20

func (w *documentWalk) document(body []byte, ts int64) {
	x := w.x
	root := x.matcher.Root()
	w.members(jsondoc.Of(body), root, x.special)
	for _, c := range x.computed {
		var at PolicyMatcherPosition
		if c.included {
			at = root.Property(c.name)
		}
		w.property(c.name, c.evaluate(body), at, x.special.property(c.name))
	}
	w.steps = append(w.steps[:0], "_ts"...)
	seconds := jsondoc.NumberValue(float64(ts))
	w.rangeTerm(seconds)
	w.collect(x.special.property("_ts"), seconds)
	w.steps = w.steps[:0]
}

// members appends the index entries of all members of the object v, and of everything inside them. at is the
// object's position in the indexing policy, and more its node in the tree of the special indexes (composite,
// spatial and so on), or nil.
func (w *documentWalk) members(v jsondoc.Value, at PolicyMatcherPosition, more *indexPathNode) {
	top := w.depth == 0
	v.Each(func(name string, elem jsondoc.Value) bool {
		if top && w.x.hidden[name] {
			return true
		}
		w.property(name, elem, at.Property(name), more.property(name))
		return true
	})
}

// property appends the index entries of one member of an object, name with the value v, and of everything
// inside v. at is the member's position in the indexing policy. more is its node in the tree of the special
// indexes (composite, spatial and so on); nil: it has none.
func (w *documentWalk) property(name string, v jsondoc.Value, at PolicyMatcherPosition,
	more *indexPathNode) {
	first := w.depth == 0
	always := first && name == "id"
	if v.Kind() == jsondoc.Undefined || at.IsEmpty() && more == nil && !always {
		return
	}
	n := len(w.steps)
	w.steps = appendStep(w.steps, name, false, first)
	w.depth++
	w.value(v, at, more, always)
	w.depth--
	w.steps = w.steps[:n]
}

// value indexes the value at the current path and visits what it contains. If always is set, it indexes the
// value even if the policy does not include it.
func (w *documentWalk) value(v jsondoc.Value, at PolicyMatcherPosition, more *indexPathNode, always bool) {
	if at.Indexed() || always {
		w.rangeTerm(v)
	}
	w.collect(more, v)
	switch v.Kind() {
	case jsondoc.Object:
		w.members(v, at, more)
	case jsondoc.Array:
		inner, below := at.Element(), more.elements()
		if inner.IsEmpty() && below == nil {
			return
		}
		n := len(w.steps)
		w.steps = appendStep(w.steps, "", true, false)
		w.enters++
		v.Each(func(_ string, elem jsondoc.Value) bool {
			w.value(elem, inner, below, false)
			return true
		})
		w.enters--
		w.steps = w.steps[:n]
	}
}

// open begins an index entry at the current path. kind is the kind of index: range, spatial, text, vector or
// code (the quantized form of a vector). shut ends the entry.
func (w *documentWalk) open(kind byte) indexEntryBeingBuilt {
	s := indexEntryBeingBuilt{start: len(w.keys), value: len(w.extra), enters: w.enters > 0,
		rangeEntry: kind == kindRange}
	w.keys = appendPath(append(w.keys, FamilyTerms), w.steps, s.enters, kind)
	s.path = len(w.keys) - s.start
	return s
}

// shut ends the index entry that open has begun, and records the offsets of the entry's key and value in
// the buffers.
func (w *documentWalk) shut(s indexEntryBeingBuilt) {
	s.end, s.valueEnd = len(w.keys), len(w.extra)
	w.spans = append(w.spans, s)
}

func (w *documentWalk) rangeTerm(v jsondoc.Value) {
	s := w.open(kindRange)
	w.keys = appendTerm(w.keys, v)
	w.shut(s)
}

// collect collects a value for the indexes other than the range index.
func (w *documentWalk) collect(p *indexPathNode, v jsondoc.Value) {
	if p == nil {
		return
	}
	for _, i := range p.composite {
		w.wanted[i] = v
	}
	if p.vector > 0 {
		w.vector(w.x.vectors[p.vector-1], v)
	}
	if p.text {
		w.words(p.language, v)
	}
	if p.spatial != nil {
		w.geometry(p.spatial.box, v)
	}
}

// composite adds the entries of the composite indexes.
func (w *documentWalk) composite() {
	i := 0
	for _, c := range w.x.composites {
		s := indexEntryBeingBuilt{start: len(w.keys), value: len(w.extra)}
		w.keys = c.appendLead(w.keys)
		for k := range c.Keys {
			w.keys, _ = c.appendTo(w.keys, k, w.wanted[i])
			i++
		}
		w.shut(s)
	}
}

func (w *documentWalk) key(s indexEntryBeingBuilt) []byte { return w.keys[s.start:s.end] }

// sort sorts the entries and removes duplicates, which come from equal elements of an array.
func (w *documentWalk) sort() {
	slices.SortFunc(w.spans, func(a, b indexEntryBeingBuilt) int { return bytes.Compare(w.key(a), w.key(b)) })
	w.spans = slices.CompactFunc(w.spans, func(a,
		b indexEntryBeingBuilt) bool {
		return bytes.Equal(w.key(a), w.key(b))
	})
}

// copyOut appends the entries to dst, in newly allocated memory. Each key begins with lead, and has a
// capacity of tail more bytes, which are left for the caller to fill in.
func (w *documentWalk) copyOut(dst []Entry, lead []byte, tail int) []Entry {
	total := 0
	for _, s := range w.spans {
		total += len(lead) + s.end - s.start + tail + s.valueEnd - s.value
	}
	mem := make([]byte, total)
	dst = slices.Grow(dst, len(w.spans))
	for _, s := range w.spans {
		n := len(lead) + s.end - s.start + tail
		e := Entry{Key: mem[:n:n]}
		copy(e.Key[copy(e.Key, lead):], w.key(s))
		mem = mem[n:]
		if n = s.valueEnd - s.value; n > 0 {
			e.Value = mem[:n:n]
			copy(e.Value, w.extra[s.value:])
			mem = mem[n:]
		}
		dst = append(dst, e)
	}
	return dst
}
