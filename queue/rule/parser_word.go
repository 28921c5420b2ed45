package rule

import "strings"

// reserved lists the words that are property names only if they are quoted.
const reserved = " AND OR NOT IS IN LIKE ESCAPE NULL EXISTS TRUE FALSE SET REMOVE "

// word parses a literal, a function call or a property.
func (p *parser) word() (expressionNode, error) {
	name := p.cur
	switch strings.ToUpper(name.text) {
	case "TRUE", "FALSE":
		return literalNode{Bool(strings.EqualFold(name.text, "true"))}, p.advance()
	case "NULL":
		return literalNode{NullValue()}, p.advance()
	case "EXISTS":
		return p.exists()
	}
	if strings.Contains(reserved, " "+strings.ToUpper(name.text)+" ") {
		return nil, p.failHere("A value is expected.")
	}
	before := *p
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.isSymbol("(") {
		return p.function(name)
	}
	*p = before
	return p.property()
}

func (p *parser) exists() (expressionNode, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	n, err := p.property()
	if err != nil {
		return nil, err
	}
	return existsNode{n.(propertyNode)}, p.expect(")")
}

// function parses a function call. The current token is the opening parenthesis.
func (p *parser) function(name token) (expressionNode, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if err := p.advance(); err != nil {
		return nil, err
	}
	switch strings.ToLower(name.text) {
	case "newid":
		return newIDNode{}, p.expect(")")
	case "property", "p":
		n, err := p.sum()
		if err != nil {
			return nil, err
		}
		if err := p.requireValue(n); err != nil {
			return nil, err
		}
		return propertyFunctionNode{n}, p.expect(")")
	}
	return nil, p.fail(name.at, "There is no function '"+name.text+"'.")
}

// property parses a property name. "sys." or "user." before it selects system or application properties.
func (p *parser) property() (expressionNode, error) {
	first := p.cur
	if first.kind != tokName && first.kind != tokQuoted ||
		first.kind == tokName && strings.Contains(reserved, " "+strings.ToUpper(first.text)+" ") {
		return nil, p.failHere("The name of a property is expected.")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if !p.isSymbol(".") || first.kind != tokName {
		return propertyNode{name: first.text}, nil
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	name := p.cur
	if name.kind != tokName && name.kind != tokQuoted {
		return nil, p.failHere("The name of a property is expected.")
	}
	switch {
	case strings.EqualFold(first.text, "user"):
		return propertyNode{name: name.text}, p.advance()
	case strings.EqualFold(first.text, "sys"):
		s, ok := systemNamed(name.text)
		if !ok {
			return nil, p.failHere("There is no system property '" + name.text + "'.")
		}
		return propertyNode{system: s, name: name.text}, p.advance()
	}
	return nil, p.fail(first.at, "The scope of a property is 'sys' or 'user'.")
}
