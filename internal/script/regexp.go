package script

import (
	"sort"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja"
)

// Regular expressions with lookaround or back references need backtracking. This file matches them with the
// same library as the interpreter, but with a time limit, which the interpreter does not support.

// matchTime is the time limit of one match.
const matchTime = 500 * time.Millisecond

// maxTrack is the maximal size of the backtracking stack of one match, in entries of 8 bytes: 32 MB.
const maxTrack = 4 << 20

// maxMatchers is the number of compiled regular expressions that a Runtime caches.
const maxMatchers = 100

// regexpMatcher is a compiled regular expression. It keeps the converted form of the last text, because a
// search usually continues in the same text.
type regexpMatcher struct {
	re    *regexp2.Regexp
	whole bool // matches code points rather than UTF-16 units
	text  goja.String
	runes []rune
	at    []int // UTF-16 offset of each rune in the text; nil if each rune is one UTF-16 unit
}

// match is the native function match(source, flags, text, from) for sandbox_regexp.js. It returns the
// result of exec, or null.
func (r *Runtime) match(call goja.FunctionCall) goja.Value {
	m, err := r.matcher(call.Argument(0).String(), call.Argument(1).String())
	if err != nil {
		panic(r.syntaxError("Invalid regular expression: " + err.Error()))
	}
	text, ok := call.Argument(2).ToString().(goja.String)
	if !ok {
		return goja.Null()
	}
	m.read(text)
	found, err := m.re.FindRunesMatchStartingAt(m.runes, m.rune(int(call.Argument(3).ToInteger())))
	if err != nil { // the match has exceeded a limit of time or memory
		panic(r.rangeError("The regular expression is too costly for a text of this length"))
	}
	if found == nil {
		return goja.Null()
	}
	return r.matched(m, found)
}

// matcher returns the compiled form of a regular expression, from the cache if possible.
func (r *Runtime) matcher(source, flags string) (*regexpMatcher, error) {
	key := flags + "/" + source
	if m := r.matchers[key]; m != nil {
		return m, nil
	}
	options := regexp2.ECMAScript
	for _, f := range flags {
		switch f {
		case 'i':
			options |= regexp2.IgnoreCase
		case 'm':
			options |= regexp2.Multiline
		case 's':
			options |= regexp2.Singleline
		case 'u':
			options |= regexp2.Unicode
		}
	}
	whole := options&regexp2.Unicode != 0
	if !whole {
		source = units(source)
	}
	re, err := regexp2.Compile(source, options, regexp2.OptionMaxBacktrackingStackSize(maxTrack))
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = matchTime
	if r.matchers == nil || len(r.matchers) == maxMatchers {
		r.matchers = make(map[string]*regexpMatcher)
	}
	m := &regexpMatcher{re: re, whole: whole}
	r.matchers[key] = m
	return m, nil
}

// units replaces each character beyond U+FFFF in the source of a regular expression by the \uXXXX escapes of
// its two UTF-16 units.
func units(source string) string {
	var b strings.Builder
	for _, c := range source {
		if c <= 0xFFFF {
			b.WriteRune(c)
			continue
		}
		const digits = "0123456789ABCDEF"
		high, low := utf16.EncodeRune(c)
		for _, u := range []rune{high, low} {
			b.Write([]byte{'\\', 'u', digits[u>>12&15], digits[u>>8&15], digits[u>>4&15], digits[u&15]})
		}
	}
	return b.String()
}

// read sets the text that is searched next, and converts it to runes.
func (m *regexpMatcher) read(text goja.String) {
	if m.text != nil && m.text.SameAs(text) {
		return
	}
	n := text.Length()
	m.text, m.runes, m.at = text, make([]rune, 0, n), nil
	for i := 0; i < n; i++ {
		c := rune(text.CharAt(i))
		if m.whole {
			m.at = append(m.at, i)
			if i+1 < n && utf16.IsSurrogate(c) {
				if pair := utf16.DecodeRune(c, rune(text.CharAt(i+1))); pair != 0xFFFD {
					c = pair
					i++
				}
			}
		}
		m.runes = append(m.runes, c)
	}
	if m.whole {
		m.at = append(m.at, n)
	}
}

// rune converts an offset in UTF-16 units to the index of a rune in the text that is searched.
func (m *regexpMatcher) rune(at int) int {
	if m.whole {
		return sort.SearchInts(m.at, at)
	}
	return at
}

// place converts the index of a rune in the text that is searched to its offset in UTF-16 units, by which
// JavaScript counts.
func (m *regexpMatcher) place(n int) int {
	if m.whole {
		return m.at[n]
	}
	return n
}

// matched converts a match to the array that JavaScript's RegExp.exec returns.
func (r *Runtime) matched(m *regexpMatcher, found *regexp2.Match) goja.Value {
	var named *goja.Object
	list := found.Groups()
	values := make([]any, len(list))
	for i, g := range list {
		v := goja.Undefined()
		if len(g.Captures) > 0 {
			v = m.text.Substring(m.place(g.RuneIndex), m.place(g.RuneIndex+g.RuneLength))
		}
		values[i] = v
		if i > 0 && g.Name != "" && (g.Name[0] < '0' || g.Name[0] > '9') {
			if named == nil {
				named = r.js.NewObject()
			}
			r.must(named.Set(g.Name, v))
		}
	}
	out := r.js.NewArray(values...)
	r.must(out.Set("index", m.place(found.RuneIndex)))
	r.must(out.Set("input", m.text))
	r.must(out.Set("groups", goja.Undefined()))
	if named != nil {
		r.must(out.Set("groups", named))
	}
	return out
}
