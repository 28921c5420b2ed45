package query

import (
	"errors"
	"fmt"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"math"
	"strings"
	"testing"
	"time"
)

// spiral returns the GeoJSON coordinates of a spiral line with that many turns, which begins at the angle
// begin. Distances between two spirals are expensive to compute, since every turn of one is near every
// turn of the other.
func spiral(turns int, begin float64) string {
	var b strings.Builder
	for i := range 16 * turns {
		angle := begin + 2*math.Pi*float64(i)/16
		r := 1 + 9*float64(i)/float64(16*turns)
		fmt.Fprintf(&b, ",[%g,%g]", r*math.Cos(angle), r*math.Sin(angle))
	}
	return "[" + b.String()[1:] + "]"
}

// TestTimeLimitDuringCall checks that expensive functions, such as spatial ones, check the time limit of
// the query during a single call.
func TestTimeLimitDuringCall(t *testing.T) {
	var words strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&words, "word%d ", i)
	}
	line := func(begin float64) string {
		return `{"type":"LineString","coordinates":` + spiral(250, begin) +
			`}`
	}
	ring := strings.TrimSuffix(spiral(250, 0), "]") + "," + strings.TrimPrefix(spiral(1, 0), "[")
	ring = strings.TrimSuffix(ring[:strings.LastIndex(ring, ",[")], ",") + ",[1,0]]"
	body := fmt.Sprintf(`{"id":"1","a":%s,"b":%s,"t":%q,"p":{"type":"Polygon","coordinates":[%s]}}`,
		line(0), line(math.Pi), words.String(), ring)
	sources := newPageStateStore(t, nil, [][]byte{[]byte(body)}, 1)
	terms := strings.Repeat(", {'term': 'zzzzz', 'distance': 2}", 200)
	for name, text := range map[string]string{
		"distance":   "SELECT VALUE ST_DISTANCE(c.a, c.b) FROM c",
		"within":     "SELECT VALUE ST_WITHIN(c.a, c.p) FROM c",
		"intersects": "SELECT VALUE ST_INTERSECTS(c.a, c.b) FROM c",
		"words":      "SELECT VALUE FullTextContainsAny(c.t" + terms + ") FROM c",
	} {
		p := mustPrepare(t, text, bind.ContainerInfo{Lenient: true, Geometry: true})
		watch := time.Duration(0)
		env := eval.Env{Elapsed: func() time.Duration { watch += time.Second; return watch },
			Limit: 3 * time.Second}
		var late *queryerror.TimeLimitError
		if _, err := p.Run(t.Context(), sources, env, exec.RunOptions{}); !errors.As(err, &late) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
