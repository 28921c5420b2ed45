package index

import (
	"fmt"
	"math"
	"slices"

	"github.com/golang/geo/s2"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// Geometries are GeoJSON: Point, LineString, Polygon and MultiPolygon. All geometries of a container are
// in one of two spaces.
//
// On the globe, coordinates are longitude and latitude in degrees. Positions are the points of a sphere
// with these coordinates, and a line between two positions is an arc of a great circle. Only lengths and
// areas are computed on the ellipsoid of WGS-84. A ring divides the globe into two regions. The inside of
// a ring is the region to its left, so a clockwise ring excludes the region that it encloses. A polygon
// is the region to the left of all its rings, so a hole runs in the opposite direction of its outer ring.
//
// In the plane, coordinates are x and y in any unit, and the geometry is Euclidean.
//
// Positions in both spaces are stored as vectors of three numbers. On the globe they have the length 1;
// in the plane Z is 0. So the code that finds pairs of near edges (spatial_path.go) and computes
// relations (spatial_relate.go) is shared. Only the operations on single edges and rings differ
// (spatial_edge.go).

// maxPositions is Cosmos DB's limit of the positions of a geometry.
const maxPositions = 4096

// Geometry is a valid geometry. It is immutable.
type Geometry struct {
	planar   bool
	paths    []*polyline // all paths: a point, a line or the rings of all polygons
	polygons []polygon
}

// polygon is the inside of a ring without its holes.
type polygon struct {
	outer *linearRing
	holes []*linearRing
}

// linearRing is a closed path and the region inside it.
type linearRing struct {
	*polyline
	loop *s2.Loop // nil in the plane
}

// GeometryError reports why a value is not a geometry.
type GeometryError struct {
	Reason string // in the service's words, if they are known
}

func (e *GeometryError) Error() string { return "invalid geometry: " + e.Reason }

func invalid(format string, args ...any) error { return &GeometryError{fmt.Sprintf(format, args...)} }

// IsPolygon reports whether the geometry is a Polygon or a MultiPolygon.
func (g *Geometry) IsPolygon() bool { return len(g.polygons) > 0 }

// ParseGeometry parses a geometry on the globe or, if planar is set, in the plane. Polygons must have closed
// rings. On the globe latitudes must be between -90 and 90 degrees and longitudes between -180 and 180, and
// rings must not cross themselves or each other. The error is a *GeometryError.
func ParseGeometry(v jsondoc.Value, planar bool) (*Geometry, error) {
	return geoParser{planar: planar}.geometry(v)
}

// ParseGeometryFor parses a geometry like ParseGeometry, for a caller that limits work: spend is called with
// the work of parsing and of all later operations on the geometry.
func ParseGeometryFor(v jsondoc.Value, planar bool, spend WorkBudgetFunc) (*Geometry, error) {
	return geoParser{planar: planar, spend: spend}.geometry(v)
}

// geoParser parses coordinates.
type geoParser struct {
	planar bool
	spend  WorkBudgetFunc
	count  int // positions so far, including repeated ones
}

func (p geoParser) geometry(v jsondoc.Value) (*Geometry, error) {
	coordinates := v.Member("coordinates")
	if v.Kind() != jsondoc.Object || coordinates.Kind() != jsondoc.Array {
		return nil, unreadable()
	}
	g := &Geometry{planar: p.planar}
	var err error
	switch name := v.Member("type").Str(); name {
	case "Point":
		var at s2.Point
		at, err = p.position(coordinates)
		g.paths = []*polyline{newPath([]s2.Point{at}, p.planar, p.spend)}
	case "LineString":
		var points []s2.Point
		if points, err = p.positions(coordinates); err == nil {
			err = p.line(points)
		}
		g.paths = []*polyline{newPath(points, p.planar, p.spend)}
	case "Polygon":
		err = g.addPolygon(&p, coordinates)
	case "MultiPolygon":
		if coordinates.Len() == 0 {
			return nil, invalid("Empty geometries are not supported.")
		}
		err = p.each(coordinates, noPositions,
			func(_ int, polygon jsondoc.Value) error { return g.addPolygon(&p, polygon) })
	default:
		err = unreadable()
	}
	if err == nil && !p.planar {
		err = g.checkRings()
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

// The service's error messages for values that are not GeoJSON.
const (
	noPositions = "Position array cannot be empty."
	noRings     = "A polygon must have array of rings with at least one ring. A ring must be represented as an array of GeoJSON positions."
	noPosition  = "Invalid position. A position must be represented by an array of numbers. There must be at least two elements in the array."
)

func unreadable() error { return invalid("Unable to process the geometry.") }

// line checks the positions of a LineString.
func (p *geoParser) line(points []s2.Point) error {
	if p.count < 2 {
		return invalid("The LineString input is not valid because it does not have enough points. A LineString must have at least two points.")
	}
	if len(points) < 2 && !p.planar {
		return degenerate(1)
	}
	return nil
}

func degenerate(ring int) error {
	return invalid("Not valid because ring (%d) of a polygon degenerates to a point.", ring)
}

func (g *Geometry) addPolygon(p *geoParser, coordinates jsondoc.Value) error {
	if coordinates.Kind() != jsondoc.Array || coordinates.Len() == 0 {
		return invalid(noRings)
	}
	var polygon polygon
	err := p.each(coordinates, noRings, func(i int, v jsondoc.Value) error {
		r, err := p.ring(i+1, v)
		if err != nil {
			return err
		}
		g.paths = append(g.paths, r.polyline)
		if i == 0 {
			polygon.outer = r
			return nil
		}
		if r.loop != nil {
			r.loop.Invert() // the hole is the region to its right
		}
		polygon.holes = append(polygon.holes, r)
		return nil
	})
	g.polygons = append(g.polygons, polygon)
	return err
}

// each calls fn for each element of an array until fn returns an error. otherwise is the error message if
// the value is not an array.
func (p *geoParser) each(array jsondoc.Value, otherwise string, fn func(i int, v jsondoc.Value) error) error {
	if array.Kind() != jsondoc.Array {
		return invalid("%s", otherwise)
	}
	var err error
	i := 0
	array.Each(func(_ string, v jsondoc.Value) bool {
		err = fn(i, v)
		i++
		return err == nil
	})
	return err
}

// position parses the first two numbers of an array. Further numbers, such as a height, are ignored.
func (p *geoParser) position(v jsondoc.Value) (at s2.Point, err error) {
	var xy [2]float64
	n := 0
	err = p.each(v, noPosition, func(i int, number jsondoc.Value) error {
		if number.Kind() != jsondoc.Number {
			return invalid(noPosition)
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
		return at, invalid(noPosition)
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

// maxPlanar is the largest coordinate in the plane; it keeps calculations finite.
const maxPlanar = 1e100

// globePoint returns the position of a longitude and a latitude, in degrees. Each point on the globe has
// exactly one position: the two longitudes of the 180th meridian give the same position, and so do all
// longitudes at a pole.
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

// positions parses an array of positions. A position that equals the one before it is left out.
func (p *geoParser) positions(v jsondoc.Value) ([]s2.Point, error) {
	if v.Kind() == jsondoc.Array && v.Len() == 0 {
		return nil, invalid(noPositions)
	}
	var points []s2.Point
	err := p.each(v, noRings, func(_ int, position jsondoc.Value) error {
		at, err := p.position(position)
		if err != nil {
			return err
		}
		if n := len(points); n > 0 {
			if points[n-1] == at {
				return nil
			}
			if !p.planar && points[n-1].Add(at.Vector).Norm() < 1e-12 {
				return invalid("Not valid because an edge of polygon ring (1) with antipodal endpoints is invalid.")
			}
		}
		points = append(points, at)
		return nil
	})
	return points, err
}

// linearRing parses the positions of a closed ring. number is the number of the ring in its polygon, from 1.
func (p *geoParser) ring(number int, v jsondoc.Value) (*linearRing, error) {
	before := p.count
	points, err := p.positions(v)
	if err != nil {
		return nil, err
	}
	switch n := len(points); {
	case p.count-before < 4:
		return nil, invalid("The Polygon input is not valid because the ring number %d does not have enough points. "+
			"Each ring of a polygon must contain at least four points.", number)
	case points[0] != points[n-1]:
		return nil, invalid("The Polygon input is not valid because the start and end points of the ring number %d are not the same. "+
			"Each ring of a polygon must have the same start and end points.", number)
	case n < 2:
		return nil, degenerate(number)
	case n < 4:
		return nil, invalid("Not valid because of two overlapping edges in ring (%d) of a polygon.", number)
	}
	r := &linearRing{polyline: newPath(points, p.planar, p.spend)}
	if !p.planar {
		r.loop = s2.LoopFromPoints(slices.Clone(points[:len(points)-1]))
	}
	return r, nil
}
