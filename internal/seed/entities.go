package seed

import (
	"strings"

	"github.com/mayflydb/mayfly/internal/tree"
	"github.com/mayflydb/mayfly/queue/config"
)

// entities adds the queues and topics of a file. Each is converted to the form of the Service Bus emulator's
// Config.json, keeping the positions in the file, so that only one parser for entities is needed.
func (r *filesReader) entities(f *SeedFile) error {
	namespace := newObjectBuilder(tree.FilePosition{})
	for i := range f.Queues {
		e, err := emulatorEntity(f.Queues[i].Self)
		if err != nil {
			return err
		}
		namespace.append("Queues", e)
	}
	for i := range f.Topics {
		e, err := emulatorEntity(f.Topics[i].Self)
		if err != nil {
			return err
		}
		namespace.append("Topics", e)
	}
	user, root := newObjectBuilder(namespace.Place), newObjectBuilder(namespace.Place)
	user.append("Namespaces", namespace.Value)
	root.set("UserConfig", user.Value, namespace.Place)
	entities, err := config.Read(root.Value)
	if err == nil {
		r.seed.entities = append(r.seed.entities, entities)
	}
	return err
}

// jsonOrYAMLObjectBuilder is a JSON or YAML object that is being built member by member.
type jsonOrYAMLObjectBuilder struct{ *tree.Value }

func newObjectBuilder(place tree.FilePosition) jsonOrYAMLObjectBuilder {
	return jsonOrYAMLObjectBuilder{&tree.Value{Kind: tree.Object, Place: place}}
}

func (o jsonOrYAMLObjectBuilder) set(name string, value *tree.Value, place tree.FilePosition) {
	o.Members = append(o.Members, tree.Member{Name: name, Place: place, Value: value})
}

// append appends a value to a member that is an array. A missing member is created.
func (o jsonOrYAMLObjectBuilder) append(name string, value *tree.Value) {
	if o.Member(name) == nil {
		o.set(name, &tree.Value{Kind: tree.Array, Place: value.Place}, value.Place)
	}
	list := o.Member(name)
	list.List = append(list.List, value)
}

func capital(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// emulatorEntity converts a queue, a topic or a subscription of a seed to the form of the Service Bus
// emulator's Config.json.
func emulatorEntity(v *tree.Value) (*tree.Value, error) {
	out, properties := newObjectBuilder(v.Place), newObjectBuilder(v.Place)
	for _, m := range v.Members {
		switch m.Name {
		case "name":
			out.set("Name", m.Value, m.Place)
		case "subscriptions", "rules":
			out.set(capital(m.Name), &tree.Value{Kind: tree.Array, Place: m.Place}, m.Place)
			for _, e := range m.Value.List {
				said := emulatorEntity
				if m.Name == "rules" {
					said = ruleOf
				}
				made, err := said(e)
				if err != nil {
					return nil, err
				}
				out.append(capital(m.Name), made)
			}
		case "lockDuration", "defaultMessageTimeToLive", "duplicateDetectionHistoryTimeWindow",
			"autoDeleteOnIdle":
			var span DurationValue
			if err := span.DecodeTree(m.Value); err != nil {
				return nil, err
			}
			properties.set(capital(m.Name), span.value, m.Place)
		default:
			properties.set(capital(m.Name), m.Value, m.Place)
		}
	}
	out.set("Properties", properties.Value, v.Place)
	return out.Value, nil
}

// ruleOf converts a rule of a seed to the form of the Service Bus emulator's Config.json.
func ruleOf(v *tree.Value) (*tree.Value, error) {
	out, properties := newObjectBuilder(v.Place), newObjectBuilder(v.Place)
	kinds := []string{}
	expression := func(to string, m tree.Member, parameters string) {
		o := newObjectBuilder(m.Place)
		o.set("SqlExpression", m.Value, m.Value.Place)
		if given := v.Member(parameters); given != nil {
			o.set("Parameters", given, given.Place)
		}
		properties.set(to, o.Value, m.Place)
	}
	for _, m := range v.Members {
		switch m.Name {
		case "name":
			out.set("Name", m.Value, m.Place)
		case "action":
			expression("Action", m, "actionParameters")
		case "sql":
			kinds = append(kinds, "Sql")
			expression("SqlFilter", m, "parameters")
		case "kind":
			kind, known := map[string]string{"all": "True", "none": "False"}[m.Value.Text]
			if !known {
				return nil, m.Value.Place.Fail("the kind of a rule must be all or none, not %s",
					m.Value.Display())
			}
			kinds = append(kinds, kind)
		case "correlation":
			kinds = append(kinds, "Correlation")
			filter := newObjectBuilder(m.Place)
			for _, m := range m.Value.Members {
				filter.set(capital(m.Name), m.Value, m.Place)
			}
			properties.set("CorrelationFilter", filter.Value, m.Place)
		}
	}
	for parameters, of := range map[string]string{"parameters": "sql", "actionParameters": "action"} {
		if given := v.Member(parameters); given != nil && v.Member(of) == nil {
			return nil, given.Place.Fail("'%s' requires '%s'", parameters, of)
		}
	}
	if len(kinds) != 1 {
		return nil, v.Place.Fail("a rule must have exactly one of 'sql', 'correlation' and 'kind'")
	}
	properties.set("FilterType", &tree.Value{Kind: tree.String, Text: kinds[0], Place: v.Place}, v.Place)
	out.set("Properties", properties.Value, v.Place)
	return out.Value, nil
}
