package seed

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/swaggest/jsonschema-go"
)

// Schema is the JSON Schema of seed files, for editors. The file as a whole is a File; what lies in folders
// is #/definitions/Database and #/definitions/Container.
func Schema() ([]byte, error) {
	r := jsonschema.Reflector{}
	s, err := r.Reflect(File{}, jsonschema.RootRef, closed, jsonschema.InterceptProp(required),
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

// plain is a type without pointers to it.
func plain(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// closed says of all objects that they have no other members.
var closed = jsonschema.InterceptSchema(func(p jsonschema.InterceptSchemaParams) (stop bool, err error) {
	if p.Processed && plain(p.Value.Type()).Kind() == reflect.Struct && len(p.Schema.Properties) > 0 {
		p.Schema.WithAdditionalProperties(*new(jsonschema.SchemaOrBool).WithTypeBoolean(false))
	}
	return false, nil
})

// required names the members that must be there, and lets none be null but what may be put back by it.
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
