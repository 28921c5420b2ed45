package index

import (
	"math"

	"github.com/golang/geo/r3"
	"github.com/golang/geo/s2"
)

// The ellipsoid of WGS-84: its equatorial and polar radius in metres, with Cosmos DB's values, and the
// square of its eccentricity.
const (
	equatorial   = 6378137.0
	polar        = 6356752.314
	eccentricity = 1 - polar*polar/(equatorial*equatorial)
)

// Lines on the ellipsoid are great ellipses: they lie in planes through its centre. If the ellipsoid is
// scaled to a sphere of radius 1, they become great circles.

// pressed maps a position on the ellipsoid, stored as its normal vector, to the unit sphere: it divides each
// coordinate by the ellipsoid's radius in that direction.
func pressed(p s2.Point) r3.Vector {
	return r3.Vector{X: equatorial * p.X, Y: equatorial * p.Y, Z: polar * p.Z}.Normalize()
}

// geodesic returns the length in metres of the line between two positions.
func geodesic(a, b s2.Point) float64 {
	if a == b {
		return 0
	}
	if a.Add(b.Vector).Norm() < 1e-10 { // opposite positions: the shortest line goes over a pole
		return halfMeridian
	}
	return ellipseLength(pressed(a), pressed(b), a.Distance(b).Degrees())
}

// halfMeridian is the length in metres of a line from pole to pole along the ellipsoid. It is computed by a
// series in the square of the ellipsoid's third flattening (third).
const (
	third        = (equatorial - polar) / (equatorial + polar)
	halfMeridian = math.Pi / 2 * (equatorial + polar) * (1 + third*third/4 + third*third*third*third/64)
)

// ellipseLength returns the length of the line between two positions. degrees is their approximate
// angular distance. It integrates along the chord by Gauss-Legendre quadrature, with two nodes up to 3.5
// degrees, three up to 10 and otherwise six; a line longer than 45 degrees is halved first. Cosmos DB
// computes lengths in the same way, and the results agree in 12 digits. They differ from the exact
// lengths in the eighth digit.
func ellipseLength(u, v r3.Vector, degrees float64) float64 {
	if degrees > 45 {
		middle := u.Add(v).Normalize()
		return ellipseLength(u, middle, degrees/2) + ellipseLength(middle, v, degrees/2)
	}
	rule := gaussSix[:]
	if degrees <= 3.5 {
		rule = gaussTwo[:]
	} else if degrees <= 10 {
		rule = gaussThree[:]
	}
	chord := v.Sub(u)
	sum := 0.0
	for _, node := range rule {
		at := u.Add(chord.Mul((1 + node.at) / 2))
		r := at.Norm()
		at = at.Mul(1 / r)
		step := chord.Sub(at.Mul(at.Dot(chord))).Mul(1 / r)
		sum += node.weight / 2 * r3.Vector{X: equatorial * step.X, Y: equatorial * step.Y,
			Z: polar * step.Z}.Norm()
	}
	return sum
}

// quadratureNode is a node of Gauss-Legendre quadrature on the interval from -1 to 1.
type quadratureNode struct{ at, weight float64 }

var (
	gaussTwo   = [...]quadratureNode{{-0.5773502691896257, 1}, {0.5773502691896257, 1}}
	gaussThree = [...]quadratureNode{{-0.7745966692414834, 5.0 / 9}, {0, 8.0 / 9}, {0.7745966692414834,
		5.0 / 9}}
	gaussSix = [...]quadratureNode{{-0.9324695142031521, 0.1713244923791704},
		{-0.6612093864662645, 0.3607615730481386},
		{-0.2386191860831969, 0.4679139345726910}, {0.2386191860831969, 0.4679139345726910},
		{0.6612093864662645, 0.3607615730481386}, {0.9324695142031521, 0.1713244923791704}}
)

// globeArea returns the area to the left of a ring in square metres.
//
// Each edge encloses an area with the meridians of its ends and the equator. The area of the ring is the
// signed sum of these areas. On the sphere the area of an edge has a closed form. The difference between
// the ellipsoid and the sphere is small and is integrated numerically.
func globeArea(p *polyline) float64 {
	const longest = 0.1 // radians: maximum length of a piece that is integrated at once
	area, turn := 0.0, 0.0
	for i := range p.edges() {
		a, b := p.edge(i)
		u, v := pressed(a), pressed(b)
		pieces := int(a.Distance(b).Radians()/longest) + 1
		for k := range pieces {
			from := u.Mul(1 - float64(k)/float64(pieces)).Add(v.Mul(float64(k) / float64(pieces))).Normalize()
			to := u.Mul(1 - float64(k+1)/float64(pieces)).Add(
				v.Mul(float64(k+1) / float64(pieces))).Normalize()
			piece, east := areaBelow(from, to)
			area -= piece
			turn += east
		}
	}
	whole := 4 * math.Pi * authalicRadius2
	if math.Abs(turn) > math.Pi { // the ring goes around a pole
		area += whole / 2
	}
	if area < 0 {
		area += whole
	}
	return area
}

// areaBelow returns the area between the equator and a line on the scaled sphere, positive if the line
// goes east, and the line's extent to the east in radians.
func areaBelow(u, v r3.Vector) (area, east float64) {
	if u.X == 0 && u.Y == 0 || v.X == 0 && v.Y == 0 { // along a meridian
		return 0, 0
	}
	east = math.Remainder(math.Atan2(v.Y, v.X)-math.Atan2(u.Y, u.X), 2*math.Pi)
	t1, t2 := u.Z/(1+math.Hypot(u.X, u.Y)), v.Z/(1+math.Hypot(v.X, v.Y))
	area = authalicRadius2 * 2 * math.Atan2(math.Tan(east/2)*(t1+t2), 1+t1*t2)
	chord := v.Sub(u)
	for _, node := range gaussSix {
		at := u.Add(chord.Mul((1 + node.at) / 2))
		around := at.X*at.X + at.Y*at.Y
		if around == 0 {
			continue
		}
		step := (at.X*chord.Y - at.Y*chord.X) / around
		at = at.Normalize()
		area += node.weight / 2 * step * (zone(at) - authalicRadius2*at.Z)
	}
	return area, east
}

// authalicRadius2 is the square of the radius of the sphere with the same area as the ellipsoid.
var authalicRadius2 = zone(r3.Vector{Z: 1})

// zone returns the area of the part of the ellipsoid between the equator and the latitude of u, for each
// radian of longitude. u is a position on the sphere to which the ellipsoid is scaled.
func zone(u r3.Vector) float64 {
	e := math.Sqrt(eccentricity)
	sin := equatorial * u.Z / math.Hypot(equatorial*u.Z, polar*math.Hypot(u.X, u.Y))
	return equatorial * equatorial / 2 * (1 - eccentricity) * (sin/(1-eccentricity*sin*sin) +
		math.Atanh(e*sin)/e)
}
