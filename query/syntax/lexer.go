package syntax

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

type tokenKind uint8

const (
	end         tokenKind = iota // of the text; also what all tokens become once an error is found
	word                         // an identifier
	symbol                       // a reserved word or a punctuation mark
	number                       // value is set
	quoted                       // value is set
	parameter                    // @name
	placeholder                  // {documentdb-...}
	bad                          // what cannot be a token; the parser has no place for it and reports it
	badNumber                    // one that begins like a number
	badString                    // one that begins like a string
)

// token is one token. sym is what the parser asks for: a reserved word in upper case or a punctuation mark,
// and empty for all else.
type token struct {
	kind  tokenKind
	sym   string
	text  string // as it is written
	value jsondoc.Value
	Span
	at int // where it begins, in bytes
}

// lexer cuts a text, which is valid UTF-8, into tokens. A copy of it reads on by itself.
type lexer struct {
	text    string
	at      int  // bytes read
	chars   int  // characters read
	lenient bool // see ParseLenient
}

// next returns the next token.
func (l *lexer) next() token {
	if !l.skip() {
		return token{Span: Span{l.chars, l.chars}, at: l.at}
	}
	rest := l.text[l.at:]
	switch c := rest[0]; {
	case wordLen(rest) > 0:
		return l.word()
	case isDigit(c), c == '.' && len(rest) > 1 && isDigit(rest[1]):
		return l.number()
	case c == '"', c == '\'':
		return l.quoted()
	case c == '@':
		if n := wordLen(rest[1:]); n > 0 {
			return l.take(parameter, 1+n)
		}
		return l.take(bad, 1)
	}
	if l.lenient && strings.HasPrefix(rest, "/*") { // skip would have moved over a comment that is closed
		return l.take(symbol, len(rest))
	}
	if n := placeholderLen(rest); n > 0 {
		return l.take(placeholder, n)
	}
	if n := markLen(rest); n > 0 {
		t := l.take(symbol, n)
		t.sym = t.text
		return t
	}
	_, n := utf8.DecodeRuneInString(rest)
	return l.take(bad, n)
}

// take makes a token of the next n bytes.
func (l *lexer) take(kind tokenKind, n int) token {
	t := token{kind: kind, text: l.text[l.at : l.at+n], at: l.at}
	t.Start = l.chars
	l.advance(n)
	t.End = l.chars
	return t
}

func (l *lexer) advance(n int) {
	l.chars += utf8.RuneCountInString(l.text[l.at : l.at+n])
	l.at += n
}

// skip moves over blanks and comments, up to a comment that is not closed. It reports false at the end of
// the text.
func (l *lexer) skip() bool {
	for {
		n := len(l.text) - l.at - len(strings.TrimLeftFunc(l.text[l.at:], isBlank))
		l.advance(n)
		rest := l.text[l.at:]
		switch {
		case strings.HasPrefix(rest, "--"):
			n = len(rest)
			if i := strings.IndexByte(rest, '\n'); i >= 0 {
				n = i
			}
		case l.lenient && strings.HasPrefix(rest, "/*"):
			i := strings.Index(rest[2:], "*/")
			if i < 0 {
				return true
			}
			n = 2 + i + 2
		default:
			return rest != ""
		}
		l.advance(n)
	}
}

func (l *lexer) word() token {
	t := l.take(word, wordLen(l.text[l.at:]))
	if t.sym = reserved(t.text); t.sym != "" {
		t.kind = symbol
	}
	return t
}

// quoted reads a string, which may hold control characters as they are. One that is not closed or holds
// a \u without four digits is a bad token up to there.
func (l *lexer) quoted() token {
	rest := l.text[l.at:]
	escapes := false
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == rest[0]:
			t := l.take(quoted, i+1)
			s := rest[1:i]
			if escapes {
				s = unescaped(s)
			}
			t.value = jsondoc.StringValue(s)
			return t
		case c == '\\':
			n := escapeLen(rest[i:])
			if n == 0 {
				return l.take(badString, i+badEscapeLen(rest[i:]))
			}
			escapes = true
			i += n - 1
		}
	}
	return l.take(badString, len(rest))
}

// markLen is the length of the punctuation mark or operator that s begins with, 0 where there is none. The
// longest wins.
func markLen(s string) int {
	for _, m := range [...]string{">>>", "<<", ">>", "<=", ">=", "<>", "!=", "||", "??"} {
		if strings.HasPrefix(s, m) {
			return len(m)
		}
	}
	if strings.IndexByte("()[]{},.:?=<>+-*/%&|^~", s[0]) >= 0 {
		return 1
	}
	return 0
}

// placeholderLen is the length of the placeholder that s begins with, 0 where there is none. No object
// begins like one.
func placeholderLen(s string) int {
	const prefix = "{documentdb-"
	if !strings.HasPrefix(s, prefix) {
		return 0
	}
	n := len(prefix)
	for n < len(s) && (isLetter(rune(s[n])) || isDigit(s[n]) || s[n] == '-') {
		n++
	}
	if n == len(s) || s[n] != '}' {
		return 0
	}
	return n + 1
}

// reservedWords maps each reserved word to itself.
var reservedWords = func() map[string]string {
	words := map[string]string{}
	for w := range strings.FieldsSeq(`AND ARRAY AS ASC BETWEEN BY CASE CAST CONVERT CROSS DESC DISTINCT ELSE END ESCAPE
		EXISTS FALSE FOR FROM GROUP HAVING IN INNER INSERT INTO IS JOIN LEFT LIKE LIMIT NOT NULL OFFSET ON OR ORDER OUTER OVER
		RIGHT SELECT SET THEN TOP TRUE UDF UNDEFINED UPDATE VALUE WHEN WHERE WITH`) {
		words[w] = w
	}
	return words
}()

// lowerCase are the reserved words that only count as such in lower case. TRUE is a name, which nothing
// binds.
var lowerCase = map[string]bool{"FALSE": true, "NULL": true, "TRUE": true, "UDF": true, "UNDEFINED": true}

// reserved returns the reserved word that s is, in upper case, or "".
func reserved(s string) string {
	var upper [len("UNDEFINED")]byte // the longest
	if len(s) > len(upper) {
		return ""
	}
	for i := range len(s) {
		upper[i] = s[i]
		if 'a' <= s[i] && s[i] <= 'z' {
			upper[i] -= 'a' - 'A'
		}
	}
	w := reservedWords[string(upper[:len(s)])]
	if lowerCase[w] && s != strings.ToLower(s) {
		return ""
	}
	return w
}

// isName reports whether s can be written as a name: an identifier that is not reserved.
func isName(s string) bool { return s != "" && wordLen(s) == len(s) && reserved(s) == "" }

// wordLen is the length of the identifier or reserved word that s begins with.
func wordLen(s string) int {
	for n, r := range s {
		if !isLetter(r) && (n == 0 || !isNameDigit(r)) {
			return n
		}
	}
	return len(s)
}

// wordEnd is the length of what s begins with that could go on a name: a number that runs into it is none.
func wordEnd(s string) int {
	for n, r := range s {
		if !isLetter(r) && !isNameDigit(r) {
			return n
		}
	}
	return len(s)
}

// isBlank tells of what separates tokens: Unicode's white space, and U+180E, which was of it once.
func isBlank(r rune) bool { return unicode.IsSpace(r) || r == '\u180e' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isLetter tells of what a name may begin with: the letters and the numbers that are written as letters
// (such as the Roman ones) of the first 65,536 characters.
func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || 'a' <= r|0x20 && r|0x20 <= 'z'
	}
	return r <= maxNameRune && (unicode.IsLetter(r) || unicode.Is(unicode.Nl, r))
}

// isNameDigit tells of what a name may go on with besides letters: decimal digits of any script, and the
// raised ones of Latin-1.
func isNameDigit(r rune) bool {
	if r < utf8.RuneSelf {
		return '0' <= r && r <= '9'
	}
	return r <= maxNameRune && (unicode.IsDigit(r) || r == '²' || r == '³' || r == '¹')
}

// maxNameRune is the last character that may be part of a name: the service looks at units of UTF-16.
const maxNameRune = 0xFFFF
