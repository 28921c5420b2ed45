package syntax

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/doc"
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

// token is one token. sym is what the parser asks for: a reserved word in upper case or a punctuation mark, and empty for
// all else.
type token struct {
	kind  tokenKind
	sym   string
	text  string // as it is written
	value doc.Value
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
	case isLetter(c):
		return l.word()
	case isDigit(c):
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

// skip moves over blanks and comments, up to a comment that is not closed. It reports false at the end of the text.
func (l *lexer) skip() bool {
	for {
		n := 0
		for l.at+n < len(l.text) && isBlank(l.text[l.at+n]) {
			n++
		}
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

// number reads a number as JSON writes it, without a sign, or a hexadecimal one of up to 64 bits. Letters and points that
// it runs into belong to the token and spoil it, so that 1a is not read as 1 AS a.
func (l *lexer) number() token {
	rest := l.text[l.at:]
	hex := len(rest) > 1 && rest[0] == '0' && rest[1]|0x20 == 'x'
	n := 1
	for ; n < len(rest); n++ {
		c := rest[n]
		exponentSign := !hex && (c == '-' || c == '+') && rest[n-1]|0x20 == 'e'
		if !isLetter(c) && !isDigit(c) && c != '.' && !exponentSign {
			break
		}
	}
	t := l.take(number, n)
	raw := []byte(t.text)
	if hex {
		// ParseUint would let underscores through if it were asked to find the base out.
		u, err := strconv.ParseUint(t.text[2:], 16, 64)
		if err != nil {
			t.kind = badNumber
			return t
		}
		raw = strconv.AppendUint(nil, u, 10)
	}
	if doc.Valid(raw, doc.Limits{}) != nil {
		t.kind = badNumber
		return t
	}
	t.value = doc.Of(raw)
	return t
}

// quoted reads a string, which may hold control characters as they are. One that is not closed or holds an unknown escape is a bad
// token up to there.
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
			t.value = doc.StringValue(s)
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

const (
	escapeLetters = `'"\/bfnrt`
	escapeMeaning = "'\"\\/\b\f\n\r\t"
)

// escapeLen is how long the escape that s begins with is, or 0 where there is no such escape.
func escapeLen(s string) int {
	switch {
	case len(s) < 2:
		return 0
	case s[1] != 'u':
		if strings.IndexByte(escapeLetters, s[1]) < 0 {
			return 0
		}
		return 2
	case len(s) < 6:
		return 0
	}
	if _, err := strconv.ParseUint(s[2:6], 16, 16); err != nil {
		return 0
	}
	return 6
}

// badEscapeLen is how much of s, which begins with an escape that escapeLen refuses, there is up to the character that spoils it.
func badEscapeLen(s string) int {
	n := 1
	if len(s) > 1 && s[1] == 'u' {
		for n = 2; n < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[n]) >= 0; n++ {
		}
	}
	_, size := utf8.DecodeRuneInString(s[n:])
	return n + size
}

// unescaped resolves the escapes of s, all of which escapeLen accepts. Half of a surrogate pair becomes U+FFFD.
func unescaped(s string) string {
	var b strings.Builder
	var units []uint16 // of escapes that follow one another: two of them may be one character
	for s != "" {
		if s[0] == '\\' && s[1] == 'u' {
			unit, _ := strconv.ParseUint(s[2:6], 16, 16)
			units = append(units, uint16(unit))
			s = s[6:]
			continue
		}
		b.WriteString(string(utf16.Decode(units)))
		units = units[:0]
		if s[0] == '\\' {
			b.WriteByte(escapeMeaning[strings.IndexByte(escapeLetters, s[1])])
			s = s[2:]
			continue
		}
		n := strings.IndexByte(s, '\\')
		if n < 0 {
			n = len(s)
		}
		b.WriteString(s[:n])
		s = s[n:]
	}
	b.WriteString(string(utf16.Decode(units)))
	return b.String()
}

// markLen is the length of the punctuation mark or operator that s begins with, 0 where there is none. The longest wins.
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

// placeholderLen is the length of the placeholder that s begins with, 0 where there is none. No object begins like one.
func placeholderLen(s string) int {
	const prefix = "{documentdb-"
	if !strings.HasPrefix(s, prefix) {
		return 0
	}
	n := len(prefix)
	for n < len(s) && (isLetter(s[n]) || isDigit(s[n]) || s[n] == '-') {
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
	return reservedWords[string(upper[:len(s)])]
}

// isName tells whether s can be written as a name: an identifier that is not reserved.
func isName(s string) bool { return s != "" && wordLen(s) == len(s) && reserved(s) == "" }

// wordLen is the length of the identifier or reserved word that s begins with.
func wordLen(s string) int {
	n := 0
	for n < len(s) && (isLetter(s[n]) || n > 0 && isDigit(s[n])) {
		n++
	}
	return n
}

func isBlank(c byte) bool  { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' }
