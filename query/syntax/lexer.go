package syntax

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

type tokenKind uint8

const (
	end         tokenKind = iota // end of the text; after an error all tokens are of this kind
	word                         // an identifier
	symbol                       // a reserved word or a punctuation mark
	number                       // value is set
	quoted                       // value is set
	parameter                    // @name
	placeholder                  // {documentdb-...}
	bad                          // not a token; the parser reports an error for it
	badNumber                    // begins like a number
	badString                    // begins like a string
)

// token is one token. sym is the reserved word in upper case or the punctuation mark, and empty for all other
// tokens.
type token struct {
	kind  tokenKind
	sym   string
	text  string // as written
	value jsondoc.Value
	TextSpan
	at int // offset in bytes
}

// lexer splits a text, which is valid UTF-8, into tokens. A copy of a lexer continues independently.
type lexer struct {
	text    string
	at      int  // bytes read
	chars   int  // characters read
	lenient bool // see ParseLenient
}

// next returns the next token.
func (l *lexer) next() token {
	if !l.skip() {
		return token{TextSpan: TextSpan{l.chars, l.chars}, at: l.at}
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
	// not closed, since skip has passed all comments that are closed
	if l.lenient && strings.HasPrefix(rest, "/*") {
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

// take returns a token of the next n bytes.
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

// skip passes white space and comments. It stops at a comment that is not closed, and returns false at the
// end of the text.
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

// quoted reads a string, which may contain raw control characters. If it is not closed or has a \u without
// four digits, the text up to that point is a bad token.
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

// markLen returns the length of the longest punctuation mark or operator that s begins with, or 0 if there is
// none.
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

// placeholderLen returns the length of the placeholder that s begins with, or 0 if there is none. A
// placeholder, such as {documentdb-formattableorderbyquery-filter}, stands in a rewritten query for a text
// that the client inserts. No object literal begins like one.
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

// lowerCase holds the words that are reserved in lower case only. In upper case, TRUE for example is an
// ordinary name.
var lowerCase = map[string]bool{"FALSE": true, "NULL": true, "TRUE": true, "UDF": true, "UNDEFINED": true}

// reserved returns s in upper case if it is a reserved word, or "".
func reserved(s string) string {
	var upper [len("UNDEFINED")]byte // the longest reserved word
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

// wordLen returns the length of the identifier or reserved word that s begins with.
func wordLen(s string) int {
	for n, r := range s {
		if !isLetter(r) && (n == 0 || !isNameDigit(r)) {
			return n
		}
	}
	return len(s)
}

// wordEnd returns the number of bytes at the front of s that could continue a name. A number directly
// followed by such characters is invalid.
func wordEnd(s string) int {
	for n, r := range s {
		if !isLetter(r) && !isNameDigit(r) {
			return n
		}
	}
	return len(s)
}

// isBlank reports whether r separates tokens: Unicode's white space, and U+180E, which formerly belonged to
// it.
func isBlank(r rune) bool { return unicode.IsSpace(r) || r == '\u180e' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isLetter reports whether a name may begin with r: letters, and numbers written as letters (such as Roman
// numerals), among the first 65,536 characters.
func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || 'a' <= r|0x20 && r|0x20 <= 'z'
	}
	return r <= maxNameRune && (unicode.IsLetter(r) || unicode.Is(unicode.Nl, r))
}

// isNameDigit reports whether a name may contain r besides letters: decimal digits of any script, and the
// superscript digits of Latin-1.
func isNameDigit(r rune) bool {
	if r < utf8.RuneSelf {
		return '0' <= r && r <= '9'
	}
	return r <= maxNameRune && (unicode.IsDigit(r) || r == '²' || r == '³' || r == '¹')
}

// maxNameRune is the last character that may be part of a name: the service reads UTF-16 units.
const maxNameRune = 0xFFFF
