package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/doc"
)

// MaxText is how long the text of a query may be, in bytes.
const MaxText = 512 << 10

// SyntaxError tells where a query stops being one, or one that can be answered.
type SyntaxError struct {
	Line, Col int // from 1; columns are characters
	Message   string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s (line %d, column %d)", e.Message, e.Line, e.Col)
}

// Simple is a query of the simple form with its parameters bound. It is immutable.
type Simple struct {
	conditions []condition
}

// condition is path = value.
type condition struct {
	path  doc.Path
	value doc.Value
}

// Match tells whether all conditions hold for a document, given as the text of a JSON object. Values are compared as Cosmos
// DB does: of the same type, numbers as doubles, arrays and objects by content; what is undefined equals nothing.
func (s *Simple) Match(raw []byte) bool {
	for _, c := range s.conditions {
		v := doc.Get(raw, c.path)
		if v.Kind() == doc.Undefined || !doc.Equal(v, c.value) {
			return false
		}
	}
	return true
}

// ParseSimple parses
//
//	SELECT * FROM name [[AS] alias] [WHERE condition [AND condition]...]
//
// where a condition is path = value or value = path, a path is the name or the alias (or root) followed by .name or
// ["name"] steps, and a value is a string in single or double quotes, a number, true, false, null or a parameter. Keywords
// may be in any case. params holds the parameters by their names with the @; one that the text names must be there. The
// error is a *SyntaxError.
func ParseSimple(text string, params map[string]doc.Value) (*Simple, error) {
	p := &parser{text: text, params: params}
	if len(text) > MaxText {
		return nil, p.fail(0, fmt.Sprintf("The query text is longer than the %d bytes allowed.", MaxText))
	}
	if i := invalidUTF8(text); i >= 0 {
		return nil, p.fail(i, "The query text is not valid UTF-8.")
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	return p.query()
}

func invalidUTF8(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return i
			}
		}
	}
	return -1
}

type tokenKind uint8

const (
	end tokenKind = iota
	word
	parameter
	literal // a string or a number
	symbol
)

type token struct {
	kind  tokenKind
	at    int
	text  string    // as written
	value doc.Value // of a literal
}

// is tells whether the token is this symbol, or this keyword in any case.
func (t token) is(s string) bool {
	return t.kind == symbol && t.text == s || t.kind == word && strings.EqualFold(t.text, s)
}

type parser struct {
	text    string
	at      int // where the token after tok begins, or blanks before it
	tok     token
	params  map[string]doc.Value
	aliases []string
}

func (p *parser) query() (*Simple, error) {
	for _, want := range []string{"SELECT", "*", "FROM"} {
		if err := p.expect(want); err != nil {
			return nil, err
		}
	}
	if err := p.from(); err != nil {
		return nil, err
	}
	s := &Simple{}
	for joint := "WHERE"; p.tok.kind != end; joint = "AND" {
		if err := p.expect(joint); err != nil {
			return nil, err
		}
		c, err := p.condition()
		if err != nil {
			return nil, err
		}
		s.conditions = append(s.conditions, c)
	}
	return s, nil
}

func (p *parser) from() error {
	name, err := p.name()
	if err != nil {
		return err
	}
	p.aliases = []string{name, "root"}
	as := p.tok.is("AS")
	if as {
		if err := p.next(); err != nil {
			return err
		}
	}
	if as || p.tok.kind == word && !isKeyword(p.tok.text) {
		if name, err = p.name(); err != nil {
			return err
		}
		p.aliases = append(p.aliases, name)
	}
	return nil
}

func (p *parser) condition() (c condition, err error) {
	pathFirst := p.tok.kind == word && !isConstant(p.tok)
	if pathFirst {
		c.path, err = p.path()
	} else {
		c.value, err = p.value()
	}
	if err == nil {
		err = p.expect("=")
	}
	switch {
	case err != nil:
	case pathFirst:
		c.value, err = p.value()
	default:
		c.path, err = p.path()
	}
	return c, err
}

func (p *parser) path() (doc.Path, error) {
	start := p.tok
	alias, err := p.name()
	if err != nil {
		return doc.Path{}, err
	}
	if !slices.Contains(p.aliases, alias) {
		return doc.Path{}, p.fail(start.at, fmt.Sprintf("Identifier '%s' could not be resolved.", alias))
	}
	var names []string
	for {
		var name string
		switch {
		case p.tok.is("."):
			if err = p.next(); err == nil {
				name, err = p.name()
			}
		case p.tok.is("["):
			name, err = p.quotedStep()
		case len(names) == 0:
			return doc.Path{}, p.unexpected()
		default:
			return doc.PathOf(names...), nil
		}
		if err != nil {
			return doc.Path{}, err
		}
		names = append(names, name)
	}
}

// quotedStep reads ["name"].
func (p *parser) quotedStep() (string, error) {
	if err := p.next(); err != nil {
		return "", err
	}
	name := p.tok.value
	if name.Kind() != doc.String {
		return "", p.unexpected()
	}
	if err := p.next(); err != nil {
		return "", err
	}
	return name.Str(), p.expect("]")
}

func (p *parser) value() (doc.Value, error) {
	v := p.tok.value
	switch {
	case p.tok.kind == literal:
	case p.tok.kind == parameter:
		var ok bool
		if v, ok = p.params[p.tok.text]; !ok {
			return v, p.fail(p.tok.at, fmt.Sprintf("The parameter '%s' is not given.", p.tok.text))
		}
	case p.tok.is("null"):
		v = doc.NullValue()
	case p.tok.is("true"), p.tok.is("false"):
		v = doc.BoolValue(p.tok.is("true"))
	default:
		return v, p.unexpected()
	}
	return v, p.next()
}

func isConstant(t token) bool { return t.is("null") || t.is("true") || t.is("false") }

// name reads an identifier that is not a keyword.
func (p *parser) name() (string, error) {
	if p.tok.kind != word || isKeyword(p.tok.text) {
		return "", p.unexpected()
	}
	name := p.tok.text
	return name, p.next()
}

// isKeyword tells whether the language reserves the word.
func isKeyword(s string) bool {
	switch strings.ToUpper(s) {
	case "AND", "ARRAY", "AS", "ASC", "BETWEEN", "BY", "CASE", "CAST", "CONVERT", "CROSS", "DESC", "DISTINCT", "ELSE",
		"END", "ESCAPE", "EXISTS", "FALSE", "FOR", "FROM", "GROUP", "HAVING", "IN", "INNER", "INSERT", "INTO", "IS", "JOIN",
		"LEFT", "LIKE", "LIMIT", "NOT", "NULL", "OFFSET", "ON", "OR", "ORDER", "OUTER", "OVER", "RIGHT", "SELECT", "SET",
		"THEN", "TOP", "TRUE", "UDF", "UNDEFINED", "UPDATE", "VALUE", "WHEN", "WHERE", "WITH":
		return true
	}
	return false
}

func (p *parser) expect(want string) error {
	if !p.tok.is(want) {
		return p.unexpected()
	}
	return p.next()
}

func (p *parser) unexpected() error {
	if p.tok.kind == end {
		return p.fail(p.tok.at, "Syntax error, incorrect syntax near the end of the query.")
	}
	return p.fail(p.tok.at, fmt.Sprintf("Syntax error, incorrect syntax near '%.100s'.", p.tok.text))
}

func (p *parser) fail(at int, message string) error {
	before := p.text[:at]
	line := strings.LastIndexByte(before, '\n') + 1
	return &SyntaxError{Line: 1 + strings.Count(before, "\n"), Col: 1 + utf8.RuneCountInString(before[line:]), Message: message}
}

// next reads the next token into p.tok.
func (p *parser) next() error {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
	p.tok = token{at: p.at}
	rest := p.text[p.at:]
	if rest == "" {
		return nil
	}
	switch c := rest[0]; {
	case isWordStart(c):
		p.take(word, wordLen(rest))
	case c == '@':
		p.take(parameter, 1+wordLen(rest[1:]))
		if len(p.tok.text) == 1 {
			return p.unexpected()
		}
	case c == '\'', c == '"':
		return p.stringLiteral()
	case c == '-', c >= '0' && c <= '9':
		return p.numberLiteral()
	default:
		_, size := utf8.DecodeRuneInString(rest)
		p.take(symbol, size)
	}
	return nil
}

func (p *parser) take(kind tokenKind, n int) {
	p.tok.kind, p.tok.text = kind, p.text[p.at:p.at+n]
	p.at += n
}

func isWordStart(c byte) bool { return c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' }

func wordLen(s string) int {
	n := 0
	for n < len(s) && (isWordStart(s[n]) || s[n] >= '0' && s[n] <= '9') {
		n++
	}
	return n
}

// numberLiteral reads a number as JSON writes it. What runs into a letter is refused, not split.
func (p *parser) numberLiteral() error {
	n := 1
	for ; p.at+n < len(p.text); n++ {
		c, before := p.text[p.at+n], p.text[p.at+n-1]
		exponentSign := (c == '-' || c == '+') && (before == 'e' || before == 'E')
		if !isWordStart(c) && (c < '0' || c > '9') && c != '.' && !exponentSign {
			break
		}
	}
	p.take(literal, n)
	f, err := strconv.ParseFloat(p.tok.text, 64)
	if err != nil || doc.Valid([]byte(p.tok.text), doc.Limits{}) != nil {
		return p.unexpected()
	}
	p.tok.value = doc.NumberValue(f)
	return nil
}

// stringLiteral reads a string in either kind of quotes.
func (p *parser) stringLiteral() error {
	quote := p.text[p.at]
	var units []uint16 // of \u escapes that follow one another: two may be one character
	var b strings.Builder
	flush := func() {
		b.WriteString(string(utf16.Decode(units)))
		units = units[:0]
	}
	for i := p.at + 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == quote:
			flush()
			p.take(literal, i+1-p.at)
			p.tok.value = doc.StringValue(b.String())
			return nil
		case c < ' ':
			return p.fail(i, "Syntax error, a string cannot contain control characters; write them as escapes.")
		case c != '\\':
			flush()
			b.WriteByte(c)
		default:
			i++
			if unit, ok := hexUnit(p.text[i:]); ok {
				units = append(units, unit)
				i += 4
				continue
			}
			flush()
			c, ok := simpleEscape(p.text[i:])
			if !ok {
				return p.fail(i-1, "Syntax error, invalid escape sequence in a string.")
			}
			b.WriteByte(c)
		}
	}
	return p.fail(p.at, "Syntax error, a string is not closed.")
}

// hexUnit reads uXXXX, what follows the backslash.
func hexUnit(s string) (uint16, bool) {
	if len(s) < 5 || s[0] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[1:5], 16, 16)
	return uint16(n), err == nil
}

// simpleEscape is the character that a letter after the backslash stands for.
func simpleEscape(s string) (byte, bool) {
	if s == "" {
		return 0, false
	}
	i := strings.IndexByte(`'"\/bfnrt`, s[0])
	if i < 0 {
		return 0, false
	}
	return "'\"\\/\b\f\n\r\t"[i], true
}
