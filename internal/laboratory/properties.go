package laboratory

import (
	"encoding/json"
	"math"
	"time"

	"github.com/swaggest/jsonschema-go"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// typeOf returns the name of the AMQP type of a property's value (section 1.6 of the specification).
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case uint8:
		return "ubyte"
	case uint16:
		return "ushort"
	case uint32:
		return "uint"
	case uint64:
		return "ulong"
	case int8:
		return "byte"
	case int16:
		return "short"
	case int32:
		return "int"
	case int64:
		return "long"
	case float32:
		return "float"
	case float64:
		return "double"
	case wire.Char:
		return "char"
	case wire.Timestamp:
		return "timestamp"
	case wire.UUID:
		return "uuid"
	case []byte:
		return "binary"
	case string:
		return "string"
	case wire.Symbol:
		return "symbol"
	case wire.Described:
		return "described"
	case wire.Decimal32, wire.Decimal64, wire.Decimal128:
		return "decimal"
	}
	return "compound"
}

// propertiesOf returns properties as JSON, and the types of their values. Both are nil if there are no
// properties.
func propertiesOf(list []message.ApplicationProperty) (values map[string]json.RawMessage,
	types map[string]string) {
	if len(list) == 0 {
		return nil, nil
	}
	values, types = make(map[string]json.RawMessage, len(list)), make(map[string]string, len(list))
	for _, p := range list {
		if v, _, err := wire.Value(p.Value); err == nil {
			values[p.Name], types[p.Name] = jsonOf(v), typeOf(v)
		}
	}
	return values, types
}

// jsonOf returns the value of a property as JSON. Timestamps and UUIDs, which JSON does not have, become
// strings.
func jsonOf(v any) json.RawMessage {
	if t, ok := v.(wire.Timestamp); ok {
		v = momentOf(int64(t))
	}
	if id, ok := v.(wire.UUID); ok {
		v = id.String()
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

// scalarJSONObject is a JSON object whose members are strings, numbers and booleans.
type scalarJSONObject map[string]any

// DecodeMember implements route.JSONMemberDecoder: it parses a JSON object whose members are strings, numbers
// and booleans. A whole number becomes an int64.
func (o *scalarJSONObject) DecodeMember(name string, v jsondoc.Value) error {
	if v.Kind() != jsondoc.Object {
		return route.BadRequest("'" + name + "' must be an object.")
	}
	*o = make(scalarJSONObject)
	var err error
	v.Each(func(member string, v jsondoc.Value) bool {
		switch v.Kind() {
		case jsondoc.String:
			(*o)[member] = v.Str()
		case jsondoc.Bool:
			(*o)[member] = v.Bool()
		case jsondoc.Number:
			(*o)[member] = v.Num()
			if n := int64(v.Num()); float64(n) == v.Num() {
				(*o)[member] = n
			}
		default:
			err = route.BadRequest("'" + member + "' of '" + name +
				"' must be a string, a number or a boolean.")
		}
		return err == nil
	})
	return err
}

// JSONSchema returns the schema of the properties in the OpenAPI document: an object of strings, numbers and
// booleans. It implements jsonschema.Exposer.
func (scalarJSONObject) JSONSchema() (s jsonschema.Schema, err error) {
	s.AddType(jsonschema.Object)
	s.WithDescription("Strings, numbers and booleans by name.")
	return s, nil
}

// ApplicationPropertyFields is embedded in the request structs whose body sets application properties.
type ApplicationPropertyFields struct {
	Properties    scalarJSONObject `json:"properties,omitempty"`
	PropertyTypes scalarJSONObject `json:"propertyTypes,omitempty" description:"AMQP type of each property."`
}

// encoded returns the properties in their AMQP encoding.
func (in *ApplicationPropertyFields) encoded() ([]message.ApplicationProperty, error) {
	for name := range in.PropertyTypes {
		if _, ok := in.Properties[name]; !ok {
			return nil, route.BadRequest("'propertyTypes' names '" + name +
				"', which 'properties' does not have.")
		}
	}
	var list []message.ApplicationProperty
	for name, v := range in.Properties {
		if kind, ok := in.PropertyTypes[name]; ok {
			text, _ := kind.(string)
			if v, ok = typed(v, text); !ok {
				return nil, route.BadRequest("The property '" + name +
					"' does not have a value of the type '" + text + "'.")
			}
		}
		raw, err := wire.Append(nil, v)
		if err != nil {
			return nil, err
		}
		list = append(list, message.ApplicationProperty{Name: name, Value: raw})
	}
	return list, nil
}

// typed converts a JSON value to a value of the AMQP type that kind names. ok is false if the type does not
// have that value.
func typed(v any, kind string) (out any, ok bool) {
	switch v := v.(type) {
	case bool:
		return v, kind == "boolean"
	case string:
		return typedText(v, kind)
	case int64:
		return typedWhole(v, kind)
	case float64:
		switch kind {
		case "double":
			return v, true
		case "float":
			return float32(v), math.Abs(v) <= math.MaxFloat32
		}
	}
	return nil, false
}

func typedText(text, kind string) (out any, ok bool) {
	switch kind {
	case "string":
		return text, true
	case "symbol":
		return wire.Symbol(text), true
	case "timestamp":
		t, err := time.Parse(time.RFC3339, text)
		return wire.Timestamp(t.UnixMilli()), err == nil
	case "uuid":
		return wire.ParseUUID(text)
	}
	return nil, false
}

func typedWhole(n int64, kind string) (out any, ok bool) {
	switch kind {
	case "long":
		return n, true
	case "int":
		return int32(n), int64(int32(n)) == n
	case "short":
		return int16(n), int64(int16(n)) == n
	case "byte":
		return int8(n), int64(int8(n)) == n
	case "ulong":
		return uint64(n), n >= 0
	case "uint":
		return uint32(n), int64(uint32(n)) == n
	case "ushort":
		return uint16(n), int64(uint16(n)) == n
	case "ubyte":
		return uint8(n), int64(uint8(n)) == n
	case "double":
		return float64(n), true
	case "float":
		return float32(n), true
	case "timestamp": // milliseconds since 1970
		return wire.Timestamp(n), true
	}
	return nil, false
}

// sequenceNumbers is a JSON array of sequence numbers.
type sequenceNumbers []int64

// DecodeMember sets the list to v, a JSON array of 1 to 1000 whole numbers. For any other value it returns a
// 400 that contains name, the name of the member. It implements route.JSONMemberDecoder.
func (list *sequenceNumbers) DecodeMember(name string, v jsondoc.Value) error {
	return decodeSelected(name, v, (*[]int64)(list), "whole numbers")
}

// stringList is a JSON array of strings.
type stringList []string

// DecodeMember implements route.JSONMemberDecoder.
func (list *stringList) DecodeMember(name string, v jsondoc.Value) error {
	return decodeSelected(name, v, (*[]string)(list), "strings")
}

// decodeSelected decodes an array in a request that selects messages. kind says, in the error text, what the
// array must contain.
func decodeSelected[T any](name string, v jsondoc.Value, list *[]T, kind string) error {
	err := json.Unmarshal(v.Raw(), list)
	if v.Kind() != jsondoc.Array || err != nil || len(*list) == 0 || len(*list) > maxSelected {
		return route.BadRequest("'" + name + "' must be an array of 1 to 1000 " + kind + ".")
	}
	return nil
}

// maxSelected is the maximum number of messages that one request may name.
const maxSelected = 1000
