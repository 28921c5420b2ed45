package laboratory

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/swaggest/jsonschema-go"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// InDatabase is the part of a request that names a database in its path.
type InDatabase struct {
	DatabaseID string `path:"db" description:"The database's id."`
	database   *store.Database
}

func (in *InDatabase) find(l *Laboratory, ec echo.Context) (err error) {
	if in.DatabaseID, err = pathParam(ec, "db"); err != nil {
		return err
	}
	if err = l.catchUp(ec); err != nil {
		return err
	}
	in.database, err = l.db.Database(in.DatabaseID)
	return err
}

// catchUp lets a request see what other servers over the same data have defined.
func (l *Laboratory) catchUp(ec echo.Context) error {
	_, err := l.db.CatchUp(ec.Request().Context())
	return err
}

// InContainer is the part of a request that names a container in its path.
type InContainer struct {
	DatabaseID  string `path:"db" description:"The database's id."`
	ContainerID string `path:"coll" description:"The container's id."`
	container   *store.Container
}

func (in *InContainer) find(l *Laboratory, ec echo.Context) (err error) {
	if in.DatabaseID, err = pathParam(ec, "db"); err != nil {
		return err
	}
	if in.ContainerID, err = pathParam(ec, "coll"); err != nil {
		return err
	}
	if err = l.catchUp(ec); err != nil {
		return err
	}
	d, err := l.db.Database(in.DatabaseID)
	if err != nil {
		return fault.Owner(err)
	}
	if in.container, err = d.Container(in.ContainerID); err != nil {
		return fault.Owner(err)
	}
	return l.opt.Wire.Enter(ec, d, in.container)
}

// OfItem is the part of a body that names an item.
type OfItem struct {
	ID           string       `json:"id" missing:"The body must have an 'id'." description:"The item's id."`
	PartitionKey partitionKey `json:"partitionKey,omitempty"`
}

// oneOf is the type of what has one of several.
func oneOf(types ...jsonschema.SimpleType) jsonschema.Type {
	return jsonschema.Type{SliceOfSimpleTypeValues: types}
}

// partitionKey is a partition key as a JSON array, one element for each path.
type partitionKey struct{ definition.PartitionKey }

func (k *partitionKey) decode(_ string, v jsondoc.Value) (err error) {
	k.PartitionKey, err = definition.ParsePartitionKey(v.Raw())
	return err
}

// JSONSchema implements jsonschema.Exposer.
func (partitionKey) JSONSchema() (s jsonschema.Schema, err error) {
	s.AddType(jsonschema.Array)
	s.WithItems(*new(jsonschema.Items).WithSchemaOrBool(new(jsonschema.Schema).ToSchemaOrBool()))
	s.WithDescription("The partition key: a value for each path. Where it is the id it may be left out.")
	s.WithExamples([]any{"ada"})
	return s, nil
}

// named is a string that must be there.
type named string

func (n *named) decode(name string, v jsondoc.Value) error {
	if v.Kind() != jsondoc.String {
		return badRequest("The input content is invalid because the required property '" + name +
			"' is missing or is not a string.")
	}
	*n = named(v.Str())
	return nil
}

// InlineJSONSchema implements jsonschema.SchemaInliner.
func (named) InlineJSONSchema() {}

// yes is true.
type yes bool

func (y *yes) decode(name string, v jsondoc.Value) error {
	if v.Kind() != jsondoc.Bool || !v.Bool() {
		return badRequest("'" + name + "' must be true.")
	}
	*y = true
	return nil
}

// JSONSchema implements jsonschema.Exposer.
func (yes) JSONSchema() (s jsonschema.Schema, err error) {
	s.AddType(jsonschema.Boolean)
	s.WithConst(true).WithDescription("Back to the system's time.")
	return s, nil
}

// moment is a point in time: RFC 3339, or whole seconds since 1970.
type moment struct{ time.Time }

func (m *moment) decode(name string, v jsondoc.Value) (err error) {
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
		return badRequest("'" + name + "' must be a moment as RFC 3339 writes it, " +
			"such as \"2030-01-01T00:00:00Z\", or in seconds since 1970.")
	}
	return nil
}

var errNotWhole = errors.New("the number of seconds is not whole")

// JSONSchema implements jsonschema.Exposer.
func (moment) JSONSchema() (s jsonschema.Schema, err error) {
	s.WithType(oneOf(jsonschema.String, jsonschema.Integer))
	s.WithDescription("To a moment: as RFC 3339 writes it, or in seconds since 1970.")
	s.WithExamples("2030-01-01T00:00:00Z")
	return s, nil
}

// duration is a span of time as people write it.
type duration struct{ time.Duration }

func (d *duration) decode(name string, v jsondoc.Value) (err error) {
	text := v.Str()
	if v.Kind() == jsondoc.Number {
		text = string(v.Raw())
	}
	if d.Duration, err = ttl.ParseDuration(text); err != nil {
		return badRequest("'" + name + "' must be a duration such as \"90s\", \"24h\", \"30d\" or \"PT1H\", or a number of seconds.")
	}
	return nil
}

// JSONSchema implements jsonschema.Exposer.
func (duration) JSONSchema() (s jsonschema.Schema, err error) {
	s.WithType(oneOf(jsonschema.String, jsonschema.Number))
	s.WithDescription("On by a duration; a number is of seconds.").WithExamples("90s", "29d", "1d12h", "PT1H")
	return s, nil
}

// setting is a member that replaces a part of what there is: null clears it, absence leaves it alone.
type setting[T any] struct {
	given bool
	value T
}

func (s *setting[T]) decode(name string, v jsondoc.Value) error {
	s.given = true
	if v.Kind() == jsondoc.Null {
		return nil
	}
	if kind := s.kind(); v.Kind() != kind {
		return badRequest("'" + name + "' must be " + kind.String() + " or null.")
	}
	d := json.NewDecoder(bytes.NewReader(v.Raw()))
	d.DisallowUnknownFields()
	if err := d.Decode(&s.value); err != nil {
		return badRequest("'" + name + "' is not what it must be: " + err.Error())
	}
	return nil
}

func (s *setting[T]) kind() jsondoc.Kind {
	switch any(s.value).(type) {
	case bool:
		return jsondoc.Bool
	case int, int32:
		return jsondoc.Number
	case string, span, status:
		return jsondoc.String
	}
	return jsondoc.Object
}

// apply puts the setting in the place of another, where it was given.
func (s *setting[T]) apply(to *T) {
	if s.given {
		*to = s.value
	}
}

func second(s int64) string { return time.Unix(s, 0).UTC().Format(time.RFC3339) }

// shortened is the beginning of a text that is longer than most bytes.
func shortened(text string, most int) string {
	if len(text) > most {
		text = text[:most] + "..."
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
