package syntax

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// number reads a number without a sign. A decimal number may have digits on only one side of its decimal
// point, and may begin with zeros. A hexadecimal number has up to 64 bits, which are a signed integer.
// Letters and digits directly after the number belong to the token and make it invalid, so that 1a is not
// parsed as 1 AS a.
func (l *lexer) number() token {
	rest := l.text[l.at:]
	hex := len(rest) > 1 && rest[0] == '0' && rest[1]|0x20 == 'x'
	n := 0
	if !hex {
		n = decimalLen(rest)
	}
	n += wordEnd(rest[n:])
	t := l.take(number, n)
	raw := decimal(t.text)
	if hex {
		// With base 0 ParseUint would accept underscores.
		u, err := strconv.ParseUint(t.text[2:], 16, 64)
		if err != nil {
			t.kind = badNumber
			return t
		}
		raw = strconv.AppendInt(nil, int64(u), 10)
	}
	if jsondoc.Valid(raw, jsondoc.Limits{}) != nil {
		t.kind = badNumber
		return t
	}
	t.value = jsondoc.Of(raw)
	return t
}

// decimalLen returns the length of the decimal number that s begins with, including an exponent, which may
// lack its digits.
func decimalLen(s string) int {
	n := digitsLen(s)
	if n < len(s) && s[n] == '.' {
		n += 1 + digitsLen(s[n+1:])
	}
	if n < len(s) && s[n]|0x20 == 'e' {
		if n++; n < len(s) && (s[n] == '+' || s[n] == '-') {
			n++
		}
		n += digitsLen(s[n:])
	}
	return n
}

func digitsLen(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

// decimal converts a decimal number to JSON's form: with digits on both sides of a point, and without
// redundant zeros.
func decimal(s string) []byte {
	whole := digitsLen(s)
	raw := []byte(strings.TrimLeft(s[:whole], "0"))
	if len(raw) == 0 {
		raw = append(raw, '0')
	}
	if rest := s[whole:]; len(rest) > 0 && rest[0] == '.' && digitsLen(rest[1:]) == 0 {
		s, whole = rest[1:], 0
	}
	return append(raw, s[whole:]...)
}

const (
	escapeLetters = "bfnrt"
	escapeMeaning = "\b\f\n\r\t"
)

// escapeLen returns the length of the escape that s begins with, or 0 if it is invalid.
func escapeLen(s string) int {
	switch {
	case len(s) < 2:
		return 0
	case s[1] != 'u':
		_, n := utf8.DecodeRuneInString(s[1:])
		return 1 + n
	case len(s) < 6:
		return 0
	}
	if _, err := strconv.ParseUint(s[2:6], 16, 16); err != nil {
		return 0
	}
	return 6
}

// badEscapeLen returns the length of the invalid escape that s begins with, up to the first invalid
// character.
func badEscapeLen(s string) int {
	n := 1
	if len(s) > 1 && s[1] == 'u' {
		for n = 2; n < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[n]) >= 0; n++ {
		}
	}
	_, size := utf8.DecodeRuneInString(s[n:])
	return n + size
}

// unescaped resolves the escapes of s, which escapeLen has accepted. A lone surrogate becomes U+FFFD.
func unescaped(s string) string {
	var b strings.Builder
	var units []uint16 // units of adjacent escapes, since two of them may be one character
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
			if i := strings.IndexByte(escapeLetters, s[1]); i >= 0 {
				b.WriteByte(escapeMeaning[i])
				s = s[2:]
				continue
			}
			s = s[1:] // any other escaped character stands for itself
		}
		_, n := utf8.DecodeRuneInString(s)
		if i := strings.IndexByte(s[n:], '\\'); i >= 0 {
			n += i
		} else {
			n = len(s)
		}
		b.WriteString(s[:n])
		s = s[n:]
	}
	b.WriteString(string(utf16.Decode(units)))
	return b.String()
}
