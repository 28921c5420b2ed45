package index

import (
	"fmt"
	"math"

	"github.com/golang/geo/s2"

	"github.com/mayflydb/mayfly/doc"
)

// Geometries are GeoJSON: Point, LineString, Polygon and MultiPolygon. A container holds them in one of two spaces.
//
// On the globe coordinates are longitude and latitude in degrees. A line from one position to the next is the piece of a great
// circle, and positions are the points of a sphere that have these coordinates; only lengths and areas are taken on the ellipsoid of
// WGS-84. A polygon is the smaller of the two regions that its ring divides the globe into, whichever way round the ring goes.
//
// In the plane coordinates are x and y in any unit, and everything is Euclid's.
//
// Positions of both are kept as vectors of three numbers, which on the globe have the length 1 and in the plane no Z. So one
// code finds the pairs of edges that are near each other (spatial_path.go) and puts relations together (spatial_relate.go); only
// what it asks about single edges and rings has two forms (spatial_edge.go).

// maxPositions is how many positions Cosmos DB lets a geometry have.
const maxPositions = 4096

// Geometry is a valid geometry. It is immutable.
type Geometry struct {
	planar   bool
	paths    []*path // all there is: a point, a line or the rings of all polygons
	polygons []polygon
}

// polygon is a ring less the holes in it.
type polygon struct {
	outer *ring
	holes []*ring
}

// ring is a closed path, and the region inside it.
type ring struct {
	*path
	loop *s2.Loop // nil in the plane
}

// GeometryError tells why a value is not a geometry.
type GeometryError struct {
	Reason string // as the service words it, where that is known
}

func (e *GeometryError) Error() string { return "invalid geometry: " + e.Reason }

func invalid(format string, args ...any) error { return &GeometryError{fmt.Sprintf(format, args...)} }

// IsPolygon tells of a Polygon or a MultiPolygon.
func (g *Geometry) IsPolygon() bool { return len(g.polygons) > 0 }

// ParseGeometry reads a geometry of the globe or of the plane. Polygons must have closed rings; on the globe latitudes are between
// -90 and 90 degrees and longitudes between -180 and 180. The error is a *GeometryError.
func ParseGeometry(v doc.Value, planar bool) (*Geometry, error) {
	if v.Kind() != doc.Object {
		return nil, invalid("The input is not a GeoJSON object.")
	}
	p := geoParser{planar: planar}
	g, coordinates := &Geometry{planar: planar}, v.Member("coordinates")
	var err error
	switch name := v.Member("type").Str(); name {
	case "Point":
		var at s2.Point
		at, err = p.position(coordinates)
		g.paths = []*path{newPath([]s2.Point{at}, planar)}
	case "LineString":
		var points []s2.Point
		points, err = p.positions(coordinates)
		if err == nil && p.count < 2 {
			err = invalid("The LineString input is not valid because it has fewer than 2 points.")
		}
		g.paths = []*path{newPath(points, planar)}
	case "Polygon":
		err = g.addPolygon(&p, coordinates)
	case "MultiPolygon":
		err = p.each(coordinates, func(_ int, polygon doc.Value) error { return g.addPolygon(&p, polygon) })
		if err == nil && len(g.polygons) == 0 {
			err = invalid("The MultiPolygon input is not valid because it has no polygon.")
		}
	default:
		err = invalid("The input is not a Point, LineString, Polygon or MultiPolygon.")
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

func (g *Geometry) addPolygon(p *geoParser, coordinates doc.Value) error {
	var polygon polygon
	err := p.each(coordinates, func(i int, v doc.Value) error {
		r, err := p.ring(i+1, v)
		if err != nil {
			return err
		}
		g.paths = append(g.paths, r.path)
		if i == 0 {
			polygon.outer = r
		} else {
			polygon.holes = append(polygon.holes, r)
		}
		return nil
	})
	if err == nil && polygon.outer == nil {
		err = invalid("The Polygon input is not valid because it has no ring.")
	}
	g.polygons = append(g.polygons, polygon)
	return err
}

// geoParser reads coordinates.
type geoParser struct {
	planar bool
	count  int // positions so far, repeated ones too
}

// each calls fn for each element of an array, until an error.
func (p *geoParser) each(array doc.Value, fn func(i int, v doc.Value) error) error {
	if array.Kind() != doc.Array {
		return invalid("The coordinates are not arrays of numbers in the depth that the type of the geometry needs.")
	}
	var err error
	i := 0
	array.Each(func(_ string, v doc.Value) bool {
		err = fn(i, v)
		i++
		return err == nil
	})
	return err
}

// position reads the first two numbers of an array; more, such as a height, count for nothing.
func (p *geoParser) position(v doc.Value) (at s2.Point, err error) {
	var xy [2]float64
	n := 0
	err = p.each(v, func(i int, number doc.Value) error {
		if number.Kind() != doc.Number {
			return invalid("The coordinates of a point must be numbers.")
		}
		if n = i + 1; i < len(xy) {
			xy[i] = number.Num()
		}
		return nil
	})
	switch {
	case err != nil:
		return at, err
	case n < 2:
		return at, invalid("A point must have at least 2 coordinates.")
	}
	if p.count++; p.count > maxPositions {
		return at, invalid("A geometry must not have more than %d points.", maxPositions)
	}
	if p.planar {
		at.X, at.Y = xy[0]+0, xy[1]+0
		if math.Abs(at.X) > maxPlanar || math.Abs(at.Y) > maxPlanar {
			return at, invalid("The coordinates of a point are too large.")
		}
		return at, nil
	}
	return globePoint(xy[0], xy[1])
}

// maxPlanar keeps calculations in the plane finite.
const maxPlanar = 1e100

// globePoint returns the position of a longitude and a latitude, in degrees. Each place has one position, although the
// meridian opposite of Greenwich has two longitudes and the poles have all.
func globePoint(longitude, latitude float64) (s2.Point, error) {
	switch {
	case latitude < -90 || latitude > 90:
		return s2.Point{}, invalid("Latitude values must be between -90 and 90 degrees.")
	case longitude < -180 || longitude > 180:
		return s2.Point{}, invalid("Longitude values must be between -180 and 180 degrees.")
	case latitude == 90 || latitude == -90:
		longitude = 0
	case longitude == -180:
		longitude = 180
	}
	return s2.PointFromLatLng(s2.LatLngFromDegrees(latitude, longitude)), nil
}

// positions reads an array of positions. One that repeats the one before it is left out.
func (p *geoParser) positions(v doc.Value) ([]s2.Point, error) {
	var points []s2.Point
	err := p.each(v, func(_ int, position doc.Value) error {
		at, err := p.position(position)
		if err != nil {
			return err
		}
		if n := len(points); n > 0 {
			if points[n-1] == at {
				return nil
			}
			if !p.planar && points[n-1].Add(at.Vector).Norm() < 1e-12 {
				return invalid("Two points that follow each other are on opposite sides of the globe.")
			}
		}
		points = append(points, at)
		return nil
	})
	return points, err
}

// ring reads the positions of a closed ring; number counts the rings of its polygon from 1.
func (p *geoParser) ring(number int, v doc.Value) (*ring, error) {
	before := p.count
	points, err := p.positions(v)
	if err != nil {
		return nil, err
	}
	switch n := len(points); {
	case n > 0 && points[0] != points[n-1]:
		return nil, invalid("The Polygon input is not valid because the start and end points of the ring number %d are not the same. "+
			"Each ring of a Polygon must have the same start and end points.", number)
	case p.count-before < 4:
		return nil, invalid("The Polygon input is not valid because the ring number %d has fewer than 4 points.", number)
	case n < 4:
		return nil, invalid("The Polygon input is not valid because the ring number %d has fewer than 3 different points.", number)
	}
	r := &ring{path: newPath(points, p.planar)}
	if !p.planar {
		r.loop = newLoop(points[:len(points)-1])
	}
	return r, nil
}

// newLoop returns the smaller of the two regions inside and outside of a ring.
func newLoop(points []s2.Point) *s2.Loop {
	loop := s2.LoopFromPoints(append([]s2.Point(nil), points...)) // it may turn them round
	var center s2.Point
	for _, p := range points {
		center.Vector = center.Add(p.Vector)
	}
	center.Vector = center.Normalize()
	for _, p := range points {
		if !(p.Dot(center.Vector) > 1e-9) {
			loop.Normalize() // the ring goes round half the globe: only the areas tell
			return loop
		}
	}
	// All of the ring is on one half of the globe, so the middle of the other half is outside. This holds for rings that cross
	// themselves too, whose area does not tell.
	if loop.ContainsPoint(s2.Point{Vector: center.Mul(-1)}) {
		loop.Invert()
	}
	return loop
}
