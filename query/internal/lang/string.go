package lang

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

func stringBuiltins() []Builtin {
	return []Builtin{
		{Name: "CONCAT", Min: 2, Max: -1, Fn: fnConcat},
		{Name: "CONTAINS", Min: 2, Max: 3, Fn: seek(bytes.Contains)},
		{Name: "STARTSWITH", Min: 2, Max: 3, Fn: seek(bytes.HasPrefix)},
		{Name: "ENDSWITH", Min: 2, Max: 3, Fn: seek(bytes.HasSuffix)},
		{Name: "STRINGEQUALS", Min: 2, Max: 3, Fn: seek(bytes.Equal)},
		{Name: "CONTAINS_ALL_CI", Min: 2, Max: -1, Fn: containsEach(allTrue, true)},
		{Name: "CONTAINS_ALL_CS", Min: 2, Max: -1, Fn: containsEach(allTrue, false)},
		{Name: "CONTAINS_ANY_CI", Min: 2, Max: -1, Fn: containsEach(anyOf, true)},
		{Name: "CONTAINS_ANY_CS", Min: 2, Max: -1, Fn: containsEach(anyOf, false)},
		{Name: "INDEX_OF", Min: 2, Max: 3, Fn: fnIndexOf},
		{Name: "LASTINDEXOF", Min: 2, Max: 3, Fn: fnLastIndexOf},
		{Name: "SUBSTRINGAFTER", Min: 2, Max: 2, Fn: split(strings.Index, after)},
		{Name: "SUBSTRINGBEFORE", Min: 2, Max: 2, Fn: split(strings.Index, before)},
		{Name: "LASTSUBSTRINGAFTER", Min: 2, Max: 2, Fn: split(strings.LastIndex, after)},
		{Name: "LASTSUBSTRINGBEFORE", Min: 2, Max: 2, Fn: split(strings.LastIndex, before)},
		{Name: "LEFT", Min: 2, Max: 2, Fn: fnLeft},
		{Name: "RIGHT", Min: 2, Max: 2, Fn: fnRight},
		{Name: "SUBSTRING", Min: 3, Max: 3, Fn: fnSubstring},
		{Name: "LENGTH", Min: 1, Max: 1, Fn: fnLength},
		{Name: "LOWER", Min: 1, Max: 1, Fn: mapString(lower)},
		{Name: "UPPER", Min: 1, Max: 1, Fn: mapString(upper)},
		{Name: "REVERSE", Min: 1, Max: 1, Fn: mapString(reverse)},
		{Name: "LTRIM", Min: 1, Max: 2, Fn: trim(strings.TrimLeftFunc)},
		{Name: "RTRIM", Min: 1, Max: 2, Fn: trim(strings.TrimRightFunc)},
		{Name: "TRIM", Min: 1, Max: 2, Fn: trim(strings.TrimFunc)},
		{Name: "REPLACE", Min: 3, Max: 3, Fn: fnReplace},
		{Name: "REPLICATE", Min: 2, Max: 2, Fn: fnReplicate},
		{Name: "STRINGJOIN", Min: 2, Max: 2, Fn: fnStringJoin},
		{Name: "STRINGSPLIT", Min: 2, Max: 2, Fn: fnStringSplit},
	}
}

// textValue returns a string, or undefined if it is too long.
func textValue(s string) jsondoc.Value {
	if len(s) > MaxText {
		return Undefined
	}
	return jsondoc.StringValue(s)
}

func fnConcat(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	if !AllOf(jsondoc.String, args...) {
		return Undefined
	}
	var text []byte
	for _, a := range args {
		if text = a.AppendStr(text); len(text) > MaxText {
			return Undefined
		}
	}
	return jsondoc.StringValue(string(text))
}

// lowerRune and upperRune convert the case of a letter. They return a letter unchanged if the opposite
// conversion would not restore it, such as ß and ı.
func lowerRune(r rune) rune {
	if low := unicode.ToLower(r); unicode.ToUpper(low) == r {
		return low
	}
	return r
}

func upperRune(r rune) rune {
	if up := unicode.ToUpper(r); unicode.ToLower(up) == r {
		return up
	}
	return r
}

func lower(s string) string { return strings.Map(lowerRune, s) }
func upper(s string) string { return strings.Map(upperRune, s) }

// foldCase maps letters that differ only in case to the same letter, character by character, without the
// rules of any language.
func foldCase(s []byte) []byte {
	for i, b := range s {
		if b >= utf8.RuneSelf {
			return bytes.Map(lowerRune, s)
		}
		if 'A' <= b && b <= 'Z' {
			s[i] = b - 'A' + 'a'
		}
	}
	return s
}

// seek returns the implementation of a built-in function such as CONTAINS(s, sub[, ignoreCase]): a Boolean
// function of two strings. test is the comparison, on the bytes of both.
func seek(test func(s, sub []byte) bool) func(*CallContext, []jsondoc.Value) jsondoc.Value {
	return func(c *CallContext, args []jsondoc.Value) jsondoc.Value {
		ignore := false
		if len(args) > 2 {
			if args[2].Kind() != jsondoc.Bool {
				return Undefined
			}
			ignore = args[2].Bool()
		}
		return seekIn(c, args[0], args[1], ignore, test)
	}
}

func seekIn(c *CallContext, text, sub jsondoc.Value, ignoreCase bool, test func(s,
	sub []byte) bool) jsondoc.Value {
	if !AllOf(jsondoc.String, text, sub) {
		return Undefined
	}
	a, b := c.str(0, text), c.str(1, sub)
	if ignoreCase {
		a, b = foldCase(a), foldCase(b)
	}
	return jsondoc.BoolValue(test(a, b))
}

func containsEach(combine func(int, func(int) jsondoc.Value) jsondoc.Value,
	ignoreCase bool) func(*CallContext,
	[]jsondoc.Value) jsondoc.Value {
	return func(c *CallContext, args []jsondoc.Value) jsondoc.Value {
		return combine(len(args)-1, func(i int) jsondoc.Value {
			if !c.Spend(Work(args[0])) {
				return Undefined
			}
			return seekIn(c, args[0], args[i+1], ignoreCase, bytes.Contains)
		})
	}
}

// Positions and lengths are in characters, that is code points.

// offset returns the index of the first byte of the character at a position, or the length of s if s is
// shorter.
func offset[T string | []byte](s T, position int) (at int) {
	for position = max(position, 0); at < len(s) && position > 0; position-- {
		switch b := s[at]; {
		case b < utf8.RuneSelf:
			at++
		case b < 0xE0:
			at += 2
		case b < 0xF0:
			at += 3
		default:
			at += 4
		}
	}
	return min(at, len(s))
}

// cutText returns the characters in [from, to).
func cutText(s string, from, to int) string {
	if from >= to {
		return ""
	}
	start := offset(s, from)
	return s[start : start+offset(s[start:], to-from)]
}

func fnIndexOf(c *CallContext, args []jsondoc.Value) jsondoc.Value {
	if !AllOf(jsondoc.String, args[:2]...) {
		return Undefined
	}
	start := 0
	if len(args) > 2 {
		var ok bool
		if start, ok = position(args[2]); !ok {
			return Undefined
		}
	}
	s, sub := c.str(0, args[0]), c.str(1, args[1])
	from := offset(s, start)
	i := bytes.Index(s[from:], sub)
	if i < 0 || start < 0 || start > utf8.RuneCount(s) {
		return jsondoc.NumberValue(-1)
	}
	return jsondoc.NumberValue(float64(utf8.RuneCount(s[:from+i])))
}

// fnLastIndexOf implements LastIndexOf(text, search [, last]). It returns the position, in characters from 0,
// at which the last occurrence of search in text begins, or -1. The whole occurrence must lie at or before
// the position last, by default that of the last character. For an empty search it returns that position.
func fnLastIndexOf(c *CallContext, args []jsondoc.Value) jsondoc.Value {
	if !AllOf(jsondoc.String, args[:2]...) {
		return Undefined
	}
	s, sub := c.str(0, args[0]), c.str(1, args[1])
	length := utf8.RuneCount(s)
	last := max(length-1, 0)
	if len(args) > 2 {
		n, ok := position(args[2])
		if !ok {
			return Undefined
		}
		if n < 0 || n > length {
			return jsondoc.NumberValue(-1)
		}
		last = min(n, last)
	}
	if len(sub) == 0 {
		return jsondoc.NumberValue(float64(last))
	}
	s = s[:offset(s, last+1)]
	i := bytes.LastIndex(s, sub)
	if i < 0 {
		return jsondoc.NumberValue(-1)
	}
	return jsondoc.NumberValue(float64(utf8.RuneCount(s[:i])))
}

// split returns the implementation of a built-in function of a string and a separator. find returns the
// offset of the separator, or -1, for which the result is undefined; part returns the result: the text
// before or after the separator, which is at offset at and has size bytes.
func split(find func(s, sep string) int, part func(s string, at, size int) string) func(*CallContext,
	[]jsondoc.Value) jsondoc.Value {
	return func(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
		if !AllOf(jsondoc.String, args...) {
			return Undefined
		}
		s, sep := args[0].Str(), args[1].Str()
		at := find(s, sep)
		if at < 0 {
			return Undefined
		}
		return jsondoc.StringValue(part(s, at, len(sep)))
	}
}

func before(s string, at, _ int) string   { return s[:at] }
func after(s string, at, size int) string { return s[at+size:] }

func fnLeft(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	n, ok := position(args[1])
	if !ok || args[0].Kind() != jsondoc.String {
		return Undefined
	}
	return jsondoc.StringValue(cutText(args[0].Str(), 0, n))
}

func fnRight(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	n, ok := position(args[1])
	if !ok || args[0].Kind() != jsondoc.String {
		return Undefined
	}
	s := args[0].Str()
	length := utf8.RuneCountInString(s)
	return jsondoc.StringValue(cutText(s, max(length-max(n, 0), 0), length))
}

func fnSubstring(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	start, ok := position(args[1])
	length, ok2 := position(args[2])
	if !ok || !ok2 || args[0].Kind() != jsondoc.String {
		return Undefined
	}
	if start < 0 {
		return jsondoc.StringValue("")
	}
	return jsondoc.StringValue(cutText(args[0].Str(), start, start+length))
}

func fnLength(c *CallContext, args []jsondoc.Value) jsondoc.Value {
	if args[0].Kind() != jsondoc.String {
		return Undefined
	}
	return jsondoc.NumberValue(float64(utf8.RuneCount(c.str(0, args[0]))))
}

func mapString(f func(string) string) func(*CallContext, []jsondoc.Value) jsondoc.Value {
	return func(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
		if args[0].Kind() != jsondoc.String {
			return Undefined
		}
		return textValue(f(args[0].Str()))
	}
}

func reverse(s string) string {
	runes := []rune(s)
	slices.Reverse(runes)
	return string(runes)
}

// trim returns the implementation of a built-in function that removes white space, or the characters of a
// second string if one is given and not empty, from a string. cut removes the characters at one end or at
// both.
func trim(cut func(string, func(rune) bool) string) func(*CallContext, []jsondoc.Value) jsondoc.Value {
	return func(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
		if !AllOf(jsondoc.String, args...) {
			return Undefined
		}
		member := unicode.IsSpace
		if set := args[len(args)-1].Str(); len(args) > 1 && set != "" {
			runes := make(map[rune]bool)
			for _, r := range set {
				runes[r] = true
			}
			member = func(r rune) bool { return runes[r] }
		}
		return jsondoc.StringValue(cut(args[0].Str(), member))
	}
}

func fnReplace(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	if !AllOf(jsondoc.String, args...) {
		return Undefined
	}
	s, find, with := args[0].Str(), args[1].Str(), args[2].Str()
	if find == "" {
		return Undefined
	}
	if grow := len(with) - len(find); grow > 0 && len(s)+strings.Count(s, find)*grow > MaxText {
		return Undefined
	}
	return jsondoc.StringValue(strings.ReplaceAll(s, find, with))
}

// maxReplicate is the maximum length of REPLICATE's result in Cosmos DB, in characters.
const maxReplicate = 10_000

func fnReplicate(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	n, ok := position(args[1])
	if args[0].Kind() != jsondoc.String || !ok || n < 0 {
		return Undefined
	}
	s := args[0].Str()
	if s == "" {
		return args[0]
	}
	if n > maxReplicate || utf8.RuneCountInString(s)*n > maxReplicate {
		return Undefined
	}
	return jsondoc.StringValue(strings.Repeat(s, n))
}

func fnStringJoin(c *CallContext, args []jsondoc.Value) jsondoc.Value {
	if args[0].Kind() != jsondoc.Array || args[1].Kind() != jsondoc.String {
		return Undefined
	}
	var text []byte
	sep, ok, first := c.str(0, args[1]), true, true
	args[0].Each(func(_ string, elem jsondoc.Value) bool {
		if !first {
			text = append(text, sep...)
		}
		first = false
		text = elem.AppendStr(text)
		ok = elem.Kind() == jsondoc.String && len(text) <= MaxText
		return ok
	})
	if !ok {
		return Undefined
	}
	return jsondoc.StringValue(string(text))
}

func fnStringSplit(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	if !AllOf(jsondoc.String, args...) {
		return Undefined
	}
	s, sep := args[0].Str(), args[1].Str()
	dst := []byte{'['}
	for sep != "" {
		part, rest, found := strings.Cut(s, sep)
		if !found {
			break
		}
		dst = append(jsondoc.AppendString(dst, part), ',')
		s = rest
	}
	dst = append(jsondoc.AppendString(dst, s), ']')
	if len(dst) > MaxText {
		return Undefined
	}
	return jsondoc.Of(dst)
}
