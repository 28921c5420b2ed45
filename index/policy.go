package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// Mode says when documents are indexed.
type Mode string

// The modes. Lazy is old; it is kept as sent and means Consistent.
const (
	Consistent Mode = "consistent" // with the write
	Lazy       Mode = "lazy"
	None       Mode = "none" // never: queries scan
)

// Policy is an indexing policy. It is plain data: Parse and Normalize bring it into the form that clients
// read back, Validate checks it, Compile prepares it for use. Its JSON form is Cosmos DB's indexingPolicy,
// members in a fixed order. The zero Policy stands for one that was not given and normalises to Default.
type Policy struct {
	Mode      Mode
	Included  []PathSpec
	Excluded  []PathSpec
	Composite [][]CompositePath
	Spatial   []SpatialPath
	Vector    []VectorPath
	FullText  []FullTextPath
}

// PathSpec is an included or excluded path, a Pattern as text.
type PathSpec struct {
	Path    string       `json:"path"`
	Indexes []LegacyKind `json:"indexes,omitempty"` // of old clients, who alone read it back
}

// LegacyKind is what old clients say about an included path. Today all paths have range indexes of full
// precision.
type LegacyKind struct {
	Kind      string `json:"kind"`
	DataType  string `json:"dataType,omitempty"`
	Precision *int   `json:"precision,omitempty"`
}

// CompositePath is one key of a composite index.
type CompositePath struct {
	Path  string `json:"path"`            // a plain path, /a/b
	Order string `json:"order,omitempty"` // ascending or descending; empty is ascending
}

// SpatialPath is a path whose values are indexed as GeoJSON.
type SpatialPath struct {
	Path  string   `json:"path"`  // a Pattern
	Types []string `json:"types"` // Point, LineString, Polygon, MultiPolygon; normalised to all four
	Box   *Box     `json:"boundingBox,omitempty"`
}

// Box bounds the plane that a spatial index covers. Only containers with geometry have one, and they must.
type Box struct {
	XMin float64 `json:"xmin"`
	YMin float64 `json:"ymin"`
	XMax float64 `json:"xmax"`
	YMax float64 `json:"ymax"`
}

// VectorPath is a path whose values are indexed as vectors.
type VectorPath struct {
	Path string `json:"path"` // a plain path
	// flat, quantizedFlat or diskANN
	Type string `json:"type"`
	// product or spherical; kept for clients
	QuantizerType          string   `json:"quantizerType,omitempty"`
	QuantizationByteSize   *int     `json:"quantizationByteSize,omitempty"`   // nil: not given
	IndexingSearchListSize *int     `json:"indexingSearchListSize,omitempty"` // nil: not given
	ShardKey               []string `json:"vectorIndexShardKey,omitempty"`
}

// Equal reports whether two paths ask for the same index.
func (v VectorPath) Equal(w VectorPath) bool {
	same := func(a, b *int) bool { return a == b || a != nil && b != nil && *a == *b }
	return v.Path == w.Path && v.Type == w.Type && v.QuantizerType == w.QuantizerType &&
		same(v.QuantizationByteSize, w.QuantizationByteSize) &&
		same(v.IndexingSearchListSize, w.IndexingSearchListSize) && slices.Equal(v.ShardKey, w.ShardKey)
}

// FullTextPath is a path whose strings are indexed by words.
type FullTextPath struct {
	Path string `json:"path"` // a plain path
}

// Default returns the policy of a container that was made without one: everything is indexed but _etag.
func Default() Policy {
	var p Policy
	p.Normalize()
	return p
}

// Parse reads a policy from JSON and normalises it. Members that it does not know are ignored. The result has
// still to be validated. The error is a *PolicyError for text that is not JSON or a member of the wrong type.
func Parse(raw []byte) (Policy, error) {
	var p Policy
	if err := json.Unmarshal(raw, &p); err != nil {
		return Policy{}, decodeError(err)
	}
	p.Normalize()
	return p, nil
}

// policyJSON is the form of a policy in JSON.
type policyJSON struct {
	Mode Mode `json:"indexingMode"`
	// told by the mode: true unless that is none, whatever a client sends
	Automatic *bool             `json:"automatic"`
	Included  []PathSpec        `json:"includedPaths"`
	Excluded  []PathSpec        `json:"excludedPaths"`
	Composite [][]CompositePath `json:"compositeIndexes,omitempty"`
	Spatial   []SpatialPath     `json:"spatialIndexes,omitempty"`
	Vector    []VectorPath      `json:"vectorIndexes,omitempty"`
	FullText  []FullTextPath    `json:"fullTextIndexes,omitempty"`
}

// UnmarshalJSON is Parse. It leaves p alone where the text is null.
func (p *Policy) UnmarshalJSON(raw []byte) error {
	if err := strictObject(raw); err != nil || isNull(raw) {
		return err
	}
	var w policyJSON
	if err := json.Unmarshal(raw, &w); err != nil {
		return decodeError(err)
	}
	if err := errors.Join(validateLegacy(w.Included, "includedPaths"),
		validateLegacy(w.Excluded, "excludedPaths")); err != nil {
		return err
	}
	*p = Policy{w.Mode, w.Included, w.Excluded, w.Composite, w.Spatial, w.Vector, w.FullText}
	p.Normalize()
	return nil
}

// MarshalJSON returns what a client reads back.
func (p Policy) MarshalJSON() ([]byte, error) {
	p.Normalize()
	automatic := p.Mode != None
	return jsondoc.Marshal(policyJSON{p.Mode, &automatic, p.Included, p.Excluded, p.Composite, p.Spatial, p.Vector,
		p.FullText})
}

// IsZero reports whether p stands for a policy that was not given.
func (p Policy) IsZero() bool {
	return p.Mode == "" && p.Included == nil && p.Excluded == nil && p.Composite == nil &&
		p.Spatial == nil && p.Vector == nil && p.FullText == nil
}

// WithoutLegacy is the policy without what old clients say of its paths, which has no effect.
func (p Policy) WithoutLegacy() Policy {
	for _, list := range []*[]PathSpec{&p.Included, &p.Excluded} {
		if slices.ContainsFunc(*list, func(s PathSpec) bool { return s.Indexes != nil }) {
			*list = slices.Clone(*list)
			for i := range *list {
				(*list)[i].Indexes = nil
			}
		}
	}
	return p
}

// Equal reports whether two policies say the same in the same words: whether clients read the same back.
func (p Policy) Equal(q Policy) bool {
	a, errA := p.MarshalJSON()
	b, errB := q.MarshalJSON()
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// Indexed reports whether the policy indexes a scalar at this place of a document. It compiles the policy:
// use Compile to ask more than once. A policy that is not valid indexes nothing.
func (p *Policy) Indexed(path ...Segment) bool {
	m, err := Compile(*p)
	if err != nil {
		return false
	}
	c := m.Root()
	for _, s := range path {
		if s.Element {
			c = c.Element()
		} else {
			c = c.Property(s.Name)
		}
	}
	return c.Indexed()
}

// strictObject refuses what is not one object (or null) in strict JSON, with names that are unique.
func strictObject(raw []byte) error {
	if err := jsondoc.Valid(raw, jsondoc.Limits{}); err != nil {
		return &PolicyError{Reason: err.Error()}
	}
	if kind := jsondoc.Of(raw).Kind(); kind != jsondoc.Object && kind != jsondoc.Null {
		return &PolicyError{Reason: "An object is needed here; this is of type " + kind.String() + "."}
	}
	return nil
}

func isNull(raw []byte) bool { return jsondoc.Of(raw).Kind() == jsondoc.Null }

// decodeError turns an error of encoding/json into a PolicyError.
func decodeError(err error) error {
	var own *PolicyError
	if errors.As(err, &own) {
		return own
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return &PolicyError{Path: wrong.Field,
			Reason: fmt.Sprintf("One of the specified inputs is invalid: a value of the wrong type: %s.",
				wrong.Value)}
	}
	return &PolicyError{Reason: err.Error()}
}

// canonical returns the member of known that s spells in another case, or s.
func canonical(s string, known []string) string {
	for _, k := range known {
		if strings.EqualFold(k, s) {
			return k
		}
	}
	return s
}
