package rule

import (
	"encoding/json"
	"fmt"
)

// The stored form of a filter or action is its source text and its parameters. Decoding parses the text
// again.

// storedFilter is a Filter in JSON.
type storedFilter struct {
	Kind        FilterKind               `json:"kind"`
	Expression  string                   `json:"expression,omitempty"`
	Parameters  []storedParameter        `json:"parameters,omitempty"`
	Correlation *storedCorrelationFilter `json:"correlation,omitempty"`
}

// storedCorrelationFilter is a CorrelationFilter in JSON.
type storedCorrelationFilter struct {
	Fields     map[string]string `json:"fields,omitempty"`
	Properties []storedParameter `json:"properties,omitempty"`
}

// storedAction is the form in which a rule's action is stored: the text of its statements, which change the
// properties of a message, and their parameters.
type storedAction struct {
	Expression string            `json:"expression,omitempty"`
	Parameters []storedParameter `json:"parameters,omitempty"`
}

// storedParameter is a Parameter, or an application property of a correlation filter, in JSON.
type storedParameter struct {
	Name   string     `json:"name"`
	Kind   ValueKind  `json:"kind"`
	Type   NumberType `json:"type,omitempty"`
	Number int64      `json:"number,omitempty"`
	Text   []byte     `json:"text,omitempty"`
}

func store(list []Parameter) (out []storedParameter) {
	for _, p := range list {
		out = append(out, storedParameter{p.Name, p.Value.Kind, p.Value.typ, p.Value.number,
			[]byte(p.Value.text)})
	}
	return out
}

func load(list []storedParameter) (out []Parameter) {
	for _, p := range list {
		out = append(out, Parameter{p.Name, Value{p.Kind, p.Type, p.Number, string(p.Text)}})
	}
	return out
}

// MarshalJSON returns the filter in the JSON form in which it is stored.
func (f Filter) MarshalJSON() ([]byte, error) {
	s := storedFilter{Kind: f.kind, Expression: f.expression, Parameters: store(f.parameters)}
	if c := f.correlation; c != nil {
		s.Correlation = &storedCorrelationFilter{Fields: make(map[string]string),
			Properties: store(c.Properties)}
		for _, field := range c.fields() {
			s.Correlation.Fields[field.Name] = field.Value.text
		}
	}
	return json.Marshal(s)
}

// UnmarshalJSON reads a filter from the JSON form in which it is stored.
func (f *Filter) UnmarshalJSON(raw []byte) (err error) {
	var s storedFilter
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	switch s.Kind {
	case KindTrue:
		*f = True()
	case KindFalse:
		*f = False()
	case KindSQL:
		*f, err = SQL(s.Expression, load(s.Parameters)...)
	case KindCorrelation:
		if s.Correlation == nil {
			return fmt.Errorf("a stored correlation filter without its properties")
		}
		v := s.Correlation.Fields
		*f, err = NewCorrelationFilter(CorrelationFilter{CorrelationID: v["CorrelationId"],
			MessageID: v["MessageId"],
			To:        v["To"],
			ReplyTo:   v["ReplyTo"], Label: v["Label"], SessionID: v["SessionId"],
			ReplyToSessionID: v["ReplyToSessionId"], ContentType: v["ContentType"],
			Properties: load(s.Correlation.Properties)})
	default:
		return fmt.Errorf("a stored filter of the kind %d", s.Kind)
	}
	return err
}

// MarshalJSON returns the action in the JSON form in which it is stored.
func (a Action) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedAction{a.expression, store(a.parameters)})
}

// UnmarshalJSON reads an action from the JSON form in which it is stored.
func (a *Action) UnmarshalJSON(raw []byte) (err error) {
	var s storedAction
	if err := json.Unmarshal(raw, &s); err != nil || s.Expression == "" {
		*a = Action{}
		return err
	}
	*a, err = NewAction(s.Expression, load(s.Parameters)...)
	return err
}
