package ttl_test

import (
	"encoding/json"
	"flag"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/ttl"
)

// expiryReferenceModel is a simple model of expiry, with which tests compare Policy. It moves second by
// second and marks an item as expired for good as soon as the default in force in one second says so. A lease
// hides that for a time. Every event is also applied to policy, the Policy under test.
type expiryReferenceModel struct {
	now    int64
	rule   ttl.Seconds
	items  []*simulatedItem
	policy ttl.Policy
	met    *timelineCoverageCounts
}

type simulatedItem struct {
	ttl.Lifetime
	dead bool // the default in force has called it expired
	told bool // a reader has been told so
}

// timelineCoverageCounts counts how often each kind of answer has occurred in the random timelines, so that
// the test fails if they do not cover all kinds.
type timelineCoverageCounts struct {
	timelines int
	expired   int // expired by the rule in force
	final     int // expired by a floor alone: the rule in force would let it live
	leased    int // dead but for a lease
	spared    int // below a floor that does not count for it
	living    int
}

// plainly reports whether an item is expired at second now by one default, rule. It ignores earlier
// defaults and leases.
func plainly(l ttl.Lifetime, rule ttl.Seconds, now int64) bool {
	switch {
	case l.Own > 0:
		return rule != ttl.Absent && l.TS+int64(l.Own) <= now
	case l.Own == ttl.Never:
		return false
	default:
		return rule > 0 && l.TS+int64(rule) <= now
	}
}

// judge marks each item whose time to live, its own or the current default, is over at the current second. A
// mark is final.
func (s *expiryReferenceModel) judge() {
	for _, m := range s.items {
		m.dead = m.dead || plainly(m.Lifetime, s.rule, s.now)
	}
}

func (s *expiryReferenceModel) expired(m *simulatedItem) bool { return m.dead && s.now >= m.LeaseUntil }

func (s *expiryReferenceModel) tick(seconds int) {
	for range seconds {
		s.now++
		s.judge()
	}
}

func (s *expiryReferenceModel) change(next ttl.Seconds) {
	s.rule = next
	s.judge()
	s.policy = s.policy.With(next, s.now)
}

func (s *expiryReferenceModel) put(back int64, own ttl.Seconds) {
	s.items = append(s.items,
		&simulatedItem{Lifetime: ttl.Lifetime{TS: s.now - back, Own: own, Generation: s.policy.Generation}})
	s.judge()
}

// lease gives item i a lease for a number of seconds from now; 0 ends its lease. It ignores an expired
// item, which cannot be leased.
func (s *expiryReferenceModel) lease(i int, seconds int64) {
	if len(s.items) == 0 {
		return
	}
	if m := s.items[i%len(s.items)]; !s.expired(m) {
		m.LeaseUntil = s.now + seconds
	}
}

// compare fails the test unless Expired, ExpiresAt, Cutoffs and Active of the policy agree with the
// simulation for every item.
func (s *expiryReferenceModel) compare(t *rapid.T) {
	inheritTS, due := s.policy.Cutoffs(s.now)
	for _, m := range s.items {
		want, got := s.expired(m), s.policy.Expired(m.Lifetime, s.now)
		if got != want {
			t.Fatalf("at %d: %+v: Expired says %t", s.now, *m, got)
		}
		if m.told && !got {
			t.Fatalf("at %d: %+v came back", s.now, *m)
		}
		m.told = got
		if at, ok := s.policy.ExpiresAt(m.Lifetime); (ok && at <= s.now) != want {
			t.Fatalf("at %d: %+v: ExpiresAt says %d, %t", s.now, *m, at, ok)
		}
		proposed := m.Own == ttl.Absent && m.TS <= inheritTS || m.Own > 0 && m.TS+int64(m.Own) <= due
		if want && !(proposed && s.policy.Active()) {
			t.Fatalf("at %d: %+v is expired and beyond the cutoffs %d and %d", s.now, *m, inheritTS, due)
		}
		s.met.count(m, want, plainly(m.Lifetime, s.rule, s.now), proposed)
	}
}

func (st *timelineCoverageCounts) count(m *simulatedItem, expired, plainly, proposed bool) {
	switch {
	case expired && plainly:
		st.expired++
	case expired:
		st.final++
	case m.dead:
		st.leased++
	case proposed:
		st.spared++
	default:
		st.living++
	}
}

var (
	setting = rapid.OneOf(rapid.SampledFrom([]int{0, -1}), rapid.IntRange(1, 30))
	backs   = rapid.OneOf(rapid.Just(0), rapid.Just(0), rapid.IntRange(-5, 60))
)

// TestPolicyAgainstSimulation applies random events to a simulation and to a Policy: passing time, changes
// of the default, writes (also back-dated ones) and leases. It compares all answers of the Policy after
// every event.
func TestPolicyAgainstSimulation(t *testing.T) {
	racetest.Sequential(t)
	timelines := racetest.Campaign(100_000, 30_000)
	setChecks(t, timelines)
	var met timelineCoverageCounts
	rapid.Check(t, func(t *rapid.T) {
		first := ttl.Seconds(setting.Draw(t, "default"))
		s := expiryReferenceModel{now: 100, rule: first, policy: ttl.Policy{Default: first}, met: &met}
		for range rapid.IntRange(4, 24).Draw(t, "events") {
			s.step(t)
			s.compare(t)
		}
		for range 3 {
			s.tick(1)
			s.compare(t)
		}
		// Stored and read back it is the same policy; one that With cannot have made is refused.
		if err := json.Unmarshal([]byte(marshal(t, s.policy)), &s.policy); err != nil {
			t.Fatal(err)
		}
		s.compare(t)
		met.timelines++
	})
	t.Logf("%+v", met)
	if testing.Short() {
		timelines /= 5 // as rapid does
	}
	if met.timelines < timelines || met.expired < timelines || met.living < timelines ||
		met.leased < timelines/10 ||
		met.spared < timelines/10 || met.final < timelines/10 {
		t.Errorf("the timelines have met too little: %+v", met)
	}
}

func (s *expiryReferenceModel) step(t *rapid.T) {
	switch rapid.IntRange(0, 7).Draw(t, "event") {
	case 0, 1, 2:
		s.put(int64(backs.Draw(t, "back")), ttl.Seconds(setting.Draw(t, "ttl")))
	case 3, 4:
		s.tick(rapid.IntRange(1, 12).Draw(t, "seconds"))
	case 5, 6:
		s.change(ttl.Seconds(setting.Draw(t, "default")))
	case 7:
		s.lease(rapid.IntRange(0, 9).Draw(t, "item"), int64(rapid.IntRange(0, 20).Draw(t, "for")))
	}
}

// setChecks sets how many random cases each rapid.Check of this test runs.
func setChecks(t *testing.T, n int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks").Value
	before := checks.String()
	if err := checks.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := checks.Set(before); err != nil {
			t.Error(err)
		}
	})
}
