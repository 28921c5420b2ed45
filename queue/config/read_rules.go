package config

import (
	"encoding/json"
	"errors"
	"math"
	"strings"

	"github.com/mayflydb/mayfly/internal/tree"
	"github.com/mayflydb/mayfly/queue/rule"
)

// ruleExpression is a condition or an action, with its parameters.
type ruleExpression struct {
	text       string
	parameters []rule.Parameter
}

func (c *Config) expression(to *ruleExpression) func(*tree.Value) error {
	return func(v *tree.Value) error {
		return c.members(v, map[string]func(*tree.Value) error{"SqlExpression": c.text(&to.text),
			"Parameters": c.parameters(&to.parameters)})
	}
}

// rule reads v, a rule in the configuration file, and adds it to e, the subscription that has it. Its errors
// have the position in the file.
func (c *Config) rule(v *tree.Value, e *declaredEntity) error {
	r := ruleWithFilePosition{at: v.Place}
	var kind string
	var filter, action ruleExpression
	var correlation rule.CorrelationFilter
	err := c.members(v, map[string]func(*tree.Value) error{"Name": c.text(&r.Name),
		"Properties": func(v *tree.Value) error {
			r.at = v.Place
			return c.members(v, map[string]func(*tree.Value) error{"FilterType": c.text(&kind),
				"SqlFilter":         c.expression(&filter),
				"Action":            c.expression(&action),
				"CorrelationFilter": func(v *tree.Value) error { return c.correlation(v, &correlation) }})
		}})
	if err != nil {
		return err
	}
	if r.Name == "" {
		return v.Place.Fail("a rule has no name: \"Name\"")
	}
	switch strings.ToLower(kind) {
	case "sql":
		r.Filter, err = rule.SQL(filter.text, filter.parameters...)
	case "correlation":
		r.Filter, err = rule.NewCorrelationFilter(correlation)
	case "true":
		r.Filter = rule.True()
	case "false":
		r.Filter = rule.False()
	default:
		return r.at.Fail("FilterType: Sql or Correlation is expected here, not %q", kind)
	}
	if err == nil && action.text != "" {
		r.Action, err = rule.NewAction(action.text, action.parameters...)
	}
	if err != nil {
		return r.at.Fail("the rule '%s': %s", r.Name, err)
	}
	e.rules = append(e.rules, r)
	return nil
}

func (c *Config) correlation(v *tree.Value, to *rule.CorrelationFilter) error {
	return c.members(v, map[string]func(*tree.Value) error{"ContentType": c.text(&to.ContentType),
		"CorrelationId": c.text(&to.CorrelationID), "Label": c.text(&to.Label), "Subject": c.text(&to.Label),
		"MessageId": c.text(&to.MessageID), "ReplyTo": c.text(&to.ReplyTo), "To": c.text(&to.To),
		"ReplyToSessionId": c.text(&to.ReplyToSessionID), "SessionId": c.text(&to.SessionID),
		"Properties": c.parameters(&to.Properties)})
}

// parameters returns a function that reads the parameters of an expression, an object of named values, into
// *to.
func (c *Config) parameters(to *[]rule.Parameter) func(*tree.Value) error {
	return func(v *tree.Value) error {
		if v.Kind != tree.Object {
			return v.Place.Fail("an object is expected here, not %s", v.Kind)
		}
		for _, m := range v.Members {
			p, err := parameter(m.Value)
			if err != nil {
				return m.Place.Fail("'%s' is neither a string nor a number nor a bool", m.Name)
			}
			*to = append(*to, rule.Parameter{Name: m.Name, Value: p})
		}
		return nil
	}
}

var errNoParameter = errors.New("config: no value of a property")

func parameter(v *tree.Value) (rule.Value, error) {
	switch v.Kind {
	case tree.String:
		return rule.String(v.Text), nil
	case tree.Bool:
		return rule.Bool(v.Text == "true"), nil
	case tree.Number:
		n := json.Number(v.Text)
		if i, err := n.Int64(); err == nil {
			return rule.Int(i), nil
		}
		if f, err := n.Float64(); err == nil && !math.IsInf(f, 0) {
			return rule.Number(f), nil
		}
	}
	return rule.Value{}, errNoParameter
}
