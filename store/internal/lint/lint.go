package lint

import (
	"strings"
	"sync/atomic"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/ttl"
)

// LastViolatingWrite is the last write that broke a lint rule.
type LastViolatingWrite struct {
	Key value.ItemKey // key of the item
	TTL ttl.Seconds   // the item's own; ttl.Absent: it has none
	At  int64         // _ts of the item
}

// ViolationCount is the number of writes since Open that broke one lint rule.
type ViolationCount struct {
	Rule  definition.BrokenLintRules // exactly one rule
	Count uint64
	Last  *LastViolatingWrite // nil if Count is 0
}

// ViolationCounters counts, for each lint rule, the writes of a container that have broken it.
type ViolationCounters [definition.LintRules]struct {
	count atomic.Uint64
	last  atomic.Pointer[LastViolatingWrite]
}

// Life returns the lint rules that an item breaks. def is the default time to live of its container, basis
// the container's ttlPropertyPath, and vectors are the vectors of its policy.
func Life(def ttl.Seconds, item *view.DecodedItem, basis *view.TTLStartProperty,
	vectors []definition.VectorPathDimensions) (
	found definition.BrokenLintRules) {
	own := item.Head.Life.Own
	if own > 0 && (def == ttl.Absent || own >= definition.MillisecondsFrom) {
		if found = definition.LintLife(own); def == ttl.Absent && !isLeaseLock(item.ID, item.Body) {
			found |= definition.LintOff
		}
	}
	if basis.IsSet() {
		found |= lintBase(basis.Value(item.Body))
	}
	for _, v := range vectors {
		if found&definition.LintVector == 0 && v.Misfit(item.Body) {
			found |= definition.LintVector
		}
	}
	return found
}

// lintBase returns the lint rule that v breaks, or 0. v is the value of a document at the container's
// ttlPropertyPath, which must be a number of seconds since 1970: it may be missing, of another type, or in
// milliseconds.
func lintBase(v jsondoc.Value) definition.BrokenLintRules {
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

// Note counts the rules that a write broke. It calls warn for each of them that should be logged now, with
// the number of times that it has been broken.
func (b *ViolationCounters) Note(found definition.BrokenLintRules, last *LastViolatingWrite,
	warn func(rule definition.BrokenLintRules,
		times uint64)) {
	for i := range b {
		rule := definition.BrokenLintRules(1 << i)
		if found&rule == 0 {
			continue
		}
		n := b[i].count.Add(1)
		b[i].last.Store(last)
		// warn on the 1st, 10th, 100th ... write, so that a loop of writes does not flood the log
		if n == 1 || isPowerOfTen(n) && rule != definition.LintNull {
			warn(rule, n)
		}
	}
}

// Counts returns, for each lint rule, how many writes have broken it, and the last of them.
func (b *ViolationCounters) Counts() []ViolationCount {
	out := make([]ViolationCount, definition.LintRules)
	for i := range out {
		out[i] = ViolationCount{Rule: definition.BrokenLintRules(1 << i), Count: b[i].count.Load(),
			Last: b[i].last.Load()}
	}
	return out
}

// isLeaseLock reports whether an item is a lock of a change feed processor of the SDKs for .NET and Java.
// The processor creates the lock in its lease container and deletes it after a moment; the lock's ttl
// only matters after a crash. The processors do not require that the container has expiry on, so this ttl
// is not a mistake.
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

func isPowerOfTen(n uint64) bool {
	for n >= 10 && n%10 == 0 {
		n /= 10
	}
	return n == 1
}
