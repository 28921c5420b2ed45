package definition

import (
	"strings"

	"github.com/mayflydb/mayfly/ttl"
)

// BrokenLintRules is a set of broken lint rules. They concern times to live and vectors that are valid, but
// probably mistakes. LintNull means that a document was refused; Cosmos DB accepts the others silently.
type BrokenLintRules uint8

// The lint rules.
const (
	// LintOff: an item has a ttl, but its container's TTL is off, so that it will not expire.
	LintOff BrokenLintRules = 1 << iota
	// LintMilliseconds: the time to live is a multiple of 1000, and at least MillisecondsFrom.
	LintMilliseconds
	// LintLong: the time to live is over ten years.
	LintLong
	// LintVector: an item has an array at a path of the container's vector policy, but its length differs
	// from the dimensions.
	LintVector
	// LintBaseAbsent: the container has a ttlPropertyPath, and the document has no value there.
	LintBaseAbsent
	// LintBaseType: the document's value at the ttlPropertyPath is not a number.
	LintBaseType
	// LintBaseMilliseconds: the number at the document's ttlPropertyPath, from which its time to live counts,
	// is so large that it is probably in milliseconds instead of seconds since 1970.
	LintBaseMilliseconds
	// LintNull: a document was refused because its ttl is null.
	LintNull
)

// LintRules is the number of lint rules, each of which is a bit of BrokenLintRules.
const LintRules = 8

// MillisecondsBase is the smallest number that is taken for a moment in milliseconds since 1970. As seconds
// it would be in the year 5138; as milliseconds it is in 1973.
const MillisecondsBase = 100_000_000_000

const (
	// MillisecondsFrom is the smallest number that is taken for a time to live in milliseconds. As
	// milliseconds it is one day; as seconds it would be 1,000 days, which is rare. A time to live in
	// milliseconds that is shorter than a day is not detected.
	MillisecondsFrom ttl.Seconds = 24 * 60 * 60 * 1000
	// LongLife is ten years of 365 days, in seconds.
	LongLife ttl.Seconds = 10 * 365 * 24 * 60 * 60
)

var lintNames = [LintRules]string{"ttl-off", "ttl-milliseconds", "ttl-over-ten-years", "vector-length",
	"ttl-base-absent", "ttl-base-type", "ttl-base-milliseconds", "ttl-null"}

var lintTexts = [LintRules]string{
	"The item has a 'ttl', but the container's time to live is off (no 'defaultTtl'): it will not expire.",
	"The time to live is in seconds; this one looks like milliseconds.",
	"The time to live is over ten years.",
	"The item has a vector of another length than the container's policy says in 'dimensions': searches by nearness do not find it.",
	"The item has no property at the container's 'ttlPropertyPath': its time to live counts from its '_ts'.",
	"The property at the container's 'ttlPropertyPath' is no number: the item's time to live counts from " +
		"its '_ts'.",
	"The property at the container's 'ttlPropertyPath' is in seconds since 1970; this one looks like " +
		"milliseconds.",
	"A document was refused because its 'ttl' is null. Leave the property out where it has no value, so " +
		"that the container's default applies, or write -1 for no end. Serializers write null unless they " +
		"are told not to (System.Text.Json: JsonIgnoreCondition.WhenWritingNull; Json.NET: " +
		"NullValueHandling.Ignore; Entity Framework: map 'ttl' to an int with a value).",
}

// String returns the names of the rules, separated by commas.
func (l BrokenLintRules) String() string { return strings.Join(l.pick(lintNames[:]), ",") }

// Text returns the explanations of the rules.
func (l BrokenLintRules) Text() string { return strings.Join(l.pick(lintTexts[:]), " ") }

func (l BrokenLintRules) pick(of []string) (out []string) {
	for i, s := range of {
		if l&(1<<i) != 0 {
			out = append(out, s)
		}
	}
	return out
}

// LintLife checks one time to live, an item's or a container's default.
func LintLife(s ttl.Seconds) (found BrokenLintRules) {
	if s >= MillisecondsFrom && s%1000 == 0 {
		found |= LintMilliseconds
	}
	if s > LongLife {
		found |= LintLong
	}
	return found
}

// Lint returns the lint rules that the container's default time to live breaks.
func (s *ContainerSpec) Lint() BrokenLintRules { return LintLife(s.DefaultTTL) }
