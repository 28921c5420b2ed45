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

// Case is the last thing that broke a rule.
type Case struct {
	Key value.Key   // of the item
	TTL ttl.Seconds // its own; ttl.Absent: it has none
	At  int64       // its _ts
}

// Count is how often a rule was broken by writes since Open.
type Count struct {
	Rule  definition.Lint // one
	Count uint64
	Last  *Case // nil where Count is 0
}

// Book counts what a container's writes have broken.
type Book [definition.LintRules]struct {
	count atomic.Uint64
	last  atomic.Pointer[Case]
}

// Life looks at an item of a container whose default time to live is def. What is in order costs it a few
// comparisons, and a look at each vector that the container's policy names.
func Life(def ttl.Seconds, item *view.Item, basis *view.Basis, vectors []definition.VectorAt) (
	found definition.Lint) {
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

// Note counts the rules that a write has broken, and calls warn for those of which a line is to be written.
func (b *Book) Note(found definition.Lint, last *Case, warn func(rule definition.Lint, times uint64)) {
	for i := range b {
		rule := definition.Lint(1 << i)
		if found&rule == 0 {
			continue
		}
		n := b[i].count.Add(1)
		b[i].last.Store(last)
		// a line for the 1st, the 10th, the 100th ...: a loop of writes does not flood the log
		if n == 1 || isPowerOfTen(n) && rule != definition.LintNull {
			warn(rule, n)
		}
	}
}

// Counts returns for each rule how often it has been broken.
func (b *Book) Counts() []Count {
	out := make([]Count, definition.LintRules)
	for i := range out {
		out[i] = Count{Rule: definition.Lint(1 << i), Count: b[i].count.Load(), Last: b[i].last.Load()}
	}
	return out
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

func isPowerOfTen(n uint64) bool {
	for n >= 10 && n%10 == 0 {
		n /= 10
	}
	return n == 1
}
