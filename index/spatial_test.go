package index

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/racetest"
)

func mustGeometry(t testing.TB, text string, planar bool) *Geometry {
	t.Helper()
	g, err := ParseGeometry(jsondoc.Of([]byte(text)), planar)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return g
}

// geo returns the GeoJSON of a geometry in short form: "P 1 2" is a point, "L 1 2,3 4" a line, "A 0 0,1
// 0,1 1" a polygon, whose rings geo closes (holes follow after a slash), and "M ...;..." several polygons.
func geo(short string) string {
	kind, rest, _ := strings.Cut(short, " ")
	positions := func(s string, closed bool) string {
		list := strings.Split(s, ",")
		if closed {
			list = append(list, list[0])
		}
		for i, p := range list {
			list[i] = "[" + strings.Replace(p, " ", ",", 1) + "]"
		}
		return strings.Join(list, ",")
	}
	polygon := func(s string) string {
		rings := strings.Split(s, "/")
		for i, r := range rings {
			rings[i] = "[" + positions(r, true) + "]"
		}
		return "[" + strings.Join(rings, ",") + "]"
	}
	switch kind {
	case "P":
		return `{"type":"Point","coordinates":` + positions(rest, false) + `}`
	case "L":
		return `{"type":"LineString","coordinates":[` + positions(rest, false) + `]}`
	case "A":
		return `{"type":"Polygon","coordinates":` + polygon(rest) + `}`
	}
	var polygons []string
	for _, s := range strings.Split(rest, ";") {
		polygons = append(polygons, polygon(s))
	}
	return `{"type":"MultiPolygon","coordinates":[` + strings.Join(polygons, ",") + `]}`
}

func TestGeometryErrors(t *testing.T) {
	for text, want := range map[string]string{
		`5`:                                    "Unable to process",
		`{}`:                                   "Unable to process",
		`{"type":"point","coordinates":[1,2]}`: "Unable to process",
		`{"type":"MultiPoint","coordinates":[[1,2]]}`:                                                     "Unable to process",
		`{"type":"Point"}`:                                                                                "Unable to process",
		`{"type":"Point","coordinates":{}}`:                                                               "Unable to process",
		`{"type":"Point","coordinates":[1]}`:                                                              "Invalid position. A position must be",
		`{"type":"Point","coordinates":[1,"2"]}`:                                                          "Invalid position. A position must be",
		`{"type":"Point","coordinates":[31.9,-132.8]}`:                                                    "Latitude values must be between -90 and 90 degrees.",
		`{"type":"Point","coordinates":[133.7,-184.3]}`:                                                   "Latitude values must be between -90 and 90 degrees.",
		`{"type":"Point","coordinates":[180.5,4]}`:                                                        "Longitude values must be between -180 and 180 degrees.",
		`{"type":"LineString","coordinates":[[1,2]]}`:                                                     "does not have enough points. A LineString",
		`{"type":"LineString","coordinates":[[0,0],[180,0]]}`:                                             "antipodal endpoints",
		`{"type":"Polygon","coordinates":[[[0,0],[1,1],[1,0],[0,1],[0,0]]]}`:                              "some portion of a polygon ring (1)",
		`{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,0]],[[2,1],[3,1],[3,2],[2,1]]]}`:          "some portion of a polygon ring (2)",
		`{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,0]],[[2,1],[3,2],[33,1],[2,1]]]}`:         "some portion of a polygon ring (1)",
		`{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,0]],[[0,0],[2,1],[2,0],[0,0]]]}`:          "ring (2) of a polygon overlaps an edge of ring (1)",
		`{"type":"Polygon","coordinates":[[[1,1],[1,1],[1,1],[1,1]]]}`:                                    "ring (1) of a polygon degenerates",
		`{"type":"LineString","coordinates":[[1,1],[1,1]]}`:                                               "ring (1) of a polygon degenerates",
		`{"type":"MultiPolygon","coordinates":[[[[0,0],[9,0],[9,9],[0,0]]],[[[3,1],[4,1],[4,2],[3,1]]]]}`: "some portion of a polygon ring (2)",
		`{"type":"Polygon","coordinates":[]}`:                                                             "A polygon must have array of rings",
		`{"type":"Polygon","coordinates":[[]]}`:                                                           "Position array cannot be empty.",
		`{"type":"Polygon","coordinates":[[[0,0],[1,1],[0,0]]]}`:                                          "ring number 1 does not have enough points",
		`{"type":"Polygon","coordinates":[[[0,0],[0,0],[1,1],[0,0]]]}`:                                    "two overlapping edges in ring (1)",
		`{"type":"MultiPolygon","coordinates":[]}`:                                                        "Empty geometries are not supported.",
		`{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]],[[0,0]]]}`:                            "ring number 2",
		`{"type":"Polygon","coordinates":[[[31.8,-5],[31.8,-4.7],[32,-4.7],[32,-5]]]}`: "The Polygon input is not valid because the start and " +
			"end points of the ring number 1 are not the same. Each ring of a polygon must have the same start and end points.",
	} {
		g, err := ParseGeometry(jsondoc.Of([]byte(text)), false)
		var reason *GeometryError
		if g != nil || !errors.As(err, &reason) || !strings.Contains(reason.Reason, want) {
			t.Errorf("%s gives %v, want %s", text, err, want)
		}
	}
	many := geo("L " + strings.Repeat("1 2,3 4,", maxPositions/2) + "5 6")
	if _, err := ParseGeometry(jsondoc.Of([]byte(many)), true); err == nil {
		t.Error("a geometry of 4097 points was accepted")
	}
	if _, err := ParseGeometry(jsondoc.Of([]byte(geo("P 1000 2000"))), true); err != nil {
		t.Errorf("the plane has no degrees: %v", err)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b      string
		want, tol float64
	}{
		{"P 0.5 0.5", "P 0.5 0.5", 0, 0},
		{"P -73.8 40.6", "P -0.5 51.6", 5551761.201, 0.001},
		{"P 174.81 -41.32", "P -5.50 40.96", 19961901.224, 0.001},
		{"P 0 0", "P 179.5 0.5", 19942334.851, 0.001}, // almost opposite
		{"P 0 0", "P 180 0", 20003931.4586, 0.001},    // over a pole
		{"P 0 90", "P 77 -90", 20003931.4586, 0.001},
		{"P 180 10", "P -180 10", 0, 0},
		{"P 0 0", "P 1 0", 111319.4908, 0.001},
		{"P 0 0", "P 0 1", 110574.3886, 0.001},
		{"P 144.42486788888888 -37.95103341666667", "P 143.92649552777778 -37.65282113888889", 54972.271, 0.001},
		{"P 0 1", "L -1 0,1 0", 110574.3886, 0.001},
		{"P 0 0.5", "A -1 0,1 0,1 1,-1 1", 0, 0},
		{"P 0 2", "A -1 0,1 0,1 1,-1 1", 110556.0, 30}, // the upper edge bulges northward
		{"A 10 10,11 10,11 11", "A -1 0,1 0,1 1,-1 1", 1408214.57, 0.01},
	} {
		a, b := mustGeometry(t, geo(c.a), false), mustGeometry(t, geo(c.b), false)
		d, e := a.Distance(b), b.Distance(a)
		if math.Abs(d-c.want) > c.tol || math.Abs(e-d) > 1e-6*d {
			t.Errorf("%s to %s: %.4f and back %.4f, want %.4f", c.a, c.b, d, e, c.want)
		}
	}
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"P 0 0", "P 3 4", 5},
		{"P 0 0", "L 3 -10,3 10", 3},
		{"L 0 0,10 0", "L 5 1,5 7", 1},
		{"A 0 0,4 0,4 4,0 4", "P 2 2", 0},
		{"A 0 0,4 0,4 4,0 4/1 1,3 1,3 3,1 3", "P 2 2", 1},
		{"M 0 0,1 0,1 1;5 5,6 5,6 6", "P 6 9", 3},
	} {
		a, b := mustGeometry(t, geo(c.a), true), mustGeometry(t, geo(c.b), true)
		if d, e := a.Distance(b), b.Distance(a); math.Abs(d-c.want) > 1e-12 || d != e {
			t.Errorf("%s to %s in the plane: %v and %v, want %v", c.a, c.b, d, e, c.want)
		}
	}
}

// TestDistanceToEdge compares the distance from a point to a line on the globe with the shortest distance
// to 4,001 sampled points of the line.
func TestDistanceToEdge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		p := fmt.Sprintf("P %v %v", r.Float64()*40, r.Float64()*40)
		x, y, u, v := 50+r.Float64()*40, r.Float64()*60-30, 50+r.Float64()*40, r.Float64()*60-30
		a, line := mustGeometry(t, geo(p), false), mustGeometry(t, geo(fmt.Sprintf("L %v %v,%v %v", x, y, u, v)), false)
		best := math.Inf(1)
		from, to := line.paths[0].edge(0)
		for i := range 4001 {
			best = min(best, geodesic(a.paths[0].points[0], between(false, from, to, float64(i)/4000)))
		}
		if d := a.Distance(line); d > best*(1+1e-9) || d < best*(1-1e-5) {
			t.Errorf("%s: %.3f, samples say %.3f", p, d, best)
		}
	}
}

func TestArea(t *testing.T) {
	whole := 510065621710996.5 // square metres of the ellipsoid
	for _, c := range []struct {
		g         string
		want, tol float64 // relative
	}{
		{"P 1 2", 0, 0},
		{"L 1 2,3 4", 0, 0},
		{"A 31.8 -5,32 -5,32 -4.7,31.8 -4.7", 735970283.0522614, 1e-7},
		{"A 31.8 -5,31.8 -4.7,32 -4.7,32 -5", whole - 735970283.0522614, 1e-12}, // the other way round
		{"A 0 0,90 0,0 90", whole / 8, 1e-9},
		{"A 0 89,-90 89,180 89,90 89", whole - 24968000000, 1e-6},
		{"A 0 0,90 0,180 0,-90 0", whole / 2, 1e-12},
		{"A 0 89,90 89,180 89,-90 89", 24968000000, 0.01},
		{"A 0 -89,-90 -89,180 -89,90 -89", 24968000000, 0.01},
		{"A 179 -1,-179 -1,-179 1,179 1", 49233000000, 0.001},
		{"A 31.8 -5,32 -5,32 -4.7,31.8 -4.7/31.85 -4.9,31.85 -4.8,31.9 -4.8,31.9 -4.9", 735970283.05 - 61.3318e6, 1e-4},
		{"M 31.8 -5,32 -5,32 -4.7,31.8 -4.7;41.8 -5,42 -5,42 -4.7,41.8 -4.7", 2 * 735970283.05, 1e-7},
	} {
		if got := mustGeometry(t, geo(c.g), false).Area(); math.Abs(got-c.want) > c.tol*c.want {
			t.Errorf("%s: %.4f, want %.4f", c.g, got, c.want)
		}
	}
	if got := mustGeometry(t, geo("A 0 0,0 4,4 4,4 0/1 1,2 1,2 2,1 2"), true).Area(); got != 15 {
		t.Errorf("in the plane: %v, want 15", got)
	}
}

func TestRelations(t *testing.T) {
	const box, holed = "A 0 0,4 0,4 4,0 4", "A 0 0,4 0,4 4,0 4/1 1,3 1,3 3,1 3"
	const u = "A 0 0,6 0,6 4,4 4,4 2,2 2,2 4,0 4" // open above
	for _, c := range []struct {
		a, b               string
		intersects, within bool
	}{
		{"P 1 1", "P 1 1", true, true},
		{"P 1 1", "P 1 2", false, false},
		{"P 1 1", "L 0 0,2 2", true, true},
		{"P 1 1.1", "L 0 0,2 2", false, false},
		{"L 0 0,2 2", "P 1 1", true, false},
		{"L 1 1,2 2", "L 0 0,3 3", true, true},
		{"L 1 1,4 4", "L 0 0,3 3", true, false},
		{"L 0 0,2 2", "L 0 2,2 0", true, false},
		{"P 2 2", box, true, true},
		{"P 4 2", box, true, false},
		{"P 4 4", box, true, false},
		{"P 5 2", box, false, false},
		{"P 2 2", holed, false, false},
		{"P 1 2", holed, true, false},
		{"P 0.5 2", holed, true, true},
		{box, "P 2 2", true, false},
		{"L 1 1,3 3", box, true, true},
		{"L 1 1,5 3", box, true, false},
		{"L 0 0,4 0", box, true, false},
		{"L 0 0,4 1", box, true, true},
		{"L 1.5 1.5,2.5 2.5", holed, false, false},
		{"L 0.5 0.5,3.5 3.5", holed, true, false},
		{"L 1 1,1 3", holed, true, false},
		{"L 0 4,4 0", "A 0 0,4 0,0 4", true, false},
		{"L 1 3,5 3", u, true, false},
		{"L 2 4,4 4", u, true, false}, // from corner to corner over the gap
		{"L 0 4,6 4", u, true, false},
		{"L 0 0,6 0", u, true, false},
		{"P 1 1", "L 1 1,2 2", true, false},
		{box, box, true, true},
		{"A 1 1,2 1,2 2,1 2", box, true, true},
		{box, "A 1 1,2 1,2 2,1 2", true, false},
		{"A 2 2,6 2,6 6,2 6", box, true, false},
		{"A 4 0,8 0,8 4,4 4", box, true, false}, // a common side
		{"A 1 1,3 1,3 3,1 3", holed, true, false},
		{"A 1.5 1.5,2.5 1.5,2.5 2.5,1.5 2.5", holed, false, false},
		{"A 0.5 0.5,3.5 0.5,3.5 3.5,0.5 3.5", holed, true, false},
		{holed, holed, true, true},
		{holed, box, true, true},
		{"A 0 0,4 0,4 4,0 4/0.5 0.5,3.5 0.5,3.5 3.5,0.5 3.5", holed, true, true},
		{"M 0 0,1 0,1 1;2 2,3 2,3 3", box, true, true},
		{"M 0 0,1 0,1 1;5 5,6 5,6 6", box, true, false},
		{"A 5.2 5.1,5.8 5.1,5.8 5.4", "M 0 0,1 0,1 1;5 5,6 5,6 6", true, true},
		{"P 3 4", "M 0 0,1 0,1 1;5 5,6 5,6 6", false, false},
	} {
		a, b := mustGeometry(t, geo(c.a), true), mustGeometry(t, geo(c.b), true)
		if a.Intersects(b) != c.intersects || b.Intersects(a) != c.intersects || a.Within(b) != c.within {
			t.Errorf("%s, %s: intersects %v %v, within %v; want %v, %v", c.a, c.b, a.Intersects(b), b.Intersects(a), a.Within(b),
				c.intersects, c.within)
		}
	}
	for _, c := range []struct {
		a, b               string
		intersects, within bool
	}{
		{"P 31.9 -4.8", "A 31.8 -5,32 -5,32 -4.7,31.8 -4.7", true, true},
		{"P 33 -4.8", "A 31.8 -5,32 -5,32 -4.7,31.8 -4.7", false, false},
		{"P 32 -4.8", "A 31.8 -5,32 -5,32 -4.7,31.8 -4.7", true, false},    // on the eastern meridian
		{"P 31.9 -4.8", "A 31.8 -5,31.8 -4.7,32 -4.7,32 -5", false, false}, // the other way round
		{"P 10 10", "A 31.8 -5,31.8 -4.7,32 -4.7,32 -5", true, true},
		{"A 0 0,1 0,1 1", "A 31.8 -5,31.8 -4.7,32 -4.7,32 -5", true, true},
		{"A 31.8 -5,31.8 -4.7,32 -4.7,32 -5", "A 0 0,1 0,1 1", true, false},
		{"A 31.8 -5,31.8 -4.7,32 -4.7,32 -5", "A 31.8 -5,32 -5,32 -4.7,31.8 -4.7", true, false}, // all the rest
		{"A 31.8 -5,31.8 -4.7,32 -4.7,32 -5", "A 31.85 -4.9,31.85 -4.8,31.9 -4.8,31.9 -4.9", true, true},
		{"A 31.85 -4.9,31.85 -4.8,31.9 -4.8,31.9 -4.9", "A 31.8 -5,31.8 -4.7,32 -4.7,32 -5", true, false},
		{"A 31.8 -5,31.8 -4.7,32 -4.7,32 -5", "A 41.8 -5,41.8 -4.7,42 -4.7,42 -5", true, false},
		{"P -180 0", "A 179 -1,-179 -1,-179 1,179 1", true, true},
		{"P 0 0", "A 179 -1,-179 -1,-179 1,179 1", false, false},
		{"P 5 90", "A 0 80,90 80,180 80,-90 80", true, true},
		{"P 5 79", "A 0 80,90 80,180 80,-90 80", false, false},
		{"P 5 0", "A 0 0,90 0,180 0,-90 0", true, false},
		{"P 5 1", "A 0 0,90 0,180 0,-90 0", true, true},
		{"L 170 10,-170 10", "L 180 0,180 20", true, false},
		{"L 10 0,20 0", "L 0 0,30 0", true, true}, // along the equator
		{"A 0 0,10 0,10 10,0 10", "A 0 0,0 -10,10 -10,10 0", true, false},
	} {
		a, b := mustGeometry(t, geo(c.a), false), mustGeometry(t, geo(c.b), false)
		if a.Intersects(b) != c.intersects || b.Intersects(a) != c.intersects || a.Within(b) != c.within {
			t.Errorf("%s, %s on the globe: intersects %v %v, within %v; want %v, %v", c.a, c.b, a.Intersects(b), b.Intersects(a), a.Within(b),
				c.intersects, c.within)
		}
	}
}

// randomShape returns the short form, for geo, of a random geometry around (x, y) with a radius of about
// size.
func randomShape(r *rand.Rand, x, y, size float64) string {
	at := func(angle, radius float64) string {
		return fmt.Sprintf("%v %v", x+size*radius*math.Cos(angle), y+size*radius*math.Sin(angle))
	}
	star := func(low, high float64, n int, clockwise bool) string {
		var list []string
		for i := range n {
			list = append(list, at(2*math.Pi*float64(i)/float64(n), low+(high-low)*r.Float64()))
		}
		if clockwise {
			slices.Reverse(list)
		}
		return strings.Join(list, ",")
	}
	switch r.IntN(6) {
	case 0:
		return "P " + at(r.Float64()*7, r.Float64())
	case 1, 2:
		return "L " + at(r.Float64()*7, r.Float64()) + "," + at(r.Float64()*7, r.Float64()) + "," + at(r.Float64()*7, r.Float64())
	case 3:
		return "A " + star(0.7, 1, 5+r.IntN(40), false) + "/" + star(0.2, 0.4, 4+r.IntN(5), true)
	default:
		return "A " + star(0.2, 1, 3+r.IntN(40), false)
	}
}

// TestSpatialRelationsInPlane checks that Intersects, Within and Distance have the same results on the globe
// and in the plane for random shapes of a few metres near the equator.
func TestSpatialRelationsInPlane(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	seen := map[string]int{}
	for range 4000 {
		const size = 0.0002 // 22 metres, where a great circle is as good as straight
		x, y := randomShape(r, 20, 0.1, size), randomShape(r, 20+r.Float64()*size, 0.1+r.Float64()*size, size*r.Float64())
		a, b := mustGeometry(t, geo(x), false), mustGeometry(t, geo(y), false)
		p, q := mustGeometry(t, geo(x), true), mustGeometry(t, geo(y), true)
		intersects, within := a.Intersects(b), b.Within(a)
		if intersects != p.Intersects(q) || intersects != q.Intersects(p) || within != q.Within(p) || within && !intersects {
			t.Fatalf("%s, %s: intersects %v and in the plane %v, within %v and %v", geo(x), geo(y), intersects, p.Intersects(q), within, q.Within(p))
		}
		d, e := a.Distance(b), p.Distance(q)
		if (d == 0) != intersects || (e == 0) != intersects || d > 112000*e+1e-5 || d < 110000*e-1e-5 {
			t.Fatalf("%s, %s: intersects %v, but they are %v metres and %v degrees apart", geo(x), geo(y), intersects, d, e)
		}
		seen[fmt.Sprint(intersects, within)]++
	}
	if seen["true true"] < 100 || seen["true false"] < 100 || seen["false false"] < 100 {
		t.Errorf("the shapes are too much alike: %v", seen)
	}
}

func found(cells []uint64, ranges []SpatialCellRange) bool {
	return slices.ContainsFunc(cells, func(c uint64) bool {
		return slices.ContainsFunc(ranges, func(r SpatialCellRange) bool { return r.Low <= c && c <= r.High })
	})
}

// TestCells checks the index cells of random geometries: if two geometries meet or are within a distance,
// the ranges of QueryCells of one contain a cell of the other; if they are far apart, mostly not.
func TestCells(t *testing.T) {
	tries := racetest.Campaign(3000, 600)
	for _, planar := range []bool{false, true} {
		r := rand.New(rand.NewPCG(5, 6))
		var frame *SpatialIndexBoundingBox
		if planar {
			// some shapes are beyond it
			frame = &SpatialIndexBoundingBox{XMin: -20, YMin: -30, XMax: 40, YMax: 50}
		}
		hits, idle := 0, 0
		for range tries {
			x, y := r.Float64()*160-80, r.Float64()*120-60
			if r.IntN(3) == 0 { // where cells meet
				x, y = float64(r.IntN(4)*45), 0
			}
			size := math.Exp(r.Float64()*12 - 10)
			a := mustGeometry(t, geo(randomShape(r, x, y, size)), planar)
			b := mustGeometry(t, geo(randomShape(r, x+size*2*r.Float64(), y+size*r.Float64(), size*r.Float64())), planar)
			cells := a.Cells(frame)
			if len(cells) == 0 || len(cells) > maxIndexCells || !slices.IsSorted(cells) {
				t.Fatalf("cells %x", cells)
			}
			d := b.Distance(a)
			reach := d * (0.9 + 0.2*r.Float64())
			ranges := b.QueryCells(frame, 0)
			if !ordered(ranges) {
				t.Fatalf("ranges %x", ranges)
			}
			if d == 0 && !found(cells, ranges) {
				t.Fatalf("%v: two shapes at %v %v of size %v meet and are not found", planar, x, y, size)
			}
			if around := b.QueryCells(frame, reach); d <= reach && !found(cells, around) {
				t.Fatalf("%v: two shapes at %v %v of size %v are %v apart and are not found with %v", planar, x, y, size, d, reach)
			}
			if d == 0 {
				hits++
			} else if found(cells, ranges) {
				idle++
			}
		}
		if hits < tries/10 || idle > tries/2 {
			t.Errorf("planar %v: %d meet, %d are found for nothing", planar, hits, idle)
		}
	}
}

func ordered(ranges []SpatialCellRange) bool {
	for i, r := range ranges {
		if r.Low > r.High || i > 0 && r.Low <= ranges[i-1].High {
			return false
		}
	}
	return len(ranges) > 0
}

func TestCellKeys(t *testing.T) {
	p := mustGeometry(t, geo("P 13.4 52.5"), false)
	if got := fmt.Sprintf("%x", AppendCell(nil, p.Cells(nil)[0])); got != "47a84fd52ba654f7" {
		t.Errorf("the leaf of a place is %s: what is on disk would not be found", got)
	}
	const planarCells = "[70000000000000 d0000000000000 f0000000000000 12aaaaaaaaaaaab 190000000000000 1b0000000000000 1caaaaaaaaaaaab 1e1000000000000]"
	frame := &SpatialIndexBoundingBox{XMin: 0, YMin: 0, XMax: 100, YMax: 100}
	if got := fmt.Sprintf("%x", mustGeometry(t, geo("A 10 10,20 10,20 20"), true).Cells(frame)); got != planarCells {
		t.Errorf("cells in the plane are %s: what is on disk would not be found", got)
	}
}

// TestCellsOfClockwisePolygon checks that cells also find geometries in a polygon whose ring runs clockwise,
// which is the whole globe except the small region that the ring surrounds.
func TestCellsOfClockwisePolygon(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		x, y, size := r.Float64()*300-150, r.Float64()*100-50, math.Exp(r.Float64()*6-4)
		a := mustGeometry(t, geo(fmt.Sprintf("A %v %v,%v %v,%v %v", x, y, x, y+size, x+size, y)), false)
		b := mustGeometry(t, geo(randomShape(r, r.Float64()*300-150, r.Float64()*120-60, size)), false)
		if !a.Intersects(b) || !b.Intersects(a) {
			continue // it is where the ring is
		}
		if !found(a.Cells(nil), b.QueryCells(nil, 0)) || !found(b.Cells(nil), a.QueryCells(nil, 0)) {
			t.Fatalf("all but %v at %v %v is not found", size, x, y)
		}
		if d := a.Distance(b); d != 0 {
			t.Fatalf("they meet and are %v metres apart", d)
		}
	}
}

// TestPolygonsOfOneRing checks that the polygons on the two sides of a ring are together the globe: a point
// lies in exactly one of them, and the sum of their areas is the globe's.
func TestPolygonsOfOneRing(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 200 {
		x, y, size := r.Float64()*300-150, r.Float64()*100-50, r.Float64()*30
		left, right := mustGeometry(t, geo(fmt.Sprintf("A %v %v,%v %v,%v %v", x, y, x+size, y, x, y+size)), false),
			mustGeometry(t, geo(fmt.Sprintf("A %v %v,%v %v,%v %v", x, y, x, y+size, x+size, y)), false)
		p := mustGeometry(t, geo(fmt.Sprintf("P %v %v", r.Float64()*360-180, r.Float64()*180-90)), false)
		if p.Within(left) == p.Within(right) || math.Abs(left.Area()+right.Area()-510065621710996.5) > 10 || left.Within(right) || right.Within(left) {
			t.Fatalf("%v at %v %v: %v and %v, %v and %v", size, x, y, p.Within(left), p.Within(right), left.Area(), right.Area())
		}
	}
}

func FuzzGeometry(f *testing.F) {
	for _, short := range []string{"P 1 2", "L 1 2,3 4", "A 0 0,1 0,1 1/0 0,1 0,0 1", "M 0 0,1 0,1 1;179 80,-179 80,0 90", "A 0 0,1 0,2 0", "A 0 0,90 0,180 0,-90 0"} {
		f.Add(geo(short), geo("A 10 10,12 10,11 15"))
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, planar := range []bool{false, true} {
			var shapes []*Geometry
			for _, text := range []string{a, b} {
				if jsondoc.Valid([]byte(text), jsondoc.Limits{}) != nil {
					return
				}
				g, err := ParseGeometry(jsondoc.Of([]byte(text)), planar)
				if err != nil {
					return
				}
				shapes = append(shapes, g)
			}
			g, h := shapes[0], shapes[1]
			frame := &SpatialIndexBoundingBox{XMin: -10, YMin: -10, XMax: 10, YMax: 10}
			if !planar {
				frame = nil
			}
			meet := g.Intersects(h)
			if d := g.Distance(h); meet != (d == 0) && d < 1e90 || d < 0 || math.IsNaN(d) {
				t.Fatalf("intersects %v, distance %v", meet, d)
			}
			if area := g.Area(); area < 0 || math.IsNaN(area) {
				t.Fatalf("area %v", area)
			}
			if meet != h.Intersects(g) || g.Within(h) && !meet {
				t.Fatalf("intersects %v and %v, within %v", meet, h.Intersects(g), g.Within(h))
			}
			if meet && !found(g.Cells(frame), h.QueryCells(frame, 0)) {
				t.Fatal("they meet and are not found")
			}
		}
	})
}
