package index

import (
	"math"

	"github.com/golang/geo/s2"
)

// The ellipsoid of WGS-84: its equatorial radius in metres, flattening, polar radius and the square of its eccentricity.
const (
	equatorial   = 6378137.0
	flattening   = 1 / 298.257223563
	polar        = equatorial * (1 - flattening)
	eccentricity = flattening * (2 - flattening)
)

// geodesic returns the length in metres of the shortest line on the ellipsoid between two positions.
func geodesic(a, b s2.Point) float64 {
	if a == b {
		return 0
	}
	p, q := s2.LatLngFromPoint(a), s2.LatLngFromPoint(b)
	if d, ok := inverse(p, q); ok {
		return d
	}
	return aroundTheGlobe(a, p, q)
}

// inverse is Vincenty's solution of the inverse problem of geodesy (1975). It is good to a fraction of a millimetre; for nearly opposite
// positions it does not come to an end, and ok is false.
func inverse(p, q s2.LatLng) (metres float64, ok bool) {
	l := math.Remainder(q.Lng.Radians()-p.Lng.Radians(), 2*math.Pi)
	sinU1, cosU1 := reduced(p.Lat.Radians())
	sinU2, cosU2 := reduced(q.Lat.Radians())
	lambda := l
	for range 100 {
		sinL, cosL := math.Sincos(lambda)
		sinSigma := math.Hypot(cosU2*sinL, cosU1*sinU2-sinU1*cosU2*cosL)
		if sinSigma == 0 {
			return 0, math.Abs(lambda) < 1 // the same place, or the opposite one
		}
		cosSigma := sinU1*sinU2 + cosU1*cosU2*cosL
		sigma := math.Atan2(sinSigma, cosSigma)
		sinAlpha := cosU1 * cosU2 * sinL / sinSigma
		cos2Alpha := 1 - sinAlpha*sinAlpha
		cos2M := 0.0 // on the equator
		if cos2Alpha > 0 {
			cos2M = cosSigma - 2*sinU1*sinU2/cos2Alpha
		}
		c := flattening / 16 * cos2Alpha * (4 + flattening*(4-3*cos2Alpha))
		next := l + (1-c)*flattening*sinAlpha*(sigma+c*sinSigma*(cos2M+c*cosSigma*(2*cos2M*cos2M-1)))
		if math.Abs(next) > math.Pi {
			return 0, false
		}
		if math.Abs(next-lambda) < 1e-13 {
			return arcLength(cos2Alpha, sigma, sinSigma, cosSigma, cos2M), true
		}
		lambda = next
	}
	return 0, false
}

// reduced returns the sine and cosine of the reduced latitude.
func reduced(latitude float64) (sin, cos float64) {
	sin, cos = math.Sincos(latitude)
	sin *= 1 - flattening
	norm := math.Hypot(sin, cos)
	return sin / norm, cos / norm
}

// arcLength is the last step of Vincenty's solution.
func arcLength(cos2Alpha, sigma, sinSigma, cosSigma, cos2M float64) float64 {
	u2 := cos2Alpha * (equatorial*equatorial - polar*polar) / (polar * polar)
	a := 1 + u2/16384*(4096+u2*(-768+u2*(320-175*u2)))
	b := u2 / 1024 * (256 + u2*(-128+u2*(74-47*u2)))
	delta := b * sinSigma * (cos2M + b/4*(cosSigma*(2*cos2M*cos2M-1)-b/6*cos2M*(4*sinSigma*sinSigma-3)*(4*cos2M*cos2M-3)))
	return polar * a * (sigma - delta)
}

// aroundTheGlobe measures between positions that are nearly opposite to each other. Each line between them crosses the great circle
// half-way, so the shortest is the shortest sum of two lines that meet on it; Vincenty can measure each of the two.
func aroundTheGlobe(a s2.Point, p, q s2.LatLng) float64 {
	x := s2.Ortho(a)
	y := s2.Point{Vector: a.Cross(x.Vector)}
	through := func(angle float64) float64 {
		sin, cos := math.Sincos(angle)
		middle := s2.LatLngFromPoint(s2.Point{Vector: x.Mul(cos).Add(y.Mul(sin))})
		to, _ := inverse(p, middle)
		from, _ := inverse(middle, q)
		return to + from
	}
	const steps = 72
	best, at := math.Inf(1), 0.0
	for i := range steps {
		angle := 2 * math.Pi * float64(i) / steps
		if d := through(angle); d < best {
			best, at = d, angle
		}
	}
	for width := 2 * math.Pi / steps; width > 1e-9; width /= 2 {
		for _, angle := range [2]float64{at - width, at + width} {
			if d := through(angle); d < best {
				best, at = d, angle
			}
		}
	}
	return best
}

// globeArea returns the area inside a ring in square metres.
//
// Latitudes are first mapped so that the ellipsoid becomes a sphere of the same area, piece by piece (the authalic latitude). On that
// each edge, the meridians of its ends and the equator enclose an area that has a closed form; the sum of these with their signs is
// the area of the ring. Long edges are great circles before the mapping and not after it, so they are taken in pieces.
func globeArea(p *path) float64 {
	const longest = 0.002 // radians, 13 km
	excess, turn := 0.0, 0.0
	for i := range p.edges() {
		u, v := p.edge(i)
		pieces := int(u.Distance(v).Radians()/longest) + 1
		from := s2.LatLngFromPoint(u)
		for k := 1; k <= pieces; k++ {
			to := s2.LatLngFromPoint(v)
			if k < pieces {
				to = s2.LatLngFromPoint(s2.Interpolate(float64(k)/float64(pieces), u, v))
			}
			east := math.Remainder(to.Lng.Radians()-from.Lng.Radians(), 2*math.Pi)
			t1, t2 := math.Tan(authalic(from.Lat.Radians())/2), math.Tan(authalic(to.Lat.Radians())/2)
			excess += 2 * math.Atan2(math.Tan(east/2)*(t1+t2), 1+t1*t2)
			turn += east
			from = to
		}
	}
	excess = math.Abs(excess)
	if math.Abs(turn) > math.Pi { // around a pole
		excess = math.Abs(2*math.Pi - excess)
	}
	if excess > 2*math.Pi {
		excess = 4*math.Pi - excess
	}
	return excess * authalicRadius2
}

// authalicRadius2 is the square of the radius of the sphere that has the area of the ellipsoid.
var authalicRadius2 = equatorial * equatorial / 2 * authalicQ(1)

// authalicQ is the area between the equator and a latitude, up to a factor.
func authalicQ(sin float64) float64 {
	e := math.Sqrt(eccentricity)
	return (1 - eccentricity) * (sin/(1-eccentricity*sin*sin) + math.Atanh(e*sin)/e)
}

// authalic returns the authalic latitude.
func authalic(latitude float64) float64 {
	q := authalicQ(math.Sin(latitude)) / authalicQ(1)
	return math.Asin(min(max(q, -1), 1))
}
