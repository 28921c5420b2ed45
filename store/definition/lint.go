package definition

import (
	"strings"

	"github.com/mayflydb/mayfly/ttl"
)

// Lint is a set of rules that something breaks which is valid and probably not what was meant: a time to
// live, or a vector. Nothing is refused for it, but for LintNull: Cosmos DB takes the others in silence.
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
	// LintBaseAbsent: the container has a ttlPropertyPath, and the document has nothing there.
	LintBaseAbsent
	// LintBaseType: the document has something there that is no number.
	LintBaseType
	// LintBaseMilliseconds: the number there is MillisecondsBase or more.
	LintBaseMilliseconds
	// LintNull: a document was refused because its ttl is null.
	LintNull
)

// LintRules is how many rules there are.
const LintRules = 8

// MillisecondsBase is where a second since 1970 looks as if it were in milliseconds: the year 5138 in
// seconds, 1973 in milliseconds.
const MillisecondsBase = 100_000_000_000

const (
	// MillisecondsFrom is where a time to live begins to look as if it were in milliseconds: a day in those,
	// 1,000 days in seconds. Lives that are meant to be shorter than a day are not told from long ones, but
	// hardly anybody who means seconds writes so many, and most who mean milliseconds think in days.
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

// LintLife looks at one time to live, an item's or a container's default.
func LintLife(s ttl.Seconds) (found Lint) {
	if s >= MillisecondsFrom && s%1000 == 0 {
		found |= LintMilliseconds
	}
	if s > LongLife {
		found |= LintLong
	}
	return found
}

// Lint looks at the default time to live of a container.
func (s *ContainerSpec) Lint() Lint { return LintLife(s.DefaultTTL) }
