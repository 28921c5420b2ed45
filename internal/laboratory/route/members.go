package route

import (
	"errors"
	"math"
	"time"

	"github.com/swaggest/jsonschema-go"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/ttl"
)

// RequiredText is a string that a request must contain.
type RequiredText string

// DecodeMember implements JSONMemberDecoder: it fails with status 400 if the value is missing or not a
// string.
func (n *RequiredText) DecodeMember(name string, v jsondoc.Value) error {
	if v.Kind() != jsondoc.String {
		return BadRequest("The input content is invalid because the required property '" + name +
			"' is missing or is not a string.")
	}
	*n = RequiredText(v.Str())
	return nil
}

// InlineJSONSchema implements jsonschema.SchemaInliner: the schema of a RequiredText is written where it
// is used, not as a definition of its own.
func (RequiredText) InlineJSONSchema() {}

// JSONTimestamp is a point in time: RFC 3339, or whole seconds since 1970.
type JSONTimestamp struct{ time.Time }

// DecodeMember implements JSONMemberDecoder: it parses a string in the format of RFC 3339, or a number of
// whole seconds since 1970.
func (m *JSONTimestamp) DecodeMember(name string, v jsondoc.Value) (err error) {
	n := v.Num()
	switch {
	case v.Kind() != jsondoc.Number:
		m.Time, err = time.Parse(time.RFC3339, v.Str())
	case n != math.Trunc(n) || math.Abs(n) > 1e12:
		err = errNotWhole
	default:
		m.Time = time.Unix(int64(n), 0).UTC()
	}
	if err != nil {
		return BadRequest("'" + name + "' must be a time in RFC 3339, " +
			"such as \"2030-01-01T00:00:00Z\", or in seconds since 1970.")
	}
	return nil
}

var errNotWhole = errors.New("the number of seconds is not whole")

// JSONSchema implements jsonschema.Exposer: it returns the schema of a string or an integer.
func (JSONTimestamp) JSONSchema() (s jsonschema.Schema, err error) {
	s.WithType(OneOf(jsonschema.String, jsonschema.Integer))
	s.WithDescription("Time in the format of RFC 3339, or in seconds since 1970.")
	s.WithExamples("2030-01-01T00:00:00Z")
	return s, nil
}

// JSONDuration is a duration in any format of ttl.ParseDuration; a number means seconds.
type JSONDuration struct{ time.Duration }

// DecodeMember implements JSONMemberDecoder: it parses a string such as "90s" or "30d", or a number of
// seconds.
func (d *JSONDuration) DecodeMember(name string, v jsondoc.Value) (err error) {
	text := v.Str()
	if v.Kind() == jsondoc.Number {
		text = string(v.Raw())
	}
	if d.Duration, err = ttl.ParseDuration(text); err != nil {
		return BadRequest("'" + name +
			"' must be a duration such as \"90s\", \"24h\", \"30d\" or \"PT1H\", or a number of seconds.")
	}
	return nil
}

// JSONSchema implements jsonschema.Exposer: it returns the schema of a string or a number.
func (JSONDuration) JSONSchema() (s jsonschema.Schema, err error) {
	s.WithType(OneOf(jsonschema.String, jsonschema.Number))
	s.WithDescription("Duration; a number means seconds.").WithExamples("90s", "29d", "1d12h", "PT1H")
	return s, nil
}

// OneOf returns the schema type for a value that has one of several JSON types.
func OneOf(types ...jsonschema.SimpleType) jsonschema.Type {
	return jsonschema.Type{SliceOfSimpleTypeValues: types}
}
