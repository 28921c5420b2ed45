package rule

import (
	"slices"
)

// FilterKind is the kind of a filter: true, false, SQL or correlation.
type FilterKind uint8

// The kinds of filters.
const (
	KindTrue FilterKind = iota
	KindFalse
	KindSQL
	KindCorrelation
)

// Filter selects the messages of a subscription. The zero Filter is True. A Filter is immutable.
type Filter struct {
	kind        FilterKind
	expression  string
	parameters  []Parameter
	tree        expressionNode
	correlation *CorrelationFilter
}

// True returns a filter that matches all messages.
func True() Filter { return Filter{} }

// False returns a filter that matches no message.
func False() Filter { return Filter{kind: KindFalse} }

// SQL returns a filter that matches if a condition is true. It fails with a *SyntaxError.
func SQL(expression string, parameters ...Parameter) (Filter, error) {
	tree, err := parsePredicate(expression, parameters)
	if err != nil {
		return Filter{}, err
	}
	return Filter{kind: KindSQL, expression: expression, parameters: slices.Clone(parameters),
		tree: tree}, nil
}

// CorrelationFilter holds the values that properties must be equal to. "" stands for any value.
type CorrelationFilter struct {
	CorrelationID, MessageID, To, ReplyTo, Label, SessionID, ReplyToSessionID, ContentType string

	Properties []Parameter // application properties; case is ignored in their names
}

// fields returns the system properties for which c requires a value, with these values.
func (c *CorrelationFilter) fields() []Parameter {
	var list []Parameter
	for _, f := range []struct {
		system SystemProperty
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

// NewCorrelationFilter returns a correlation filter. It fails with a *SyntaxError if c requires no property.
func NewCorrelationFilter(c CorrelationFilter) (Filter, error) {
	if len(c.fields()) == 0 && len(c.Properties) == 0 {
		return Filter{}, &SyntaxError{0, "A correlation filter asks for at least one property."}
	}
	c.Properties = slices.Clone(c.Properties)
	return Filter{kind: KindCorrelation, correlation: &c}, nil
}

// Kind returns the kind of the filter.
func (f Filter) Kind() FilterKind { return f.kind }

// Expression returns the text of the condition: "1=1" for True, "1=0" for False.
func (f Filter) Expression() string {
	switch f.kind {
	case KindTrue:
		return "1=1"
	case KindFalse:
		return "1=0"
	}
	return f.expression
}

// Parameters returns the parameters of the condition.
func (f Filter) Parameters() []Parameter { return f.parameters }

// Correlation returns the values that a correlation filter requires, or the zero CorrelationFilter for other
// kinds.
func (f Filter) Correlation() CorrelationFilter {
	if f.correlation == nil {
		return CorrelationFilter{}
	}
	return *f.correlation
}

// Match reports whether the filter matches a message.
func (f Filter) Match(m Message) bool {
	switch f.kind {
	case KindTrue:
		return true
	case KindSQL:
		return truthIn(&evaluatedMessage{m}, f.tree) == yes
	case KindCorrelation:
		return f.correlation.match(m)
	}
	return false
}

func (c *CorrelationFilter) match(m Message) bool {
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

// String returns a canonical text of the condition, in which all operations are in parentheses.
func (f Filter) String() string {
	if f.tree != nil {
		return textOf(f.tree)
	}
	return f.Expression()
}
