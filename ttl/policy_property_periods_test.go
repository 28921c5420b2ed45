package ttl_test

import (
	"encoding/json"
	"testing"

	"github.com/mayflydb/mayfly/ttl"
)

// TestNextEra checks PropertyPathPeriod.Next after Policy.Rebase, which makes times to live count from
// another property of documents. For items of each kind, alive or expired, it compares the Lifetime that an
// item has after the change with the expected one.
func TestNextEra(t *testing.T) {
	before := ttl.Policy{Default: 10}
	before = before.With(20, 100) // a floor at 90
	after, period := before.Rebase(ttl.Never, 200)
	if after.Generation != 2 || after.ChangedAt != 200 || after.BasedAt != 200 || period.Until != 200 {
		t.Fatalf("%+v, %+v", after, period)
	}
	for _, c := range []struct {
		name string
		life ttl.Lifetime
		base int64
		want ttl.Lifetime
	}{
		{"ended by the rule", ttl.Lifetime{TS: 180, Generation: 1}, 500,
			ttl.Lifetime{TS: 180, Generation: 2, Ended: true, Base: 200}},
		{"ended by a floor", ttl.Lifetime{TS: 90}, 500,
			ttl.Lifetime{TS: 90, Generation: 2, Ended: true, Base: 100}},
		{"ended but for a lease", ttl.Lifetime{TS: 150, Generation: 1, LeaseUntil: 900}, 500,
			ttl.Lifetime{TS: 150, Generation: 2, LeaseUntil: 900, Ended: true, Base: 170}},
		{"alive", ttl.Lifetime{TS: 181, Generation: 1}, 5,
			ttl.Lifetime{TS: 181, Generation: 2, Based: true, Base: 5}},
		{"with a ttl", ttl.Lifetime{TS: 150, Own: 60, Generation: 1}, 5,
			ttl.Lifetime{TS: 150, Own: 60, Generation: 2, Based: true, Base: 5}},
		{"without end", ttl.Lifetime{TS: 1, Own: ttl.Never}, 5,
			ttl.Lifetime{TS: 1, Own: ttl.Never, Generation: 2, Based: true, Base: 5}},
	} {
		if !period.Holds(c.life) || period.Holds(c.want) {
			t.Errorf("%s: of the period: %v, afterwards: %v", c.name, period.Holds(c.life), period.Holds(c.want))
		}
		got := period.Next(c.life, c.base, true)
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		_, due := after.Cutoffs(1000)
		own, second, ok := got.IndexEntry()
		if after.Expired(got, 1000) && !(ok && own && second <= due) {
			t.Errorf("%s: expired, and at %d (%v, %v) beyond %d", c.name, second, own, ok, due)
		}
	}
	// A floor of before counts for nobody any more, and what it had ended stays so.
	if l := period.Next(ttl.Lifetime{TS: 181, Generation: 1}, 5, true); after.Expired(l, 1000) {
		t.Errorf("%+v has expired", l)
	}
	var back ttl.Policy
	if err := json.Unmarshal([]byte(marshal(t, after)), &back); err != nil || back.BasedAt != 200 {
		t.Errorf("read back: %+v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"default":1,"changedAt":5,"basedAt":6}`), &back); err == nil {
		t.Error("a policy was read that was based anew after its last change")
	}
}
