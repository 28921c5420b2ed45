package store

import (
	"strings"
	"sync/atomic"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/ttl"
)

// LintCase is the last thing that broke a rule.
type LintCase struct {
	Key Key         // of the item
	TTL ttl.Seconds // its own; ttl.Absent: it has none
	At  int64       // its _ts
}

// LintCount is how often a rule was broken by writes since Open.
type LintCount struct {
	Rule  definition.Lint // one
	Count uint64
	Last  *LintCase // nil where Count is 0
}

// lintBook counts what a container's writes have broken.
type lintBook [definition.LintRules]struct {
	count atomic.Uint64
	last  atomic.Pointer[LintCase]
}

// lintItem looks at an item that has been written. What is in order costs it a few comparisons, and a look at
// each vector that the container's policy names.
func (c *Container) lintItem(st *containerState, p *prepared) (found definition.Lint) {
	def, own := st.policy().Default, p.item.head.Life.Own
	if own > 0 && (def == ttl.Absent || own >= definition.MillisecondsFrom) {
		if found = definition.LintLife(own); def == ttl.Absent && !isLeaseLock(p.item.id, p.item.body) {
			found |= definition.LintOff
		}
	}
	if st.lives.Basis.IsSet() {
		found |= lintBase(st.lives.Basis.Value(p.item.body))
	}
	for _, v := range st.vectors {
		if found&definition.LintVector == 0 && v.Misfit(p.item.body) {
			found |= definition.LintVector
		}
	}
	if found == 0 {
		return 0
	}
	last := &LintCase{Key: Key{Partition: c.def.Extract(p.item.body), ID: p.item.id}, TTL: own,
		At: p.item.head.Life.TS}
	c.noteLint(found, last)
	return found
}

// lintBase looks at what a document has in the property from which its time to live is to count.
func lintBase(v jsondoc.Value) definition.Lint {
	switch {
	case v.Kind() == jsondoc.Undefined:
		return definition.LintBaseAbsent
	case v.Kind() != jsondoc.Number:
		return definition.LintBaseType
	case v.Num() >= definition.MillisecondsBase:
		return definition.LintBaseMilliseconds
	}
	return 0
}

// lintRefused looks at a document that is refused for its ttl. A line about null is written once: whoever
// writes one means no value, and every document of theirs is refused.
func (c *Container) lintRefused(id string, body, token []byte) {
	if string(token) == "null" {
		c.noteLint(definition.LintNull,
			&LintCase{Key: Key{Partition: c.def.Extract(body), ID: id}, At: c.moment()})
	}
}

// noteLint counts the rules that a write has broken.
func (c *Container) noteLint(found definition.Lint, last *LintCase) {
	for i := range c.lints {
		rule := definition.Lint(1 << i)
		if found&rule == 0 {
			continue
		}
		n := c.lints[i].count.Add(1)
		c.lints[i].last.Store(last)
		// a line for the 1st, the 10th, the 100th ...: a loop of writes does not flood the log
		if n == 1 || isPowerOfTen(n) && rule != definition.LintNull {
			c.ds.opts.Logger.Warn(rule.Text(), "rule", rule.String(), "times", n, "database", c.d.ID(),
				"container", c.name, "id", last.Key.ID, "ttl", int64(last.TTL))
		}
	}
}

// isLeaseLock reports whether an item is the lock that a change feed processor of the SDKs for .NET and Java
// takes for a moment in its container of leases, and deletes itself. Its ttl is a net for a crash, and the
// processors want the container as it is.
func isLeaseLock(id string, body []byte) bool {
	if !strings.HasSuffix(id, ".lock") {
		return false
	}
	only := true
	jsondoc.Of(body).Each(func(name string, _ jsondoc.Value) bool {
		only = name == "id" || name == "ttl" || name == "partitionKey"
		return only
	})
	return only
}

// lintDefault writes a line about a default time to live that is odd.
func (c *Container) lintDefault() {
	spec := c.state.Load().spec
	if found := spec.Lint(); found != 0 {
		c.ds.opts.Logger.Warn(found.Text(), "rule", found.String(), "database", c.d.ID(), "container", c.name,
			"defaultTtl", int64(spec.DefaultTTL))
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
	out := make([]LintCount, definition.LintRules)
	for i := range out {
		out[i] = LintCount{Rule: definition.Lint(1 << i), Count: c.lints[i].count.Load(),
			Last: c.lints[i].last.Load()}
	}
	return out
}
