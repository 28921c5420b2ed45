package rest

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/rule"
)

// rule answers what is done to one rule of a subscription.
func (c *call) rule(subscription, name string) error {
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

// readRule reads the description of a rule. Without a filter it is one that takes everything.
func readRule(n *node) (queue.Rule, error) {
	r := queue.Rule{Name: n.text("Name")}
	var err error
	if f := n.child("Filter"); f != nil {
		r.Filter, err = readFilter(f)
	}
	if a := n.child("Action"); a != nil && err == nil && a.kind() == "SqlRuleAction" {
		var list []rule.Parameter
		if list, err = readParameters(a.child("Parameters")); err == nil {
			r.Action, err = rule.NewAction(a.text("SqlExpression"), list...)
		}
	}
	return r, asBadRule(err)
}

// asBadRule is an error of a rule as the client gets it.
func asBadRule(err error) error {
	var syntax *rule.SyntaxError
	var own *rule.Error
	if errors.As(err, &syntax) || errors.As(err, &own) {
		return badRequest("SubCode=40000. " + err.Error())
	}
	return err
}

func readFilter(n *node) (f rule.Filter, err error) {
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
		return rule.SQL(n.text("SqlExpression"), list...)
	case "CorrelationFilter":
		c := rule.Correlation{CorrelationID: n.text("CorrelationId"), MessageID: n.text("MessageId"),
			To:      n.text("To"),
			ReplyTo: n.text("ReplyTo"), Label: n.text("Label"), SessionID: n.text("SessionId"),
			ReplyToSessionID: n.text("ReplyToSessionId"), ContentType: n.text("ContentType")}
		if c.Properties, err = readParameters(n.child("Properties")); err != nil {
			return f, err
		}
		return rule.NewCorrelation(c)
	default:
		return f, badRequest("SubCode=40000. '" + kind + "' is no type of a filter.")
	}
}

// readParameters reads names with values that have types of XML Schema.
func readParameters(n *node) (list []rule.Parameter, err error) {
	if n == nil {
		return nil, nil
	}
	for i := range n.Nodes {
		entry := &n.Nodes[i]
		value := entry.child("Value")
		if value == nil || value.isNil() {
			continue
		}
		v, err := readValue(value.kind(), value.Text)
		if err != nil {
			return nil, err
		}
		list = append(list, rule.Parameter{Name: strings.TrimPrefix(entry.text("Key"), "@"), Value: v})
	}
	return list, nil
}

// Ticks are those of .NET: 100 nanoseconds.
const tick = 100 * time.Nanosecond

// readValue reads a value of a type of XML Schema, or of .NET's serializer.
func readValue(kind, text string) (v rule.Value, err error) {
	plain := strings.TrimSpace(text)
	switch kind {
	case "int", "long", "short", "byte", "unsignedByte", "unsignedShort", "unsignedInt", "unsignedLong", "integer":
		n, err := strconv.ParseInt(plain, 10, 64)
		return rule.Int(n), asBadValue(kind, text, err)
	case "double", "float", "decimal":
		n, err := strconv.ParseFloat(plain, 64)
		return rule.Number(n), asBadValue(kind, text, err)
	case "boolean":
		b, err := strconv.ParseBool(plain)
		return rule.Bool(b), asBadValue(kind, text, err)
	case "dateTime":
		t, err := parseMoment(plain)
		return rule.Time(t.UnixMilli()), asBadValue(kind, text, err)
	case "duration":
		d, err := queue.ParseDuration(plain)
		return rule.Duration(int64(d / tick)), asBadValue(kind, text, err)
	case "guid":
		return rule.UUID(strings.ToLower(plain)), nil
	case "base64Binary":
		b, err := base64.StdEncoding.DecodeString(plain)
		return rule.Bytes(b), asBadValue(kind, text, err)
	}
	return rule.String(text), nil
}

func asBadValue(kind, text string, err error) error {
	if err == nil {
		return nil
	}
	return badRequest("SubCode=40000. '" + text + "' is no value of the type " + kind + ".")
}

// parseMoment reads a moment with a zone or, as UTC, without.
func parseMoment(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t, err = time.Parse("2006-01-02T15:04:05.999999999", text)
	}
	return t, err
}

// ruleItem is a rule on its way into an entry.
func ruleItem(subscription string, r queue.Rule) item {
	a, _, err := queue.ParseAddress(subscription)
	if err == nil {
		subscription = a.Entity
	}
	return item{path: subscription + "/Rules/" + r.Name, title: r.Name, created: r.Created,
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

// compatibility is the level of the language that the service tells.
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

// appendAction appends an action: there is always one, clients look for it.
func appendAction(b []byte, a rule.Action) []byte {
	if a.IsZero() {
		return append(b, `<Action i:type="EmptyRuleAction"/>`...)
	}
	b = append(b, `<Action i:type="SqlRuleAction">`...)
	b = append(appendElement(b, "SqlExpression", a.Expression()), compatibility...)
	b = appendParameters(b, "Parameters", a.Parameters(), "@")
	return append(b, "</Action>"...)
}

// appendParameters appends names with values. A client cuts off five characters to find the type, so that the
// prefix must have four.
func appendParameters(b []byte, name string, list []rule.Parameter, sign string) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(append(append(b, '<'), name...), '>')
	for _, p := range list {
		kind, text := valueText(p.Value)
		b = append(b, "<KeyValueOfstringanyType>"...)
		b = appendElement(b, "Key", sign+strings.TrimPrefix(p.Name, "@"))
		b = append(b, `<Value xmlns:d6p1="`+nsSchema+`" i:type="d6p1:`+kind+`">`...)
		b = append(appendText(b, text), "</Value></KeyValueOfstringanyType>"...)
	}
	return append(append(append(b, '<', '/'), name...), '>')
}

// valueText is a value as its type of XML Schema and its text.
func valueText(v rule.Value) (kind, text string) {
	switch v.Kind {
	case rule.Boolean:
		return "boolean", strconv.FormatBool(v.Bool())
	case rule.Integer:
		n := v.Int()
		if n != int64(int32(n)) {
			return "long", strconv.FormatInt(n, 10)
		}
		return "int", strconv.FormatInt(n, 10)
	case rule.Float:
		return "double", strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case rule.Moment:
		return "dateTime", time.UnixMilli(v.Millis()).UTC().Format("2006-01-02T15:04:05.999Z07:00")
	case rule.Span:
		return "duration", queue.FormatDuration(time.Duration(v.Int()) * tick)
	case rule.Binary:
		return "base64Binary", base64.StdEncoding.EncodeToString([]byte(v.Text()))
	}
	return "string", v.Text()
}
