package jsondoc

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// This file reads text that has already been accepted. It only looks for the ends of values. If the text is
// invalid in spite of that, the functions stop early and never read beyond its end.

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// skipBlanks returns the index of the first byte of s that is not a blank, starting at index i, or len(s).
func skipBlanks(s string, i int) int {
	for i < len(s) && isBlank(s[i]) {
		i++
	}
	return i
}

// skipString returns the index after the string whose opening quote is s[i].
func skipString(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(s)
}

// skipValue returns the index after the value that begins at s[i]. Its time is proportional to the length of
// the value, whatever its structure, and its memory is constant.
func skipValue(s string, i int) int {
	switch kindAt[s[i]] {
	case String:
		return skipString(s, i)
	case Array, Object:
		return skipNested(s, i)
	}
	for i < len(s) && s[i] != ',' && s[i] != ']' && s[i] != '}' && !isBlank(s[i]) {
		i++
	}
	return i
}

func skipNested(s string, i int) int {
	for depth := 0; i < len(s); {
		switch s[i] {
		case '"':
			i = skipString(s, i)
			continue
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(s)
}

// inside returns the text between the quotes of a JSON string.
func inside(text string) string {
	if len(text) < 2 {
		return ""
	}
	return text[1 : len(text)-1]
}

// valueIterator iterates over the elements of an array or the members of an object.
type valueIterator struct {
	text string
	pos  int
	obj  bool
	key  string // for a member: the text between the quotes of its name, with escapes
	elem Value
}

// walk returns an iterator before the first element of an array or the first member of an object. For any
// other value it finds nothing.
func (v Value) walk() valueIterator {
	if v.kind != Array && v.kind != Object {
		return valueIterator{}
	}
	return valueIterator{text: v.text, pos: 1, obj: v.kind == Object}
}

func (w *valueIterator) next() bool {
	s, i := w.text, w.pos
	i = w.skipTo(i, ',')
	if w.obj {
		if i >= len(s) || s[i] != '"' {
			return false
		}
		end := skipString(s, i)
		w.key = inside(s[i:end])
		i = w.skipTo(end, ':')
	}
	if i >= len(s) || s[i] == ']' || s[i] == '}' {
		return false
	}
	end := skipValue(s, i)
	if end == i {
		return false
	}
	w.elem = Value{text: s[i:end], kind: kindAt[s[i]]}
	w.pos = end
	return true
}

// skipTo skips blanks from offset i on, then the separator sep if it is there, and the blanks after it. It
// returns the offset of the next byte.
func (w *valueIterator) skipTo(i int, sep byte) int {
	i = skipBlanks(w.text, i)
	if i < len(w.text) && w.text[i] == sep {
		i = skipBlanks(w.text, i+1)
	}
	return i
}

// keyIs reports whether a key, in which escapes are not resolved, stands for name.
func keyIs(key, name string) bool {
	if len(key) == len(name) && key == name {
		// The texts are equal. So key stands for name, unless it contains a backslash, which begins an
		// escape.
		return strings.IndexByte(name, '\\') < 0
	}
	if len(key) <= len(name) || strings.IndexByte(key, '\\') < 0 {
		return false
	}
	var buf [64]byte
	return string(appendUnescaped(buf[:0], key)) == name
}

// unescaped resolves the escapes in the text between the quotes of a string. If there are none, the result
// shares the memory of in.
func unescaped(in string) string {
	if strings.IndexByte(in, '\\') < 0 {
		return in
	}
	return viewOf(appendUnescaped(make([]byte, 0, len(in)), in))
}

// unescape maps the letter after the backslash of a JSON escape, such as n, to the character that it stands
// for.
var unescape = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// appendUnescaped appends the text between the quotes of a string with its escapes resolved. A lone
// surrogate becomes U+FFFD.
func appendUnescaped(dst []byte, in string) []byte {
	for {
		i := strings.IndexByte(in, '\\')
		if i < 0 || i+1 == len(in) {
			return append(dst, in...)
		}
		dst = append(dst, in[:i]...)
		if in[i+1] != 'u' {
			dst = append(dst, unescape[in[i+1]])
			in = in[i+2:]
			continue
		}
		in = in[i:]
		r, size := hexEscape(in), 6
		if utf16.IsSurrogate(r) {
			// DecodeRune returns U+FFFD unless its arguments are a high and a low surrogate.
			if r = utf16.DecodeRune(r, hexEscape(in[min(6, len(in)):])); r != utf8.RuneError {
				size = 12
			}
		}
		dst = utf8.AppendRune(dst, r)
		in = in[min(size, len(in)):]
	}
}

// hexEscape returns the UTF-16 unit of the escape \uXXXX that s begins with, or -1.
func hexEscape(s string) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range []byte(s[2:6]) {
		h := hexValue[c]
		if h == 0 {
			return -1
		}
		r = r<<4 | rune(h-1)
	}
	return r
}

// hexValue holds the value of each hexadecimal digit plus one, and 0 for all other bytes.
var hexValue = [256]byte{
	'0': 1, '1': 2, '2': 3, '3': 4, '4': 5, '5': 6, '6': 7, '7': 8, '8': 9, '9': 10,
	'a': 11, 'b': 12, 'c': 13, 'd': 14, 'e': 15, 'f': 16, 'A': 11, 'B': 12, 'C': 13, 'D': 14, 'E': 15, 'F': 16,
}
