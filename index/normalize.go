package index

import (
	"slices"
	"strings"
)

const (
	rootPath = "/*"
	etagPath = `/"_etag"/?`
)

func spatialTypes() []string    { return []string{"Point", "LineString", "Polygon", "MultiPolygon"} }
func compositeOrders() []string { return []string{"ascending", "descending"} }
func vectorTypes() []string     { return []string{"flat", "quantizedFlat", "diskANN"} }
func quantizerTypes() []string  { return []string{"product", "spherical"} }

// Normalize converts the policy to the form in which Cosmos DB returns it. Keywords, such as the indexing
// mode, get Cosmos DB's case. /* is included if neither list has a path, or if there is no list of included
// paths and /* is not excluded. /"_etag"/? is appended to the excluded paths unless one of the lists has it.
// Each spatial path gets all four types. A policy whose mode is none loses its paths and is not automatic.
// Invalid values are left for Validate. The slices are copied before they are changed. A second Normalize
// changes nothing.
func (p *Policy) Normalize() {
	if p.Mode = IndexingMode(strings.ToLower(string(p.Mode))); p.Mode == "" {
		p.Mode = Consistent
	}
	if p.Mode == None {
		*p = Policy{Mode: None, Included: []IncludedOrExcludedPath{}, Excluded: []IncludedOrExcludedPath{}}
		return
	}
	given := p.Included != nil
	p.Included, p.Excluded = normalPaths(p.Included), normalPaths(p.Excluded)
	if !given && !has(p.Excluded, rootPath) || len(p.Included)+len(p.Excluded) == 0 {
		p.Included = append(p.Included, IncludedOrExcludedPath{Path: rootPath})
	}
	if !has(p.Excluded, etagPath) && !has(p.Included, etagPath) {
		p.Excluded = append(p.Excluded, IncludedOrExcludedPath{Path: etagPath})
	}
	p.normalizeSpecial()
}

// normalizeSpecial normalizes the composite, spatial and vector indexes of the policy.
func (p *Policy) normalizeSpecial() {
	p.Composite = slices.Clone(p.Composite)
	for i, keys := range p.Composite {
		keys = slices.Clone(keys)
		for j, k := range keys {
			if k.Order == "" {
				k.Order = "ascending"
			}
			keys[j].Order = canonical(k.Order, compositeOrders())
		}
		p.Composite[i] = keys
	}
	p.Spatial = slices.Clone(p.Spatial)
	for i, s := range p.Spatial {
		if len(s.Types) > 0 && len(unknownTypes(s.Types)) == 0 {
			p.Spatial[i].Types = spatialTypes()
		}
	}
	p.Vector = slices.Clone(p.Vector)
	for i, v := range p.Vector {
		p.Vector[i].Type = canonical(v.Type, vectorTypes())
		p.Vector[i].QuantizerType = canonical(v.QuantizerType, quantizerTypes())
	}
}

// normalPaths returns a copy of the list, never nil, in which the path / is replaced by /* and the values
// of the obsolete properties kind and dataType have the case that Azure uses ("Hash", "String").
func normalPaths(list []IncludedOrExcludedPath) []IncludedOrExcludedPath {
	list = append([]IncludedOrExcludedPath{}, list...)
	for i := range list {
		if list[i].Path == "/" {
			list[i].Path = rootPath
		}
		list[i].Indexes = slices.Clone(list[i].Indexes)
		for j, x := range list[i].Indexes {
			list[i].Indexes[j].Kind = canonical(x.Kind, legacyKinds())
			list[i].Indexes[j].DataType = canonical(x.DataType, legacyTypes())
		}
	}
	return list
}

// has reports whether a list contains a pattern, also if it is written differently.
func has(list []IncludedOrExcludedPath, pattern string) bool {
	want, err := ParsePattern(pattern)
	return err == nil && slices.ContainsFunc(list, func(s IncludedOrExcludedPath) bool {
		p, err := ParsePattern(s.Path)
		return err == nil && p.String() == want.String()
	})
}

// unknownTypes returns the elements of types that are not spatial types.
func unknownTypes(types []string) (unknown []string) {
	for _, t := range types {
		if !slices.Contains(spatialTypes(), canonical(t, spatialTypes())) {
			unknown = append(unknown, t)
		}
	}
	return unknown
}
