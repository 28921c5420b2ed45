package index

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/prefix"
)

// vectorIndex is the index of a path that holds vectors. All types of vector indexes store the vectors
// unchanged.
type vectorIndex struct {
	path       string
	dimensions int
	codes      *Quantizer // nil: the index has no codes
}

func (x *Indexer) addVectors(list []VectorPath) error {
	for i, v := range list {
		p, err := jsondoc.ParsePath(v.Path)
		if err != nil {
			return at(badPath(v.Path, 0, err), "vectorIndexes[%d].path", i)
		}
		if x.hidden[p.Segments()[0]] {
			continue
		}
		one := vectorIndex{path: p.String(), dimensions: x.def.Vectors[p.String()]}
		if v.quantized() && one.dimensions > 0 {
			one.codes = NewQuantizer(one.dimensions, v.codeSize())
		}
		x.vectors = append(x.vectors, one)
		x.special.grow(PathTo(p)).vector = len(x.vectors)
	}
	return nil
}

func (x *Indexer) addTexts(list []FullTextPath) error {
	for i, f := range list {
		p, err := jsondoc.ParsePath(f.Path)
		if err != nil {
			return at(badPath(f.Path, 0, err), "fullTextIndexes[%d].path", i)
		}
		if x.hidden[p.Segments()[0]] {
			continue
		}
		node := x.special.grow(PathTo(p))
		node.text, node.language = true, x.def.language(p.String())
	}
	return nil
}

// quantized reports whether the index stores quantized vectors (codes) in addition to the vectors themselves.
func (v VectorPath) quantized() bool { return v.Type != "flat" }

// codeSize returns the size in bytes of the quantized vectors that the policy requests, or 0 if it requests
// none.
func (v VectorPath) codeSize() int {
	if v.QuantizationByteSize == nil {
		return 0
	}
	return max(*v.QuantizationByteSize, 0)
}

// vector adds the entries of a vector: an array with as many numbers as the embedding has dimensions. Any
// other value gets no entry.
func (w *documentWalk) vector(index vectorIndex, v jsondoc.Value) {
	if v.Kind() != jsondoc.Array {
		return
	}
	s := w.open(kindVector)
	n := 0
	v.Each(func(_ string, elem jsondoc.Value) bool {
		if n++; elem.Kind() != jsondoc.Number || n > index.dimensions {
			n = -1
			return false
		}
		w.extra = binary.LittleEndian.AppendUint32(w.extra, math.Float32bits(float32(elem.Num())))
		return true
	})
	if n != index.dimensions {
		w.keys, w.extra = w.keys[:s.start], w.extra[:s.value]
		return
	}
	w.shut(s)
	if index.codes != nil {
		w.vectors = DecodeVector(w.vectors[:0], w.extra[s.value:])
		s = w.open(kindCode)
		w.extra = index.codes.AppendCode(w.extra, w.vectors)
		w.shut(s)
	}
}

// VectorPrefix returns the key prefix of the vectors at path, one entry per document; ok is false if they
// are not indexed. A document without an entry has no vector of the right length at path.
func (x *Indexer) VectorPrefix(p Path) (key []byte, ok bool) {
	ok = x.inAllVersions(p, func(x *Indexer) bool {
		return x.vectorDimensions(p) > 0
	})
	return p.appendKey(nil, kindVector), ok
}

func (x *Indexer) vectorDimensions(p Path) int {
	v, _ := x.vectorAt(p)
	return v.dimensions
}

func (x *Indexer) vectorAt(p Path) (vectorIndex, bool) {
	i := slices.IndexFunc(x.vectors, func(v vectorIndex) bool { return v.path == p.String() })
	if i < 0 {
		return vectorIndex{}, false
	}
	return x.vectors[i], true
}

// VectorCodes returns the key prefix of the quantized vectors (codes) at path, one entry per vector, and the
// Quantizer that computed them. Both are nil if the vectors at path are not quantized.
func (x *Indexer) VectorCodes(p Path) (key []byte, codes *Quantizer) {
	if x != nil {
		v, _ := x.vectorAt(p)
		codes = v.codes
	}
	if codes == nil || !x.inAllVersions(p, func(x *Indexer) bool {
		v, _ := x.vectorAt(p)
		return v.codes.Equal(codes)
	}) {
		return nil, nil
	}
	return p.appendKey(nil, kindCode), codes
}

// DecodeVector appends the numbers in a vector's entry to dst. They are the document's numbers rounded to
// float32.
func DecodeVector(dst []float32, value []byte) []float32 {
	for ; len(value) >= 4; value = value[4:] {
		dst = append(dst, math.Float32frombits(binary.LittleEndian.Uint32(value)))
	}
	return dst
}

// words adds the entries of a text: one per distinct word, and one for the empty word, which every document
// with a text has. The value holds the number of occurrences of the word and the number of all words of the
// text.
func (w *documentWalk) words(language Language, v jsondoc.Value) {
	if v.Kind() != jsondoc.String {
		return
	}
	tokens := language.AppendTokens(nil, v.Str())
	total := uint64(len(tokens))
	slices.SortFunc(tokens, func(a, b TextToken) int { return strings.Compare(a.Term, b.Term) })
	w.word("", total, total)
	for i := 0; i < len(tokens); {
		n := i + 1
		for n < len(tokens) && tokens[n].Term == tokens[i].Term {
			n++
		}
		w.word(tokens[i].Term, uint64(n-i), total)
		i = n
	}
}

func (w *documentWalk) word(term string, count, total uint64) {
	s := w.open(kindText)
	w.keys = jsondoc.AppendEscaped(w.keys, []byte(term))
	w.extra = binary.AppendUvarint(binary.AppendUvarint(w.extra, count), total)
	w.shut(s)
}

// TextIndexed reports whether the words of the text at path are indexed.
func (x *Indexer) TextIndexed(p Path) bool {
	return x.inAllVersions(p, func(y *Indexer) bool {
		return !y.hidden[p[0].Name] && y.at(p) != nil && y.at(p).text && y.at(p).language == x.Language(p)
	})
}

// Language returns the language in which the texts at a path are analysed, even if they are not indexed.
func (x *Indexer) Language(p Path) Language {
	if x == nil {
		return English
	}
	return x.def.language(p.String())
}

func (d *IndexingSettings) language(path string) Language {
	if l, ok := d.Languages[path]; ok {
		return l
	}
	return d.Language
}

// TextKey returns the key of the documents whose text at path contains word, as returned by
// Language.AppendTokens. The empty word stands for all documents that have a text there.
func (x *Indexer) TextKey(p Path, word string) []byte {
	return jsondoc.AppendEscaped(p.appendKey(nil, kindText), []byte(word))
}

// TextWords returns the interval [lo, hi) of the keys of all words at path, including the empty word.
func (x *Indexer) TextWords(p Path) (lo, hi []byte) {
	lo = p.appendKey(nil, kindText)
	return lo, prefix.End(lo)
}

// TextWord returns the word in a key of a text index.
func TextWord(key []byte) (word string, ok bool) {
	end, _ := splitPath(key)
	if end == 0 || key[end-1] != kindText {
		return "", false
	}
	b, _, err := jsondoc.DecodeEscaped(key[end:])
	return string(b), err == nil
}

// DecodeText decodes the value of a word's entry: how often the word occurs in the document's text, and
// how many words the text has, both after analysis.
func DecodeText(value []byte) (count, words uint64) {
	count, n := binary.Uvarint(value)
	words, _ = binary.Uvarint(value[max(n, 0):])
	return count, words
}

// geometry adds the entries of a geometry, one per cell that covers it.
func (w *documentWalk) geometry(box *SpatialIndexBoundingBox, v jsondoc.Value) {
	if v.Kind() != jsondoc.Object || v.Member("type").Kind() != jsondoc.String {
		return
	}
	g, err := ParseGeometry(v, w.x.def.Geometry)
	if err != nil {
		return
	}
	for _, cell := range g.Cells(box) {
		s := w.open(kindSpatial)
		w.keys = AppendCell(w.keys, cell)
		w.shut(s)
	}
}

// Spatial reports whether geometries at path are indexed. box bounds their plane; it is nil on the globe.
func (x *Indexer) Spatial(p Path) (box *SpatialIndexBoundingBox, ok bool) {
	same := func(y *Indexer) bool {
		at := y.at(p)
		if at == nil || at.spatial == nil || y.hidden[p[0].Name] || y.def.Geometry != x.def.Geometry {
			return false
		}
		own := x.at(p).spatial.box
		return own == at.spatial.box || own != nil && at.spatial.box != nil && *own == *at.spatial.box
	}
	if x == nil || !x.inAllVersions(p, same) {
		return nil, false
	}
	return x.at(p).spatial.box, true
}

// SpatialRange returns the interval [lo, hi) of the keys of geometries at path in a range of cells, one
// of those that Geometry.QueryCells returns.
func (x *Indexer) SpatialRange(p Path, r SpatialCellRange) (lo, hi []byte) {
	lo = AppendCell(p.appendKey(nil, kindSpatial), r.Low)
	return lo, prefix.End(AppendCell(p.appendKey(nil, kindSpatial), r.High))
}

// at returns the node for a path in the tree of the paths that have an index other than the range index,
// or nil if the tree has none.
func (x *Indexer) at(p Path) *indexPathNode {
	at := x.special
	for _, s := range p {
		if s.Element {
			at = at.elements()
		} else {
			at = at.property(s.Name)
		}
	}
	return at
}
