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

// IndexingMode says whether documents are indexed: consistent (in the same write), none, or lazy, an
// obsolete mode that is treated as consistent.
type IndexingMode string

// The modes. Lazy is obsolete: it is stored as sent and treated as Consistent.
const (
	Consistent IndexingMode = "consistent" // at the time of the write
	Lazy       IndexingMode = "lazy"
	None       IndexingMode = "none" // never: queries scan
)

// Policy is an indexing policy. It is plain data: Parse and Normalize convert it to the form that clients
// read back, Validate checks it, Compile prepares it for use. Its JSON form is Cosmos DB's
// indexingPolicy, with the members in a fixed order. The zero Policy stands for a missing policy and
// normalises to Default.
type Policy struct {
	Mode      IndexingMode
	Included  []IncludedOrExcludedPath
	Excluded  []IncludedOrExcludedPath
	Composite [][]CompositePathSpec
	Spatial   []SpatialPath
	Vector    []VectorPath
	FullText  []FullTextPath
}

// IncludedOrExcludedPath is an included or excluded path, the text of a PathPattern.
type IncludedOrExcludedPath struct {
	Path    string                `json:"path"`
	Indexes []LegacyIndexSettings `json:"indexes,omitempty"` // sent by old clients and returned only to them
}

// LegacyIndexSettings holds the obsolete settings of an included path (kind, data type, precision) that old
// clients send. They have no effect: all paths have range indexes of full precision.
type LegacyIndexSettings struct {
	Kind      string `json:"kind"`
	DataType  string `json:"dataType,omitempty"`
	Precision *int   `json:"precision,omitempty"`
}

// CompositePathSpec is one path of a composite index in an indexing policy, with its sort order.
type CompositePathSpec struct {
	Path  string `json:"path"`            // a plain path, /a/b
	Order string `json:"order,omitempty"` // ascending or descending; empty is ascending
}

// SpatialPath is a path whose values are indexed as GeoJSON.
type SpatialPath struct {
	Path string `json:"path"` // a PathPattern
	// Types are Point, LineString, Polygon and MultiPolygon: a policy is normalised to all four.
	Types []string                 `json:"types"`
	Box   *SpatialIndexBoundingBox `json:"boundingBox,omitempty"`
}

// SpatialIndexBoundingBox bounds the plane that a spatial index covers. It is required in containers whose
// geospatialConfig is Geometry and not allowed in others.
type SpatialIndexBoundingBox struct {
	XMin float64 `json:"xmin"`
	YMin float64 `json:"ymin"`
	XMax float64 `json:"xmax"`
	YMax float64 `json:"ymax"`
}

// VectorPath is a path whose values are indexed as vectors.
type VectorPath struct {
	Path string `json:"path"` // a plain path
	// Type is the type of the index: flat, quantizedFlat or diskANN.
	Type string `json:"type"`
	// QuantizerType is "product" or "spherical". It is stored and returned to clients, but has no effect.
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

// FullTextPath is a path whose strings have a full-text index.
type FullTextPath struct {
	Path string `json:"path"` // a plain path
}

// Default returns the policy of a container that was created without one: everything except _etag is
// indexed.
func Default() Policy {
	var p Policy
	p.Normalize()
	return p
}

// Parse parses a policy from JSON and normalises it. It ignores unknown members. It does not validate the
// policy. The error is a *PolicyError for text that is not JSON or a member of the wrong type.
func Parse(raw []byte) (Policy, error) {
	var p Policy
	if err := json.Unmarshal(raw, &p); err != nil {
		return Policy{}, decodeError(err)
	}
	p.Normalize()
	return p, nil
}

// policyJSON is the JSON form of a policy.
type policyJSON struct {
	Mode IndexingMode `json:"indexingMode"`
	// determined by the mode: false for none, otherwise true; the value that a client sends is ignored
	Automatic *bool                    `json:"automatic"`
	Included  []IncludedOrExcludedPath `json:"includedPaths"`
	Excluded  []IncludedOrExcludedPath `json:"excludedPaths"`
	Composite [][]CompositePathSpec    `json:"compositeIndexes,omitempty"`
	Spatial   []SpatialPath            `json:"spatialIndexes,omitempty"`
	Vector    []VectorPath             `json:"vectorIndexes,omitempty"`
	FullText  []FullTextPath           `json:"fullTextIndexes,omitempty"`
}

// UnmarshalJSON parses a policy by the rules of Parse: see json.Unmarshaler. It leaves p unchanged if the
// text is null.
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

// MarshalJSON returns the policy as a client reads it back.
func (p Policy) MarshalJSON() ([]byte, error) {
	p.Normalize()
	automatic := p.Mode != None
	return jsondoc.Marshal(policyJSON{p.Mode, &automatic, p.Included, p.Excluded, p.Composite, p.Spatial, p.Vector,
		p.FullText})
}

// IsZero reports whether p is the zero Policy, which stands for a missing policy.
func (p Policy) IsZero() bool {
	return p.Mode == "" && p.Included == nil && p.Excluded == nil && p.Composite == nil &&
		p.Spatial == nil && p.Vector == nil && p.FullText == nil
}

// WithoutLegacy returns the policy without the legacy settings of its paths, which have no effect.
func (p Policy) WithoutLegacy() Policy {
	for _, list := range []*[]IncludedOrExcludedPath{&p.Included, &p.Excluded} {
		if slices.ContainsFunc(*list, func(s IncludedOrExcludedPath) bool { return s.Indexes != nil }) {
			*list = slices.Clone(*list)
			for i := range *list {
				(*list)[i].Indexes = nil
			}
		}
	}
	return p
}

// Equal reports whether clients read both policies back as the same text.
func (p Policy) Equal(q Policy) bool {
	a, errA := p.MarshalJSON()
	b, errB := q.MarshalJSON()
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// Indexed reports whether the policy indexes a scalar at a path. It compiles the policy on each call: for
// several calls use Compile. An invalid policy indexes nothing.
func (p *Policy) Indexed(path ...PathSegment) bool {
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

// strictObject returns an error unless raw is one JSON object (or null) in strict JSON with unique names.
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

// decodeError converts an error of encoding/json to a PolicyError.
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

// canonical returns the element of known that equals s if case is ignored. It returns s if there is none.
func canonical(s string, known []string) string {
	for _, k := range known {
		if strings.EqualFold(k, s) {
			return k
		}
	}
	return s
}
