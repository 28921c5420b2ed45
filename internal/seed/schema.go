package seed

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/swaggest/jsonschema-go"
)

// Schema returns the JSON Schema of seed files, for editors. A whole file is a SeedFile; files in folders are
// #/definitions/Database and
// #/definitions/Container.
func Schema() ([]byte, error) {
	r := jsonschema.Reflector{}
	s, err := r.Reflect(SeedFile{}, jsonschema.RootRef, closed, jsonschema.InterceptProp(required),
		jsonschema.InterceptDefName(func(t reflect.Type, _ string) string { return plain(t).Name() }))
	if err != nil {
		return nil, err
	}
	s.WithSchema("http://json-schema.org/draft-07/schema#").WithTitle("A seed of Mayfly")
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// plain returns the type to which t points, through any number of pointers.
func plain(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// closed makes the schemas of all objects forbid additional members.
var closed = jsonschema.InterceptSchema(func(p jsonschema.InterceptSchemaParams) (stop bool, err error) {
	if p.Processed && plain(p.Value.Type()).Kind() == reflect.Struct && len(p.Schema.Properties) > 0 {
		p.Schema.WithAdditionalProperties(*new(jsonschema.SchemaOrBool).WithTypeBoolean(false))
	}
	return false, nil
})

// required marks the members that are required. It allows null only for Mayfly's own settings of a
// container, where null resets a setting to its default.
func required(p jsonschema.InterceptPropParams) error {
	if !p.Processed || p.Name == "" {
		return nil
	}
	settings := p.Path != nil && slices.Contains(p.Path, "settings")
	if !settings && p.PropertySchema.HasType(jsonschema.Null) {
		p.PropertySchema.RemoveType(jsonschema.Null)
	}
	if p.Field.Tag.Get("required") == "true" && !slices.Contains(p.ParentSchema.Required, p.Name) {
		p.ParentSchema.Required = append(p.ParentSchema.Required, p.Name)
	}
	return nil
}
