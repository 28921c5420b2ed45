package rest

import (
	"net/http"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/rule"
)

// rule handles a request for one rule of a subscription.
func (c *activeRequest) rule(subscription, name string) error {
	ctx := c.r.Context()
	switch c.r.Method {
	case http.MethodGet:
		r, err := c.o.Queues.Rule(ctx, subscription, name)
		if err != nil {
			return err
		}
		return c.answerEntry(http.StatusOK, ruleItem(subscription, r))
	case http.MethodDelete:
		if err := c.o.Queues.DeleteRule(ctx, subscription, name); err != nil {
			return err
		}
		return c.answer(http.StatusOK, "", nil)
	case http.MethodPut:
	default:
		return c.notAllowed(http.MethodGet, http.MethodPut, http.MethodDelete)
	}
	n, err := c.entry("RuleDescription")
	if err != nil {
		return err
	}
	r, err := readRule(n)
	if err != nil {
		return err
	}
	if name != "" {
		r.Name = name
	}
	do, status := c.o.Queues.CreateRule, http.StatusCreated
	if c.r.Header.Get("If-Match") != "" {
		do, status = c.o.Queues.UpdateRule, http.StatusOK
	}
	if r, err = do(ctx, subscription, r); err != nil {
		return err
	}
	return c.answerEntry(status, ruleItem(subscription, r))
}

// readRule parses the description of a rule. Without a filter the rule matches all messages.
func readRule(n *xmlNode) (entity.Rule, error) {
	r := entity.Rule{Name: n.text("Name")}
	var err error
	if f := n.child("Filter"); f != nil {
		r.Filter, err = readFilter(f)
	}
	if a := n.child("Action"); a != nil && err == nil && a.kind() == "SqlRuleAction" {
		var list []rule.Parameter
		if list, err = readParameters(a.child("Parameters")); err == nil {
			r.Action, err = rule.NewAction(a.written("SqlExpression"), list...)
		}
	}
	return r, badRule(err)
}

// badRule converts the error for an invalid rule to a response with status 400.
func badRule(err error) error {
	if rule.IsInvalid(err) {
		return badRequest("SubCode=40000. " + err.Error())
	}
	return err
}

func readFilter(n *xmlNode) (f rule.Filter, err error) {
	switch kind := n.kind(); kind {
	case "TrueFilter":
		return rule.True(), nil
	case "FalseFilter":
		return rule.False(), nil
	case "SqlFilter":
		list, err := readParameters(n.child("Parameters"))
		if err != nil {
			return f, err
		}
		return rule.SQL(n.written("SqlExpression"), list...)
	case "CorrelationFilter":
		c := rule.CorrelationFilter{CorrelationID: n.written("CorrelationId"),
			MessageID: n.written("MessageId"),
			To:        n.written("To"),
			ReplyTo:   n.written("ReplyTo"), Label: n.written("Label"), SessionID: n.written("SessionId"),
			ReplyToSessionID: n.written("ReplyToSessionId"), ContentType: n.written("ContentType")}
		if c.Properties, err = readParameters(n.child("Properties")); err != nil {
			return f, err
		}
		return rule.NewCorrelationFilter(c)
	default:
		return f, badRequest("SubCode=40000. '" + kind + "' is no type of a filter.")
	}
}

// ruleItem returns the ATOM entry item that describes a rule of a subscription.
func ruleItem(subscription string, r entity.Rule) atomEntry {
	a, _, err := entity.ParseAddress(subscription)
	if err == nil {
		subscription = a.Entity
	}
	return atomEntry{path: subscription + "/Rules/" + r.Name, title: r.Name, created: r.Created,
		updated: r.Created,
		describe: func(b []byte) []byte {
			b = append(b, `<RuleDescription xmlns="`+nsBus+`" xmlns:i="`+nsInstance+`">`...)
			b = appendFilter(b, r.Filter)
			b = appendAction(b, r.Action)
			b = appendElement(b, "CreatedAt", stamp(r.Created))
			b = appendElement(b, "Name", r.Name)
			return append(b, "</RuleDescription>"...)
		}}
}

// compatibility is the compatibility level that Service Bus sends with each SQL expression.
const compatibility = "<CompatibilityLevel>20</CompatibilityLevel>"

func appendFilter(b []byte, f rule.Filter) []byte {
	switch f.Kind() {
	case rule.KindTrue:
		b = append(b, `<Filter i:type="TrueFilter"><SqlExpression>1=1</SqlExpression>`+compatibility...)
	case rule.KindFalse:
		b = append(b, `<Filter i:type="FalseFilter"><SqlExpression>1=0</SqlExpression>`+compatibility...)
	case rule.KindSQL:
		b = append(b, `<Filter i:type="SqlFilter">`...)
		b = append(appendElement(b, "SqlExpression", f.Expression()), compatibility...)
		b = appendParameters(b, "Parameters", f.Parameters(), "@")
	default:
		c := f.Correlation()
		b = append(b, `<Filter i:type="CorrelationFilter">`...)
		for _, one := range []struct{ name, text string }{{"CorrelationId", c.CorrelationID},
			{"MessageId", c.MessageID},
			{"To", c.To}, {"ReplyTo", c.ReplyTo}, {"Label", c.Label}, {"SessionId", c.SessionID},
			{"ReplyToSessionId", c.ReplyToSessionID}, {"ContentType", c.ContentType}} {
			if one.text != "" {
				b = appendElement(b, one.name, one.text)
			}
		}
		b = appendParameters(b, "Properties", c.Properties, "")
	}
	return append(b, "</Filter>"...)
}

// appendAction appends an action. For a rule without an action it appends an empty one, because clients
// expect the element.
func appendAction(b []byte, a rule.Action) []byte {
	if a.IsZero() {
		return append(b, `<Action i:type="EmptyRuleAction"/>`...)
	}
	b = append(b, `<Action i:type="SqlRuleAction">`...)
	b = append(appendElement(b, "SqlExpression", a.Expression()), compatibility...)
	b = appendParameters(b, "Parameters", a.Parameters(), "@")
	return append(b, "</Action>"...)
}
