package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// Work that is short writes nothing; of work that is long a log has a line now and then.
func TestLines(t *testing.T) {
	var out strings.Builder
	clock := ttl.NewManual(time.Unix(1_800_000_000, 0))
	p := New(&out, clock)
	p.Step(1) // before anything has begun
	for _, steps := range []int{400, -1} {
		p.Start("importing", steps)
		for range 40 {
			clock.Advance(time.Second)
			p.Step(5)
		}
		p.Stop()
		clock.Advance(time.Hour)
		p.Step(1)
	}
	want := "importing: 50 of 400 (12 %)\nimporting: 100 of 400 (25 %)\nimporting: 150 of 400 (37 %)\n" +
		"importing: 200 of 400 (50 %)\nimporting: 50\nimporting: 100\nimporting: 150\nimporting: 200\n"
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
	new(Bar).Step(1) // one that shows nothing
}
