package seed

import (
	"strconv"

	"github.com/swaggest/jsonschema-go"

	"github.com/mayflydb/mayfly/internal/tree"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/store/definition"
)

// AnyValue is a value of any kind. The zero AnyValue means that there is no value.
type AnyValue struct{ value *tree.Value }

// DecodeTree stores the value that was read from a file: see tree.Unmarshaler.
func (a *AnyValue) DecodeTree(v *tree.Value) error {
	a.value = v
	return nil
}

// JSONSchema implements jsonschema.Exposer: it returns the schema that allows every value.
func (AnyValue) JSONSchema() (s jsonschema.Schema, err error) { return s, nil }

// InlineJSONSchema implements jsonschema.SchemaInliner: the JSON schema of the type is written into each
// schema that uses the type, instead of being referenced.
func (AnyValue) InlineJSONSchema() {}

// Throughput is a number of RU/s; {"maxThroughput": RU/s} for autoscale; or {"level": "S1"}, one of Cosmos
// DB's former performance levels.
type Throughput struct {
	definition.Throughput
	place tree.FilePosition
}

// throughputObject is the form of a throughput in a seed that is an object, not a number.
type throughputObject struct {
	Most      int    `json:"maxThroughput,omitempty" minimum:"1"`
	Increment *int   `json:"incrementPercent,omitempty" description:"Stored for clients; has no effect."`
	Level     string `json:"level,omitempty" enum:"S1,S2,S3" description:"Former performance level."`
}

// DecodeTree sets t to the throughput that a seed file contains as v: a number of RU/s or an object. Its
// errors have the position in the file. It implements tree.Unmarshaler.
func (t *Throughput) DecodeTree(v *tree.Value) error {
	t.place = v.Place
	var form throughputObject
	if n, err := strconv.Atoi(v.Text); v.Kind == tree.Number && err == nil && n > 0 {
		t.Manual = n
	} else if v.Kind != tree.Object || v.Decode(&form) != nil || (form.Most <= 0) == (form.Level == "") {
		return v.Place.Fail(`a throughput must be a number of RU/s, or {"maxThroughput": RU/s}`)
	}
	t.Autoscale, t.Increment = form.Most, form.Increment
	if form.Level != "" {
		level, known := definition.PerformanceLevel(form.Level)
		if !known {
			return v.Place.Fail("a performance level must be S1, S2 or S3, not %s", form.Level)
		}
		t.Throughput = level
	}
	return v.Place.Wrap("", t.Validate())
}

// form returns a throughput as a seed file contains it: a number of RU/s, or an object for autoscale and
// performance levels.
func form(t definition.Throughput) any {
	switch {
	case t.Level != "":
		return throughputObject{Level: t.Level}
	case t.Autoscale > 0:
		return throughputObject{Most: t.Autoscale, Increment: t.Increment}
	}
	return t.Manual
}

// same reports whether a throughput equals an existing one.
func (t *Throughput) same(there definition.Throughput) bool {
	return t.Manual == there.Manual && t.Autoscale == there.Autoscale && t.Level == there.Level &&
		(t.Increment == nil || there.Increment != nil && *t.Increment == *there.Increment)
}

// JSONSchema implements jsonschema.Exposer: it returns the schema of a throughput in a seed, an integer or
// an object.
func (Throughput) JSONSchema() (s jsonschema.Schema, err error) {
	number := new(jsonschema.Schema)
	number.AddType(jsonschema.Integer)
	reflector := jsonschema.Reflector{}
	long, err := reflector.Reflect(throughputObject{}, closed, jsonschema.InterceptProp(required))
	s.WithAnyOf(number.ToSchemaOrBool(), long.ToSchemaOrBool())
	return s, err
}

// InlineJSONSchema makes the schema a part of the schemas that use it: see jsonschema.SchemaInliner.
func (Throughput) InlineJSONSchema() {}

// PartitionKey is a path, a list of paths, or a partition key definition of Cosmos DB.
type PartitionKey struct{ value *tree.Value }

// partitionKeyDefinition is a partition key definition as Cosmos DB has it: {"paths": ["/user"], "kind":
// "Hash"}.
type partitionKeyDefinition struct {
	Paths   []string `json:"paths" required:"true"`
	Kind    string   `json:"kind,omitempty" enum:"Hash,MultiHash"`
	Version int      `json:"version,omitempty" minimum:"1" maximum:"2"`
	System  bool     `json:"systemKey,omitempty"`
}

// DecodeTree implements tree.Unmarshaler. It converts a path or a list of paths to a partition key definition
// of Cosmos DB.
func (k *PartitionKey) DecodeTree(v *tree.Value) error {
	k.value = v
	if v.Kind == tree.Object {
		return v.Decode(new(partitionKeyDefinition))
	}
	list := v
	if v.Kind == tree.String {
		list = &tree.Value{Kind: tree.Array, List: []*tree.Value{v}, Place: v.Place}
	}
	if list.Kind != tree.Array || list.Decode(new([]string)) != nil {
		return v.Place.Fail("a partition key must be a path, a list of paths, or an object with 'paths'")
	}
	kind := &tree.Value{Kind: tree.String, Text: definition.KindHash, Place: v.Place}
	if len(list.List) > 1 {
		kind.Text = definition.KindMultiHash
	}
	version := &tree.Value{Kind: tree.Number, Text: "2", Place: v.Place}
	k.value = &tree.Value{Kind: tree.Object, Place: v.Place, Members: []tree.Member{
		{Name: "paths", Place: v.Place, Value: list}, {Name: "kind", Place: v.Place, Value: kind},
		{Name: "version", Place: v.Place, Value: version}}}
	return nil
}

// JSONSchema implements jsonschema.Exposer: it returns the schema of a partition key in a seed, which is a
// path, a list of paths or an object.
func (PartitionKey) JSONSchema() (s jsonschema.Schema, err error) {
	path, paths := new(jsonschema.Schema), new(jsonschema.Schema)
	path.AddType(jsonschema.String)
	paths.AddType(jsonschema.Array)
	paths.WithItems(*new(jsonschema.Items).WithSchemaOrBool(path.ToSchemaOrBool()))
	reflector := jsonschema.Reflector{}
	long, err := reflector.Reflect(partitionKeyDefinition{}, closed, jsonschema.InterceptProp(required))
	s.WithAnyOf(path.ToSchemaOrBool(), paths.ToSchemaOrBool(), long.ToSchemaOrBool())
	return s, err
}

// InlineJSONSchema marks the type for the generator of the JSON schema of seeds: the schema of a PartitionKey
// is copied to each place where it is used, instead of being a definition of its own. It implements
// jsonschema.SchemaInliner.
func (PartitionKey) InlineJSONSchema() {}

// DurationValue is a duration such as 90s, 12h or 29d, or one in the format of XML Schema, such as PT1M.
type DurationValue struct{ value *tree.Value }

// DecodeTree decodes a duration of a seed, such as 90s, 29d or PT1M, and converts it to the format of XML
// Schema. It fails for any other value. It implements tree.Unmarshaler.
func (s *DurationValue) DecodeTree(v *tree.Value) error {
	d, err := entity.ParseAnyDuration(v.Text)
	if v.Kind != tree.String || err != nil || d <= 0 {
		return v.Place.Fail("a duration such as 90s, 29d or PT1M is expected here, not %s", v.Display())
	}
	s.value = &tree.Value{Kind: tree.String, Text: entity.FormatDuration(d), Place: v.Place}
	return nil
}

// JSONSchema implements jsonschema.Exposer: it returns the schema of a string, with examples of durations.
func (DurationValue) JSONSchema() (s jsonschema.Schema, err error) {
	s.AddType(jsonschema.String)
	s.WithExamples("90s", "29d", "PT1M")
	return s, nil
}

// InlineJSONSchema makes the schema a part of the schemas that use it: see jsonschema.SchemaInliner.
func (DurationValue) InlineJSONSchema() {}
