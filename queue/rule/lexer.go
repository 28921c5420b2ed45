package rule

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is a kind of token.
type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokName
	tokQuoted // a name in brackets or double quotes
	tokString
	tokNumber
	tokParameter
	tokSymbol
)

// token is one token of an expression.
type token struct {
	kind tokenKind
	text string // of a quoted token, the text between the quotes
	at   int    // its offset in bytes
}

// SyntaxError reports an invalid expression.
type SyntaxError struct {
	Position int // in characters from the beginning
	Reason   string
}

func (e *SyntaxError) Error() string { return e.Reason }

// lexer splits a text into tokens.
type lexer struct {
	text string
	at   int
}

func (l *lexer) fail(at int, reason string) error {
	return &SyntaxError{utf8.RuneCountInString(l.text[:at]), reason}
}

// twoCharacters lists the symbols of two characters.
const twoCharacters = "<> != >= <= "

func (l *lexer) next() (token, error) {
	for l.at < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[l.at:])
		if !unicode.IsSpace(r) {
			break
		}
		l.at += size
	}
	begin := l.at
	if begin == len(l.text) {
		return token{tokEnd, "", begin}, nil
	}
	switch c := l.text[begin]; {
	case c == '\'':
		return l.quoted('\'', tokString)
	case c == '"':
		return l.quoted('"', tokQuoted)
	case c == '[':
		return l.quoted(']', tokQuoted)
	case c >= '0' && c <= '9', c == '.' && begin+1 < len(l.text) && isDigit(l.text[begin+1]):
		return l.number()
	case c == '@':
		l.at++
		if l.word() == "" {
			return token{}, l.fail(begin, "A parameter has a name.")
		}
		return token{tokParameter, l.text[begin+1 : l.at], begin}, nil
	}
	if word := l.word(); word != "" {
		return token{tokName, word, begin}, nil
	}
	size := 1
	if begin+1 < len(l.text) && strings.Contains(twoCharacters, l.text[begin:begin+2]+" ") {
		size = 2
	} else if strings.IndexByte("()=<>+-*/%,.;", l.text[begin]) < 0 {
		return token{}, l.fail(begin, "A character that has no meaning here.")
	}
	l.at += size
	return token{tokSymbol, l.text[begin:l.at], begin}, nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// word reads an unquoted name. It returns "" if there is none.
func (l *lexer) word() string {
	begin := l.at
	for l.at < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[l.at:])
		first := l.at == begin
		if r == utf8.RuneError && size == 1 ||
			!unicode.IsLetter(r) && r != '_' &&
				(first || !unicode.IsDigit(r) && !strings.ContainsRune("$#@", r)) {
			break
		}
		l.at += size
	}
	return l.text[begin:l.at]
}

// quoted reads a quoted text. In it, two closing quotes stand for one.
func (l *lexer) quoted(end byte, kind tokenKind) (token, error) {
	begin := l.at
	var b strings.Builder
	for i := begin + 1; i < len(l.text); i++ {
		if l.text[i] != end {
			b.WriteByte(l.text[i])
			continue
		}
		if i+1 < len(l.text) && l.text[i+1] == end {
			b.WriteByte(end)
			i++
			continue
		}
		l.at = i + 1
		if kind == tokQuoted && b.Len() == 0 {
			return token{}, l.fail(begin, "A name has at least one character.")
		}
		return token{kind, b.String(), begin}, nil
	}
	return token{}, l.fail(begin, "The closing quote is missing.")
}

// number reads a number: digits, a fraction, an exponent.
func (l *lexer) number() (token, error) {
	begin := l.at
	digits := func() {
		for l.at < len(l.text) && isDigit(l.text[l.at]) {
			l.at++
		}
	}
	digits()
	if l.at < len(l.text) && l.text[l.at] == '.' {
		l.at++
		digits()
	}
	if l.at < len(l.text) && (l.text[l.at] == 'e' || l.text[l.at] == 'E') {
		back := l.at
		l.at++
		if l.at < len(l.text) && (l.text[l.at] == '+' || l.text[l.at] == '-') {
			l.at++
		}
		if from := l.at; from == len(l.text) || !isDigit(l.text[from]) {
			l.at = back
		}
		digits()
	}
	return token{tokNumber, l.text[begin:l.at], begin}, nil
}
