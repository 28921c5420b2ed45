package seed

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/ttl"
)

// TestForwardMovesClock applies a seed with a document whose _ts is in the future. With ApplyTarget.Forward
// the server's virtual clock moves to that time, unless it is decades ahead. Otherwise the seed is refused
// and the clock stays.
func TestForwardMovesClock(t *testing.T) {
	const seed = `databases: [{id: d, containers: [{id: c, partitionKey: /id, documents: [{id: a, _ts: ` +
		`%d}]}]}]`
	for _, c := range []struct {
		ts      int64
		forward bool
		goes    bool
	}{
		{newTestServer(t).db.Now().Unix() + 86400, true, true},
		{newTestServer(t).db.Now().Unix() + 86400, false, false},
		{newTestServer(t).db.Now().Unix() + 60*365*86400, true, false},
	} {
		w := newTestServer(t)
		began := w.db.Now()
		s := text(t, fmt.Sprintf(seed, c.ts))
		_, err := s.Apply(t.Context(), ApplyTarget{DB: w.db, Queues: w.queues, Forward: c.forward})
		if (err == nil) != c.goes || err != nil && !strings.Contains(err.Error(), "in the future") {
			t.Errorf("%+v: %v", c, err)
		}
		if now := w.db.Now().Unix(); c.goes && now < c.ts || !c.goes && now > began.Unix()+60 {
			t.Errorf("%+v: the clock shows %d", c, now)
		}
	}
	if err := text(t, fmt.Sprintf(seed,
		ttl.SystemClock{}.Now().Unix()+86400)).DryRun(t.Context()); err != nil {
		t.Error(err)
	}
}
