package store

import (
	"strings"
	"sync/atomic"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/ttl"
)

// Lint is a set of rules that something breaks which is valid and probably not what was meant: a time to
// live, or a vector. Nothing is refused for it: Cosmos DB takes them all in silence.
type Lint uint8

// The rules.
const (
	// LintOff: an item has a ttl, but its container's TTL is off, so that it will not expire.
	LintOff Lint = 1 << iota
	// LintMilliseconds: the time to live is a multiple of 1000 from MillisecondsFrom on.
	LintMilliseconds
	// LintLong: the time to live is over ten years.
	LintLong
	// LintVector: where the container's policy names a vector an item has an array of another length than its
	// dimensions.
	LintVector

	lintRules = 4
)

const (
	// MillisecondsFrom is where a time to live begins to look as if it were in milliseconds: a day in those,
	// 1,000 days in seconds. Lives that are meant to be shorter than a day are not told from long ones, but
	// hardly anybody who means seconds writes so many, and most who mean milliseconds think in days.
	MillisecondsFrom ttl.Seconds = 24 * 60 * 60 * 1000
	// LongLife is ten years of 365 days, in seconds.
	LongLife ttl.Seconds = 10 * 365 * 24 * 60 * 60
)

var lintNames = [lintRules]string{"ttl-off", "ttl-milliseconds", "ttl-over-ten-years", "vector-length"}

var lintTexts = [lintRules]string{
	"The item has a 'ttl', but the container's time to live is off (no 'defaultTtl'): it will not expire.",
	"The time to live is in seconds; this one looks like milliseconds.",
	"The time to live is over ten years.",
	"The item has a vector of another length than the container's policy says in 'dimensions': searches by nearness do not find it.",
}

// String is the names of the rules, separated by commas.
func (l Lint) String() string { return strings.Join(l.pick(lintNames[:]), ",") }

// Text says what the rules say, for people.
func (l Lint) Text() string { return strings.Join(l.pick(lintTexts[:]), " ") }

func (l Lint) pick(of []string) (out []string) {
	for i, s := range of {
		if l&(1<<i) != 0 {
			out = append(out, s)
		}
	}
	return out
}

// lintLife looks at one time to live, an item's or a container's default.
func lintLife(s ttl.Seconds) (found Lint) {
	if s >= MillisecondsFrom && s%1000 == 0 {
		found |= LintMilliseconds
	}
	if s > LongLife {
		found |= LintLong
	}
	return found
}

// Lint looks at the default time to live of a container.
func (s *ContainerSpec) Lint() Lint { return lintLife(s.DefaultTTL) }

// LintCase is the last thing that broke a rule.
type LintCase struct {
	Key Key         // of the item
	TTL ttl.Seconds // its own; ttl.Absent: it has none
	At  int64       // its _ts
}

// LintCount is how often a rule was broken by writes since Open.
type LintCount struct {
	Rule  Lint // one
	Count uint64
	Last  *LintCase // nil where Count is 0
}

// lintBook counts what a container's writes have broken.
type lintBook [lintRules]struct {
	count atomic.Uint64
	last  atomic.Pointer[LintCase]
}

// lintItem looks at an item that has been written. What is in order costs it a few comparisons, and a look at
// each vector that the container's policy names.
func (c *Container) lintItem(st *containerState, p *prepared) (found Lint) {
	def, own := st.policy().Default, p.item.head.Life.Own
	if own > 0 && (def == ttl.Absent || own >= MillisecondsFrom) {
		if found = lintLife(own); def == ttl.Absent && !isLeaseLock(p.item.id, p.item.body) {
			found |= LintOff
		}
	}
	for _, v := range st.vectors {
		if found&LintVector == 0 && v.misfit(p.item.body) {
			found |= LintVector
		}
	}
	if found == 0 {
		return 0
	}
	last := &LintCase{Key: Key{Partition: c.def.Extract(p.item.body), ID: p.item.id}, TTL: own, At: p.item.head.Life.TS}
	for i := range c.lints {
		rule := Lint(1 << i)
		if found&rule == 0 {
			continue
		}
		n := c.lints[i].count.Add(1)
		c.lints[i].last.Store(last)
		if isPowerOfTen(n) { // a line for the 1st, the 10th, the 100th ...: a loop of writes does not flood the log
			c.db.opts.Logger.Warn(rule.Text(), "rule", rule.String(), "times", n, "database", c.d.ID(), "container", c.name, "id", p.item.id, "ttl", int64(own))
		}
	}
	return found
}

// isLeaseLock tells whether an item is the lock that a change feed processor of the SDKs for .NET and Java
// takes for a moment in its container of leases, and deletes itself. Its ttl is a net for a crash, and the
// processors want the container as it is.
func isLeaseLock(id string, body []byte) bool {
	if !strings.HasSuffix(id, ".lock") {
		return false
	}
	only := true
	doc.Of(body).Each(func(name string, _ doc.Value) bool {
		only = name == "id" || name == "ttl" || name == "partitionKey"
		return only
	})
	return only
}

// lintDefault writes a line about a default time to live that is odd.
func (c *Container) lintDefault() {
	spec := c.state.Load().spec
	if found := spec.Lint(); found != 0 {
		c.db.opts.Logger.Warn(found.Text(), "rule", found.String(), "database", c.d.ID(), "container", c.name, "defaultTtl", int64(spec.DefaultTTL))
	}
}

func isPowerOfTen(n uint64) bool {
	for n >= 10 && n%10 == 0 {
		n /= 10
	}
	return n == 1
}

// LintCounts tells of each rule how often writes to the container have broken it since Open.
func (c *Container) LintCounts() []LintCount {
	out := make([]LintCount, lintRules)
	for i := range out {
		out[i] = LintCount{Rule: Lint(1 << i), Count: c.lints[i].count.Load(), Last: c.lints[i].last.Load()}
	}
	return out
}
