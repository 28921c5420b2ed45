package config

import (
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/internal/tree"
	"github.com/mayflydb/mayfly/queue/entity"
)

// Config is the contents of a configuration file in the form of Service Bus's emulator (Config.json):
// entities to create at the start.
type Config struct {
	entities []*declaredEntity // in the order of the file
}

// Len returns the number of queues, topics and subscriptions in the file.
func (c *Config) Len() int { return len(c.entities) }

// declaredEntity is a queue, topic or subscription that a configuration file declares.
type declaredEntity struct {
	kind     entity.Kind
	path     string
	at       tree.FilePosition
	set      []declaredProperty
	rules    []ruleWithFilePosition
	hasRules bool // the file has a list of rules
}

// declaredProperty is a property that a configuration file sets for an entity.
type declaredProperty struct {
	name string
	at   tree.FilePosition
	set  func(*entity.Properties)
}

// ruleWithFilePosition is a rule of a subscription, with its position in the file.
type ruleWithFilePosition struct {
	entity.Rule
	at tree.FilePosition
}

// Error is an error at a position in a file.
type Error = tree.ErrorAtFilePosition

// Parse parses a file: YAML if its name ends in .yaml or .yml, else JSON. name is used in errors.
func Parse(name string, data []byte) (*Config, error) {
	root, err := tree.Parse(name, data)
	if err != nil {
		return nil, err
	}
	return Read(root)
}

// Read reads the entities from a parsed file.
func Read(root *tree.Value) (*Config, error) {
	c := &Config{}
	err := c.members(root, map[string]func(*tree.Value) error{"UserConfig": func(v *tree.Value) error {
		return c.members(v, map[string]func(*tree.Value) error{"Namespaces": c.namespaces,
			"Logging": func(*tree.Value) error { return nil }}) // where the emulator writes its log; ignored
	}})
	return c, err
}

// members calls, for each member of the object v, the function that known has for the member's name. Other
// members are errors.
func (c *Config) members(v *tree.Value, known map[string]func(*tree.Value) error) error {
	if v.Kind != tree.Object {
		return v.Place.Fail("an object is expected here, not %s", v.Kind)
	}
	for _, m := range v.Members {
		read, ok := known[m.Name]
		if !ok {
			return m.Place.Fail("'%s' is not known here", m.Name)
		}
		if err := read(m.Value); err != nil {
			return err
		}
	}
	return nil
}

// each returns a function that reads an array by calling read for each element.
func (c *Config) each(read func(*tree.Value) error) func(*tree.Value) error {
	return func(v *tree.Value) error {
		if v.Kind != tree.Array {
			return v.Place.Fail("an array is expected here, not %s", v.Kind)
		}
		for _, e := range v.List {
			if err := read(e); err != nil {
				return err
			}
		}
		return nil
	}
}

// text returns a function that reads a string into *to.
func (c *Config) text(to *string) func(*tree.Value) error {
	return func(v *tree.Value) error {
		if v.Kind != tree.String {
			return v.Place.Fail("a string is expected here, not %s", v.Kind)
		}
		*to = v.Text
		return nil
	}
}

func (c *Config) namespaces(v *tree.Value) error {
	if v.Kind == tree.Array && len(v.List) > 1 {
		return v.List[1].Place.Fail("there is one namespace, as in the emulator")
	}
	var name string
	return c.each(func(v *tree.Value) error {
		return c.members(v, map[string]func(*tree.Value) error{
			"Name":   c.text(&name),
			"Queues": c.each(func(v *tree.Value) error { return c.entity(v, entity.Queue, "") }),
			"Topics": c.each(func(v *tree.Value) error { return c.entity(v, entity.Topic, "") }),
		})
	})(v)
}

// entity reads one queue, topic or subscription from its object v in the configuration file and adds it to
// the entities. topic is the name of the topic if the entity is a subscription. It returns an error if the
// name is missing or occurs twice, or if a member is invalid.
func (c *Config) entity(v *tree.Value, kind entity.Kind, topic string) error {
	e := &declaredEntity{kind: kind, at: v.Place}
	c.entities = append(c.entities, e)
	if v.Kind == tree.Object { // the name is read first, since subscriptions and errors need it
		for _, m := range v.Members {
			if m.Name == "Name" {
				if err := c.text(&e.path)(m.Value); err != nil {
					return err
				}
				e.at = m.Place
			}
		}
		if e.path == "" {
			return v.Place.Fail("a name is missing: \"Name\"")
		}
	}
	name := e.path
	if kind == entity.Subscription {
		e.path = entity.SubscriptionPath(topic, name)
	}
	for _, other := range c.entities[:len(c.entities)-1] {
		if strings.EqualFold(other.path, e.path) {
			return e.at.Fail("'%s' is there a second time", name)
		}
	}
	known := map[string]func(*tree.Value) error{"Name": func(*tree.Value) error { return nil },
		"Properties": func(v *tree.Value) error { return c.properties(v, e) }}
	switch kind {
	case entity.Topic:
		known["Subscriptions"] = c.each(func(v *tree.Value) error {
			return c.entity(v, entity.Subscription,
				e.path)
		})
	case entity.Subscription:
		known["Rules"] = func(v *tree.Value) error {
			e.hasRules = true
			return c.each(func(v *tree.Value) error { return c.rule(v, e) })(v)
		}
	}
	return c.members(v, known)
}

// properties reads the object v, the "Properties" of an entity in the configuration file, and adds each
// property to e.
func (c *Config) properties(v *tree.Value, e *declaredEntity) error {
	if v.Kind != tree.Object {
		return v.Place.Fail("an object is expected here, not %s", v.Kind)
	}
	for _, m := range v.Members {
		set, err := c.property(m)
		if err != nil {
			return err
		}
		e.set = append(e.set, declaredProperty{m.Name, m.Place, set})
	}
	return nil
}

// property checks the value of a property in the file, and returns a function that sets this property of an
// entity.
func (c *Config) property(m tree.Member) (func(*entity.Properties), error) {
	v := m.Value
	if at := durationOf(m.Name); at != nil {
		d, err := entity.ParseDuration(v.Text)
		if err != nil || v.Kind != tree.String {
			return nil, v.Place.Fail("%s: a duration such as PT1M is expected here, not %s", m.Name,
				v.Display())
		}
		return func(p *entity.Properties) { *at(p) = d }, nil
	}
	if at := boolOf(m.Name); at != nil {
		if v.Kind != tree.Bool {
			return nil, v.Place.Fail("%s: true or false is expected here, not %s", m.Name, v.Display())
		}
		return func(p *entity.Properties) { *at(p) = v.Text == "true" }, nil
	}
	if at := numberOf(m.Name); at != nil {
		i, err := strconv.ParseInt(v.Text, 10, 32)
		if err != nil || i < 1 || v.Kind != tree.Number {
			return nil, v.Place.Fail("%s: a whole number above 0 is expected here, not %s", m.Name,
				v.Display())
		}
		return func(p *entity.Properties) { *at(p) = int32(i) }, nil
	}
	var text string
	if at := textOf(m.Name); at != nil {
		err := c.text(&text)(v)
		return func(p *entity.Properties) { *at(p) = text }, err
	}
	if m.Name == authorization {
		err := c.text(&text)(v)
		return func(p *entity.Properties) { p.AuthorizationRules = []byte(text) }, err
	}
	if m.Name == "Status" {
		if err := c.text(&text)(v); err != nil {
			return nil, err
		}
		status, err := entity.ParseStatus(text)
		if err != nil {
			return nil, v.Place.Fail("%s", err)
		}
		return func(p *entity.Properties) { p.Status = status }, nil
	}
	return nil, m.Place.Fail("'%s' is no property of a queue, topic or subscription", m.Name)
}

func durationOf(name string) func(*entity.Properties) *time.Duration {
	switch name {
	case "LockDuration":
		return func(p *entity.Properties) *time.Duration { return &p.LockDuration }
	case "DefaultMessageTimeToLive":
		return func(p *entity.Properties) *time.Duration { return &p.DefaultTTL }
	case "DuplicateDetectionHistoryTimeWindow":
		return func(p *entity.Properties) *time.Duration { return &p.DuplicateDetectionWindow }
	case "AutoDeleteOnIdle":
		return func(p *entity.Properties) *time.Duration { return &p.AutoDeleteOnIdle }
	}
	return nil
}

func boolOf(name string) func(*entity.Properties) *bool {
	switch name {
	case "DeadLetteringOnMessageExpiration":
		return func(p *entity.Properties) *bool { return &p.DeadLetterOnExpiration }
	case "DeadLetteringOnFilterEvaluationExceptions":
		return func(p *entity.Properties) *bool { return &p.DeadLetterOnFilterErrors }
	case "RequiresDuplicateDetection":
		return func(p *entity.Properties) *bool { return &p.RequiresDuplicateDetection }
	case "RequiresSession":
		return func(p *entity.Properties) *bool { return &p.RequiresSession }
	case "EnableBatchedOperations":
		return func(p *entity.Properties) *bool { return &p.EnableBatchedOperations }
	case "EnablePartitioning":
		return func(p *entity.Properties) *bool { return &p.EnablePartitioning }
	case "EnableExpress":
		return func(p *entity.Properties) *bool { return &p.EnableExpress }
	case "SupportOrdering":
		return func(p *entity.Properties) *bool { return &p.SupportOrdering }
	case "IsAnonymousAccessible":
		return func(p *entity.Properties) *bool { return &p.AnonymousAccessible }
	case "FilteringMessagesBeforePublishing":
		return func(p *entity.Properties) *bool { return &p.FilteringBeforePublishing }
	case "EnableSubscriptionPartitioning":
		return func(p *entity.Properties) *bool { return &p.EnableSubscriptionPartitioning }
	}
	return nil
}

func numberOf(name string) func(*entity.Properties) *int32 {
	switch name {
	case "MaxDeliveryCount":
		return func(p *entity.Properties) *int32 { return &p.MaxDeliveryCount }
	case "MaxSizeInMegabytes":
		return func(p *entity.Properties) *int32 { return &p.MaxSizeMB }
	case "MaxMessageSizeInKilobytes":
		return func(p *entity.Properties) *int32 { return &p.MaxMessageKB }
	}
	return nil
}

func textOf(name string) func(*entity.Properties) *string {
	switch name {
	case forwardTo:
		return func(p *entity.Properties) *string { return &p.ForwardTo }
	case forwardDead:
		return func(p *entity.Properties) *string { return &p.ForwardDeadLettersTo }
	case "UserMetadata":
		return func(p *entity.Properties) *string { return &p.UserMetadata }
	}
	return nil
}

// The properties of an entity that name the entity to which its messages are forwarded.
const (
	forwardTo   = "ForwardTo"
	forwardDead = "ForwardDeadLetteredMessagesTo"
)

// authorization is the property with the XML of shared access rules, which is stored unchanged.
const authorization = "AuthorizationRules"
