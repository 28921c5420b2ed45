package seed

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/config"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/rule"
)

// allEntities is a limit above any number of entities.
const allEntities = 1 << 30

// entities adds all queues, topics and subscriptions of the server to the description.
func (d *serverDescriptionBuilder) entities(ctx context.Context, queues *queue.Queues) error {
	content := map[string]any{}
	list, err := d.listed(ctx, queues, entity.Queue, "")
	if len(list) > 0 {
		content["queues"] = list
	}
	if err != nil {
		return err
	}
	list, err = d.listed(ctx, queues, entity.Topic, "")
	if len(list) > 0 {
		content["topics"] = list
	}
	if err != nil || len(content) == 0 {
		return err
	}
	return d.file(entitiesFile, content)
}

// listed returns the entities of a kind as objects in the form of a seed. For subscriptions, topic is their
// topic.
func (d *serverDescriptionBuilder) listed(ctx context.Context, queues *queue.Queues, kind entity.Kind,
	topic string) (
	list []map[string]any, err error) {
	entities, err := queues.List(ctx, kind, topic, 0, allEntities)
	if err != nil {
		return nil, err
	}
	for _, e := range byID(entities, func(e entity.Entity) string { return e.Path }) {
		out := map[string]any{"name": e.Path[strings.LastIndex(e.Path, "/")+1:]}
		if kind != entity.Subscription {
			out["name"] = e.Path
		}
		for name, value := range config.Properties(kind, e.Properties) {
			out[strings.ToLower(name[:1])+name[1:]] = value
		}
		c := e.Counts
		if n := c.Active + c.Scheduled + c.DeadLetter + c.TransferDeadLetter; n > 0 {
			word := "messages"
			if n == 1 {
				word = "message"
			}
			d.left("%d %s of the %s '%s'", n, word, strings.ToLower(kind.String()), e.Path)
		}
		switch kind {
		case entity.Topic:
			subscriptions, err := d.listed(ctx, queues, entity.Subscription, e.Path)
			if err != nil {
				return nil, err
			}
			if len(subscriptions) > 0 {
				out["subscriptions"] = subscriptions
			}
		case entity.Subscription:
			if out["rules"], err = d.rules(ctx, queues, e.Path); err != nil {
				return nil, err
			}
		}
		list = append(list, out)
	}
	return list, nil
}

// rules returns the rules of a subscription as objects in the form of a seed. A subscription without rules
// receives nothing.
func (d *serverDescriptionBuilder) rules(ctx context.Context, queues *queue.Queues,
	path string) (list []map[string]any,
	err error) {
	rules, err := queues.Rules(ctx, path, 0, allEntities)
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		if out, ok := d.rule(r, path); ok {
			list = append(list, out)
		}
	}
	if len(rules) == 0 {
		d.left("the absence of rules in the subscription '%s': in the seed it has a rule that matches no "+
			"message", path)
	}
	if len(list) == 0 {
		list = append(list, map[string]any{"name": queue.DefaultRule, "kind": "none"})
	}
	return list, nil
}

// rule describes a rule. ok is false if the rule contains values of types that a seed does not support.
func (d *serverDescriptionBuilder) rule(r entity.Rule, path string) (out map[string]any, ok bool) {
	out = map[string]any{"name": r.Name}
	parameters := func(to map[string]any, member string, list []rule.Parameter) {
		values := map[string]any{}
		for _, p := range list {
			value, can := parameter(p.Value)
			if !can {
				d.left("the rule '%s' of '%s': JSON does not have the type of '%s'", r.Name, path, p.Name)
				ok = false
			}
			values[p.Name] = value
		}
		if len(values) > 0 {
			to[member] = values
		}
	}
	ok = true
	switch r.Filter.Kind() {
	case rule.KindTrue:
		out["kind"] = "all"
	case rule.KindFalse:
		out["kind"] = "none"
	case rule.KindSQL:
		out["sql"] = r.Filter.Expression()
		parameters(out, "parameters", r.Filter.Parameters())
	case rule.KindCorrelation:
		c := r.Filter.Correlation()
		asked := map[string]any{}
		for name, text := range map[string]string{"contentType": c.ContentType,
			"correlationId": c.CorrelationID, "subject": c.Label, "messageId": c.MessageID,
			"replyTo": c.ReplyTo, "replyToSessionId": c.ReplyToSessionID, "sessionId": c.SessionID,
			"to": c.To} {
			if text != "" {
				asked[name] = text
			}
		}
		parameters(asked, "properties", c.Properties)
		out["correlation"] = asked
	}
	if !r.Action.IsZero() {
		out["action"] = r.Action.Expression()
		parameters(out, "actionParameters", r.Action.Parameters())
	}
	return out, ok
}

// parameter returns a value of a rule as JSON. A floating-point number is written with a point or an
// exponent, so that it is not read as an integer.
func parameter(v rule.Value) (value any, ok bool) {
	switch v.Kind {
	case rule.Boolean:
		return v.Bool(), true
	case rule.Integer:
		return v.Int(), true
	case rule.Text:
		return v.Text(), true
	case rule.Float:
		if f := v.Float(); !math.IsInf(f, 0) && !math.IsNaN(f) {
			text := strconv.FormatFloat(f, 'g', -1, 64)
			if !strings.ContainsAny(text, ".e") {
				text += ".0"
			}
			return json.RawMessage(text), true
		}
	}
	return nil, false
}
