package laboratory

import (
	"context"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/rule"
)

// SubscriptionRule is a rule of a subscription: a filter that selects messages of the topic, and an action
// that changes them.
type SubscriptionRule struct {
	Name        string         `json:"name"`
	Kind        string         `json:"kind" enum:"all,none,sql,correlation"`
	SQL         string         `json:"sql,omitempty" description:"Expression of an SQL filter."`
	Correlation map[string]any `json:"correlation,omitempty" description:"System properties that must match."`
	Properties  map[string]any `json:"properties,omitempty" description:"Application properties to match."`
	Action      string         `json:"action,omitempty" description:"SQL action that changes the copy."`
}

// SubscriptionRules is a list of rules, ordered by name.
type SubscriptionRules struct {
	Rules []SubscriptionRule `json:"rules" nullable:"false"`
}

// correlated returns pointers to the fields of a correlation filter that compare broker properties, by
// their names in this API.
func correlated(c *rule.CorrelationFilter) map[string]*string {
	return map[string]*string{"correlationId": &c.CorrelationID, "id": &c.MessageID, "to": &c.To,
		"replyTo": &c.ReplyTo, "subject": &c.Label, "session": &c.SessionID,
		"replyToSession": &c.ReplyToSessionID, "contentType": &c.ContentType}
}

func ruleOf(r entity.Rule) SubscriptionRule {
	out := SubscriptionRule{Name: r.Name, Action: r.Action.Expression()}
	switch r.Filter.Kind() {
	case rule.KindTrue:
		out.Kind = "all"
	case rule.KindFalse:
		out.Kind = "none"
	case rule.KindSQL:
		out.Kind, out.SQL = "sql", r.Filter.Expression()
	case rule.KindCorrelation:
		c := r.Filter.Correlation()
		out.Kind, out.Correlation = "correlation", make(map[string]any)
		for name, text := range correlated(&c) {
			if *text != "" {
				out.Correlation[name] = *text
			}
		}
		if len(c.Properties) > 0 {
			out.Properties = make(map[string]any)
		}
		for _, p := range c.Properties {
			out.Properties[p.Name] = plainValue(p.Value)
		}
	}
	return out
}

// plainValue returns a value for JSON. Types that JSON does not have become strings.
func plainValue(v rule.Value) any {
	switch v.Kind {
	case rule.Boolean:
		return v.Bool()
	case rule.Integer:
		return v.Int()
	case rule.Float:
		return v.Float()
	}
	return v.Text()
}

// allRules is a limit above any number of rules.
const allRules = 1 << 30

func (l *Laboratory) listRules(ctx context.Context, in *EntityPath) (SubscriptionRules, error) {
	list, err := in.queues.Rules(ctx, in.Entity, 0, allRules)
	if err != nil {
		return SubscriptionRules{}, ofQueues(err)
	}
	out := SubscriptionRules{make([]SubscriptionRule, len(list))}
	for i, r := range list {
		out.Rules[i] = ruleOf(r)
	}
	return out, nil
}

type createSubscriptionRuleRequest struct {
	EntityPath
	Name route.RequiredText `json:"name"`

	SQL string `json:"sql,omitempty" description:"SQL filter, such as price > 10 AND sys.Label = 'new'."`

	Correlation scalarJSONObject `json:"correlation,omitempty" description:"System properties to match: correlationId, id, to, replyTo, subject, session, replyToSession, contentType."`

	Properties scalarJSONObject `json:"properties,omitempty" description:"Application properties to match."`

	Action string `json:"action,omitempty" description:"SQL action: SET sys.Label = 'seen'; REMOVE price."`

	_ struct{} `takes:"a rule has %" additionalProperties:"false"`
}

func (l *Laboratory) createRule(ctx context.Context, in *createSubscriptionRuleRequest) (SubscriptionRule,
	error) {
	filter, err := in.filter()
	if err != nil {
		return SubscriptionRule{}, badRule(err)
	}
	r := entity.Rule{Name: string(in.Name), Filter: filter}
	if in.Action != "" {
		if r.Action, err = rule.NewAction(in.Action); err != nil {
			return SubscriptionRule{}, badRule(err)
		}
	}
	r, err = in.queues.CreateRule(ctx, in.Entity, r)
	return ruleOf(r), ofQueues(err)
}

// filter returns the filter of the rule. If the request has no condition, the filter selects all messages.
func (in *createSubscriptionRuleRequest) filter() (rule.Filter, error) {
	asked := len(in.Correlation) + len(in.Properties)
	switch {
	case in.SQL != "" && asked > 0:
		return rule.Filter{}, route.BadRequest(
			"A rule has 'sql', or 'correlation' and 'properties', not both.")
	case in.SQL != "":
		return rule.SQL(in.SQL)
	case asked == 0:
		return rule.True(), nil
	}
	c := rule.CorrelationFilter{}
	known := correlated(&c)
	for name, v := range in.Correlation {
		to, text := known[name], ""
		if s, ok := v.(string); ok {
			text = s
		}
		if to == nil || text == "" {
			return rule.Filter{}, route.BadRequest(
				"'" + name + "' of 'correlation' must be a string that is not empty, and one of: " +
					"correlationId, id, to, replyTo, subject, session, replyToSession, contentType.")
		}
		*to = text
	}
	for name, v := range in.Properties {
		c.Properties = append(c.Properties, rule.Parameter{Name: name, Value: valueOf(v)})
	}
	slices.SortFunc(c.Properties, func(a, b rule.Parameter) int { return strings.Compare(a.Name, b.Name) })
	return rule.NewCorrelationFilter(c)
}

// valueOf converts a JSON value to a value with which a filter compares.
func valueOf(v any) rule.Value {
	switch v := v.(type) {
	case bool:
		return rule.Bool(v)
	case int64:
		return rule.Int(v)
	case float64:
		return rule.Number(v)
	case string:
		return rule.String(v)
	}
	return rule.NullValue()
}

// badRule converts the error for an invalid rule to a 400.
func badRule(err error) error {
	if rule.IsInvalid(err) {
		return route.BadRequest(err.Error())
	}
	return err
}

// SubscriptionRulePath is the part of a request that names a rule in its path.
type SubscriptionRulePath struct {
	EntityPath
	Rule string `path:"rule" description:"Name of the rule."`
}

// Find implements route.RequestPartDecoder: it looks up the subscription, and decodes the rule's name, in the
// request's path.
func (in *SubscriptionRulePath) Find(l *Laboratory, ec echo.Context) (err error) {
	if err = in.EntityPath.Find(l, ec); err == nil {
		in.Rule, err = route.PathParam(ec, "rule")
	}
	return err
}

func (l *Laboratory) deleteRule(ctx context.Context, in *SubscriptionRulePath) (route.NoBody, error) {
	return route.NoBody{}, ofQueues(in.queues.DeleteRule(ctx, in.Entity, in.Rule))
}
