package ttl_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayflydb/mayfly/internal/datatest"
	"github.com/mayflydb/mayfly/ttl"
)

// TestTimelines compares timelines of events in a container, and the answers of its Policy, with the golden
// files in testdata/timelines. One case is one container from its creation; every line of input is one event:
//
//	at 10 put a ttl=5 ts=3      a write at second 10; ttl may be -1; ts only for an import
//	at 12 default 60            a change of the default TTL: off, -1 or seconds
//	at 12 lease a until=40      a lease, which keeps the item from expiring
//	at 20 read a                whether the item is live; read * for all items
//	at 20 expires a             the result of ExpiresAt for the item
//	at 20 cutoffs               the results of Policy.Cutoffs
//	at 20 policy                the policy as JSON
//	at 20 active                the result of Policy.Active
func TestTimelines(t *testing.T) {
	datatest.Walk(t, "testdata/timelines", func(t *testing.T, c *datatest.TestFileCommand) string {
		if c.Cmd != "timeline" {
			return c.Unknown()
		}
		tl := expiryTimelineTestCase{c: c, items: map[string]ttl.Lifetime{}}
		tl.policy.Default = tl.setting(c.String("default", "off"))
		for _, line := range c.Lines() {
			tl.event(line)
		}
		return tl.out.String()
	})
}

type expiryTimelineTestCase struct {
	c      *datatest.TestFileCommand
	policy ttl.Policy
	items  map[string]ttl.Lifetime
	out    strings.Builder
}

func (tl *expiryTimelineTestCase) event(line string) {
	words := strings.Fields(line)
	if len(words) < 3 || words[0] != "at" {
		tl.c.Fatalf("not an event: %s", line)
	}
	now := tl.number(words[1])
	name := ""
	if len(words) > 3 {
		name = words[3]
	}
	args := map[string]string{}
	for _, w := range words[min(4, len(words)):] {
		key, value, _ := strings.Cut(w, "=")
		args[key] = value
	}
	switch verb := words[2]; verb {
	case "put":
		l := ttl.Lifetime{TS: now, Generation: tl.policy.Generation}
		if s, ok := args["ts"]; ok {
			l.TS = tl.number(s)
		}
		if s, ok := args["ttl"]; ok {
			l.Own = tl.setting(s)
		}
		tl.items[name] = l
	case "lease":
		l := tl.items[name]
		l.LeaseUntil = tl.number(args["until"])
		tl.items[name] = l
	case "default":
		tl.policy = tl.policy.With(tl.setting(name), now)
	default:
		tl.show(now, verb, name)
	}
}

func (tl *expiryTimelineTestCase) show(now int64, verb, name string) {
	fmt.Fprintf(&tl.out, "at %d %s:", now, strings.TrimSpace(verb+" "+name))
	switch verb {
	case "read":
		for _, n := range tl.named(name) {
			verdict := "lives"
			if tl.policy.Expired(tl.items[n], now) {
				verdict = "404"
			}
			if name == "*" {
				verdict = n + " " + verdict
			}
			fmt.Fprintf(&tl.out, " %s", verdict)
		}
	case "expires":
		if at, ok := tl.policy.ExpiresAt(tl.items[tl.named(name)[0]]); ok {
			fmt.Fprintf(&tl.out, " at %d", at)
		} else {
			tl.out.WriteString(" never")
		}
	case "cutoffs":
		inherit, due := tl.policy.Cutoffs(now)
		fmt.Fprintf(&tl.out, " _ts <= %s, due <= %s", cutoff(inherit), cutoff(due))
	case "policy":
		b, err := json.Marshal(tl.policy)
		if err != nil {
			tl.c.Fatalf("%v", err)
		}
		fmt.Fprintf(&tl.out, " %s", b)
	case "active":
		fmt.Fprintf(&tl.out, " %t", tl.policy.Active())
	default:
		tl.c.Fatalf("unknown event %s", verb)
	}
	tl.out.WriteByte('\n')
}

func (tl *expiryTimelineTestCase) named(name string) []string {
	if name == "*" {
		return slices.Sorted(maps.Keys(tl.items))
	}
	if _, ok := tl.items[name]; !ok {
		tl.c.Fatalf("no item %s", name)
	}
	return []string{name}
}

func (tl *expiryTimelineTestCase) number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		tl.c.Fatalf("%v", err)
	}
	return n
}

func (tl *expiryTimelineTestCase) setting(s string) ttl.Seconds {
	if s == "off" {
		s = "null"
	}
	v, err := ttl.ParseDefault([]byte(s))
	if err != nil {
		tl.c.Fatalf("%v", err)
	}
	return v
}

func cutoff(at int64) string {
	if at == math.MinInt64 {
		return "none"
	}
	return strconv.FormatInt(at, 10)
}

// TestWithKeepsOriginalPolicy checks that Policy.With does not change the policy on which it is called. Both
// policies may share memory: the lists of floors, the records of earlier changes by which expired items stay
// expired.
func TestWithKeepsOriginalPolicy(t *testing.T) {
	base := ttl.Policy{Default: 10}
	base = base.With(1000, 100)
	base = base.With(50000, 200)
	before := marshal(t, base)
	left, right := base.With(ttl.Never, 300), base.With(1, 300)
	right = right.With(ttl.Absent, 400)
	if after := marshal(t, base); after != before {
		t.Errorf("the policy was\n%s\nand is\n%s", before, after)
	}
	const want = `{"default":-1,"generation":3,"changedAt":300,` +
		`"inheritFloors":[{"before":1,"at":90},{"before":2,"at":-800},{"before":3,"at":-49700}]}`
	if got := marshal(t, left); got != want {
		t.Errorf("policy\n%s\nwant\n%s", got, want)
	}
	const wantRight = `{"default":0,"generation":4,"changedAt":400,` +
		`"inheritFloors":[{"before":4,"at":399}],"overrideFloors":[{"before":4,"at":400}]}`
	if got := marshal(t, right); got != wantRight {
		t.Errorf("policy\n%s\nwant\n%s", got, wantRight)
	}
}

func TestWithSameDefault(t *testing.T) {
	p := ttl.Policy{Default: 10}
	p = p.With(20, 100)
	if got, want := marshal(t, p.With(20, 500)), marshal(t, p); got != want {
		t.Errorf("policy %s, want %s", got, want)
	}
}

func TestNoOverflow(t *testing.T) {
	on := ttl.Policy{Default: ttl.Max}
	raised := on.With(ttl.Absent, 5_000_000_000)
	for _, own := range []ttl.Seconds{ttl.Absent, ttl.Max} {
		young := ttl.Lifetime{TS: 4_000_000_000, Own: own}
		if on.Expired(young, 4_000_000_000+math.MaxInt32-1) {
			t.Errorf("ttl %d: expired a second early", own)
		}
		if !on.Expired(young, 4_000_000_000+math.MaxInt32) {
			t.Errorf("ttl %d: not expired at its deadline", own)
		}
		far := ttl.Lifetime{TS: math.MaxInt64, Own: own}
		if on.Expired(far, 4_000_000_000) || raised.Expired(far, 6_000_000_000) {
			t.Errorf("ttl %d: an item of the farthest future is expired", own)
		}
	}
}

// fataler has the methods of *testing.T and *rapid.T with which a helper ends a test.
type fataler interface {
	Helper()
	Fatal(...any)
}

func marshal(t fataler, p ttl.Policy) string {
	t.Helper()
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPolicyJSON(t *testing.T) {
	p := ttl.Policy{Default: 10}
	p = p.With(1000, 100)
	p = p.With(ttl.Absent, 200)
	var back ttl.Policy
	if err := json.Unmarshal([]byte(marshal(t, p)), &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(p, back, cmp.Exporter(func(reflect.Type) bool { return true })); d != "" {
		t.Error(d)
	}
}

func TestPolicyJSONRefused(t *testing.T) {
	for _, src := range []string{
		`null`, `{}`, `[]`, `{"generation":1}`, `{"default":null}`, `{"default":-2}`, `{"default":1.5}`, `{"default":99999999999}`,
		`{"default":1,"generation":-1}`, `{"default":1,"unheardOf":[]}`, `{"default":1,"inheritFloors":[{"before":1,"at":5,"x":1}]}`,
		`{"default":1,"generation":1,"inheritFloors":[{"before":2,"at":5}]}`,
		`{"default":1,"generation":2,"inheritFloors":[{"before":1,"at":5},{"before":2,"at":5}]}`,
		`{"default":1,"generation":2,"overrideFloors":[{"before":2,"at":5},{"before":1,"at":4}]}`,
	} {
		p := ttl.Policy{Default: 7}
		err := json.Unmarshal([]byte(src), &p)
		var invalid *ttl.InvalidPolicyError
		if !errors.As(err, &invalid) {
			t.Errorf("%s: error %v, want an *InvalidPolicyError", src, err)
		}
		if p.Default != 7 {
			t.Errorf("%s: the policy was overwritten with %s", src, marshal(t, p))
		}
	}
}

func BenchmarkExpired(b *testing.B) {
	p := ttl.Policy{Default: 10}
	p = p.With(1000, 100)
	p = p.With(50_000, 200)
	dead := 0
	for i := range b.N {
		if p.Expired(ttl.Lifetime{TS: int64(i & 1023), Generation: uint32(i & 3)}, 300) {
			dead++
		}
	}
	b.ReportMetric(float64(dead)/float64(b.N), "expired/op")
}
