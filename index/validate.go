package index

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// PolicyValidationContext holds the other settings of a container's definition on which the rules of a policy
// depend.
type PolicyValidationContext struct {
	Geometry bool // geospatialConfig is Geometry, not Geography
	// dimensions of the vectors by their paths in the vector embedding policy, as printed by jsondoc.Path
	Vectors  map[string]int
	FullText []string // paths of the full text policy, as printed by jsondoc.Path
}

// Cosmos DB's limits of an indexing policy.
const (
	maxCompositePaths  = 8
	maxFlatDimensions  = 505
	maxIndexDimensions = 4096
	maxQuantizedBytes  = 512 // and at most the number of dimensions
	minSearchList      = 25
	maxSearchList      = 500
	maxShardKeys       = 1
)

// Validate checks a normalised policy against Cosmos DB's rules. The error is a *PolicyError.
func (p Policy) Validate(s PolicyValidationContext) error {
	switch p.Mode {
	case Consistent, Lazy:
	case None:
		return nil
	default:
		return refuse(fmt.Sprintf(
			"The indexing mode '%s' is invalid. Choose between 'consistent', 'lazy' and 'none'.", p.Mode), "indexingMode")
	}
	if _, err := Compile(p); err != nil {
		return err
	}
	if !has(p.Included, rootPath) && !has(p.Excluded, rootPath) {
		return refuse(`The special mandatory indexing path "/" is not provided in any of the path type sets: `+
			`list "/*" among the included or the excluded paths.`, "includedPaths")
	}
	for i, keys := range p.Composite {
		if err := validateComposite(keys); err != nil {
			return at(err, "compositeIndexes[%d]", i)
		}
	}
	for i, path := range p.Spatial {
		if err := path.validate(s.Geometry); err != nil {
			return at(err, "spatialIndexes[%d]", i)
		}
	}
	for i, v := range p.Vector {
		if err := v.validate(s.Vectors); err != nil {
			return at(err, "vectorIndexes[%d]", i)
		}
		if slices.ContainsFunc(p.Vector[:i], func(w VectorPath) bool {
			a, errA := plainPath(v.Path)
			b, errB := plainPath(w.Path)
			return errA == nil && errB == nil && a == b
		}) {
			return refuse("Duplicate Path :"+v.Path+" found in Vector Indexing Policy.", "vectorIndexes[%d]", i)
		}
	}
	for i, f := range p.FullText {
		if err := f.validate(i, s.FullText); err != nil {
			return at(err, "fullTextIndexes[%d].path", i)
		}
	}
	return nil
}

func legacyKinds() []string { return []string{"Range", "Hash", "Spatial"} }

func legacyTypes() []string { return append([]string{"String", "Number"}, spatialTypes()...) }

// validateLegacy checks the settings that old clients send with paths.
func validateLegacy(list []IncludedOrExcludedPath, name string) error {
	kinds, types := legacyKinds(), legacyTypes()
	for i, path := range list {
		for j, x := range path.Indexes {
			switch {
			case !slices.Contains(kinds, canonical(x.Kind, kinds)):
				return refuse(fmt.Sprintf("The index kind '%s' is invalid.", x.Kind),
					"%s[%d].indexes[%d].kind", name, i, j)
			case x.DataType != "" && !slices.Contains(types, canonical(x.DataType, types)):
				return refuse(fmt.Sprintf("The index data type '%s' is invalid.", x.DataType),
					"%s[%d].indexes[%d].dataType", name, i, j)
			case x.Precision != nil && (*x.Precision < -1 || *x.Precision == 0):
				return refuse(fmt.Sprintf("The index precision '%d' is invalid.", *x.Precision),
					"%s[%d].indexes[%d].precision", name, i, j)
			}
		}
	}
	return nil
}

func validateComposite(keys []CompositePathSpec) error {
	if len(keys) < 2 || len(keys) > maxCompositePaths {
		return &PolicyError{Reason: fmt.Sprintf(
			"A composite index must have at least 2 paths and at most %d; this one has %d.",
			maxCompositePaths, len(keys))}
	}
	seen := make([]string, 0, len(keys))
	for _, k := range keys {
		path, err := plainPath(k.Path)
		if err != nil {
			return err
		}
		if slices.Contains(seen, path) {
			return &PolicyError{Reason: fmt.Sprintf(
				"The following path '%s' was specified more than once in a composite index.", k.Path)}
		}
		seen = append(seen, path)
		if !slices.Contains(compositeOrders(), k.Order) {
			return &PolicyError{Reason: fmt.Sprintf(
				"The composite order '%s' is invalid. Choose between 'ascending' and 'descending'.", k.Order)}
		}
	}
	return nil
}

func (p SpatialPath) validate(geometry bool) error {
	if _, err := ParsePattern(p.Path); err != nil {
		return err
	}
	if len(p.Types) == 0 {
		return &PolicyError{Reason: fmt.Sprintf("The spatial data types array cannot be empty. "+
			"Assign at least one spatial type for the 'types' array for the path %s.", p.Path)}
	}
	if unknown := unknownTypes(p.Types); len(unknown) > 0 {
		return &PolicyError{Reason: fmt.Sprintf("The spatial data type '%s' is invalid. Choose among %s.",
			unknown[0], strings.Join(spatialTypes(), ", "))}
	}
	switch {
	case geometry && p.Box == nil:
		return &PolicyError{Reason: "A spatial index of a container with Geometry must have a boundingBox."}
	case !geometry && p.Box != nil:
		return &PolicyError{Reason: "A spatial index of a container with Geography must not have a boundingBox."}
	case p.Box != nil && !p.Box.spans():
		return &PolicyError{Reason: "The boundingBox of a Geometry index must have xmin below xmax and ymin below ymax."}
	}
	return nil
}

// spans reports whether the box has an area and its sides are finite.
func (b *SpatialIndexBoundingBox) spans() bool {
	return b.XMin < b.XMax && b.YMin < b.YMax && !math.IsInf(b.XMax-b.XMin, 0) &&
		!math.IsInf(b.YMax-b.YMin, 0)
}

// plainPath checks a path without wildcards and returns it in its canonical spelling.
func plainPath(s string) (string, error) {
	p, err := jsondoc.ParsePath(s)
	if err != nil {
		return "", badPath(s, 0, err)
	}
	return p.String(), nil
}
