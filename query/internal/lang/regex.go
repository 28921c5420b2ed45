package lang

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dlclark/regexp2/v2"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
)

// A match of a regular expression may take exponential time. A match that takes longer than matchTime is
// repeated once with secondTime, since a busy machine can suspend any process for a tenth of a second. If it
// takes longer than secondTime, the query fails, since there is no correct result to return. foldTime is the
// limit while the query is prepared.
const (
	matchTime  = 100 * time.Millisecond
	secondTime = 2 * time.Second
	foldTime   = 5 * time.Millisecond
)

// RegexTimeoutError reports that a query's regular expression took too long on a value.
type RegexTimeoutError struct {
	Limit time.Duration // the time limit of one match
}

func (e *RegexTimeoutError) Error() string {
	return fmt.Sprintf("A regular expression of the query takes more than %v on a single value. "+
		"Write it so that it does not try the same text in many ways.", e.Limit)
}

// outOfTime ends the run because a match took too long. While a query is being prepared, it ends only the
// folding of the constant; the run then repeats the match.
func (c *CallContext) outOfTime() jsondoc.Value {
	switch c.Look(); {
	case c.folding():
		c.Fail(errCostly)
	case c.within(secondTime) < secondTime/10: // the match was limited by the remaining time of the run
		c.Fail(&queryerror.TimeLimitError{Limit: c.Limit})
	default:
		c.Fail(&RegexTimeoutError{secondTime})
	}
	return Undefined
}

// within returns the time limit of the next match of a regular expression: most, or the remaining time of
// the run if that is shorter. While the query is being prepared it is foldTime.
func (c *CallContext) within(most time.Duration) time.Duration {
	switch {
	case c.folding():
		return foldTime
	case c.Elapsed == nil || c.Limit <= 0:
		return most
	}
	return max(time.Millisecond, min(most, c.Limit-c.Elapsed()))
}

// mustRetry reports whether a match that has returned err must be repeated with the longer time limit,
// which it then sets in re. It returns false if err is nil, while the query is being prepared, and if the
// run has ended.
func (c *CallContext) mustRetry(re *regexp2.Regexp, err error) bool {
	if err == nil || c.folding() || !c.Look() {
		return false
	}
	re.MatchTimeout = c.within(secondTime)
	return true
}

func regexBuiltins() []Builtin {
	return []Builtin{
		{Name: "REGEXMATCH", Min: 2, Max: 3, Fn: fnRegexMatch},
		{Name: "REGEXEXTRACT", Min: 2, Max: 4, Fn: fnRegexExtract},
		{Name: "REGEXEXTRACTALL", Min: 2, Max: 4, Fn: fnRegexExtractAll},
		{Name: "REGEXREPLACEALL", Min: 3, Max: 4, Fn: fnRegexReplaceAll},
	}
}

// RegexCache holds the compiled regular expressions of a query: usually one, which is used for every row. If
// there are more than MaxRegexes, as when they come from documents, it drops all of them.
type RegexCache struct {
	Compiled map[RegexKey]*regexp2.Regexp // nil: an invalid expression
}

// RegexKey is a pattern with its modifiers.
type RegexKey struct{ Pattern, modifiers string }

// MaxRegexes is the maximum number of regular expressions in the cache.
const MaxRegexes = 64

// Get returns a compiled expression, or nil if the pattern or the modifiers are invalid.
func (r *RegexCache) Get(key RegexKey) *regexp2.Regexp {
	if re, ok := r.Compiled[key]; ok {
		return re
	}
	if r.Compiled == nil || len(r.Compiled) >= MaxRegexes {
		r.Compiled = make(map[RegexKey]*regexp2.Regexp)
	}
	re := compileRegex(key)
	r.Compiled[key] = re
	return re
}

// compileRegex compiles an expression in the dialect closest to PCRE: with look-around and back references,
// ASCII classes, POSIX classes in brackets, and a backslash before any character that needs no escape.
func compileRegex(key RegexKey) *regexp2.Regexp {
	options := regexp2.RegexOptions(regexp2.RE2)
	for _, m := range key.modifiers {
		switch m {
		case 'i':
			options |= regexp2.IgnoreCase
		case 'm':
			options |= regexp2.Multiline
		case 's':
			options |= regexp2.Singleline
		case 'x':
			options |= regexp2.IgnorePatternWhitespace
		default:
			return nil
		}
	}
	// a match is limited by its time, not by the depth of its backtracking
	re, err := regexp2.Compile(key.Pattern, options, regexp2.OptionMaxBacktrackingStackSize(-1))
	if err != nil {
		return nil
	}
	return re
}

// expression converts its arguments to a text and a compiled pattern. more may hold the modifiers. re is nil
// if an argument is invalid.
func (c *CallContext) expression(text, pattern jsondoc.Value,
	more []jsondoc.Value) (s string, re *regexp2.Regexp) {
	if !AllOf(jsondoc.String, text, pattern) || len(more) > 0 && more[0].Kind() != jsondoc.String {
		return "", nil
	}
	key := RegexKey{Pattern: pattern.Str()}
	if len(more) > 0 {
		key.modifiers = more[0].Str()
	}
	if re = c.regex.Get(key); re == nil || !c.Look() {
		return "", nil
	}
	re.MatchTimeout = c.within(matchTime)
	return text.Str(), re
}

func fnRegexMatch(c *CallContext, args []jsondoc.Value) jsondoc.Value {
	s, re := c.expression(args[0], args[1], args[2:])
	if re == nil {
		return Undefined
	}
	ok, err := re.MatchString(s)
	if c.mustRetry(re, err) {
		ok, err = re.MatchString(s)
	}
	if err != nil {
		return c.outOfTime()
	}
	return jsondoc.BoolValue(ok)
}

// group returns the group of a match that the fourth argument names by number or name. Without such an
// argument it returns the whole match. ok is false if the pattern has no such group or if the group did not
// take part in the match.
func group(m *regexp2.Match, more []jsondoc.Value) (v jsondoc.Value, ok bool) {
	g := &m.Group
	if len(more) > 1 {
		n, isNumber := position(more[1])
		switch {
		case more[1].Kind() == jsondoc.String:
			g = m.GroupByName(more[1].Str())
		case isNumber && n >= 0 && n <= math.MaxInt32:
			g = m.GroupByNumber(n)
		default:
			return Undefined, false
		}
	}
	if g == nil || len(g.Captures) == 0 {
		return Undefined, false
	}
	return jsondoc.StringValue(g.String()), true
}

func fnRegexExtract(c *CallContext, args []jsondoc.Value) jsondoc.Value {
	s, re := c.expression(args[0], args[1], args[2:])
	if re == nil {
		return Undefined
	}
	m, err := re.FindStringMatch(s)
	if c.mustRetry(re, err) {
		m, err = re.FindStringMatch(s)
	}
	if err != nil {
		return c.outOfTime()
	}
	if m == nil {
		return Undefined
	}
	v, _ := group(m, args[2:])
	return v
}

func fnRegexExtractAll(c *CallContext, args []jsondoc.Value) jsondoc.Value {
	s, re := c.expression(args[0], args[1], args[2:])
	if re == nil || len(args) > 3 && args[3].Kind() != jsondoc.String && args[3].Kind() != jsondoc.Number {
		return Undefined
	}
	dst := []byte{'['}
	m, err := re.FindStringMatch(s)
	if c.mustRetry(re, err) {
		m, err = re.FindStringMatch(s)
	}
	for ; err == nil && m != nil && c.Look(); m, err = re.FindNextMatch(m) {
		if v, ok := group(m, args[2:]); ok {
			dst = AppendElement(dst, v)
		}
		if len(dst) > MaxText {
			return Undefined
		}
	}
	if err != nil {
		return c.outOfTime()
	}
	return jsondoc.Of(append(dst, ']'))
}

// fnRegexReplaceAll replaces all matches. In the replacement $1 and ${name} stand for groups, $0 and $& for
// the match, and $$ for a dollar sign.
func fnRegexReplaceAll(c *CallContext, args []jsondoc.Value) jsondoc.Value {
	s, re := c.expression(args[0], args[1], args[3:])
	if re == nil || args[2].Kind() != jsondoc.String {
		return Undefined
	}
	m, err := re.FindStringMatch(s)
	if c.mustRetry(re, err) {
		m, err = re.FindStringMatch(s)
	}
	if err == nil && m == nil {
		return args[0]
	}
	with, runes, done := args[2].Str(), []rune(s), 0 // matches are indexed by characters
	var text []byte
	for ; err == nil && m != nil && c.Look(); m, err = re.FindNextMatch(m) {
		text = append(text, string(runes[done:m.RuneIndex])...)
		if text = expand(text, with, m); len(text) > MaxText {
			return Undefined
		}
		done = m.RuneIndex + m.RuneLength
	}
	if err != nil {
		return c.outOfTime()
	}
	return textValue(string(text) + string(runes[done:]))
}

// expand appends a replacement with its groups filled in, up to MaxText bytes. A dollar sign that begins no
// reference stands for itself.
func expand(dst []byte, with string, m *regexp2.Match) []byte {
	for with != "" && len(dst) <= MaxText {
		at := strings.IndexByte(with, '$')
		if at < 0 {
			break
		}
		dst = append(dst, with[:at]...)
		name, size := groupName(with[at+1:])
		with = with[at+1+size:]
		switch n, err := strconv.Atoi(name); {
		case name == "$" || name == "":
			dst = append(dst, '$')
		case name == "&":
			dst = append(dst, m.String()...)
		case err == nil:
			dst = appendGroup(dst, m.GroupByNumber(n))
		default:
			dst = appendGroup(dst, m.GroupByName(name))
		}
	}
	return append(dst, with...)
}

func appendGroup(dst []byte, g *regexp2.Group) []byte {
	if g == nil {
		return dst
	}
	return append(dst, g.String()...)
}

// groupName returns the group that is referenced behind a dollar sign, and the length of the reference in s.
func groupName(s string) (name string, size int) {
	if strings.HasPrefix(s, "{") {
		if end := strings.IndexByte(s, '}'); end > 1 {
			return s[1:end], end + 1
		}
		return "", 0
	}
	for size < len(s) && size < 2 && '0' <= s[size] && s[size] <= '9' {
		size++
	}
	if size == 0 && s != "" && (s[0] == '$' || s[0] == '&') {
		size = 1
	}
	return s[:size], size
}
