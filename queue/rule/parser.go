package rule

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of expressions. maxDepth is Mayfly's own limit; the others are those of Service Bus.
const (
	maxExpression = 1024 // characters
	maxStatements = 32
	maxDepth      = 100 // nested parentheses and signs
)

// Parameter is a name with a value: that of an @name in an expression, or that of an application property
// in a correlation filter.
type Parameter struct {
	Name  string // without the @
	Value Value
}

// parser builds the tree of an expression.
type parser struct {
	lexer
	cur        token
	depth      int
	parameters []Parameter
}

// newParser returns a parser positioned at the first token of a text.
func newParser(text string, parameters []Parameter) (*parser, error) {
	if n := utf8.RuneCountInString(text); n > maxExpression {
		return nil, &SyntaxError{maxExpression, "An expression has at most 1024 characters."}
	}
	p := &parser{lexer: lexer{text: text}, parameters: parameters}
	return p, p.advance()
}

func (p *parser) advance() (err error) {
	p.cur, err = p.lexer.next()
	return err
}

func (p *parser) failHere(reason string) error { return p.fail(p.cur.at, reason) }

// isWord reports whether the current token is a given word.
func (p *parser) isWord(word string) bool {
	return p.cur.kind == tokName && strings.EqualFold(p.cur.text, word)
}

func (p *parser) isSymbol(s string) bool { return p.cur.kind == tokSymbol && p.cur.text == s }

// accept skips the current token if it is the given word or symbol, and reports whether it was.
func (p *parser) accept(word string) (bool, error) {
	if p.isWord(word) || p.isSymbol(word) {
		return true, p.advance()
	}
	return false, nil
}

func (p *parser) expect(word string) error {
	ok, err := p.accept(word)
	if err == nil && !ok {
		err = p.failHere("'" + word + "' is expected.")
	}
	return err
}

// parsePredicate parses a text that consists of one condition.
func parsePredicate(text string, parameters []Parameter) (expressionNode, error) {
	p, err := newParser(text, parameters)
	if err != nil {
		return nil, err
	}
	n, err := p.or()
	if err == nil && p.cur.kind != tokEnd {
		err = p.failHere("The end of the expression is expected.")
	}
	return n, err
}

// enter increases the nesting depth, and fails if it is too deep. The caller calls leave at the end.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return p.failHere("The expression is nested too deeply.")
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

func (p *parser) or() (expressionNode, error) { return p.junction(true, "OR", p.and) }

func (p *parser) and() (expressionNode, error) { return p.junction(false, "AND", p.not) }

func (p *parser) junction(or bool, word string, part func() (expressionNode, error)) (expressionNode, error) {
	first, err := part()
	if err != nil || !p.isWord(word) {
		return first, err
	}
	list := []expressionNode{first}
	for p.isWord(word) {
		if err := p.advance(); err != nil {
			return nil, err
		}
		n, err := part()
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return andOrNode{or, list}, nil
}

func (p *parser) not() (expressionNode, error) {
	ok, err := p.accept("NOT")
	if err != nil || !ok {
		return p.predicate(err)
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	n, err := p.not()
	return notNode{n}, err
}

// predicate parses an expression and an optional comparison, IS, IN or LIKE after it. err is the result of
// the caller's last step: if it is not nil, predicate only returns it.
func (p *parser) predicate(err error) (expressionNode, error) {
	if err != nil {
		return nil, err
	}
	a, err := p.sum()
	if err != nil {
		return nil, err
	}
	if p.cur.kind == tokSymbol && strings.Contains(" = <> != > >= < <= ", " "+p.cur.text+" ") {
		op := p.cur.text
		if err := p.advance(); err != nil {
			return nil, err
		}
		b, err := p.sum()
		if err != nil {
			return nil, err
		}
		return comparisonNode{op, a, b}, p.requireValue(a, b)
	}
	if ok, err := p.accept("IS"); ok || err != nil {
		not, err2 := p.acceptNot(err)
		if err2 == nil {
			err2 = p.expect("NULL")
		}
		if err2 == nil {
			err2 = p.requireValue(a)
		}
		return isNullNode{a, not}, err2
	}
	not, err := p.acceptNot(nil)
	if err != nil {
		return nil, err
	}
	switch {
	case p.isWord("IN"):
		return p.in(a, not)
	case p.isWord("LIKE"):
		return p.like(a, not)
	case not:
		return nil, p.failHere("'IN' or 'LIKE' is expected.")
	}
	return a, nil
}

func (p *parser) acceptNot(err error) (bool, error) {
	if err != nil {
		return false, err
	}
	return p.accept("NOT")
}

// requireValue fails if one of the nodes is a predicate instead of a value.
func (p *parser) requireValue(list ...expressionNode) error {
	for _, n := range list {
		if n.logical() {
			return p.failHere("A condition cannot be compared or calculated with.")
		}
	}
	return nil
}

func (p *parser) in(a expressionNode, not bool) (expressionNode, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	n := inNode{of: a, not: not}
	for {
		e, err := p.sum()
		if err != nil {
			return nil, err
		}
		n.list = append(n.list, e)
		more, err := p.accept(",")
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	if err := p.requireValue(append(n.list, a)...); err != nil {
		return nil, err
	}
	return n, p.expect(")")
}

func (p *parser) like(a expressionNode, not bool) (expressionNode, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	n := likeNode{of: a, not: not}
	var err error
	if n.pattern, err = p.sum(); err != nil {
		return nil, err
	}
	ok, err := p.accept("ESCAPE")
	if err != nil {
		return nil, err
	}
	if ok {
		if n.escape, err = p.sum(); err != nil {
			return nil, err
		}
		if l, isLiteral := n.escape.(literalNode); isLiteral && utf8.RuneCountInString(l.text) != 1 {
			return nil, p.failHere("ESCAPE is one character.")
		}
		if err := p.requireValue(n.escape); err != nil {
			return nil, err
		}
	}
	return n, p.requireValue(a, n.pattern)
}

func (p *parser) sum() (expressionNode, error) { return p.chain("+-", p.product) }

func (p *parser) product() (expressionNode, error) { return p.chain("*/%", p.factor) }

func (p *parser) chain(ops string, part func() (expressionNode, error)) (expressionNode, error) {
	a, err := part()
	for steps := 0; err == nil && p.cur.kind == tokSymbol && len(p.cur.text) == 1 &&
		strings.Contains(ops, p.cur.text); steps++ {
		if steps == maxDepth {
			return nil, p.failHere("The expression is nested too deeply.")
		}
		op := p.cur.text[0]
		if err := p.advance(); err != nil {
			return nil, err
		}
		b, err := part()
		if err != nil {
			return nil, err
		}
		if err := p.requireValue(a, b); err != nil {
			return nil, err
		}
		a = binaryNode{op, a, b}
	}
	return a, err
}

func (p *parser) factor() (expressionNode, error) {
	if !p.isSymbol("+") && !p.isSymbol("-") {
		return p.atom()
	}
	negative := p.isSymbol("-")
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if err := p.advance(); err != nil {
		return nil, err
	}
	// the sign belongs to the number, so that the lowest integer can be parsed
	if negative && p.cur.kind == tokNumber {
		return p.numeral("-")
	}
	n, err := p.factor()
	if err != nil {
		return nil, err
	}
	return unaryNode{negative, n}, p.requireValue(n)
}

func (p *parser) atom() (expressionNode, error) {
	t := p.cur
	switch t.kind {
	case tokString:
		return literalNode{String(t.text)}, p.advance()
	case tokNumber:
		return p.numeral("")
	case tokParameter:
		for _, q := range p.parameters {
			if strings.EqualFold(q.Name, t.text) {
				return parameterNode{t.text, q.Value}, p.advance()
			}
		}
		return nil, p.failHere("There is no parameter '@" + t.text + "'.")
	case tokQuoted:
		return p.property()
	case tokName:
		return p.word()
	}
	if !p.isSymbol("(") {
		return nil, p.failHere("A value is expected.")
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	return n, p.expect(")")
}

// numeral parses a number. It is an integer if it has neither a fraction nor an exponent.
func (p *parser) numeral(sign string) (expressionNode, error) {
	text := sign + p.cur.text
	var v Value
	if strings.ContainsAny(text, ".eE") {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(f, 0) {
			return nil, p.failHere("The number is too large.")
		}
		v = Number(f)
	} else {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, p.failHere("The number is too large.")
		}
		v = Int(n)
	}
	return literalNode{v}, p.advance()
}
