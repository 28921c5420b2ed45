package jsondoc

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// str reads the string whose opening quote is at pos and reports whether it has escapes. Clients send raw
// control characters, which Cosmos DB accepts; in the parser's output they are escaped.
func (p *parser) str() (escaped bool, err error) {
	src := p.src
	for i := p.pos + 1; i < len(src); {
		c := src[i]
		switch {
		case c == '"':
			p.pos = i + 1
			return escaped, nil
		case c == '\\':
			escaped = true
			n := escapeLen(src[i:])
			if n == 0 {
				return false, p.fail(i, "an escape that JSON does not have")
			}
			i += n
		case c < ' ' && p.keep:
			p.dst = appendControl(append(p.dst, src[p.mark:i]...), c)
			i++
			p.mark = i
		case c < ' ':
			return false, p.fail(i, fmt.Sprintf("the control character U+%04X must be escaped in a string",
				c))
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(src[i:])
			if r == utf8.RuneError && n == 1 {
				return false, p.fail(i, "the string is not UTF-8")
			}
			i += n
		}
	}
	return false, p.fail(len(src), "the text ends inside a string")
}

// escapeLen returns the length of the escape that s begins with, or 0 if there is none.
func escapeLen(s []byte) int {
	switch {
	case len(s) >= 2 && unescape[s[1]] != 0:
		return 2
	case len(s) >= 6 && s[1] == 'u' &&
		hexValue[s[2]] != 0 && hexValue[s[3]] != 0 && hexValue[s[4]] != 0 && hexValue[s[5]] != 0:
		return 6
	}
	return 0
}

// number reads a number according to the grammar and checks that a double can hold it. In the parser's
// output it has the form of appendNumber.
func (p *parser) number() error {
	start := p.pos
	if p.src[p.pos] == '-' {
		p.pos++
	}
	if p.peek() == '0' {
		p.pos++
	} else if !p.digits() {
		return p.expected("a digit")
	}
	point := p.pos
	if p.peek() == '.' {
		p.pos++
		if !p.digits() {
			return p.expected("a digit after the point")
		}
	}
	exponent := p.peek() == 'e' || p.peek() == 'E'
	if exponent {
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		if !p.digits() {
			return p.expected("a digit of the exponent")
		}
	}
	if p.keep && (exponent || !p.isShortest(start, point)) {
		return p.respell(start, point)
	}
	// A number without an exponent of up to 308 characters is always less than the greatest double.
	if exponent || p.pos-start > 308 {
		if f, _ := strconv.ParseFloat(string(p.src[start:p.pos]), 64); math.IsInf(f, 0) {
			return p.fail(start, "a number that is too large for a double")
		}
	}
	return nil
}

// isShortest reports whether a number without an exponent certainly has its shortest spelling. It may return
// false for a number that has. The number is src[start:pos], and point is the end of its integer part.
func (p *parser) isShortest(start, point int) bool {
	text, negative := p.src[start:p.pos], p.src[start] == '-'
	if negative {
		text = text[1:]
	}
	if point == p.pos {
		return len(text) <= 18 && (text[0] != '0' || !negative) // 18 digits fit into 64 bits
	}
	// Two different decimals of up to 15 digits never have the same double value. Below 1e-6 a spelling with
	// an exponent is shorter.
	fraction := p.src[point+1 : p.pos]
	return len(text) <= 16 && text[len(text)-1] != '0' &&
		(text[0] != '0' || len(bytes.TrimLeft(fraction[:min(6, len(fraction))], "0")) > 0)
}

// respell copies a number in its shortest spelling. Integers of 64 bits are copied exactly, since a double
// cannot represent all integers from 2^53 on.
func (p *parser) respell(start, point int) error {
	text := viewOf(p.src[start:p.pos])
	if point == p.pos {
		if _, err := strconv.ParseInt(text, 10, 64); err == nil && text != "-0" {
			return nil
		}
		if _, err := strconv.ParseUint(text, 10, 64); err == nil {
			return nil
		}
	}
	f, _ := strconv.ParseFloat(text, 64)
	if math.IsInf(f, 0) {
		return p.fail(start, "a number that is too large for a double")
	}
	p.dst = appendNumber(append(p.dst, p.src[p.mark:start]...), f)
	p.mark = p.pos
	return nil
}

// digits skips digits and reports whether there were any.
func (p *parser) digits() bool {
	start := p.pos
	for p.pos < len(p.src) && p.src[p.pos]-'0' <= 9 {
		p.pos++
	}
	return p.pos > start
}

func (p *parser) literal(word string) error {
	if len(p.src)-p.pos < len(word) || string(p.src[p.pos:p.pos+len(word)]) != word {
		return p.expected("a value")
	}
	p.pos += len(word)
	return nil
}

// expected returns the syntax error that says what was expected at pos.
func (p *parser) expected(what string) error {
	if p.pos >= len(p.src) {
		return p.fail(p.pos, "the text ends where "+what+" should be")
	}
	r, _ := utf8.DecodeRune(p.src[p.pos:])
	return p.fail(p.pos, fmt.Sprintf("%q where %s should be", r, what))
}

// fail returns the error at an offset. The error contains the line and column that an editor shows.
func (p *parser) fail(at int, reason string) error {
	before := p.src[:at]
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	return &SyntaxError{
		Offset: at,
		Line:   bytes.Count(before, []byte{'\n'}) + 1,
		Col:    utf8.RuneCount(line) + 1,
		Reason: reason,
	}
}
