package bus

import (
	"net/http"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/rule"
	"github.com/mayflydb/mayfly/queue/wire"
)

// Descriptors of the parts of a rule. Those of filters have a different prefix than those of actions.
const (
	descRule              = 0x0000013700000004
	descSQLFilter         = 0x0000001370000006
	descTrueFilter        = 0x0000001370000007
	descFalseFilter       = 0x0000001370000008
	descCorrelationFilter = 0x0000001370000009
	descEmptyAction       = 0x0000013700000005
	descSQLAction         = 0x0000013700000006
)

// compatibility is the compatibility level that Service Bus sends with each SQL expression.
const compatibility = int32(20)

func (r *managementRequest) addRule() (managementResponse, error) {
	name, err := r.mustText("rule-name")
	if err != nil {
		return managementResponse{}, err
	}
	v, _ := r.body.Get("rule-description")
	description, ok := v.(wire.Map)
	if !ok {
		return managementResponse{}, r.argument("'rule-description' is no map.")
	}
	added := entity.Rule{Name: name}
	if added.Filter, err = r.filter(description); err == nil {
		added.Action, err = r.action(description)
	}
	if err != nil {
		return managementResponse{}, err
	}
	_, err = r.c.queues.CreateRule(r.ctx, r.at.Entity, added)
	return managementResponse{}, err
}

// filter decodes the filter of a rule. A missing filter is True.
func (r *managementRequest) filter(description wire.Map) (f rule.Filter, err error) {
	if v, ok := description.Get("correlation-filter"); ok && v != nil {
		m, ok := v.(wire.Map)
		if !ok {
			return f, r.argument("'correlation-filter' is no map.")
		}
		f, err = r.correlation(m)
	} else if v, ok := description.Get("sql-filter"); ok && v != nil {
		m, _ := v.(wire.Map)
		expression, _ := m.Get("expression")
		text, ok := nameOf(expression)
		if !ok {
			return f, r.argument("'sql-filter' has no expression.")
		}
		f, err = rule.SQL(text)
	} else if v, ok := description.Get("false-filter"); ok && v != nil {
		f = rule.False()
	}
	if err != nil {
		err = r.argument(err.Error())
	}
	return f, err
}

func (r *managementRequest) correlation(m wire.Map) (rule.Filter, error) {
	var c rule.CorrelationFilter
	for name, to := range map[string]*string{"correlation-id": &c.CorrelationID, "message-id": &c.MessageID,
		"to":       &c.To,
		"reply-to": &c.ReplyTo, "label": &c.Label, "session-id": &c.SessionID, "reply-to-session-id": &c.ReplyToSessionID,
		"content-type": &c.ContentType} {
		v, _ := m.Get(name)
		*to, _ = nameOf(v)
	}
	if v, ok := m.Get("properties"); ok && v != nil {
		properties, ok := v.(wire.Map)
		if !ok {
			return rule.Filter{}, r.argument("'properties' is no map.")
		}
		for _, p := range properties {
			name, ok := nameOf(p.Key)
			if !ok {
				return rule.Filter{}, r.argument("The name of a property is no string.")
			}
			c.Properties = append(c.Properties, rule.Parameter{Name: name, Value: entity.RuleValue(p.Value)})
		}
	}
	return rule.NewCorrelationFilter(c)
}

// action decodes the action of a rule. A missing action is the zero Action.
func (r *managementRequest) action(description wire.Map) (a rule.Action, err error) {
	v, ok := description.Get("sql-rule-action")
	m, isMap := v.(wire.Map)
	if !ok || !isMap {
		return a, nil
	}
	expression, _ := m.Get("expression")
	text, ok := nameOf(expression)
	if !ok || text == "" {
		return a, nil
	}
	if a, err = rule.NewAction(text); err != nil {
		err = r.argument(err.Error())
	}
	return a, err
}

func (r *managementRequest) removeRule() (managementResponse, error) {
	name, err := r.mustText("rule-name")
	if err != nil {
		return managementResponse{}, err
	}
	return managementResponse{}, r.c.queues.DeleteRule(r.ctx, r.at.Entity, name)
}

// maxRules is the maximal number of rules in one response.
const maxRules = 100

func (r *managementRequest) rules() (managementResponse, error) {
	skip, err := r.integer("skip", 0)
	if err != nil {
		return managementResponse{}, err
	}
	top, err := r.integer("top", maxRules)
	if err != nil {
		return managementResponse{}, err
	}
	list, err := r.c.queues.Rules(r.ctx, r.at.Entity, int(max(skip, 0)), int(min(max(top, 0), maxRules)))
	if err != nil {
		return managementResponse{}, err
	}
	if len(list) == 0 {
		return managementResponse{status: http.StatusNoContent}, nil
	}
	out := make(wire.List, len(list))
	for i, one := range list {
		out[i] = wire.Map{{Key: "rule-description", Value: wire.Described{Descriptor: uint64(descRule),
			Value: wire.List{filterValue(one.Filter), actionValue(one.Action), one.Name,
				timestamp(one.Created)}}}}
	}
	return managementResponse{body: wire.Map{{Key: "rules", Value: out}}}, nil
}

// filterValue encodes a filter.
func filterValue(f rule.Filter) wire.Described {
	switch f.Kind() {
	case rule.KindTrue:
		return wire.Described{Descriptor: uint64(descTrueFilter), Value: wire.List{}}
	case rule.KindFalse:
		return wire.Described{Descriptor: uint64(descFalseFilter), Value: wire.List{}}
	case rule.KindSQL:
		return wire.Described{Descriptor: uint64(descSQLFilter),
			Value: wire.List{f.Expression(), compatibility}}
	}
	c := f.Correlation()
	properties := wire.Map{}
	for _, p := range c.Properties {
		properties = append(properties, wire.MapEntry{Key: p.Name, Value: entity.WireValue(p.Value)})
	}
	return wire.Described{Descriptor: uint64(descCorrelationFilter), Value: wire.List{orNull(c.CorrelationID),
		orNull(c.MessageID), orNull(c.To), orNull(c.ReplyTo), orNull(c.Label), orNull(c.SessionID),
		orNull(c.ReplyToSessionID), orNull(c.ContentType), properties}}
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// actionValue encodes an action. A rule without an action gets an empty action, because clients expect one.
func actionValue(a rule.Action) wire.Described {
	if a.IsZero() {
		return wire.Described{Descriptor: uint64(descEmptyAction), Value: wire.List{}}
	}
	return wire.Described{Descriptor: uint64(descSQLAction), Value: wire.List{a.Expression(), compatibility}}
}
