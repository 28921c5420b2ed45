package syntax

import (
	"strings"
	"unicode/utf8"
)

const (
	// MaxText is the maximum length of the text of a query, in bytes.
	MaxText = 512 << 10
	// MaxDepth is the maximum number of levels of the tree of a query; each node is a level.
	MaxDepth = 1000
	// maxNesting bounds the recursion of the parser. Clients write long chains as ((a OR b) OR c) OR d,
	// which is deeply nested in parentheses but not a deep tree, so the bound is higher than MaxDepth. The
	// text that Print writes for a tree within MaxDepth does not exceed maxNesting: see nestLimit.
	maxNesting = 4 * MaxDepth
)

// Parse parses a query. The error is an *Error or a *SizeLimitError.
func Parse(text string) (*QueryTree, error) {
	p := newParser(text, false)
	return p.finish(p.query())
}

// ParseLenient parses queries like Parse, and also some texts that Cosmos DB refuses although their meaning
// is clear: BETWEEN beside AND and OR without parentheses, comments in /* */, and a semicolon at the end. The
// errors are those of Parse.
func ParseLenient(text string) (*QueryTree, error) {
	p := newParser(text, true)
	q := p.query()
	if p.tok.text == ";" {
		p.next()
	}
	return p.finish(q)
}

// ParseCondition parses the form of a query that states the condition of a conditional patch,
//
//	FROM name [[AS] alias] [WHERE expr]
//
// and returns a QueryTree that has no Select. The errors are those of Parse.
func ParseCondition(text string) (*QueryTree, error) {
	p := newParser(text, false)
	start := p.tok.Start
	p.expect("FROM")
	name := p.ident()
	src := &FromSource{Path: name}
	p.alias(src)
	src.TextSpan = p.since(name.Start)
	q := &QueryTree{From: []*FromSource{src}}
	if p.accept("WHERE") {
		q.Where = p.expr(lowest)
	}
	q.TextSpan = p.since(start)
	return p.finish(q)
}

// parser builds nodes from tokens. After the first error it takes every token for the end of the text, so
// that all loops and recursions end. The nodes built then are dropped.
type parser struct {
	lex    lexer
	tok    token // current token
	last   int   // end of the previous token
	tokens int   // number of tokens so far
	depth  int   // of recursion
	err    error

	lenient bool // see ParseLenient
}

func newParser(text string, lenient bool) *parser {
	p := &parser{lex: lexer{text: text, lenient: lenient}, lenient: lenient}
	if len(text) > MaxText {
		p.fail(&SizeLimitError{TextLimit, MaxText})
		return p
	}
	if !utf8.ValidString(text) {
		p.fail(p.lex.notUTF8())
		return p
	}
	p.next()
	return p
}

// finish ends the parse and checks that no token is left.
func (p *parser) finish(q *QueryTree) (*QueryTree, error) {
	if p.err == nil && p.tok.kind != end {
		p.unexpected()
	}
	// A tree always has fewer than two levels per token, so the height of most trees need not be measured.
	if p.err == nil && p.tokens > MaxDepth/2 && tooHigh(q) {
		p.fail(&SizeLimitError{DepthLimit, MaxDepth})
	}
	if p.err != nil {
		return nil, p.err
	}
	return q, nil
}

// tooHigh reports whether a tree has more than MaxDepth levels. It walks over the tree level by level,
// without recursion, since the depth is bounded only by the length of the text.
func tooHigh(q *QueryTree) bool {
	level, below := []Node{q}, []Node(nil)
	for height := 1; len(level) > 0; height++ {
		if height > MaxDepth {
			return true
		}
		below = below[:0]
		for _, n := range level {
			each(n, func(child Node) { below = append(below, child) })
		}
		level, below = below, level
	}
	return false
}

// enter increases the depth of recursion; if it returns true, the caller must call leave. It returns false,
// and ends the parse with a SizeLimitError, if the depth exceeds the limit.
func (p *parser) enter() bool {
	if p.depth == maxNesting {
		p.fail(&SizeLimitError{DepthLimit, MaxDepth})
	}
	if p.err != nil {
		return false
	}
	p.depth++
	return true
}

func (p *parser) leave() { p.depth-- }

func (p *parser) next() {
	if p.err != nil {
		return
	}
	p.last = p.tok.End
	p.tok = p.lex.next()
	p.tokens++
}

// is reports whether the current token is this reserved word or punctuation mark.
func (p *parser) is(sym string) bool { return p.tok.sym == sym }

// accept reports whether the current token is sym, and advances behind it if it is.
func (p *parser) accept(sym string) bool {
	if !p.is(sym) {
		return false
	}
	p.next()
	return true
}

// expect advances behind the current token if it is sym. Otherwise it ends the parse with a syntax error.
func (p *parser) expect(sym string) {
	if !p.accept(sym) {
		p.unexpected()
	}
}

// take returns the current token and advances behind it, if it is of this kind. Otherwise it ends the parse
// with a syntax error.
func (p *parser) take(kind tokenKind) token {
	t := p.tok
	if t.kind != kind {
		p.unexpected()
		return token{}
	}
	p.next()
	return t
}

// ahead returns the token after the current one without advancing.
func (p *parser) ahead() token {
	lex := p.lex
	return lex.next()
}

func (p *parser) ident() *Ident {
	t := p.take(word)
	return &Ident{t.TextSpan, t.text}
}

// since returns the span from start to the end of the previous token.
func (p *parser) since(start int) TextSpan { return TextSpan{start, p.last} }

func (p *parser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
	p.tok = token{}
}

// unexpected ends the parse with an error about the current token.
func (p *parser) unexpected() {
	if p.err == nil {
		p.fail(p.lex.unexpected(p.tok))
	}
}

// maxNear is the maximum length in bytes of a token in an error message.
const maxNear = 200

// unexpected returns the error about a token.
func (l *lexer) unexpected(t token) *Error {
	before := l.text[:t.at]
	line := strings.LastIndexByte(before, '\n') + 1
	e := &Error{
		Code: CodeEndOfFile, Start: t.Start, End: t.End,
		Line: 1 + strings.Count(before, "\n"), Col: 1 + utf8.RuneCountInString(before[line:]),
		Token: t.text, Message: "Syntax error, unexpected end-of-file.",
	}
	if t.kind != end {
		near := t.text
		if len(near) > maxNear {
			near = strings.ToValidUTF8(near[:maxNear], "")
		}
		switch t.kind {
		case bad:
			e.Code, e.Message = CodeToken, "Syntax error, invalid token '"+near+"'."
		case badNumber:
			e.Code, e.Message = CodeNumber, "Syntax error, invalid numeric value token '"+near+"'."
		case badString:
			e.Code, e.Message = CodeString, "Syntax error, invalid string literal token '"+near+"'."
		default:
			e.Code, e.Message = CodeSyntax, "Syntax error, incorrect syntax near '"+near+"'."
		}
	}
	return e
}

// notUTF8 returns the error about the first byte of the text that is not UTF-8.
func (l *lexer) notUTF8() *Error {
	n := 0
	for {
		r, size := utf8.DecodeRuneInString(l.text[n:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		n += size
	}
	l.advance(n)
	t := l.take(symbol, 1)
	t.text = string(utf8.RuneError)
	return l.unexpected(t)
}
