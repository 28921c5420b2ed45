package rule

import (
	"slices"
)

// Kind is what kind of filter a Filter is.
type Kind uint8

// The kinds of filters.
const (
	KindTrue Kind = iota
	KindFalse
	KindSQL
	KindCorrelation
)

// Filter says which messages a subscription wants. The zero Filter is True. It does not change.
type Filter struct {
	kind        Kind
	expression  string
	parameters  []Parameter
	tree        node
	correlation *Correlation
}

// True wants all messages.
func True() Filter { return Filter{} }

// False wants none.
func False() Filter { return Filter{kind: KindFalse} }

// SQL wants the messages for which a condition holds. It fails with a *SyntaxError.
func SQL(expression string, parameters ...Parameter) (Filter, error) {
	tree, err := parsePredicate(expression, parameters)
	if err != nil {
		return Filter{}, err
	}
	return Filter{kind: KindSQL, expression: expression, parameters: slices.Clone(parameters),
		tree: tree}, nil
}

// Correlation wants the messages whose properties are equal to all that it has. "" asks for nothing.
type Correlation struct {
	CorrelationID, MessageID, To, ReplyTo, Label, SessionID, ReplyToSessionID, ContentType string

	Properties []Parameter // of the sender's; the names have no case
}

// fields are the system properties with the values that are asked for.
func (c *Correlation) fields() []Parameter {
	var list []Parameter
	for _, f := range []struct {
		system System
		value  string
	}{{CorrelationID, c.CorrelationID}, {MessageID, c.MessageID}, {To, c.To}, {ReplyTo, c.ReplyTo}, {Label,
		c.Label},
		{SessionID, c.SessionID}, {ReplyToSessionID, c.ReplyToSessionID}, {ContentType, c.ContentType}} {
		if f.value != "" {
			list = append(list, Parameter{f.system.String(), String(f.value)})
		}
	}
	return list
}

// NewCorrelation makes a filter of it. One that asks for nothing is a *SyntaxError.
func NewCorrelation(c Correlation) (Filter, error) {
	if len(c.fields()) == 0 && len(c.Properties) == 0 {
		return Filter{}, &SyntaxError{0, "A correlation filter asks for at least one property."}
	}
	c.Properties = slices.Clone(c.Properties)
	return Filter{kind: KindCorrelation, correlation: &c}, nil
}

// Kind reports what kind of filter it is.
func (f Filter) Kind() Kind { return f.kind }

// Expression is the text of a condition as it was given: "1=1" of True, "1=0" of False.
func (f Filter) Expression() string {
	switch f.kind {
	case KindTrue:
		return "1=1"
	case KindFalse:
		return "1=0"
	}
	return f.expression
}

// Parameters are those of the condition.
func (f Filter) Parameters() []Parameter { return f.parameters }

// Correlation is what a filter of that kind asks for; the zero Correlation for another one.
func (f Filter) Correlation() Correlation {
	if f.correlation == nil {
		return Correlation{}
	}
	return *f.correlation
}

// Match reports whether the filter wants a message.
func (f Filter) Match(m Message) bool {
	switch f.kind {
	case KindTrue:
		return true
	case KindSQL:
		return truthIn(&scope{m}, f.tree) == yes
	case KindCorrelation:
		return f.correlation.match(m)
	}
	return false
}

func (c *Correlation) match(m Message) bool {
	for _, f := range c.fields() {
		system, _ := systemNamed(f.Name)
		if equal(m.System(system), f.Value) != yes {
			return false
		}
	}
	for _, p := range c.Properties {
		if equal(m.User(p.Name), p.Value) != yes {
			return false
		}
	}
	return true
}

// String is the condition in a form in which each part is distinguished.
func (f Filter) String() string {
	if f.tree != nil {
		return textOf(f.tree)
	}
	return f.Expression()
}
