package rule

import (
	"errors"
	"slices"
	"strings"
)

// Action changes the copies of messages that a rule matches. The zero Action changes nothing.
type Action struct {
	expression string
	parameters []Parameter
	statements []actionStatement
}

// actionStatement is a SET statement or, if value is nil, a REMOVE statement.
type actionStatement struct {
	of    propertyNode
	value expressionNode
}

// NewAction parses an action. It fails with a *SyntaxError.
func NewAction(expression string, parameters ...Parameter) (Action, error) {
	p, err := newParser(expression, parameters)
	if err != nil {
		return Action{}, err
	}
	a := Action{expression: expression, parameters: slices.Clone(parameters)}
	for {
		st, err := p.statement()
		if err != nil {
			return Action{}, err
		}
		if a.statements = append(a.statements, st); len(a.statements) > maxStatements {
			return Action{}, p.failHere("An action has at most 32 statements.")
		}
		more, err := p.accept(";")
		if err != nil {
			return Action{}, err
		}
		if p.cur.kind == tokEnd {
			return a, nil
		}
		if !more && !p.isWord("SET") && !p.isWord("REMOVE") { // a ';' before them is optional
			return Action{}, p.failHere("';', 'SET', 'REMOVE' or the end of the action is expected.")
		}
	}
}

func (p *parser) statement() (st actionStatement, err error) {
	set := p.isWord("SET")
	if !set && !p.isWord("REMOVE") {
		return st, p.failHere("'SET' or 'REMOVE' is expected.")
	}
	if err := p.advance(); err != nil {
		return st, err
	}
	at := p.cur.at
	n, err := p.property()
	if err != nil {
		return st, err
	}
	st.of = n.(propertyNode)
	if s := st.of.system; s > To && s != ScheduledEnqueueTime {
		return st, p.fail(at, "The system property '"+s.String()+"' cannot be set.")
	}
	if !set {
		return st, nil
	}
	if err := p.expect("="); err != nil {
		return st, err
	}
	if st.value, err = p.sum(); err != nil {
		return st, err
	}
	return st, p.requireValue(st.value)
}

// IsZero reports whether the action changes nothing.
func (a Action) IsZero() bool { return len(a.statements) == 0 }

// Expression returns the text of the action.
func (a Action) Expression() string { return a.expression }

// Parameters returns the parameters of the action.
func (a Action) Parameters() []Parameter { return a.parameters }

// ActionError reports that an action failed on a message. Exception is Service Bus's name for the failure.
type ActionError struct {
	Exception string
	Message   string
}

func (e *ActionError) Error() string { return e.Message }

// IsInvalid reports whether an error describes a mistake in a client's filter or action: a *SyntaxError or
// an *ActionError.
func IsInvalid(err error) bool {
	var syntax *SyntaxError
	var own *ActionError
	return errors.As(err, &syntax) || errors.As(err, &own)
}

// actionException is the dead-letter reason of a message on which an action failed.
const actionException = "RuleActionException"

// Run changes a message. It fails with an *ActionError if a value cannot be converted to the type of the
// existing property. The message may then be partly changed.
func (a Action) Run(m EditableMessage) error {
	s := &evaluatedMessage{m}
	for _, st := range a.statements {
		if err := st.run(s, m); err != nil {
			return err
		}
	}
	return nil
}

func (st actionStatement) run(s *evaluatedMessage, m EditableMessage) error {
	v := NullValue()
	if st.value != nil {
		if v = st.value.eval(s); v.Kind == Missing {
			v = NullValue()
		}
	}
	switch {
	case st.of.system == ScheduledEnqueueTime:
		return nil // a copy is never scheduled
	case st.of.system != 0:
		if v.Kind != Null {
			text, ok := v.convert(Text)
			if !ok {
				return st.mismatch()
			}
			v = text
		}
		m.SetSystem(st.of.system, v)
		return nil
	}
	if old := m.User(st.of.name); old.known() && v.Kind != Null && old.Kind != Other {
		converted, ok := v.convert(old.Kind)
		if !ok {
			return st.mismatch()
		}
		v = converted
	}
	m.SetUser(st.of.name, v)
	return nil
}

func (st actionStatement) mismatch() error {
	return &ActionError{actionException, "The value cannot be converted to the type of the property '" +
		st.of.name + "'."}
}

// String returns a canonical text of the action, in which all operations are in parentheses.
func (a Action) String() string {
	var b strings.Builder
	for i, st := range a.statements {
		if i > 0 {
			b.WriteString("; ")
		}
		if st.value == nil {
			b.WriteString("REMOVE ")
			st.of.write(&b)
			continue
		}
		b.WriteString("SET ")
		st.of.write(&b)
		b.WriteString(" = ")
		st.value.write(&b)
	}
	return b.String()
}
