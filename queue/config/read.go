package config

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/rule"
)

// Config is what a file asks for.
type Config struct {
	file     *file
	entities []*entity // in the order of the file
}

// entity is one entity that a file asks for.
type entity struct {
	kind  queue.Kind
	path  string
	at    int64
	set   []property
	rules []ruleAt
	ruled bool // the file names the rules
}

// property is one that the file sets.
type property struct {
	name string
	at   int64
	set  func(*queue.Properties)
}

type ruleAt struct {
	queue.Rule
	at int64
}

// Parse reads a file. name is what errors call it.
func Parse(name string, data []byte) (*Config, error) {
	c := &Config{file: newFile(name, data)}
	root, err := c.file.parse(data)
	if err != nil {
		return nil, err
	}
	err = c.members(root, map[string]func(*value) error{"UserConfig": func(v *value) error {
		return c.members(v, map[string]func(*value) error{"Namespaces": c.namespaces,
			"Logging": func(*value) error { return nil }}) // where the emulator writes its log
	}})
	return c, err
}

// members calls a function for each member of an object; others are errors.
func (c *Config) members(v *value, known map[string]func(*value) error) error {
	if v.kind != object {
		return c.file.fail(v.at, "an object is expected here, not %s", v.is())
	}
	for _, m := range v.members {
		read, ok := known[m.name]
		if !ok {
			return c.file.fail(m.at, "'%s' is not known here", m.name)
		}
		if err := read(m.value); err != nil {
			return err
		}
	}
	return nil
}

// each calls a function for each element of an array.
func (c *Config) each(read func(*value) error) func(*value) error {
	return func(v *value) error {
		if v.kind != array {
			return c.file.fail(v.at, "an array is expected here, not %s", v.is())
		}
		for _, e := range v.list {
			if err := read(e); err != nil {
				return err
			}
		}
		return nil
	}
}

// text reads a string.
func (c *Config) text(to *string) func(*value) error {
	return func(v *value) error {
		s, ok := v.v.(string)
		if !ok || v.kind != scalar {
			return c.file.fail(v.at, "a string is expected here, not %s", v.is())
		}
		*to = s
		return nil
	}
}

func (c *Config) namespaces(v *value) error {
	if v.kind == array && len(v.list) > 1 {
		return c.file.fail(v.list[1].at, "there is one namespace, as in the emulator")
	}
	var name string
	return c.each(func(v *value) error {
		return c.members(v, map[string]func(*value) error{
			"Name":   c.text(&name),
			"Queues": c.each(func(v *value) error { return c.entity(v, queue.Queue, "") }),
			"Topics": c.each(func(v *value) error { return c.entity(v, queue.Topic, "") }),
		})
	})(v)
}

// entity reads an entity; topic is that of a subscription.
func (c *Config) entity(v *value, kind queue.Kind, topic string) error {
	e := &entity{kind: kind, at: v.at}
	c.entities = append(c.entities, e)
	if v.kind == object { // the name first, which others need
		for _, m := range v.members {
			if m.name == "Name" {
				if err := c.text(&e.path)(m.value); err != nil {
					return err
				}
				e.at = m.at
			}
		}
		if e.path == "" {
			return c.file.fail(v.at, "a name is missing: \"Name\"")
		}
	}
	name := e.path
	if kind == queue.Subscription {
		e.path = queue.SubscriptionPath(topic, name)
	}
	for _, other := range c.entities[:len(c.entities)-1] {
		if strings.EqualFold(other.path, e.path) {
			return c.file.fail(e.at, "'%s' is there a second time", name)
		}
	}
	known := map[string]func(*value) error{"Name": func(*value) error { return nil },
		"Properties": func(v *value) error { return c.properties(v, e) }}
	switch kind {
	case queue.Topic:
		known["Subscriptions"] = c.each(func(v *value) error {
			return c.entity(v, queue.Subscription,
				e.path)
		})
	case queue.Subscription:
		known["Rules"] = func(v *value) error {
			e.ruled = true
			return c.each(func(v *value) error { return c.rule(v, e) })(v)
		}
	}
	return c.members(v, known)
}

// properties reads what is set of an entity.
func (c *Config) properties(v *value, e *entity) error {
	if v.kind != object {
		return c.file.fail(v.at, "an object is expected here, not %s", v.is())
	}
	for _, m := range v.members {
		set, err := c.property(m)
		if err != nil {
			return err
		}
		e.set = append(e.set, property{m.name, m.at, set})
	}
	return nil
}

// property reads one property.
func (c *Config) property(m member) (func(*queue.Properties), error) {
	v := m.value
	if at := durationOf(m.name); at != nil {
		text, _ := v.v.(string)
		d, err := queue.ParseDuration(text)
		if err != nil {
			return nil, c.file.fail(v.at, "%s: a duration such as PT1M is expected here, not %s", m.name,
				v.shown())
		}
		return func(p *queue.Properties) { *at(p) = d }, nil
	}
	if at := boolOf(m.name); at != nil {
		b, ok := v.v.(bool)
		if !ok {
			return nil, c.file.fail(v.at, "%s: true or false is expected here, not %s", m.name, v.shown())
		}
		return func(p *queue.Properties) { *at(p) = b }, nil
	}
	if at := numberOf(m.name); at != nil {
		n, _ := v.v.(json.Number)
		i, err := strconv.ParseInt(string(n), 10, 32)
		if err != nil || i < 1 {
			return nil, c.file.fail(v.at, "%s: a whole number above 0 is expected here, not %s", m.name,
				v.shown())
		}
		return func(p *queue.Properties) { *at(p) = int32(i) }, nil
	}
	var text string
	if at := textOf(m.name); at != nil {
		err := c.text(&text)(v)
		return func(p *queue.Properties) { *at(p) = text }, err
	}
	if m.name == "Status" {
		if err := c.text(&text)(v); err != nil {
			return nil, err
		}
		status, err := queue.ParseStatus(text)
		if err != nil {
			return nil, c.file.fail(v.at, "%s", err)
		}
		return func(p *queue.Properties) { p.Status = status }, nil
	}
	return nil, c.file.fail(m.at, "'%s' is no property of a queue, topic or subscription", m.name)
}

// shown is a value as a message shows it.
func (v *value) shown() string {
	if s, ok := v.v.(string); ok && v.kind == scalar {
		return strconv.Quote(s)
	}
	return v.is()
}

func durationOf(name string) func(*queue.Properties) *time.Duration {
	switch name {
	case "LockDuration":
		return func(p *queue.Properties) *time.Duration { return &p.LockDuration }
	case "DefaultMessageTimeToLive":
		return func(p *queue.Properties) *time.Duration { return &p.DefaultTTL }
	case "DuplicateDetectionHistoryTimeWindow":
		return func(p *queue.Properties) *time.Duration { return &p.DuplicateDetectionWindow }
	case "AutoDeleteOnIdle":
		return func(p *queue.Properties) *time.Duration { return &p.AutoDeleteOnIdle }
	}
	return nil
}

func boolOf(name string) func(*queue.Properties) *bool {
	switch name {
	case "DeadLetteringOnMessageExpiration":
		return func(p *queue.Properties) *bool { return &p.DeadLetterOnExpiration }
	case "DeadLetteringOnFilterEvaluationExceptions":
		return func(p *queue.Properties) *bool { return &p.DeadLetterOnFilterErrors }
	case "RequiresDuplicateDetection":
		return func(p *queue.Properties) *bool { return &p.RequiresDuplicateDetection }
	case "RequiresSession":
		return func(p *queue.Properties) *bool { return &p.RequiresSession }
	case "EnableBatchedOperations":
		return func(p *queue.Properties) *bool { return &p.EnableBatchedOperations }
	case "EnablePartitioning":
		return func(p *queue.Properties) *bool { return &p.EnablePartitioning }
	case "EnableExpress":
		return func(p *queue.Properties) *bool { return &p.EnableExpress }
	case "SupportOrdering":
		return func(p *queue.Properties) *bool { return &p.SupportOrdering }
	}
	return nil
}

func numberOf(name string) func(*queue.Properties) *int32 {
	switch name {
	case "MaxDeliveryCount":
		return func(p *queue.Properties) *int32 { return &p.MaxDeliveryCount }
	case "MaxSizeInMegabytes":
		return func(p *queue.Properties) *int32 { return &p.MaxSizeMB }
	case "MaxMessageSizeInKilobytes":
		return func(p *queue.Properties) *int32 { return &p.MaxMessageKB }
	}
	return nil
}

func textOf(name string) func(*queue.Properties) *string {
	switch name {
	case forwardTo:
		return func(p *queue.Properties) *string { return &p.ForwardTo }
	case forwardDead:
		return func(p *queue.Properties) *string { return &p.ForwardDeadLettersTo }
	case "UserMetadata":
		return func(p *queue.Properties) *string { return &p.UserMetadata }
	}
	return nil
}

// The properties that name other entities.
const (
	forwardTo   = "ForwardTo"
	forwardDead = "ForwardDeadLetteredMessagesTo"
)

// rule reads a rule of a subscription.
func (c *Config) rule(v *value, e *entity) error {
	r := ruleAt{at: v.at}
	var kind, filter, action string
	var correlation rule.Correlation
	expression := func(to *string) func(*value) error {
		return func(v *value) error {
			return c.members(v, map[string]func(*value) error{"SqlExpression": c.text(to)})
		}
	}
	err := c.members(v, map[string]func(*value) error{"Name": c.text(&r.Name),
		"Properties": func(v *value) error {
			r.at = v.at
			return c.members(v, map[string]func(*value) error{"FilterType": c.text(&kind),
				"SqlFilter":         expression(&filter),
				"Action":            expression(&action),
				"CorrelationFilter": func(v *value) error { return c.correlation(v, &correlation) }})
		}})
	if err != nil {
		return err
	}
	if r.Name == "" {
		return c.file.fail(v.at, "a rule has no name: \"Name\"")
	}
	switch strings.ToLower(kind) {
	case "sql":
		r.Filter, err = rule.SQL(filter)
	case "correlation":
		r.Filter, err = rule.NewCorrelation(correlation)
	default:
		return c.file.fail(r.at, "FilterType: Sql or Correlation is expected here, not %q", kind)
	}
	if err == nil && action != "" {
		r.Action, err = rule.NewAction(action)
	}
	if err != nil {
		return c.file.fail(r.at, "the rule '%s': %s", r.Name, err)
	}
	e.rules = append(e.rules, r)
	return nil
}

func (c *Config) correlation(v *value, to *rule.Correlation) error {
	return c.members(v, map[string]func(*value) error{"ContentType": c.text(&to.ContentType),
		"CorrelationId": c.text(&to.CorrelationID), "Label": c.text(&to.Label), "Subject": c.text(&to.Label),
		"MessageId": c.text(&to.MessageID), "ReplyTo": c.text(&to.ReplyTo), "To": c.text(&to.To),
		"ReplyToSessionId": c.text(&to.ReplyToSessionID), "SessionId": c.text(&to.SessionID),
		"Properties": func(v *value) error {
			if v.kind != object {
				return c.file.fail(v.at, "an object is expected here, not %s", v.is())
			}
			for _, m := range v.members {
				p, err := parameter(m.value)
				if err != nil {
					return c.file.fail(m.at, "'%s' is neither a string nor a number nor a bool", m.name)
				}
				to.Properties = append(to.Properties, rule.Parameter{Name: m.name, Value: p})
			}
			return nil
		}})
}

var errNoParameter = errors.New("config: no value of a property")

func parameter(v *value) (rule.Value, error) {
	switch x := v.v.(type) {
	case string:
		return rule.String(x), nil
	case bool:
		return rule.Bool(x), nil
	case json.Number:
		if n, err := x.Int64(); err == nil {
			return rule.Int(n), nil
		}
		if f, err := x.Float64(); err == nil && !math.IsInf(f, 0) {
			return rule.Number(f), nil
		}
	}
	return rule.Value{}, errNoParameter
}
